/* start_tokens.c - a task's own tokens, and tags of languages, behind those of the text.
 *
 * The list of target tokens is: text, then tokens of tasks; the first of these and each group begin
 * at a multiple of PK_PANEL rows, so that a group is a whole number of panels. A model that has a
 * token keeps it; what it lacks is added at the end, and its tables grow when they are loaded
 * (parameters_model.c). Where one list serves both sides, the source's table grows with it. */
#include <stdio.h>
#include <string.h>

#include "model/model_data.h"
#include "tensor/panel.h"
#include "train/start_model.h"
#include "vocab/token_list.h"

enum { MOST_LANGUAGE = 20 };

typedef struct growing { /* a list of tokens that becomes longer */
    pk_config    *c;
    pk_token_list old;
    pk_buffer     names; /* of all */
    int32_t       text, n;
} growing;

static pk_blob *target_list(pk_model_data *m) {
    return m->target_tokens.size ? &m->target_tokens : &m->source_tokens;
}

/* among those behind the text: a piece of text may have the same name; -1: none */
static int32_t find_token(const pk_token_list *list, int32_t text, const char *name) {
    for (int32_t id = text; id < list->n; id++)
        if (strcmp(pk_token_list_name(list, id), name) == 0) return id;
    return -1;
}

static int32_t find_group(const pk_config *c, const char *name) {
    for (int32_t i = 0; i < c->n_groups; i++)
        if (strcmp(c->group[i].name, name) == 0) return i;
    return -1;
}

static void add_name(growing *g, const char *name) {
    pk_buffer_add(&g->names, name, strlen(name) + 1); /* with its NUL */
    g->n++;
}

static void fill_panel(growing *g) {
    char name[32];
    while (g->n % PK_PANEL) {
        snprintf(name, sizeof name, PK_UNUSED_TOKEN "%d>", g->n);
        add_name(g, name);
    }
}

/* from a multiple of PK_PANEL rows on, so that a group can be multiplied by itself */
static pk_status begin_group(growing *g, const char *name) {
    pk_config *c = g->c;
    if (c->n_groups == PK_MOST_GROUPS || strlen(name) >= sizeof c->group->name)
        PK_FAIL(PK_UNSUPPORTED, "no room for a group of tokens \"%s\": a model has %d at most",
                name, PK_MOST_GROUPS);
    fill_panel(g);
    pk_token_group *group = &c->group[c->n_groups++];
    *group = (pk_token_group){ .first = g->n };
    memcpy(group->name, name, strlen(name) + 1);
    return PK_OK;
}

/* A token that the model has is kept. A group must stay in one piece, so it cannot grow once other
 * tokens follow it, or in a model that was opened with it. */
static pk_status add_token(growing *g, const pk_task_token *token) {
    const char *group = token->group;
    if (find_token(&g->old, g->text, token->name) >= 0) return PK_OK;
    if (g->n == g->text) fill_panel(g);
    if (group && find_group(g->c, group) < 0) PK_TRY(begin_group(g, group));
    if (group) {
        pk_token_group *in = &g->c->group[find_group(g->c, group)];
        if (in->first + in->count != g->n || in->first < g->old.n)
            PK_FAIL(PK_UNSUPPORTED,
                    "the model has %d tokens of the group \"%s\", and \"%s\" is not"
                    " among them",
                    in->count, group, token->name);
        in->count++;
    }
    add_name(g, token->name);
    return PK_OK;
}

typedef struct task_tokens {
    const pk_task *task;
    const void    *options;
} task_tokens;

static pk_status add_task(growing *g, const void *user) {
    const task_tokens *of = user;
    pk_task_token      token;
    for (int32_t i = 0; of->task->tokens(of->options, i, &token); i++) PK_TRY(add_token(g, &token));
    return PK_OK;
}

/* a tag may also be one of the text's tokens, as in OPUS-MT's models of several languages */
static pk_status add_languages(growing *g, const void *user) {
    const pk_texts *languages = user;
    for (size_t i = 0; i < languages->n; i++) {
        pk_task_token tag = { .group = NULL };
        bool          again = false;
        for (size_t j = 0; j < i; j++) again |= strcmp(languages->item[i], languages->item[j]) == 0;
        if (strlen(languages->item[i]) > MOST_LANGUAGE)
            PK_FAIL(PK_ARGUMENT, "data.to: \"%s\" is too long for a language", languages->item[i]);
        snprintf(tag.name, sizeof tag.name, ">>%.*s<<", MOST_LANGUAGE, languages->item[i]);
        if (!again && pk_token_list_find(&g->old, tag.name, strlen(tag.name)) < 0)
            PK_TRY(add_token(g, &tag));
    }
    return PK_OK;
}

/* `add` names what is added to the list of target tokens */
static pk_status grow(pk_model_data *m, pk_status (*add)(growing *, const void *),
                      const void    *user) {
    pk_config *c = &m->network.config;
    pk_blob   *list = target_list(m);
    growing    g = { .c = c };
    PK_TRY(pk_token_list_open(list->data, list->size, &g.old));
    g.n = g.old.n;
    g.text = pk_config_text(c);
    pk_buffer_add(&g.names, list->data, list->size);
    pk_status status = add(&g, user);
    if (status == PK_OK) status = pk_buffer_status(&g.names);
    if (status == PK_OK && g.n > g.old.n) {
        status = pk_model_data_copy(m, g.names.data, g.names.size, list);
        c->n_text = g.text;
        c->target_vocab = g.n;
        if (list == &m->source_tokens) c->source_vocab = g.n;
    }
    pk_buffer_free(&g.names);
    pk_token_list_close(&g.old);
    return status == PK_OK ? pk_config_check(c) : status;
}

pk_status pk_start_tokens_add(pk_model_data *m, const pk_task *task, const void *options) {
    return task->tokens ? grow(m, add_task, &(task_tokens){ task, options }) : PK_OK;
}

pk_status pk_start_languages_add(pk_model_data *m, const pk_texts *languages) {
    if (languages->n == 0) return PK_OK;
    if (m->network.config.family != PK_MARIAN)
        PK_FAIL(PK_UNSUPPORTED,
                "this model has languages of its own: give from and to, not data.to");
    if (m->target_tokens.size)
        PK_FAIL(PK_UNSUPPORTED, "data.to needs one vocabulary for both sides");
    return grow(m, add_languages, languages);
}

static pk_status find_all(const pk_model_data *m, const pk_token_list *list, const pk_task *task,
                          const void *options, pk_start_tokens *out) {
    const pk_config *c = &m->network.config;
    pk_task_token    token;
    const char      *last = NULL;
    int32_t          n_groups = 0;
    for (int32_t i = 0; task->tokens(options, i, &token); i++) {
        PK_TRY(pk_ids_add(&out->id, find_token(list, pk_config_text(c), token.name)));
        if (token.group && (!last || strcmp(last, token.group) != 0) && n_groups < PK_MOST_GROUPS)
            out->group[n_groups++] = 1 + find_group(c, token.group);
        last = token.group;
    }
    return PK_OK;
}

pk_status pk_start_tokens_find(pk_model_data *m, const pk_task *task, const void *options,
                               pk_start_tokens *out) {
    const pk_blob *names = target_list(m);
    pk_token_list  list;
    *out = (pk_start_tokens){ 0 };
    if (!task->tokens) return PK_OK;
    PK_TRY(pk_token_list_open(names->data, names->size, &list));
    const pk_status status = find_all(m, &list, task, options, out);
    pk_token_list_close(&list);
    return status;
}
