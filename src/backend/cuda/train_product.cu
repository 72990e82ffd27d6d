/* train_product.cu - the products of training, through cuBLASLt.
 *
 * The library is found at run time, when training is first reserved for; nothing links against it.
 * It sees matrices column by column: our (rows, cols) with a stride is its (cols, rows) with that
 * leading dimension, so  out^T = w x^T,  d_x^T = w^T d_out^T,  d_w^T += x^T d_out.  The number of
 * rows changes with every batch; which kernel to use is asked once per 256 of them and remembered.
 * What is not aligned to 16 bytes, or what the library declines, goes to train_plain.cu. */
#include <cublasLt.h>
#include <dlfcn.h>

#include <cstring>

#include "backend/cuda/parts.cuh"
#include "backend/cuda/train.cuh"

extern "C" {
#include "base/memory.h"
}

/* PRODUCT: out = x w^T; BIASED: with a bias; INPUT: d_x = d_out w; WEIGHTS: d_w += d_out^T x */
enum kind { PRODUCT, BIASED, INPUT, WEIGHTS, KINDS };
enum { ROWS_STEP = 256, CHOICES = 2048 };
static const size_t workspace_bytes = (size_t)64 << 20;

struct calls { /* of the library, by their names without cublasLt */
    decltype(&cublasLtCreate)                       Create;
    decltype(&cublasLtDestroy)                      Destroy;
    decltype(&cublasLtMatmul)                       Matmul;
    decltype(&cublasLtMatmulAlgoGetHeuristic)       MatmulAlgoGetHeuristic;
    decltype(&cublasLtMatmulDescCreate)             MatmulDescCreate;
    decltype(&cublasLtMatmulDescDestroy)            MatmulDescDestroy;
    decltype(&cublasLtMatmulDescSetAttribute)       MatmulDescSetAttribute;
    decltype(&cublasLtMatrixLayoutCreate)           MatrixLayoutCreate;
    decltype(&cublasLtMatrixLayoutDestroy)          MatrixLayoutDestroy;
    decltype(&cublasLtMatrixLayoutSetAttribute)     MatrixLayoutSetAttribute;
    decltype(&cublasLtMatmulPreferenceCreate)       MatmulPreferenceCreate;
    decltype(&cublasLtMatmulPreferenceDestroy)      MatmulPreferenceDestroy;
    decltype(&cublasLtMatmulPreferenceSetAttribute) MatmulPreferenceSetAttribute;
};

struct shape { /* what a choice depends on; rows are rounded up */
    int32_t kind, rows, outputs, inputs, a_stride, b_stride, out_stride;
};

struct choice {
    shape                of;
    bool                 taken, good; /* good: the library has a kernel */
    cublasLtMatmulAlgo_t algorithm;
};

struct pk_cuda_products {
    void                      *library;
    calls                      call;
    cublasLtHandle_t           handle;
    cublasLtMatmulDesc_t       op[KINDS];
    cublasLtMatrixLayout_t     a, b, out, sums; /* sums: an out of floats */
    cublasLtMatmulPreference_t wish, wish_sums;
    void                      *workspace;
    int32_t                    n_choices;
    choice                     choices[CHOICES]; /* by their shapes' hash */
};

/* One product as the library sees it: `of` has the true number of rows. */
struct product_job {
    shape       of;
    const void *a, *b, *bias;
    void       *out;
    bool        add;
};

/* ---- opening and closing ---- */

static bool find_calls(pk_cuda_products *p) {
    bool all = true;
    auto find = [&](auto &call, const char *name) {
        void *address = dlsym(p->library, name);
        memcpy(&call, &address, sizeof address);
        all = all && address;
    };
#define FIND(name) find(p->call.name, "cublasLt" #name)
    FIND(Create), FIND(Destroy), FIND(Matmul), FIND(MatmulAlgoGetHeuristic);
    FIND(MatmulDescCreate), FIND(MatmulDescDestroy), FIND(MatmulDescSetAttribute);
    FIND(MatrixLayoutCreate), FIND(MatrixLayoutDestroy), FIND(MatrixLayoutSetAttribute);
    FIND(MatmulPreferenceCreate), FIND(MatmulPreferenceDestroy);
    FIND(MatmulPreferenceSetAttribute);
#undef FIND
    return all;
}

