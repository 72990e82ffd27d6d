/* tasks.c - the list of training tasks: one line each. */
#include <string.h>

#include "task/task_list.h"

static const pk_task *const tasks[] = {
    &pk_task_left_to_right,
    &pk_task_right_to_left,
};
enum { N_TASKS = sizeof tasks / sizeof *tasks };

const pk_task *pk_task_at(size_t i) { return i < N_TASKS ? tasks[i] : NULL; }

const pk_task *pk_task_find(const char *name) {
    for (size_t i = 0; i < N_TASKS; i++)
        if (strcmp(tasks[i]->name, name) == 0) return tasks[i];
    return NULL;
}

static pk_status no_such_task(const char *name) {
    char   known[256] = "";
    size_t at = 0;
    for (size_t i = 0; i < N_TASKS && at + strlen(tasks[i]->name) + 3 < sizeof known; i++) {
        if (at) memcpy(known + at, ", ", 2), at += 2;
        memcpy(known + at, tasks[i]->name, strlen(tasks[i]->name));
        at += strlen(tasks[i]->name);
    }
    PK_FAIL(PK_ARGUMENT, "there is no task \"%.60s\"; there are: %s", name, known);
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
    PK_TRY(pk_memory_take(1, (*task)->options_size + 1, options));
    pk_options_defaults(table, *options);
    const pk_status status = pk_options_parse(table, colon ? colon + 1 : "", name, *options);
    if (status == PK_OK) return PK_OK;
    pk_memory_give(*options);
    *options = NULL;
    return status;
}
