/* types.h - number types and activations, listed once: enums, names and sizes come from here.
 *
 * Files and recipes hold values of both, so a new one goes to the end of its list. An activation is
 * a line here and its formula in each backend: ref/ref_activation.h, cpu/kernels/activation.h,
 * cuda/activation.cuh. */
#ifndef PK_TENSOR_TYPES_H
#define PK_TENSOR_TYPES_H
/* aligned by hand, to be read as tables */
// clang-format off
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/words.h"

/* name, word, bytes of a number */
#define PK_STORED_DTYPE_MAP(X) /* those that a file may hold */                                    \
    X(PK_F32, "f32", 4)                                                                               \
    X(PK_F16, "f16", 2)                                                                               \
    X(PK_I8,  "i8",  1)
#define PK_DTYPE_MAP(X)                                                                            \
    PK_STORED_DTYPE_MAP(X)                                                                         \
    X(PK_BF16, "bf16", 2)      /* on remote devices only */

/* name, word, another word that Hugging Face has for it */
#define PK_ACT_MAP(X)                                                                              \
    X(PK_LINEAR, "linear", NULL)                                                                      \
    X(PK_RELU,   "relu",   NULL)                                                                      \
    X(PK_GELU,   "gelu",   NULL)      /* exact, with erf */                                           \
    X(PK_SWISH,  "swish",  "silu")

typedef enum pk_dtype { PK_DTYPE_MAP(PK_CHOICE_CONSTANT) } pk_dtype;
typedef enum pk_act { PK_ACT_MAP(PK_CHOICE_CONSTANT) } pk_act;
enum { PK_N_STORED_DTYPES = 0 PK_STORED_DTYPE_MAP(PK_CHOICE_COUNT), PK_N_ACTS = 0 PK_ACT_MAP(PK_CHOICE_COUNT) };

static inline size_t pk_dtype_bytes(pk_dtype type) {
#define PK_DTYPE_BYTES(constant, word, bytes) type == constant ? bytes :
    return (size_t)(PK_DTYPE_MAP(PK_DTYPE_BYTES) 0);
}

const char *pk_dtype_name(pk_dtype type);
const char *pk_act_name(pk_act act);
/* a type by its word, as a caller asks for it; NULL: -1. stored: of those that a file may hold. */
pk_status   pk_dtype_parse(const char *word, bool stored, int *out);
/* an activation by either of its words; -1: none */
int         pk_act_find(const char *word);

/* An output table is asked about in slices: 0 the tokens of the text, then groups of a task's own
 * tokens. A group begins at a multiple of PK_PANEL rows. */
enum { PK_MOST_GROUPS = 3, PK_SLICES = 1 + PK_MOST_GROUPS };
#endif
