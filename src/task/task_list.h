/* task_list.h - every task there is, and reading "name:option=value,..." of a recipe. */
#ifndef PK_TASK_TASK_LIST_H
#define PK_TASK_TASK_LIST_H
#include "base/memory.h"
#include "task/task.h"

extern const pk_task pk_task_left_to_right, pk_task_right_to_left;
extern const pk_task pk_task_cmlm;
extern const pk_task pk_task_hrt;
extern const pk_task pk_task_markov, pk_task_nat;
extern const pk_task pk_task_pairs, pk_task_pairs_left_to_right, pk_task_pairs_right_to_left;
extern const pk_task pk_task_gad, pk_task_gad_self;

/* *options: the task's own, given back with pk_memory_give */
pk_status pk_task_parse(const char *text, const pk_task **task, void **options);
#endif