/* the newest first; one that lacks a call is not used */
static pk_status find_library(pk_cuda_products *p) {
    static const char *const names[] = { "libcublasLt.so.13", "libcublasLt.so.12",
                                         "libcublasLt.so" };
    for (const char *name : names) {
        p->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (p->library && find_calls(p)) return PK_OK;
        if (p->library) dlclose(p->library);
        p->library = NULL;
    }
    PK_FAIL(PK_UNSUPPORTED,
            "training on a GPU needs NVIDIA's cuBLAS, and libcublasLt.so.13 was not found: install "
            "it, or name its folder in LD_LIBRARY_PATH");
}

static bool set_op(pk_cuda_products *p, kind k, cublasLtMatmulDescAttributes_t what, int32_t to) {
    return p->call.MatmulDescSetAttribute(p->op[k], what, &to, sizeof to) == CUBLAS_STATUS_SUCCESS;
}

/* Our rows are cuBLAS's columns: out = x w^T becomes a product with the first matrix transposed,
 * d_w = d_out^T x one with the second. */
static bool make_ops(pk_cuda_products *p) {
    bool good = true;
    for (int k = 0; k < KINDS && good; k++)
        good = p->call.MatmulDescCreate(&p->op[k], CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
               CUBLAS_STATUS_SUCCESS;
    return good && set_op(p, PRODUCT, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T) &&
           set_op(p, BIASED, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T) &&
           set_op(p, BIASED, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS) &&
           set_op(p, WEIGHTS, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
}

/* Partial sums are never rounded to 16 bits on their way together. */
static bool make_wish(pk_cuda_products *p, cublasLtMatmulPreference_t *wish, uint32_t reductions) {
    const uint64_t bytes = workspace_bytes;
    const uint32_t alignment = 16;
    bool           good = p->call.MatmulPreferenceCreate(wish) == CUBLAS_STATUS_SUCCESS;
    auto           set = [&](cublasLtMatmulPreferenceAttributes_t what, const auto &to) {
        good = good && p->call.MatmulPreferenceSetAttribute(*wish, what, &to, sizeof to) ==
                           CUBLAS_STATUS_SUCCESS;
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, bytes);
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
    return good;
}

static bool make_layouts(pk_cuda_products *p, cudaDataType type) {
    auto make = [&](cublasLtMatrixLayout_t *layout, cudaDataType of) {
        return p->call.MatrixLayoutCreate(layout, of, 16, 16, 16) == CUBLAS_STATUS_SUCCESS;
    };
    return make(&p->a, type) && make(&p->b, type) && make(&p->out, type) &&
           make(&p->sums, CUDA_R_32F);
}

pk_status pk_cuda_open_products(pk_cuda *c) {
    if (c->products) return PK_OK;
    PK_TRY(pk_memory_take(1, sizeof(pk_cuda_products), (void **)&c->products));
    pk_cuda_products *p = c->products;
    pk_status         status = find_library(p);
    if (status == PK_OK) status = pk_cuda_take(c, workspace_bytes, false, &p->workspace);
    if (status == PK_OK &&
        !(p->call.Create(&p->handle) == CUBLAS_STATUS_SUCCESS && make_ops(p) &&
          make_wish(p, &p->wish, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) &&
          make_wish(p, &p->wish_sums,
                    CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) &&
          make_layouts(p, c->arithmetic == PK_BF16 ? CUDA_R_16BF : CUDA_R_32F)))
        status = pk_fail_with(PK_DEVICE, "cuBLASLt could not be opened on GPU %d", c->device);
    if (status != PK_OK) pk_cuda_close_products(c);
    return status;
}

void pk_cuda_close_products(pk_cuda *c) {
    pk_cuda_products *p = c->products;
    c->products = NULL;
    if (!p) return;
    for (cublasLtMatmulDesc_t op : p->op)
        if (op) p->call.MatmulDescDestroy(op);
    for (cublasLtMatrixLayout_t layout : { p->a, p->b, p->out, p->sums })
        if (layout) p->call.MatrixLayoutDestroy(layout);
    for (cublasLtMatmulPreference_t wish : { p->wish, p->wish_sums })
        if (wish) p->call.MatmulPreferenceDestroy(wish);
    if (p->handle) p->call.Destroy(p->handle);
    pk_memory_give(p); /* the library stays loaded: the driver knows its kernels */
}

/* ---- choosing a kernel ---- */

static bool set_layout(pk_cuda_products *p, cublasLtMatrixLayout_t layout, int32_t rows,
                       int32_t cols, int32_t stride) {
    const uint64_t tall = (uint64_t)rows, wide = (uint64_t)cols;
    const int64_t  apart = stride;
    auto           set = p->call.MatrixLayoutSetAttribute;
    return set(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &tall, sizeof tall) == CUBLAS_STATUS_SUCCESS &&
           set(layout, CUBLASLT_MATRIX_LAYOUT_COLS, &wide, sizeof wide) == CUBLAS_STATUS_SUCCESS &&
           set(layout, CUBLASLT_MATRIX_LAYOUT_LD, &apart, sizeof apart) == CUBLAS_STATUS_SUCCESS;
}

/* Says what a, b and out are, column by column, for so many rows of the batch. a and b: w and x;
 * INPUT: w and d_out; WEIGHTS: x and d_out. */
static bool describe(pk_cuda_products *p, const shape &s, int32_t rows) {
    const bool learn = s.kind == WEIGHTS;
    return set_layout(p, p->a, s.inputs, learn ? rows : s.outputs, s.a_stride) &&
           set_layout(p, p->b, s.kind >= INPUT ? s.outputs : s.inputs, rows, s.b_stride) &&
           set_layout(p, learn ? p->sums : p->out, s.kind >= INPUT ? s.inputs : s.outputs,
                      learn ? s.outputs : rows, s.out_stride);
}

static bool set_bias(pk_cuda_products *p, const void *bias) {
    return p->call.MatmulDescSetAttribute(p->op[BIASED], CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                          sizeof bias) == CUBLAS_STATUS_SUCCESS;
}

/* asks the library for the best kernel for so many rows */
static bool ask(pk_cuda_products *p, const shape &s, int32_t rows,
                cublasLtMatmulAlgo_t *algorithm) {
    cublasLtMatmulHeuristicResult_t result = {};
    int                             n = 0;
    const bool                      learn = s.kind == WEIGHTS;
    const cublasLtMatrixLayout_t    out = learn ? p->sums : p->out;
    /* only the alignment of the bias counts here, and others that come may have no more */
    if (s.kind == BIASED && !set_bias(p, (const void *)(uintptr_t)0x1010)) return false;
    if (!describe(p, s, rows)) return false;
    if (p->call.MatmulAlgoGetHeuristic(p->handle, p->op[s.kind], p->a, p->b, out, out,
                                       learn ? p->wish_sums : p->wish, 1, &result,
                                       &n) != CUBLAS_STATUS_SUCCESS)
        return false;
    *algorithm = result.algo;
    return n > 0 && result.state == CUBLAS_STATUS_SUCCESS;
}

static uint32_t hash_of(const shape &s) {
    uint32_t words[sizeof s / 4], hash = 0;
    memcpy(words, &s, sizeof s);
    for (uint32_t word : words) hash = (hash ^ word) * 0x9e3779b1u, hash ^= hash >> 15;
    return hash;
}

/* The remembered choice for a shape, or a new one. When three quarters are full all are
 * forgotten: that takes more shapes than any training has. */
static const choice *choice_of(pk_cuda_products *p, shape s) {
    s.rows = (s.rows + ROWS_STEP - 1) / ROWS_STEP * ROWS_STEP;
    uint32_t at = hash_of(s) % CHOICES;
    while (p->choices[at].taken && memcmp(&p->choices[at].of, &s, sizeof s))
        at = (at + 1) % CHOICES;
    if (p->choices[at].taken) return &p->choices[at];
    if (p->n_choices >= CHOICES / 4 * 3) {
        memset(p->choices, 0, sizeof p->choices);
        p->n_choices = 0;
        at = hash_of(s) % CHOICES;
    }
    choice *fresh = &p->choices[at];
    fresh->of = s, fresh->taken = true;
    fresh->good = ask(p, s, s.rows, &fresh->algorithm);
    p->n_choices++;
    return fresh;
}

/* ---- one product ---- */

static bool call_matmul(pk_cuda *c, const product_job &j, const cublasLtMatmulAlgo_t &algorithm) {
    pk_cuda_products            *p = c->products;
    const float                  one = 1, before = j.add ? 1 : 0;
    const cublasLtMatrixLayout_t out = j.of.kind == WEIGHTS ? p->sums : p->out;
    if (j.bias && !set_bias(p, j.bias)) return false;
    return describe(p, j.of, j.of.rows) &&
           p->call.Matmul(p->handle, p->op[j.of.kind], &one, j.a, p->a, j.b, p->b, &before, j.out,
                          out, j.out, out, &algorithm, p->workspace, workspace_bytes,
                          c->stream) == CUBLAS_STATUS_SUCCESS;
}

/* whether everything starts on 16 bytes and is whole lots of 16 bytes wide */
static bool suits(const pk_cuda *c, const product_job &j) {
    const int lots = c->arithmetic == PK_BF16 ? 8 : 4;
    const int all = j.of.outputs | j.of.inputs | j.of.a_stride | j.of.b_stride | j.of.out_stride;
    return all % lots == 0 && aligned_16(j.a) && aligned_16(j.b) && aligned_16(j.out) &&
           aligned_16(j.bias);
}

/* false: the library cannot do it */
static bool multiply(pk_cuda *c, const product_job &j) {
    cublasLtMatmulAlgo_t exact;
    if (!suits(c, j)) return false;
    const choice *known = choice_of(c->products, j.of);
    if (known->good && call_matmul(c, j, known->algorithm)) return true;
    /* that was chosen for rows rounded up to ROWS_STEP */
    return ask(c->products, j.of, j.of.rows, &exact) && call_matmul(c, j, exact);
}

static bool ready(pk_cuda *c) {
    if (!c->products && c->status == PK_OK)
        pk_cuda_fail(c, PK_ARGUMENT, "a product before training was reserved for");
    return c->status == PK_OK;
}

void pk_cuda_product(void *self, pk_tensor out, pk_tensor x, const pk_weight *w,
                     const pk_weight *bias) {
    pk_cuda    *c = static_cast<pk_cuda *>(self);
    const void *add = bias ? bias->data : NULL;
    if (x.rows == 0 || !ready(c)) return;
    product_job j = { { add ? BIASED : PRODUCT, x.rows, w->rows, w->cols, w->cols, x.stride,
                        out.stride },
                      w->data,
                      x.data,
                      add,
                      out.data,
                      false };
    if (multiply(c, j)) return;
    pk_cuda_plain plain = {};
    plain.a = x.data, plain.a_row = x.stride, plain.a_col = 1;
    plain.b = w->data, plain.b_row = 1, plain.b_col = w->cols;
    plain.bias = add, plain.out = out.data, plain.out_row = out.stride;
    plain.rows = x.rows, plain.cols = w->rows, plain.inner = w->cols;
    pk_cuda_multiply_plain(c, plain);
}

static void back_to_input(pk_cuda *c, pk_tensor d_x, bool add, pk_tensor d_out,
                          const pk_weight *w) {
    product_job j = { { INPUT, d_out.rows, w->rows, w->cols, w->cols, d_out.stride, d_x.stride },
                      w->data,
                      d_out.data,
                      NULL,
                      d_x.data,
                      add };
    if (multiply(c, j)) return;
    pk_cuda_plain plain = {};
    plain.a = d_out.data, plain.a_row = d_out.stride, plain.a_col = 1;
    plain.b = w->data, plain.b_row = w->cols, plain.b_col = 1;
    plain.out = d_x.data, plain.out_row = d_x.stride, plain.add = add;
    plain.rows = d_out.rows, plain.cols = w->cols, plain.inner = w->rows;
    pk_cuda_multiply_plain(c, plain);
}

/* added to what is there; by plain kernels where cuBLAS refuses the shape */
static void back_to_weights(pk_cuda *c, float *d_w, pk_tensor d_out, pk_tensor x) {
    product_job j = { { WEIGHTS, x.rows, d_out.cols, x.cols, x.stride, d_out.stride, x.cols },
                      x.data,
                      d_out.data,
                      NULL,
                      d_w,
                      true };
    if (multiply(c, j)) return;
    pk_cuda_plain plain = {};
    plain.a = d_out.data, plain.a_row = 1, plain.a_col = d_out.stride;
    plain.b = x.data, plain.b_row = x.stride, plain.b_col = 1;
    plain.out = d_w, plain.out_row = x.cols, plain.add = plain.wide = true;
    plain.rows = d_out.cols, plain.cols = x.cols, plain.inner = x.rows;
    pk_cuda_multiply_plain(c, plain);
}

void pk_cuda_product_back(void *self, pk_tensor d_x, bool add, float *d_w, float *d_bias,
                          pk_tensor d_out, pk_tensor x, const pk_weight *w) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    if (d_out.rows == 0 || !ready(c)) return;
    if (d_x.data) back_to_input(c, d_x, add, d_out, w);
    if (d_w) back_to_weights(c, d_w, d_out, x);
    if (d_bias) pk_cuda_sum_columns(c, d_out, d_out.cols, d_bias);
}
