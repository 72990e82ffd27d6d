/* ops_help.h - what the tests of the cpu backend's ops stand on: random data, every instruction set
 * of this machine with 1, 2 and 3 threads, comparing. */
#ifndef PK_TESTS_OPS_HELP_H
#define PK_TESTS_OPS_HELP_H
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/isa.h"
#include "backend/list.h"
#include "check.h"
#include "op_cases.h"
#include "tensor/panel.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))
static const pk_limits limits = { 200, 2100, 400, 40, 50, 3000 };

/* ---- random data ---- */

static uint64_t     seed;
static inline float uniform(void) { /* in [-1, 1) */
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(seed >> 32) * 0x1p-31f;
}
static inline int32_t below(int32_t n) { return (int32_t)((uniform() + 1) * 0.5f * (float)n) % n; }

static inline float *random_floats(size_t n) {
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = uniform();
    return x;
}

static inline pk_tensor random_tensor(int32_t rows, int32_t cols, int32_t gap) {
    return (pk_tensor){ random_floats((size_t)rows * (size_t)(cols + gap)), rows, cols,
                        cols + gap };
}

static inline pk_tensor copy_tensor(pk_tensor t) {
    const size_t bytes = (size_t)t.rows * (size_t)t.stride * sizeof(float);
    float       *data = malloc(bytes + 4);
    memcpy(data, t.data, bytes);
    t.data = data;
    return t;
}

/* values that a 16-bit float can hold, so that F32 and F16 store the same matrix */
static inline pk_weight random_weight(int32_t rows, int32_t cols, pk_dtype type) {
    const size_t n = (size_t)rows * (size_t)cols;
    float       *values = random_floats(n), *scale = calloc((size_t)rows, sizeof *scale);
    void        *data = aligned_alloc(64, (pk_panel_bytes(rows, cols, type) + 63) / 64 * 64);
    memset(data, 0, pk_panel_bytes(rows, cols, type));
    for (size_t i = 0; i < n; i++) values[i] = pk_f16_to_f32(pk_f32_to_f16(values[i]));
    pk_panel_pack(data, scale, cols, type, 0, rows, values);
    free(values);
    return (pk_weight){ data, scale, rows, cols, type, false };
}

static inline pk_weight random_vector(int32_t rows, int32_t cols) {
    return (
        pk_weight){ random_floats((size_t)rows * (size_t)cols), NULL, rows, cols, PK_F32, true };
}

static inline void free_weight(pk_weight w) {
    free((void *)(uintptr_t)w.data);
    free((void *)(uintptr_t)w.scale);
}

/* ---- backends ---- */

static inline pk_backend open_backend(const char *isa, int32_t threads) {
    pk_backend b;
    if (isa) setenv("PRONK_ISA", isa, 1);
    assert_int_equal(pk_backend_open(isa ? "cpu" : "ref", threads, PK_F32, &b), PK_OK);
    unsetenv("PRONK_ISA");
    assert_int_equal(b.reserve(b.self, &limits), PK_OK);
    return b;
}

typedef void       each_backend(pk_backend *b, void *context);
static inline void on_every_backend(each_backend *call, void *context) {
    for (int32_t i = 0; pk_isa_available(i); i++) {
        for (int32_t threads = 1; threads <= 3; threads++) {
            pk_backend b = open_backend(pk_isa_available(i)->name, threads);
            call(&b, context);
            assert_int_equal(b.status(b.self), PK_OK);
            pk_backend_close(&b);
        }
    }
}

/* |a - b| <= tolerance, everywhere a row has columns; 0 asks for equal bits */
static inline void assert_close(pk_tensor a, pk_tensor b, float tolerance, const char *what) {
    for (int32_t i = 0; i < a.rows; i++) {
        const float *x = a.data + (size_t)i * (size_t)a.stride,
                    *y = b.data + (size_t)i * (size_t)b.stride;
        for (int32_t c = 0; c < a.cols; c++) {
            const bool good =
                tolerance == 0 ? memcmp(&x[c], &y[c], 4) == 0 : fabsf(x[c] - y[c]) <= tolerance;
            if (!good)
                fail_msg("%s: (%d, %d) of (%d, %d): %.9g is not %.9g", what, i, c, a.rows, a.cols,
                         (double)x[c], (double)y[c]);
        }
    }
}
#endif
