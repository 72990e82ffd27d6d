/* samples.h - what several tasks give the decoder: a source, a target from left to right, a target
 * with some of its tokens masked, and the question how long it is. */
#ifndef PK_TASK_SAMPLES_H
#define PK_TASK_SAMPLES_H
#include "task/task.h"

enum { PK_MASK_TOKEN, PK_MOST_LENGTHS = 1024, PK_USUAL_LENGTHS = 256 }; /* a mask is token 0 */

/* the source and its end symbol */
pk_status pk_sample_source(pk_lesson *l, const pk_pair *pair);
/* The first inputs of a sentence: start symbol and target at 0 .. n, each asked for what
 * follows. */
pk_status pk_sample_chain(pk_lesson *l, const pk_pair *pair, bool backwards);

typedef struct pk_masked {
    int32_t first;   /* number of its first input */
    int32_t lengths; /* tokens of the group; 0: the length is not asked for */
    float   weight;  /* of the question for the length, a token's being 1 */
} pk_masked;
/* The length, asked of a mask at 0 that sees itself alone; then the target at 1 .. n, where a
 * random number of tokens are masks and asked for, and the end symbol. All of these see each
 * other. */
pk_status pk_sample_masked(pk_lesson *l, pk_pair *pair, const pk_masked *how);
/* "<length:1>" for i = 0, and so on */
void pk_sample_length_token(int32_t i, pk_task_token *out);
#endif
