/* length_task.h - a task for tests that has tokens of its own: masked filling with a length.
 *
 * The decoder gets the target with every other token masked, all of which see each other, and in
 * front of it the mask alone, which is asked for the target's length. */
#ifndef PK_TESTS_LENGTH_TASK_H
#define PK_TESTS_LENGTH_TASK_H
#include "task/task.h"

enum { LENGTH_MASK, LENGTH_FIRST, N_LENGTHS = 10 }; /* numbers of its tokens */
extern const pk_task length_task;
#endif
