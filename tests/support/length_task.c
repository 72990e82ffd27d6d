/* length_task.c - tokens "<mask>" and "<length:1>" to "<length:10>", and lessons with both. */
#include "length_task.h"

#include <stdio.h>

#include "backend/list.h"
#include "train/parameters.h"
#include "train/start_model.h"

static bool tokens(const void *options, int32_t i, pk_task_token *out) {
    (void)options;
    *out = (pk_task_token){ .name = "<mask>" };
    if (i == LENGTH_MASK) return true;
    out->group = "length";
    snprintf(out->name, sizeof out->name, "<length:%d>", i);
    return i < LENGTH_FIRST + N_LENGTHS;
}

static pk_status teach(pk_lesson *l, pk_pair *p) {
    const int32_t mask = p->token[LENGTH_MASK], n = p->n_target;
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    PK_TRY(pk_lesson_source(l, &p->eos, 1));
    PK_TRY(pk_lesson_input(l, mask, 0, 0, 1, NULL));
    PK_TRY(pk_lesson_ask_group(l, 0, p->group[0], n - 1, 0.5f));
    for (int32_t i = 0; i < n; i++) {
        PK_TRY(pk_lesson_input(l, i % 2 ? p->target[i] : mask, i + 1, 1, n, NULL));
        if (i % 2 == 0) PK_TRY(pk_lesson_ask(l, i + 1, p->target[i], 1));
    }
    return PK_OK;
}

static const char *also(const void *options) {
    (void)options;
    return "at";
}

const pk_task length_task = {
    .name = "lengths",
    .help = "masked filling with a length, for tests",
    .tokens = tokens,
    .also = also,
    .teach = teach,
};

static pk_status grow(pk_model_data *m, const pk_backend *on, pk_parameters *p, const char *to) {
    const pk_parameters_options o = { .seed = 3 };
    pk_model_data               grown;
    PK_TRY(pk_parameters_open(on, &m->network.config, &o, p));
    PK_TRY(pk_parameters_load(p, m));
    PK_TRY(pk_parameters_model(p, m, false, PK_F32, &grown));
    const pk_status status = pk_model_data_save(&grown, to);
    pk_model_data_close(&grown);
    return status;
}

pk_status grow_model(const pk_task *task, const char *from, const char *text, const char *to) {
    pk_recipe     r = { .init = (char *)(uintptr_t)from,
                        .verifier = (char *)(uintptr_t) "",
                        .vocab = (char *)(uintptr_t) "",
                        .task = (char *)(uintptr_t)text };
    pk_model_data m;
    pk_backend    on = { 0 };
    pk_parameters p = { 0 };
    PK_TRY(pk_start_model_open(&r, task, NULL, &m));
    pk_status status = pk_backend_open("cpu", 1, PK_F32, &on);
    if (status == PK_OK) status = grow(&m, &on, &p, to);
    pk_parameters_close(&p);
    pk_backend_close(&on);
    pk_model_data_close(&m);
    return status;
}
