/* trainer.h - within the trainer: a recipe at work. The public face is in pronk.h. */
#ifndef PK_TRAIN_TRAINER_H
#define PK_TRAIN_TRAINER_H
#include "data/loader.h"
#include "ranks/ranks.h"
#include "train/checkpoint.h"
#include "train/schedule.h"
#include "train/start_model.h"
#include "train/train_log.h"
#include "train/train_pass.h"

#define PK_BEST_MODEL  "best.pronk"  /* by validation */
#define PK_VALID_MODEL "valid.pronk" /* while validation translates */

struct pk_trainer {
    pk_recipe          recipe;
    pk_trainer_options opt;
    pk_schedule        schedule;
    pk_ranks           ranks;
    pk_backend         on;
    char               device[32];
    int32_t            threads;
    int                lock; /* of the output folder, with rank 0; -1: none */

    const pk_task  *task;
    void           *task_options;
    pk_model_data   start; /* vocabulary and configuration */
    pk_start_tokens own;   /* the task's own */
    pk_vocab       *vocab;
    pk_loader      *loader, *valid; /* valid: NULL where there is no validation */
    pk_lesson_maker maker;
    pk_lesson       lesson;
    pk_parameters   p;
    pk_train_pass   pass;
    pk_dropout      dropout;
    int32_t         never; /* token that the model never outputs: no class of the loss; -1: none */

    pk_train_state state;
    double         since;  /* the clock when seconds were last added; 0: the clock is stopped */
    int64_t        tokens; /* source and target rows since the last report, of this rank */
    double         tokens_since; /* seconds trained when tokens were 0 */
    double         total;        /* weight of the last update's questions */
    pk_train_log  *log;          /* of rank 0 */
    pk_buffer      text;         /* report for people */
    bool           over;         /* no update is left; known to all ranks alike */
    bool           done;         /* and the model is written */
    bool           logged;       /* the log has what this step learned */
    bool           failed;       /* here: other ranks must not wait for us */

    pk_train_report last; /* what was last reported */
};

/* trainer_update.c: one update, and what the device counted meanwhile */
pk_status pk_trainer_update(pk_trainer *t);
void      pk_trainer_count_time(pk_trainer *t);
/* copies the device's sums to t->state; waits. begin: also reports them and sets them to zero */
pk_status pk_trainer_read(pk_trainer *t, bool begin);
/* a key for all randomness of a part of an update; what: 0 dropout, 1 task */
uint64_t pk_trainer_key(const pk_trainer *t, int64_t update, int64_t part, int what);

/* validation.c: loss and, if asked for, BLEU and chrF of the present model, to t->state */
pk_status pk_trainer_validate(pk_trainer *t);
/* before the first update: whether translations can be made as the recipe asks */
pk_status pk_trainer_check_validation(pk_trainer *t);
/* trained_model.c: the model as it is, in a file of the output folder, with its provenance */
pk_status pk_trainer_write_model(pk_trainer *t, const char *name, pk_dtype type);
/* trainer_outputs.c: PK_ARGUMENT where a file that will be written is one that is read */
pk_status pk_trainer_check_outputs(const pk_trainer *t, const char *recipe);
/* OUTPUT/name; given back with pk_memory_give */
pk_status pk_trainer_path(const pk_trainer *t, const char *name, char **out);
pk_dtype  pk_trainer_save_type(const pk_trainer *t);
#endif
