/* length_task.h - a task for tests that has tokens of its own: masked filling with a length.
 *
 * The decoder gets the target with every other token masked, all of which see each other, and in
 * front of it the mask alone, which is asked for the target's length. */
#ifndef PK_TESTS_LENGTH_TASK_H
#define PK_TESTS_LENGTH_TASK_H
#include "task/task.h"

enum { LENGTH_MASK, LENGTH_FIRST, N_LENGTHS = 10 }; /* numbers of its tokens */
extern const pk_task length_task;

/* the model at `from` with the tokens of a task, as a training of it would begin, in a file; text:
 * what the recipe says of the task */
pk_status grow_model(const pk_task *task, const char *from, const char *text, const char *to);
#endif
