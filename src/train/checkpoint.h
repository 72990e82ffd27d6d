/* checkpoint.h - a training on disk: all that is needed to go on as if nothing had happened.
 *
 * One file, OUTPUT/checkpoint-N.safetensors: weights, Adam's moments and the moving average by
 * name; counters, configuration and recipe as metadata; and a checksum over all of it. It appears
 * under its name only when it is whole and on disk, so the newest one that is there is good. */
#ifndef PK_TRAIN_CHECKPOINT_H
#define PK_TRAIN_CHECKPOINT_H
/* aligned by hand, to be read as tables */
// clang-format off
#include "train/parameters.h"
#include "recipe/recipe.h"

/* X(kind, field): the state of a training, besides its weights; also the keys of the metadata */
#define PK_TRAIN_STATE_MAP(X)                                                                      \
    X(INT, update)              /* updates done */                                                 \
    X(INT, batches)             /* taken from the stream, by all ranks together */                 \
    X(INT, skipped)             /* updates left out because the gradient was not finite */         \
    X(INT, in_a_row)            /* of those, the last ones without a good one between */           \
    X(FLOAT, seconds)           /* trained */                                                      \
    X(FLOAT, loss)              /* sums since the last line of the log */                          \
    X(FLOAT, nll)                                                                                  \
    X(FLOAT, weight)                                                                               \
    X(FLOAT, correct)                                                                              \
    X(INT, validations)                                                                            \
    X(INT, worse)               /* the last ones that found nothing better */                      \
    X(INT, best_update)         /* where the best model was found; 0: nowhere yet */               \
    X(FLOAT, best)              /* its score; less is better */                                    \
    X(FLOAT, valid_loss)        /* of the last validation */                                       \
    X(FLOAT, valid_bleu)                                                                           \
    X(FLOAT, valid_chrf)

#define PK_TRAIN_STATE_INT int64_t
#define PK_TRAIN_STATE_FLOAT double
#define PK_TRAIN_STATE_FIELD(kind, field) PK_TRAIN_STATE_##kind field;
typedef struct pk_train_state { PK_TRAIN_STATE_MAP(PK_TRAIN_STATE_FIELD) } pk_train_state;

/* writes OUTPUT/checkpoint-UPDATE.safetensors, then removes all but the newest `keep` */
pk_status pk_checkpoint_save(const char *output, const pk_parameters *p, const pk_train_state *s,
                             const pk_recipe *r);
/* reads one file; nothing changes unless all of it is good */
pk_status pk_checkpoint_load(const char *path, pk_parameters *p, pk_train_state *s, const pk_recipe *r);
/* The newest checkpoint of a folder that can be read; those that cannot are named in `said`, a line
 * each. *found: whether there was one at all. Fails where one is there that belongs to another
 * training, or where none can be read. */
pk_status pk_checkpoint_resume(const char *output, pk_parameters *p, pk_train_state *s, const pk_recipe *r,
                               bool *found, pk_buffer *said);
/* the number of checkpoints in a folder; also removes what a killed training left half written */
pk_status pk_checkpoint_count(const char *output, size_t *n);
#endif
