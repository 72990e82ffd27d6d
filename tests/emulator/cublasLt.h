/* cublasLt.h - a cuBLASLt that opens and declines every product, for the emulated GPU: the backend
 * then uses its own plain kernels. */
#ifndef PK_TESTS_EMULATOR_CUBLASLT_H
#define PK_TESTS_EMULATOR_CUBLASLT_H
#include <dlfcn.h>

#include "cuda_runtime.h"

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_OP_T = 1, CUBLASLT_EPILOGUE_BIAS = 4 };
enum cublasLtMatmulDescAttributes_t {
    CUBLASLT_MATMUL_DESC_TRANSA,
    CUBLASLT_MATMUL_DESC_TRANSB,
    CUBLASLT_MATMUL_DESC_EPILOGUE,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER
};
enum cublasLtMatrixLayoutAttribute_t {
    CUBLASLT_MATRIX_LAYOUT_ROWS,
    CUBLASLT_MATRIX_LAYOUT_COLS,
    CUBLASLT_MATRIX_LAYOUT_LD
};
enum cublasLtMatmulPreferenceAttributes_t {
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
    CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
};
enum { CUBLASLT_REDUCTION_SCHEME_INPLACE = 1, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2 };
struct cublasLtMatmulAlgo_t {
    int chosen;
};
struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    cublasStatus_t       state;
};
typedef int *cublasLtHandle_t, *cublasLtMatmulDesc_t, *cublasLtMatrixLayout_t,
    *cublasLtMatmulPreference_t;

static int                   emulated_object; /* stands for every handle */
static inline cublasStatus_t emulated_make(int **out) {
    *out = &emulated_object;
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtCreate(cublasLtHandle_t *out) { return emulated_make(out); }
static inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
static inline cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *,
                                            const void *, cublasLtMatrixLayout_t, const void *,
                                            cublasLtMatrixLayout_t, const void *, const void *,
                                            cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,
                                            const cublasLtMatmulAlgo_t *, void *, size_t,
                                            cudaStream_t) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
static inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
    cublasLtMatmulHeuristicResult_t *, int *n) {
    *n = 0;
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, int, int) {
    return emulated_make(out);
}
static inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t) {
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t,
                                                            cublasLtMatmulDescAttributes_t,
                                                            const void *, size_t) {
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, int, uint64_t,
                                                        uint64_t, int64_t) {
    return emulated_make(out);
}
static inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t) {
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t,
                                                              cublasLtMatrixLayoutAttribute_t,
                                                              const void *, size_t) {
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
    return emulated_make(out);
}
static inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void *, size_t) {
    return CUBLAS_STATUS_SUCCESS;
}

/* the calls by their names, in place of those of a library */
static inline void *emulated_call(const char *name) {
#define EMULATED_CALL(f) \
    if (!strcmp(name, #f)) return (void *)f
    EMULATED_CALL(cublasLtCreate);
    EMULATED_CALL(cublasLtDestroy);
    EMULATED_CALL(cublasLtMatmul);
    EMULATED_CALL(cublasLtMatmulAlgoGetHeuristic);
    EMULATED_CALL(cublasLtMatmulDescCreate);
    EMULATED_CALL(cublasLtMatmulDescDestroy);
    EMULATED_CALL(cublasLtMatmulDescSetAttribute);
    EMULATED_CALL(cublasLtMatrixLayoutCreate);
    EMULATED_CALL(cublasLtMatrixLayoutDestroy);
    EMULATED_CALL(cublasLtMatrixLayoutSetAttribute);
    EMULATED_CALL(cublasLtMatmulPreferenceCreate);
    EMULATED_CALL(cublasLtMatmulPreferenceDestroy);
    EMULATED_CALL(cublasLtMatmulPreferenceSetAttribute);
    return NULL;
}
#define dlopen(name, flags)  ((void *)&emulated_object)
#define dlclose(library)     ((void)(library))
#define dlsym(library, name) emulated_call(name)
#endif
