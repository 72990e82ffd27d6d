/* config.h - what a model is: its shape, its options and its conventions. One list of fields. */
#ifndef PK_MODEL_CONFIG_H
#define PK_MODEL_CONFIG_H
/* aligned by hand, to be read as tables */
// clang-format off
#include <stdbool.h>

#include "base/buffer.h"
#include "tensor/backend.h"

/* name, Hugging Face's model_type; files hold the value: a new one goes last */
#define PK_FAMILY_MAP(X)                                                                           \
    X(PK_MARIAN, "marian")                                                                            \
    X(PK_MBART,  "mbart")
typedef enum pk_family { PK_FAMILY_MAP(PK_CHOICE_CONSTANT) } pk_family;
enum { PK_N_FAMILIES = 0 PK_FAMILY_MAP(PK_CHOICE_COUNT) };
const char *pk_family_name(pk_family family);

/* X(kind, field, default): the one list; struct, JSON reading and JSON writing come from it */
#define PK_CONFIG_MAP(X)                                                                           \
    X(INT, family, 0)           /* enum pk_family: how languages are named in the input */         \
    X(INT, source_vocab, 0)                                                                        \
    X(INT, target_vocab, 0)                                                                        \
    X(INT, dim, 0)                                                                                 \
    X(INT, encoder_layers, 0)                                                                      \
    X(INT, decoder_layers, 0)                                                                      \
    X(INT, encoder_heads, 0)                                                                       \
    X(INT, decoder_heads, 0)                                                                       \
    X(INT, encoder_ffn, 0)                                                                         \
    X(INT, decoder_ffn, 0)                                                                         \
    X(INT, act, 0)              /* enum pk_act */                                                  \
    X(INT, pre_norm, 0)         /* norm before each block instead of after */                      \
    X(INT, embed_norm, 0)       /* a norm on the embeddings */                                     \
    X(INT, final_norm, 0)       /* a norm at the top of each stack */                              \
    X(INT, share_embeddings, 1) /* source and target embeddings are one table */                   \
    X(INT, tie_output, 1)       /* the output layer is the target table */                         \
    X(FLOAT, embed_scale, 1)                                                                       \
    X(FLOAT, epsilon, 1e-5)                                                                        \
    X(INT, max_source, 512)     /* positions there are */                                          \
    X(INT, max_target, 512)                                                                        \
    X(INT, start, -1)           /* first decoder input; -1: a zero embedding */                    \
    X(INT, eos, 0)                                                                                 \
    X(INT, unk, -1)                                                                                \
    X(INT, pad, -1)                                                                                \
    X(INT, forced_bos, -1)      /* first output token; -1: free */                                 \
    X(INT, forced_eos, -1)      /* last token when the limit is reached; -1: none */               \
    X(INT, renormalise, 0)      /* log-probabilities leave suppressed tokens out */                \
    X(INT, beams, 1)            /* what the checkpoint recommends */                               \
    X(FLOAT, length_penalty, 1)                                                                    \
    X(INT, early_stopping, 0)   /* 0 no, 1 yes, 2 never */                                         \
    X(INT, max_output, 0)       /* most tokens of a translation, end included; 0: no word on it */ \
    X(INT, no_repeat_ngram, 0)                                                                     \
    X(FLOAT, repetition_penalty, 1)                                                                \
    X(LATER, right_to_left, 0)  /* writes the last token first */                                  \
    X(LATER, n_text, 0)         /* target tokens that are text, a task's own behind them; 0: all */    \
    X(LATER, shares_encoder, 0) /* a drafter without encoder and tables: those of its model serve */   \
    X(LATER, first_own, 0)      /* such a drafter's first target token with a row of its own */ \
    X(LATER, bare_source, 0)    /* no end symbol behind the source, and no tags before it */ \
    X(LATER, capitals, 0)       /* text in capitals is translated in small letters, and put in capitals again */

#define PK_CONFIG_INT int32_t
#define PK_CONFIG_FLOAT float
#define PK_CONFIG_LATER int32_t  /* came later: files may lack it, and do where it is 0 */
#define PK_CONFIG_FIELD(kind, field, normal) PK_CONFIG_##kind field;
enum { PK_MAX_SUPPRESSED = 16 };
typedef struct pk_token_group {                 /* tokens of a task that are answers to a question of their own */
    char    name[16];
    int32_t first, count;
} pk_token_group;
typedef struct pk_config {
    PK_CONFIG_MAP(PK_CONFIG_FIELD)
    int32_t n_suppressed, suppressed[PK_MAX_SUPPRESSED];     /* tokens never to be output */
    char    source_language[16], target_language[16];        /* ISO codes when known, else "" */
    int32_t n_groups;
    pk_token_group group[PK_MOST_GROUPS];
    char    tasks[128];                                      /* what it was trained for; see pk_config_tasks() */
    char    verifier[20];                                    /* shares_encoder: of which model, see model/drafter.h */
} pk_config;

/* names of tokens that fill panels up before a task's own begin with this */
#define PK_UNUSED_TOKEN "<unused:"

/* tokens of the target that are text: only these are output */
static inline int32_t pk_config_text(const pk_config *c) { return c->n_text ? c->n_text : c->target_vocab; }
/* what the model was trained for: tasks with their options, between spaces; where nothing is recorded, "at" */
const char *pk_config_tasks(const pk_config *c);
/* whether it was trained for this task, in either direction */
bool        pk_config_can(const pk_config *c, const char *task);

void      pk_config_defaults(pk_config *c);
pk_status pk_config_check(const pk_config *c);               /* every field in range, and sane together */
void      pk_config_write(const pk_config *c, pk_buffer *json);
void      pk_config_write_text(pk_buffer *json, const char *text);           /* one string, for what is said besides */
pk_status pk_config_read(const char *json, size_t size, pk_config *out);     /* unknown or missing keys fail */
#endif
