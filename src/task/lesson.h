/* lesson.h - a batch as a task taught it: what goes through the network, in arrays ready to be
 * copied to the device. Filled through the functions in task.h. */
#ifndef PK_TASK_LESSON_H
#define PK_TASK_LESSON_H
#include "base/ids.h"
#include "data/batch.h"
#include "task/task.h"
#include "tensor/backend.h"

typedef struct pk_floats {
    float *value;
    size_t n, room;
} pk_floats;

struct pk_lesson {
    pk_ids    source_token, source_pos, source_segment; /* rows of the encoder; (sentences + 1) */
    pk_ids    token, pos, first, count, segment; /* rows of the decoder; first: absolute row */
    pk_ids    question_row, target, slice;       /* questions; row: absolute; slice: see types.h */
    pk_ids    question_segment;                  /* (sentences + 1) */
    pk_ids    tagged;                            /* scratch: a target with its tag */
    pk_floats weight;
    int32_t   classes[PK_SLICES];             /* possible answers to a question */
    double    total;                          /* sum of weights */
    int32_t   longest_source, longest_target; /* rows of the longest sentence */
};

typedef struct pk_lesson_maker {
    const pk_task *task;
    const void    *options; /* the task's own */
    int32_t        eos, start;
    const int32_t *token, *group;          /* the task's own, see pk_pair; NULL: it has none */
    int32_t        classes[PK_SLICES];     /* of the text, of each group; 0: not known, none */
    int32_t        source_tag, target_tag; /* put before each sentence; -1: none */
    int32_t        max_source, max_target; /* positions there are */
    uint64_t       key;                    /* of this batch: seed, update and part, mixed */
    double         share;                  /* of the training that is done */
} pk_lesson_maker;

/* the lesson of a batch; memory is reused. predicted: answers to the questions of the first pass,
 * which is what the lesson holds at the call; or NULL */
pk_status pk_lesson_make(pk_lesson *l, const pk_lesson_maker *m, const pk_batch *batch,
                         const int32_t *predicted);
void      pk_lesson_free(pk_lesson *l);

typedef struct pk_lesson_asked { /* the questions about one slice of the output table */
    int32_t        n;
    const int32_t *row; /* NULL where question i is row i */
    const int32_t *target;
    const float   *weight;
} pk_lesson_asked;

/* the same on the device */
typedef struct pk_lesson_there {
    const int32_t  *source_token, *source_pos, *token, *pos;
    pk_attention    source_self, self, cross; /* with segments */
    pk_lesson_asked asked[PK_SLICES];
    int32_t         n_source, n_target;
} pk_lesson_there;
/* bytes of one block that holds everything; then writes that block (host memory, pinned on a GPU)
 * and says where things lie once it is copied to `device` */
size_t pk_lesson_bytes(const pk_lesson *l);
/* the same for a lesson of so many rows; as many questions as decoder rows */
size_t pk_lesson_bytes_most(int32_t source_rows, int32_t target_rows, int32_t sentences);
void   pk_lesson_pack(const pk_lesson *l, int32_t encoder_heads, int32_t decoder_heads, void *block,
                      void *device, pk_lesson_there *out);
/* answers as the packed questions have them, slice after slice, in the order of the questions */
void pk_lesson_sort_answers(const pk_lesson *l, const int32_t *packed, int32_t *out);
#endif
