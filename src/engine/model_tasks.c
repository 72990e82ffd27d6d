/* model_tasks.c - what a model was trained for, and the tokens of its tasks: for people, and for
 * strategies that need them. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "engine/model.h"

static const char *needs_of(const pk_strategy *by) { return by->needs ? by->needs : "at"; }

/* a strategy that such a model can be decoded with; NULL: there is none */
static const pk_strategy *strategy_for(const pk_config *c) {
    for (int i = 0; pk_strategies[i]; i++)
        if (pk_config_can(c, needs_of(pk_strategies[i]))) return pk_strategies[i];
    return NULL;
}

pk_status pk_model_check_task(const pk_model *m, const pk_strategy *by) {
    const pk_config *c = &m->data.network.config;
    if (pk_config_can(c, needs_of(by))) return PK_OK;
    const pk_strategy *other = strategy_for(c);
    PK_FAIL(PK_UNSUPPORTED,
            "%s: %s needs a model trained with task %s; this one was trained with %s%s%s", m->path,
            by->name, needs_of(by), pk_config_tasks(c), other ? ": use -d " : "",
            other ? other->name : "");
}

pk_status pk_model_check_drafter_task(const pk_model *m, const pk_strategy *by) {
    const pk_config *c = &m->data.network.config;
    const char      *needs = by->drafter_needs ? by->drafter_needs : "at";
    if (pk_config_can(c, needs)) return PK_OK;
    PK_FAIL(PK_UNSUPPORTED,
            "%s: %s needs a drafter trained with task %s; this one was trained with %s", m->path,
            by->name, needs, pk_config_tasks(c));
}

/* the group that has this token; NULL: none */
static const pk_token_group *group_of(const pk_config *c, int32_t token) {
    for (int32_t i = 0; i < c->n_groups; i++)
        if (token >= c->group[i].first && token < c->group[i].first + c->group[i].count)
            return &c->group[i];
    return NULL;
}

static pk_added_tokens special_at(const pk_model *m, int32_t token) {
    const pk_config      *c = &m->data.network.config;
    const pk_token_group *g = group_of(c, token);
    pk_added_tokens       one = { .first = token, .count = g ? g->count : 1 };
    snprintf(one.name, sizeof one.name, "%s", g ? g->name : pk_model_target_token(m, token));
    if (g) one.group = 1 + (int32_t)(g - c->group);
    return one;
}

pk_status pk_model_added(const pk_model *m, pk_added_tokens **out, int32_t *n) {
    const pk_config *c = &m->data.network.config;
    size_t           room = 0;
    *out = NULL;
    *n = 0;
    const int32_t first = m->vocab ? pk_config_text(c) : c->first_own;
    for (int32_t token = first; token < c->target_vocab;) {
        const pk_added_tokens one = special_at(m, token);
        token += one.count;
        if (strncmp(one.name, PK_UNUSED_TOKEN, strlen(PK_UNUSED_TOKEN)) == 0) continue;
        PK_TRY(PK_RESERVE(out, (size_t)*n + 1, &room)); /* the caller gives it back */
        (*out)[(*n)++] = one;
    }
    return PK_OK;
}

/* a group can have hundreds of tokens: its first and last name it */
static void add_special(const pk_model *m, const pk_added_tokens *one, pk_buffer *json) {
    char        text[96];
    const char *first = pk_model_target_token(m, one->first);
    const char *last = pk_model_target_token(m, one->first + one->count - 1);
    if (one->count == 1)
        snprintf(text, sizeof text, "%s", first);
    else
        snprintf(text, sizeof text, "%.40s to %.40s", first, last);
    pk_config_write_text(json, text);
}

pk_status pk_model_describe_tasks(const pk_model *m, pk_buffer *json) {
    pk_added_tokens *added;
    int32_t          n;
    pk_status        status = pk_model_added(m, &added, &n);
    pk_buffer_add_text(json, "\"tasks\": ");
    pk_config_write_text(json, pk_config_tasks(&m->data.network.config));
    if (n) pk_buffer_add_text(json, ", \"special_tokens\": [");
    for (int32_t i = 0; i < n; i++) {
        if (i) pk_buffer_add_text(json, ", ");
        add_special(m, &added[i], json);
    }
    if (n) pk_buffer_add_text(json, "]");
    pk_memory_give(added);
    return status;
}
