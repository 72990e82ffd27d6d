/* ptx.h - the functions of backend/cuda/ptx.cuh for the emulated GPU, which has this file in place
 * of that one. Products are summed in double and rounded once for 16 columns. */
#ifndef PK_BACKEND_CUDA_PTX_CUH
#define PK_BACKEND_CUDA_PTX_CUH
#include "cuda_bf16.h"
#include "cuda_fp16.h"

/* ---- copies to shared memory that are not waited for: they are done when they are ---- */

static inline uint32_t shared_address(const void *p) {
    return (uint32_t)(int32_t)((const char *)p - emulator::shared_memory());
}
static inline const char *emulated_shared(uint32_t at) {
    return emulator::shared_memory() + (int32_t)at;
}

static inline void emulated_copy(void *to, const void *from, int bytes, int all) {
    emulator::fiber *f = emulator::now;
    if ((uintptr_t)to % (unsigned)all || (bytes && (uintptr_t)from % (unsigned)all))
        emulator::complain("a copy that is not aligned");
    if (f->n_copies == emulator::MOST_COPIES) emulator::complain("too many copies on their way");
    f->copies[f->n_copies++] = { to, from, bytes, all - bytes, f->group };
}
static inline void copy_16(void *to, const void *from, int bytes) {
    emulated_copy(to, from, bytes, 16);
}
template <int BYTES> static inline void copy_or_clear(void *to, const void *from, bool there) {
    emulated_copy(to, from, there ? BYTES : 0, BYTES);
}
static inline void copies_commit() { emulator::now->group++; }

/* those of groups before this one */
static inline void emulated_arrive(int before) {
    emulator::fiber *f = emulator::now;
    int              left = 0;
    for (int i = 0; i < f->n_copies; i++) {
        const emulator::copy &c = f->copies[i];
        if (c.group < before) {
            memcpy(c.to, c.from, (size_t)c.bytes);
            memset((char *)c.to + c.bytes, 0, (size_t)c.zeros);
        } else {
            f->copies[left++] = c;
        }
    }
    f->n_copies = left;
}
template <int N> static inline void copies_wait() { emulated_arrive(emulator::now->group - N); }
static inline void                  copies_done() { emulated_arrive(emulator::now->group + 1); }

/* ---- loads ---- */

static inline void fetch(uint4 &a, const uint4 *from) { a = *from; }
static inline void fetch(uint2 &a, const uint2 *from) { a = *from; }
static inline int  load_now(const int32_t *from) { return *from; }

/* matrix m, of which this lane gets two numbers; at: where every lane says that a row begins */
static inline uint32_t emulated_load(const uint32_t *at, int m, bool transposed) {
    const int lane = emulator::now->lane, line = lane / 4, pair = lane % 4 * 2;
    uint16_t  two[2];
    for (int i = 0; i < 2; i++) {
        const int row = transposed ? pair + i : line, column = transposed ? line : pair + i;
        memcpy(&two[i], emulated_shared(at[8 * m + row]) + 2 * column, sizeof two[i]);
    }
    return (uint32_t)two[0] | (uint32_t)two[1] << 16;
}
static inline void load_two(uint32_t (&r)[2], uint32_t at) {
    const uint32_t *all = emulator::exchanged(at);
    for (int m = 0; m < 2; m++) r[m] = emulated_load(all, m, false);
}
static inline void load_four(uint32_t (&r)[4], uint32_t at) {
    const uint32_t *all = emulator::exchanged(at);
    for (int m = 0; m < 4; m++) r[m] = emulated_load(all, m, false);
}
static inline void load_four_transposed(uint32_t (&r)[4], uint32_t at) {
    const uint32_t *all = emulator::exchanged(at);
    for (int m = 0; m < 4; m++) r[m] = emulated_load(all, m, true);
}

/* ---- arithmetic ---- */

static inline float power_of_two(float x) { return exp2f(x); }

static inline float emulated_wide(uint32_t bits, __half) { return _cvtsh_ss((unsigned short)bits); }
static inline float emulated_wide(uint32_t bits, __nv_bfloat16) {
    return __uint_as_float(bits << 16);
}

/* what a lane holds of both operands, see the layout in common.cuh: of a, columns 2c, 2c + 1, 2c +
 * 8, 2c + 9 of rows r and r + 8; of b, the same k of column r */
struct emulated_operands {
    float low[4], high[4], b[4];
};

template <typename T>
static inline void emulated_product(float (&sum)[4], uint4 a, const uint32_t (&b)[2], T type) {
    const int         line = emulator::now->lane / 4, pair = emulator::now->lane % 4 * 2;
    emulated_operands mine;
    for (int i = 0; i < 2; i++) {
        mine.low[i] = emulated_wide(a.x >> 16 * i & 0xffff, type);
        mine.high[i] = emulated_wide(a.y >> 16 * i & 0xffff, type);
        mine.low[2 + i] = emulated_wide(a.z >> 16 * i & 0xffff, type);
        mine.high[2 + i] = emulated_wide(a.w >> 16 * i & 0xffff, type);
        mine.b[i] = emulated_wide(b[0] >> 16 * i & 0xffff, type);
        mine.b[2 + i] = emulated_wide(b[1] >> 16 * i & 0xffff, type);
    }
    const emulated_operands *all = emulator::exchanged(mine);
    for (int e = 0; e < 4; e++) {
        double total = sum[e];
        for (int lane = 0; lane < 4; lane++) {
            const emulated_operands &x = all[4 * line + lane], &y = all[4 * (pair + e % 2) + lane];
            const float             *row = e < 2 ? x.low : x.high;
            for (int i = 0; i < 4; i++) total += (double)row[i] * (double)y.b[i];
        }
        sum[e] = (float)total;
    }
}
template <typename T>
static inline void multiply(float (&sum)[4], uint4 a, const uint32_t (&b)[2], T type) {
    emulated_product(sum, a, b, type);
}
template <typename T>
static inline void multiply_first(float (&sum)[4], uint4 a, const uint32_t (&b)[2], T type) {
    for (int e = 0; e < 4; e++) sum[e] = 0;
    emulated_product(sum, a, b, type);
}
#endif
