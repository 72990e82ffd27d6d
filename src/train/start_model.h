/* start_model.h - what a training begins with: configuration and vocabulary, from the recipe or
 * from a model to go on from, and then also weights. */
#ifndef PK_TRAIN_START_MODEL_H
#define PK_TRAIN_START_MODEL_H
#include "base/ids.h"
#include "model/model_file.h"
#include "recipe/recipe.h"
#include "task/task.h"
#include "vocab/vocab.h"

/* With `init` or `verifier` in the recipe everything comes from that model. Else only configuration and
 * vocabulary are there: weights come from pk_parameters_open(). */
pk_status pk_start_model_open(const pk_recipe *r, const pk_task *task, const void *options,
                              pk_model_data *out);

/* start_tokens.c: tokens that the task needs and the model lacks are added behind its others. Only
 * configuration and list grow: weights as they were loaded have fewer rows then. */
pk_status pk_start_tokens_add(pk_model_data *m, const pk_task *task, const void *options);
/* the same for the tags of languages, ">>de<<": part of the source, never output */
pk_status pk_start_languages_add(pk_model_data *m, const pk_texts *languages);
typedef struct pk_start_tokens { /* as pk_pair has them */
    pk_ids  id;
    int32_t group[PK_MOST_GROUPS];
} pk_start_tokens;
/* where they are; ids are given back with pk_ids_free */
pk_status pk_start_tokens_find(pk_model_data *m, const pk_task *task, const void *options,
                               pk_start_tokens *out);
/* the vocabulary of a model; it borrows from the model */
pk_status pk_start_vocab_open(const pk_model_data *m, pk_vocab **out);
/* the language tokens of a model of several languages; -1 where it needs none */
pk_status pk_start_tags(const pk_model_data *m, const pk_vocab *v, const pk_recipe *r,
                        int32_t *source, int32_t *target);
#endif
