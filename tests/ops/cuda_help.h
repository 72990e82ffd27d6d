/* cuda_help.h - what the device test stands on: backends, numbers, arrays on the device, comparing.
 *
 * Host numbers are floats that the backend's type can hold. An array's memory between and behind
 * its columns, and all that an op is to write, is filled with 0xff bytes: not a number in every
 * type. So an op that reads too far, writes too far or leaves something out is seen. */
#ifndef PK_TESTS_CUDA_HELP_H
#define PK_TESTS_CUDA_HELP_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/list.h"
#include "cuda_cases.h"
#include "tensor/panel.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

/* ---- backends ---- */

enum { ARITHMETICS = 3 };
static const size_t   arena_bytes = (size_t)256 << 20;
static const pk_dtype arithmetics[ARITHMETICS] = { PK_F32, PK_F16, PK_BF16 };
static const char    *type_names[] = { "F32", "F16", "I8", "BF16" };
static const float    tolerances[] = { 2e-5f, 2e-3f, 0, 1.5e-2f }; /* of a row's largest, by type */

static pk_backend gpus[ARITHMETICS], ref;
static char      *arenas[ARITHMETICS]; /* memory of the device, used anew by every case */
static size_t     arena_used[ARITHMETICS];

static inline int open_all(void **state) {
    const pk_limits limits = { 1024, 2304, 1024, 256, 32, 32000, 256 };
    (void)state;
    if (pk_backend_open("ref", 1, PK_F32, &ref) != PK_OK) return -1;
    for (int a = 0; a < ARITHMETICS; a++) {
        const pk_status status = pk_backend_open("cuda", 1, arithmetics[a], &gpus[a]);
        void           *memory = NULL;
        if (status == PK_UNSUPPORTED || status == PK_DEVICE) {
            print_message("no GPU to test: %s\n", pk_last_error());
            return 0;
        }
        if (status != PK_OK || gpus[a].reserve(gpus[a].self, &limits) != PK_OK ||
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

/* ---- the device ---- */

/* waits for the device */
static inline void settle(pk_backend *b) {
    if (b->status(b->self) != PK_OK) fail_msg("%s: %s", label, pk_last_error());
}

/* ---- numbers ---- */

static uint64_t     seed;
static inline float uniform(void) { /* in [-1, 1) */
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(seed >> 32) * 0x1p-31f;
}
static inline int32_t below(int32_t n) { return (int32_t)((uniform() + 1) * 0.5f * (float)n) % n; }

static inline uint16_t bf16_of(float x) { /* nearest, ties to even */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

static inline float rounded(float x, pk_dtype type) {
    if (type == PK_F32) return x;
    return type == PK_F16 ? pk_f16_to_f32(pk_f32_to_f16(x)) : pk_bf16_to_f32(bf16_of(x));
}

static inline void write_number(void *to, size_t at, pk_dtype type, float x) {
    if (type == PK_F32)
        ((float *)to)[at] = x;
    else
        ((uint16_t *)to)[at] = type == PK_F16 ? pk_f32_to_f16(x) : bf16_of(x);
}

static inline float read_number(const void *from, size_t at, pk_dtype type) {
    if (type == PK_F32) return ((const float *)from)[at];
    const uint16_t half = ((const uint16_t *)from)[at];
    return type == PK_F16 ? pk_f16_to_f32(half) : pk_bf16_to_f32(half);
}

/* (rows, cols) floats that the type can hold, on the host */
static inline pk_tensor random_rows(int32_t rows, int32_t cols, pk_dtype type, float scale) {
    const size_t n = (size_t)rows * (size_t)cols;
    pk_tensor    t = { malloc((n + 1) * sizeof(float)), rows, cols, cols, PK_F32 };
    for (size_t i = 0; i < n; i++) t.data[i] = rounded(scale * uniform(), type);
    return t;
}

static inline float *host_row(pk_tensor t, int32_t row) {
    return t.data + (size_t)row * (size_t)t.stride;
}

/* ---- weights ---- */

/* A matrix three times: as the host would have it, with the same values in F32, on the device. */
typedef struct matrix {
    pk_weight host, wide, device;
} matrix;

static inline void *panels(int32_t rows, int32_t cols, pk_dtype type, float *scale,
                           const float *values) {
    void *data = calloc(pk_panel_bytes(rows, cols, type) + 64, 1);
    pk_panel_pack(data, scale, cols, type, 0, rows, values);
    return data;
}

/* values: row-major; become those that the matrix has in the end */
static inline matrix matrix_of(pk_backend *b, int32_t rows, int32_t cols, pk_dtype type,
                               float *values) {
    float *scale = type == PK_I8 ? calloc((size_t)rows, sizeof *scale) : NULL;
    matrix m = { .host = { panels(rows, cols, type, scale, values), scale, rows, cols, type,
                           false } };
    for (int32_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < cols; c++)
            values[(size_t)r * (size_t)cols + (size_t)c] = pk_weight_get(&m.host, r, c);
    m.wide =
        (pk_weight){ panels(rows, cols, PK_F32, NULL, values), NULL, rows, cols, PK_F32, false };
    ASSERT_OK(b->adopt(b->self, &m.host, &m.device));
    settle(b);
    return m;
}

/* Random values that F16 and BF16 can both hold. *values: the caller's to free; may be NULL. */
static inline matrix random_matrix(pk_backend *b, int32_t rows, int32_t cols, pk_dtype type,
                                   float **values) {
    const size_t n = (size_t)rows * (size_t)cols;
    float       *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        x[i] = rounded(uniform(), PK_BF16);
        if (fabsf(x[i]) < 0x1p-10f) x[i] = 0; /* F16 has fewer small numbers */
    }
    matrix m = matrix_of(b, rows, cols, type, x);
    if (values)
        *values = x;
    else
        free(x);
    return m;
}

/* plain floats: a vector, or a table of positions */
static inline matrix random_plain(pk_backend *b, int32_t rows, int32_t cols) {
    matrix m = { 0 };
    m.wide = (pk_weight){ random_rows(rows, cols, PK_F32, 1).data, NULL, rows, cols, PK_F32, true };
    ASSERT_OK(b->adopt(b->self, &m.wide, &m.device));
    settle(b);
    return m;
}

static inline void free_matrix(
    matrix *m) { /* the device's copy lives until the backend is closed */
    free((void *)(uintptr_t)m->host.data), free((void *)(uintptr_t)m->host.scale);
    free((void *)(uintptr_t)m->wide.data);
}

/* ---- arrays on the device ---- */

/* begins a case: what the arrays of the last one had is free again */
static inline void reset_arena(int a) { arena_used[a] = 0; }

static inline void *from_arena(int a, size_t bytes) {
    void *at = arenas[a] + arena_used[a];
    arena_used[a] += (bytes + 255) / 256 * 256;
    if (arena_used[a] > arena_bytes) fail_msg("%s: the arena is too small", label);
    return at;
}

static inline void *upload(int a, const void *host, size_t bytes) {
    void *at = from_arena(a, bytes ? bytes : 1);
    gpus[a].put(gpus[a].self, at, host, bytes);
    settle(&gpus[a]);
    return at;
}
static inline int32_t *upload_ints(int a, const int32_t *host, int32_t n) {
    return upload(a, host, (size_t)n * sizeof *host);
}

typedef struct array {
    pk_tensor on;  /* the device's */
    uint8_t  *raw; /* its bytes as they were put there, or as they came back */
    size_t    bytes;
    int       a;
} array;

static inline void put_array(array *x) {
    gpus[x->a].put(gpus[x->a].self, x->on.data, x->raw, x->bytes);
    settle(&gpus[x->a]);
}

/* (rows, cols), rows cols + gap apart, all 0xff */
static inline array blank_array(int a, int32_t rows, int32_t cols, int32_t gap, pk_dtype type) {
    array x = { .a = a };
    x.bytes = (size_t)rows * (size_t)(cols + gap) * pk_dtype_bytes(type);
    x.on = (pk_tensor){ from_arena(a, x.bytes), rows, cols, cols + gap, type };
    x.raw = malloc(x.bytes + 4);
    memset(x.raw, 0xff, x.bytes);
    put_array(&x);
    return x;
}

static inline size_t at_of(const array *x, int32_t row, int32_t col) {
    return (size_t)row * (size_t)x->on.stride + (size_t)col;
}

/* the numbers of a host tensor, and 0xff between the rows */
static inline void fill_array(array *x, pk_tensor from) {
    memset(x->raw, 0xff, x->bytes);
    for (int32_t i = 0; i < from.rows; i++)
        for (int32_t c = 0; c < from.cols; c++)
            write_number(x->raw, at_of(x, i, c), x->on.type, host_row(from, i)[c]);
    put_array(x);
}

static inline array array_of(int a, pk_tensor from, int32_t gap, pk_dtype type) {
    array x = blank_array(a, from.rows, from.cols, gap, type);
    fill_array(&x, from);
    return x;
}

static inline void blank_again(array *x) {
    memset(x->raw, 0xff, x->bytes);
    put_array(x);
}

static inline void get_array(array *x) {
    memset(x->raw, 0, x->bytes);
    gpus[x->a].get(gpus[x->a].self, x->raw, x->on.data, x->bytes);
    settle(&gpus[x->a]);
}

static inline float number(const array *x, int32_t row, int32_t col) {
    return read_number(x->raw, at_of(x, row, col), x->on.type);
}

/* rows [first, first + n) of a tensor on the device */
static inline pk_tensor rows_of(pk_tensor t, int32_t first, int32_t n) {
    const size_t skip = (size_t)first * (size_t)t.stride * pk_dtype_bytes(t.type);
    if (t.data) t.data = (float *)(void *)((char *)t.data + skip);
    t.rows = n;
    return t;
}

/* ---- comparing what came back ---- */

static inline void check_gaps(const array *x, const char *what) {
    const size_t each = pk_dtype_bytes(x->on.type);
    for (int32_t i = 0; i < x->on.rows; i++)
        for (int32_t c = x->on.cols; c < x->on.stride; c++)
            for (size_t k = 0; k < each; k++)
                if (x->raw[at_of(x, i, c) * each + k] != 0xff) {
                    COMPLAIN("%s: column %d behind row %d was written: %.9g", what, c - x->on.cols,
                             i, (double)number(x, i, c));
                    return;
                }
}

/* within the tolerance of the array's type, times the row's largest magnitude (at least 1) */
static inline void check_row(const array *got, int32_t row, const float *want, const char *what) {
    float most = 1;
    for (int32_t c = 0; c < got->on.cols; c++) most = fmaxf(most, fabsf(want[c]));
    for (int32_t c = 0; c < got->on.cols; c++) {
        const float x = number(got, row, c);
        if (fabsf(x - want[c]) <= tolerances[arithmetics[got->a]] * most) continue;
        COMPLAIN("%s: (%d, %d) of (%d, %d): %.9g is not %.9g", what, row, c, got->on.rows,
                 got->on.cols, (double)x, (double)want[c]);
        return;
    }
}

static inline void check_rows(const array *got, pk_tensor want, const char *what) {
    for (int32_t i = 0; i < want.rows; i++) check_row(got, i, host_row(want, i), what);
    check_gaps(got, what);
}

/* the same bits: row `row` of x and row `other` of y */
static inline void check_same(const array *x, int32_t row, const array *y, int32_t other,
                              const char *what) {
    const size_t each = pk_dtype_bytes(x->on.type);
    for (int32_t c = 0; c < x->on.cols; c++) {
        if (!memcmp(x->raw + at_of(x, row, c) * each, y->raw + at_of(y, other, c) * each, each))
            continue;
        COMPLAIN("%s: (%d, %d): %.9g is not %.9g, bit by bit", what, row, c,
                 (double)number(x, row, c), (double)number(y, other, c));
        return;
    }
}

static inline bool same_float(float a, float b) { return memcmp(&a, &b, sizeof a) == 0; }
#endif
