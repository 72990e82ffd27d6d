/* train_pass.h - one lesson through the network on a device, and back.
 *
 * Lessons go to the device through a few blocks in turn: while the device works on one, the host
 * fills the next. Nothing here waits for the device, except for a block that is still in use. */
#ifndef PK_TRAIN_TRAIN_PASS_H
#define PK_TRAIN_TRAIN_PASS_H
#include "task/lesson.h"
#include "train/parameters.h"

/* what the device counts, in its own memory */
typedef struct pk_readings {
    pk_loss_sums sums;
    double       squares;       /* of the last gradient */
    int64_t      skipped;       /* updates */
    int64_t      skipped_again; /* further parts of those */
} pk_readings;

typedef struct pk_lesson_block { /* (host, pinned on a GPU) and its copy; the same on the host */
    void        *host, *device;
    pk_readings *read;   /* what the device counted when it was done with this block */
    int64_t      update; /* the update that `read` belongs to; 0: not asked for */
} pk_lesson_block;

typedef struct pk_pass_limits { /* of any lesson */
    int32_t source_rows, target_rows, sentences, longest_segment;
} pk_pass_limits;

typedef struct pk_output_slice { /* a part of the output layer, and how many answers it has */
    pk_weight table, bias;
    int32_t   classes;
} pk_output_slice;

typedef struct pk_train_pass {
    const pk_backend *on;
    pk_parameters    *p;
    pk_tape          *tape;
    pk_arena          scratch; /* on the device */
    pk_pass_limits    most;
    pk_output_slice   slice[PK_SLICES];
    pk_lesson_block   block[PK_EVENTS];
    int32_t           n_blocks, next; /* block that is filled next */
    size_t            block_bytes;
    pk_readings      *train, *valid; /* on the device */
    int32_t          *best;          /* on the device: answers of the first pass; NULL: one pass */
    int32_t          *best_here, *best_packed; /* in the order of the questions; of the device */
    size_t            bytes;                   /* of the device that this takes */
} pk_train_pass;

typedef struct pk_pass_options {
    const pk_dropout *dropout; /* NULL: none */
    uint64_t          key;
    float             smoothing;
    int32_t           never;   /* see pk_lesson_questions */
    bool              measure; /* no learning: sums of `valid` */
    bool              answers; /* also the model's answers, to best_here; waits */
    pk_tape_done     *done;    /* see pk_tape_backward */
    void             *user;
} pk_pass_options;

/* takes all memory that lessons up to these limits need, found by a dry run */
pk_status pk_train_pass_open(const pk_backend *on, pk_parameters *p, const pk_pass_limits *most,
                             bool two_pass, pk_train_pass *out);
void      pk_train_pass_close(pk_train_pass *t); /* accepts a zeroed one */
/* sends the lesson and computes it */
pk_status pk_train_pass_compute(pk_train_pass *t, const pk_lesson *l, const pk_pass_options *o);
/* The last run's block also brings what the device has counted by now, for this update. Whenever a
 * block is used again, `seen` gets what it brought. */
void              pk_train_pass_record(pk_train_pass *t, int64_t update);
typedef pk_status pk_readings_seen(void *user, const pk_readings *read, int64_t update);
pk_status         pk_train_pass_ready(pk_train_pass *t, pk_readings_seen *seen, void *user);
/* the same for all blocks at once, in order; the device must have been waited for */
pk_status pk_train_pass_drain(pk_train_pass *t, pk_readings_seen *seen, void *user);
/* copies between device and host; wait */
pk_status pk_device_get(const pk_backend *on, void *to, const void *from, size_t bytes);
pk_status pk_device_put(const pk_backend *on, void *to, const void *from, size_t bytes);
#endif
