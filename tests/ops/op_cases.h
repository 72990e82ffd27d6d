/* op_cases.h - the table of op cases: shapes that meet every tile, tail and block of the kernels.
 */
#ifndef PK_TESTS_OP_CASES_H
#define PK_TESTS_OP_CASES_H
#include "tensor/backend.h"

enum residual_kind { NO_RESIDUAL, OTHER_RESIDUAL, SAME_RESIDUAL }; /* SAME: the memory of out */

typedef struct linear_case {
    int32_t            rows, outputs, cols; /* x (rows, cols), w (outputs, cols) */
    pk_act             act;
    enum residual_kind residual;
    bool               bias;
    int32_t            gap; /* strides are this much wider than rows */
} linear_case;

static const linear_case linear_cases[] = {
    { 1, 16, 4, PK_LINEAR, NO_RESIDUAL, false, 0 },
    { 1, 1, 1, PK_LINEAR, NO_RESIDUAL, true, 0 },
    { 1, 512, 512, PK_LINEAR, SAME_RESIDUAL, true, 0 },
    { 1, 1001, 63, PK_RELU, NO_RESIDUAL, true, 3 },
    { 2, 37, 5, PK_GELU, OTHER_RESIDUAL, true, 1 },
    { 2, 272, 128, PK_LINEAR, SAME_RESIDUAL, true, 0 },
    { 3, 64, 100, PK_SWISH, NO_RESIDUAL, false, 0 },
    { 3, 145, 66, PK_RELU, SAME_RESIDUAL, true, 5 },
    { 4, 48, 31, PK_LINEAR, OTHER_RESIDUAL, false, 0 },
    { 5, 130, 64, PK_GELU, NO_RESIDUAL, true, 2 },
    { 6, 99, 77, PK_SWISH, SAME_RESIDUAL, true, 0 },
    { 7, 33, 130, PK_LINEAR, NO_RESIDUAL, true, 7 },
    { 8, 80, 16, PK_RELU, NO_RESIDUAL, true, 0 },
    { 9, 17, 9, PK_LINEAR, OTHER_RESIDUAL, true, 0 },
    { 10, 50, 129, PK_LINEAR, NO_RESIDUAL, false, 0 },
    { 11, 31, 12, PK_GELU, SAME_RESIDUAL, true, 1 },
    { 12, 160, 64, PK_LINEAR, NO_RESIDUAL, true, 0 },
    { 13, 47, 50, PK_RELU, SAME_RESIDUAL, true, 0 },
    { 32, 129, 256, PK_SWISH, NO_RESIDUAL, true, 4 },
    { 100, 65, 62, PK_LINEAR, SAME_RESIDUAL, true, 0 },
    { 150, 40, 1100, PK_RELU, OTHER_RESIDUAL, true, 0 }, /* several blocks of rows */
    { 25, 2100, 300, PK_LINEAR, NO_RESIDUAL, true, 0 },  /* more parts than threads */
};

typedef struct attend_case {
    int32_t queries, heads, width, keys; /* keys: rows of k and v */
    int32_t shared;                      /* so many neighbouring queries see the same keys */
    bool    indexed, weights;
    int32_t gap;
} attend_case;

static const attend_case attend_cases[] = {
    { 1, 8, 64, 30, 1, true, false, 0 },      { 1, 1, 4, 1, 1, false, true, 0 },
    { 3, 2, 20, 17, 1, true, true, 4 },       { 7, 4, 32, 40, 3, false, false, 0 },
    { 16, 8, 64, 16, 16, false, true, 0 },    { 33, 2, 68, 33, 33, false, false, 8 },
    { 50, 8, 64, 120, 4, true, false, 0 },    { 50, 8, 64, 120, 5, true, true, 0 },
    { 130, 4, 128, 65, 65, false, false, 0 }, { 4, 3, 12, 300, 2, true, false, 0 },
};

static const struct {
    int32_t rows, cols;
} norm_cases[] = {
    { 1, 512 }, { 3, 1 }, { 5, 15 }, { 7, 16 }, { 9, 17 }, { 64, 512 }, { 100, 333 },
};
#endif
