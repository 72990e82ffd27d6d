/* tasks.c - the list of training tasks: one line each. */
#include <string.h>

#include "task/task_list.h"

// clang-format off
static const pk_task *const tasks[] = {
    &pk_task_left_to_right,
    &pk_task_right_to_left,
    &pk_task_cmlm,
    &pk_task_hrt,
    &pk_task_markov,
    &pk_task_nat,
    &pk_task_pairs,
    &pk_task_pairs_left_to_right,
    &pk_task_pairs_right_to_left,
    &pk_task_gad,
    &pk_task_gad_self,
};
// clang-format on
enum { N_TASKS = sizeof tasks / sizeof *tasks };

const pk_task *pk_task_at(size_t i) { return i < N_TASKS ? tasks[i] : NULL; }

const pk_task *pk_task_find(const char *name) {
    for (size_t i = 0; i < N_TASKS; i++)
        if (strcmp(tasks[i]->name, name) == 0) return tasks[i];
    return NULL;
}

/* in two lines: the page of a recipe's keys, which this is part of, is narrow */
static void describe_option(const pk_option *o, pk_buffer *out) {
    pk_buffer_print(out, "    %s=", o->name);
    pk_option_print_range(o, out);
    pk_option_print_default(o, out);
    pk_buffer_print(out, "\n        %s\n", o->help);
}

void pk_tasks_help(pk_buffer *out) {
    for (size_t i = 0; i < N_TASKS; i++) {
        pk_buffer_print(out, "%s  %s\n", tasks[i]->name, tasks[i]->help);
        for (const pk_option *o = tasks[i]->table; o && o->name; o++) describe_option(o, out);
    }
}

static pk_status no_such_task(const char *name) {
    pk_buffer known = { 0 };
    for (size_t i = 0; i < N_TASKS; i++)
        pk_buffer_print(&known, "%s%s", i ? ", " : "", tasks[i]->name);
    const pk_status status = pk_fail_with(PK_ARGUMENT, "there is no task \"%.60s\"; there are: %s",
                                          name, known.data ? known.data : "at");
    pk_buffer_free(&known);
    return status;
}

static const pk_option no_options[] = { { 0 } };

pk_status pk_task_parse(const char *text, const pk_task **task, void **options) {
    char         name[64];
    const char  *colon = strchr(text, ':');
    const size_t n = colon ? (size_t)(colon - text) : strlen(text);
    *options = NULL;
    if (n >= sizeof name) return no_such_task(text);
    memcpy(name, text, n);
    name[n] = '\0';
    *task = pk_task_find(name);
    if (!*task) return no_such_task(name);
    const pk_option *table = (*task)->table ? (*task)->table : no_options;
    PK_TRY(pk_options_make(table, (*task)->options_size, colon ? colon + 1 : "", name, options));
    const pk_status status = (*task)->check ? (*task)->check(*options) : PK_OK;
    if (status != PK_OK) {
        pk_memory_give(*options);
        *options = NULL;
    }
    return status;
}
