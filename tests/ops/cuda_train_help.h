/* cuda_train_help.h - what the tests of training on a GPU stand on: backends, numbers, memory.
 *
 * Both arithmetics are opened (F32, BF16) beside `ref`. Host numbers are floats that the arithmetic
 * can hold. Memory of the device comes from one block that every case uses anew, filled with 0xff
 * bytes: not a number in every type. */
#ifndef PK_TESTS_CUDA_TRAIN_HELP_H
#define PK_TESTS_CUDA_TRAIN_HELP_H
#include "backend/list.h"
#include "cuda_cases.h"
#include "tensor/panel.h"
#include "train_trials.h"

enum { ARITHMETICS = 2 };
static const size_t      arena_bytes = (size_t)1200 << 20;
static const pk_dtype    arithmetics[ARITHMETICS] = { PK_F32, PK_BF16 };
static const char *const type_names[ARITHMETICS] = { "F32", "BF16" };
static const double      tolerances[ARITHMETICS] = { 1e-4, 2e-2 };

static pk_backend gpus[ARITHMETICS], ref;
static char      *arenas[ARITHMETICS];
static size_t     arena_used;

static inline int open_all(void **state) {
    (void)state;
    if (pk_backend_open("ref", 1, PK_F32, &ref) != PK_OK) return -1;
    for (int a = 0; a < ARITHMETICS; a++) {
        const pk_status status = pk_backend_open("cuda", 1, arithmetics[a], &gpus[a]);
        void           *memory = NULL;
        if (status == PK_UNSUPPORTED || status == PK_DEVICE) {
            print_message("no GPU to test: %s\n", pk_last_error());
            return 0;
        }
        if (status != PK_OK || !gpus[a].train ||
            gpus[a].train->reserve(gpus[a].self, 16384, 16384, 512) != PK_OK ||
            gpus[a].take(gpus[a].self, arena_bytes, &memory) != PK_OK) {
            print_error("opening: %s\n", pk_last_error());
            return -1;
        }
        arenas[a] = memory;
    }
    gpu_there = true;
    return 0;
}

static inline int close_all(void **state) {
    (void)state;
    for (int a = 0; a < ARITHMETICS; a++) pk_backend_close(&gpus[a]);
    pk_backend_close(&ref);
    return 0;
}

static inline void settle(int a) {
    if (gpus[a].status(gpus[a].self) != PK_OK) fail_msg("%s: %s", label, pk_last_error());
}

/* ---- numbers ---- */

static inline uint16_t bf16_of(float x) { /* nearest, ties to even */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return isnan(x) ? 0xffff : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
static inline float rounded(float x, pk_dtype type) {
    return type == PK_F32 || isnan(x) ? x : pk_bf16_to_f32(bf16_of(x));
}

static inline void write_numbers(void *to, const float *from, size_t n, pk_dtype type) {
    for (size_t i = 0; i < n; i++) {
        if (type == PK_F32)
            ((float *)to)[i] = from[i];
        else
            ((uint16_t *)to)[i] = bf16_of(from[i]);
    }
}

static inline void read_numbers(float *to, const void *from, size_t n, pk_dtype type) {
    for (size_t i = 0; i < n; i++)
        to[i] =
            type == PK_F32 ? ((const float *)from)[i] : pk_bf16_to_f32(((const uint16_t *)from)[i]);
}

/* n numbers that BF16 can hold; the caller's to free */
static inline float *random_numbers(size_t n, float scale) {
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = rounded(scale * uniform(), PK_BF16);
    return x;
}

/* ---- memory of the device ---- */

static inline void *fresh(int a, size_t bytes) {
    char *at = arenas[a] + arena_used;
    arena_used += (bytes + 255) / 256 * 256;
    if (arena_used > arena_bytes) fail_msg("%s: the arena is too small", label);
    return at;
}

static inline void *upload(int a, const void *from, size_t bytes) {
    void *at = fresh(a, bytes);
    gpus[a].put(gpus[a].self, at, from, bytes);
    settle(a);
    return at;
}

/* n numbers of a type; from NULL: 0xff bytes */
static inline void *upload_numbers(int a, const float *from, size_t n, pk_dtype type) {
    const size_t bytes = n * pk_dtype_bytes(type);
    void        *raw = malloc(bytes + 4);
    memset(raw, 0xff, bytes);
    if (from) write_numbers(raw, from, n, type);
    void *at = upload(a, raw, bytes);
    free(raw);
    return at;
}

/* a (rows, cols) tensor of the arithmetic's type */
static inline pk_tensor upload_rows(int a, const float *from, int32_t rows, int32_t cols) {
    return (pk_tensor){ upload_numbers(a, from, (size_t)rows * (size_t)cols, arithmetics[a]),
                        rows,
                        cols,
                        cols,
                        arithmetics[a],
                        0 };
}

static inline pk_weight weight_of(pk_tensor t) {
    return (pk_weight){ t.data, NULL, t.rows, t.cols, t.type, true };
}

/* the caller's to free */
static inline float *download(int a, const void *from, size_t n, pk_dtype type) {
    const size_t bytes = n * pk_dtype_bytes(type);
    void        *raw = malloc(bytes + 4);
    float       *to = malloc((n + 1) * sizeof *to);
    gpus[a].get(gpus[a].self, raw, from, bytes);
    settle(a);
    read_numbers(to, raw, n, type);
    free(raw);
    return to;
}

static inline void *zeros(int a, size_t bytes) {
    void *at = fresh(a, bytes);
    gpus[a].train->clear(gpus[a].self, at, bytes);
    return at;
}

/* ---- comparing ---- */

/* within the tolerance, of the largest that is wanted */
static inline void check_numbers(int a, const float *got, const float *want, size_t n,
                                 const char *what) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)want[i]));
    for (size_t i = 0; i < n; i++) {
        if (fabs((double)got[i] - (double)want[i]) <= tolerances[a] * (most + 0.1)) continue;
        COMPLAIN("%s: %s: number %zu of %zu: %.9g is not %.9g", type_names[a], what, i, n,
                 (double)got[i], (double)want[i]);
        return;
    }
}

/* an array of the device against the truth */
static inline void check_array(int a, const void *got, pk_dtype type, const float *want, size_t n,
                               const char *what) {
    float *x = download(a, got, n, type);
    check_numbers(a, x, want, n, what);
    free(x);
}
#endif
