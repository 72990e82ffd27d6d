/* model.h - an open model: what the file holds, and its vocabulary. Read-only, shared by
 * threads. */
#ifndef PK_ENGINE_MODEL_H
#define PK_ENGINE_MODEL_H
#include "decode/strategy.h"
#include "model/drafter.h"
#include "model/ensemble.h"
#include "model/model_file.h"
#include "vocab/vocab.h"

struct pk_model {
    pk_model_data data;
    pk_vocab     *vocab;      /* NULL: a drafter that shares its model's */
    char         *path;       /* as it was opened, for messages */
    int           asked_type; /* what to compute with, a pk_dtype; -1: as stored */
};

/* PK_IO where a file that is mapped was written to since the model was opened */
pk_status pk_model_check_file(const pk_model *m);

/* model_tasks.c: PK_UNSUPPORTED where the strategy needs another task than it was trained with */
pk_status pk_model_check_task(const pk_model *m, const pk_strategy *by);
pk_status pk_model_check_drafter_task(const pk_model *m, const pk_strategy *by);
/* the tokens of its tasks; given back with pk_memory_give */
pk_status pk_model_added(const pk_model *m, pk_added_tokens **out, int32_t *n);
/* both as members of a JSON object */
pk_status pk_model_describe_tasks(const pk_model *m, pk_buffer *json);

/* Tokens that say which languages are meant; -1: none needed. */
typedef struct pk_language {
    int32_t source_token; /* put before the source */
    int32_t target_token; /* the output must begin with it */
    /* for sentence splitting; "" when unknown */
    char source_code[16], target_code[16];
} pk_language;
/* from, to: ISO codes or the model's own names, or NULL. Refuses what the model does not know. */
pk_status pk_language_choose(const pk_model *m, const char *from, const char *to, pk_language *out);
/* several models as one; refuses those that read or write other tokens than the first */
pk_status pk_models_ensemble(const pk_model *first, const pk_model *const *more, size_t n_more,
                             pk_ensemble *out);
/* A drafter for the model, whose ensemble is nothing to close; refuses one whose tokens are not the
 * model's, with or without others behind them. joined: of one that shares the model's encoder, to be
 * closed in any case. */
pk_status pk_models_drafter(const pk_model *model, const pk_model *drafter, pk_joined *joined,
                            pk_ensemble *out);
/* refuses a drafter that has no encoder of its own, where a model is needed */
pk_status pk_model_check_whole(const pk_model *m);
#endif
