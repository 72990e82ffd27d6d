/* task_tokens_test.c - tokens of a task in training: where they lie, tables that grow for them,
 * losses and gradients of questions about the text and about a group, on every host backend. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "backend/list.h"
#include "length_task.h"
#include "model/model_data.h"
#include "task/task_list.h"
#include "tensor/panel.h"
#include "tiny_network.h"
#include "train/start_model.h"
#include "train/train_pass.h"

enum { TEXT = 20, MASK = 32, FIRST = 48, ALL = 58 }; /* 20 pieces, then panels of 16 */

/* ---- the list ---- */

/* a model without weights: pieces "a" to "t" on one list, or on two */
static void make_list(pk_model_data *m, bool apart) {
    static char names[2 * TEXT];
    for (int i = 0; i < TEXT; i++) names[2 * i] = (char)('a' + i);
    *m = (pk_model_data){ .network.config = tiny_config(),
                          .source_tokens = { names, sizeof names } };
    if (apart) m->target_tokens = m->source_tokens;
    pk_config *c = &m->network.config;
    c->source_vocab = c->target_vocab = TEXT;
    if (apart) c->share_embeddings = 0;
}

static void tokens_lie_behind_the_text(void **state) {
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        pk_model_data   m;
        pk_start_tokens found;
        make_list(&m, apart);
        pk_config *c = &m.network.config;
        for (int twice = 0; twice < 2; twice++) { /* what is there is not added again */
            ASSERT_OK(pk_start_tokens_add(&m, &length_task, NULL));
            assert_int_equal(c->n_text, TEXT);
            assert_int_equal(c->target_vocab, ALL);
            assert_int_equal(c->source_vocab, apart ? TEXT : ALL);
            assert_int_equal(c->n_groups, 1);
            assert_string_equal(c->group[0].name, "length");
            assert_int_equal(c->group[0].first, FIRST);
            assert_int_equal(c->group[0].count, N_LENGTHS);
        }
        ASSERT_OK(pk_start_tokens_find(&m, &length_task, NULL, &found));
        assert_int_equal(found.id.n, 1 + N_LENGTHS);
        assert_int_equal(found.id.id[LENGTH_MASK], MASK);
        for (int i = 0; i < N_LENGTHS; i++)
            assert_int_equal(found.id.id[LENGTH_FIRST + i], FIRST + i);
        assert_int_equal(found.group[0], 1);
        const pk_blob list = apart ? m.target_tokens : m.source_tokens;
        assert_int_equal(pk_token_count(list), ALL);
        assert_string_equal((const char *)list.data + 2 * TEXT, "<unused:20>");
        pk_ids_free(&found.id);
        c->group[0].count = 4; /* as if it had been made for fewer lengths */
        memset((char *)(uintptr_t)list.data + list.size - 2, '?', 1);
        ASSERT_STATUS(PK_UNSUPPORTED, pk_start_tokens_add(&m, &length_task, NULL));
        pk_model_data_close(&m);
    }
}

/* ---- passes ---- */

static pk_config config_of(bool grown, bool tied) {
    pk_config c = tiny_config();
    c.source_vocab = c.target_vocab = grown ? ALL : TEXT;
    c.tie_output = c.share_embeddings = tied;
    if (!grown) return c;
    c.n_text = TEXT, c.n_groups = 1;
    c.group[0] = (pk_token_group){ "length", FIRST, N_LENGTHS };
    return c;
}

typedef struct bench {
    pk_backend    on;
    pk_parameters p;
    pk_train_pass pass;
    pk_lesson     lesson;
} bench;

static void open_bench(bench *b, const char *device, const pk_config *c, bool two_pass) {
    const pk_parameters_options o = { .seed = 3, .learn_output_bias = true };
    *b = (bench){ 0 };
    ASSERT_OK(pk_backend_open(device, 1, PK_F32, &b->on));
    ASSERT_OK(pk_parameters_open(&b->on, c, &o, &b->p));
    ASSERT_OK(
        pk_train_pass_open(&b->on, &b->p, &(pk_pass_limits){ 30, 30, 4, 12 }, two_pass, &b->pass));
}

static void close_bench(bench *b) {
    pk_train_pass_close(&b->pass);
    pk_parameters_close(&b->p);
    pk_backend_close(&b->on);
    pk_lesson_free(&b->lesson);
}

static void run(bench *b, const pk_task *task, const pk_pass_options *o) {
    static const int32_t  numbers[] = { 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18 };
    static const int32_t  starts[] = { 0, 4, 9, 11, 14 };
    static const int32_t  token[1 + N_LENGTHS] = { MASK, FIRST };
    static const int32_t  group[] = { 1 };
    const pk_lesson_maker m = { .task = task,
                                .eos = 2,
                                .start = -1,
                                .token = token,
                                .group = group,
                                .classes = { TEXT, N_LENGTHS },
                                .source_tag = -1,
                                .target_tag = -1,
                                .max_source = 48,
                                .max_target = 48 };
    const pk_batch        batch = { 4, numbers, numbers, starts, starts };
    ASSERT_OK(pk_lesson_make(&b->lesson, &m, &batch, NULL));
    ASSERT_OK(pk_train_pass_ready(&b->pass, NULL, NULL));
    ASSERT_OK(pk_train_pass_compute(&b->pass, &b->lesson, o));
    ASSERT_OK(b->on.status(b->on.self));
}

static const pk_parameter *find(const bench *b, const char *name) {
    for (size_t i = 0; i < b->p.n_list; i++)
        if (strcmp(b->p.list[i].name, name) == 0) return &b->p.list[i];
    fail_msg("no weight %s", name);
    return NULL;
}

static double loss_of(bench *b) {
    const pk_pass_options o = { .smoothing = 0.1f, .never = -1, .measure = true };
    *b->pass.valid = (pk_readings){ 0 };
    run(b, &length_task, &o);
    return b->pass.valid->sums.loss;
}

/* by finite differences: rows of text, of the mask and of the group, biases, and a layer below */
static void gradients_are_those_of_the_loss(void **state) {
    static const struct {
        const char *name;
        size_t      at; /* number */
    } some[] = {
        { "source_embed", 7 * 16 + 3 }, { "source_embed", MASK * 16 + 1 },
        { "output", 8 * 16 + 2 },       { "output", FIRST * 16 + 4 },
        { "output", (FIRST + 4) * 16 }, { "output_bias", 9 },
        { "output_bias", FIRST + 3 },   { "decoder.1.up.w", 5 },
        { "encoder.0.qkv.w", 40 },      { "target_embed", MASK * 16 + 1 },
    };
    const pk_pass_options o = { .smoothing = 0.1f, .never = -1 };
    (void)state;
    for (int k = 0; k < 4; k++) {
        const bool      tied = k % 2;
        const pk_config c = config_of(true, tied);
        bench           b;
        open_bench(&b, k < 2 ? "ref" : "cpu", &c, false);
        run(&b, &length_task, &o);
        const double learned = b.pass.train->sums.loss;
        assert_true(fabs(learned - loss_of(&b)) < 1e-6 * learned);
        for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
            const bool table = strcmp(some[i].name, "output") == 0;
            if (tied && strcmp(some[i].name, "target_embed") == 0) continue;
            const pk_parameter *one = find(&b, tied && table ? "source_embed" : some[i].name);
            float              *w = b.p.master + one->first + some[i].at, kept = *w;
            const double        found = (double)b.p.grad[one->first + some[i].at], step = 2e-3;
            *w = (float)(kept + step);
            const double more = loss_of(&b);
            *w = (float)(kept - step);
            const double want = (more - loss_of(&b)) / (2 * step);
            *w = kept;
            if (fabs(found - want) > 0.01 * fabs(want) + 2e-3)
                fail_msg("%s %zu: %g, not %g", some[i].name, some[i].at, found, want);
            if (!tied && i == 1) assert_true(found == 0); /* no source has a mask */
            if (!tied && i > 1) assert_true(found != 0);
        }
        close_bench(&b);
    }
}

/* a model without such tokens learns the same from ordinary questions, bitwise */
static void text_is_learned_as_if_they_were_not_there(void **state) {
    const pk_pass_options o = { .smoothing = 0.1f, .never = -1 };
    (void)state;
    for (int k = 0; k < 4; k++) {
        const pk_config c[2] = { config_of(false, k % 2), config_of(true, k % 2) };
        bench           b[2];
        for (int i = 0; i < 2; i++) open_bench(&b[i], k < 2 ? "ref" : "cpu", &c[i], false);
        for (int i = 0; i < 2; i++) run(&b[i], pk_task_find("at"), &o);
        assert_memory_equal(&b[0].pass.train->sums, &b[1].pass.train->sums, sizeof(pk_loss_sums));
        assert_true(b[0].pass.train->sums.weight == 18);
        for (size_t i = 0; i < b[0].p.n_list; i++) {
            const pk_parameter *x = &b[0].p.list[i], *y = &b[1].p.list[i];
            const size_t        n = (size_t)x->rows * (size_t)x->cols;
            const size_t        all = (size_t)y->rows * (size_t)y->cols;
            if (!x->learned) continue;
            assert_memory_equal(b[0].p.grad + x->first, b[1].p.grad + y->first, n * 4);
            for (size_t j = n; j < all; j++) assert_true(b[1].p.grad[y->first + j] == 0);
        }
        for (int i = 0; i < 2; i++) close_bench(&b[i]);
    }
}

/* answers come in the order of the questions, whatever they are about */
static void a_first_look_at_a_group(void **state) {
    const pk_pass_options look = { .never = -1, .measure = true, .answers = true };
    const pk_config       c = config_of(true, true);
    bench                 b;
    double                right = 0;
    (void)state;
    open_bench(&b, "cpu", &c, true);
    run(&b, &length_task, &look);
    for (size_t i = 0; i < b.lesson.target.n; i++) {
        const bool length = b.lesson.slice.id[i] == 1;
        assert_in_range(b.pass.best_here[i], 0, length ? N_LENGTHS - 1 : TEXT - 1);
        if (b.pass.best_here[i] == b.lesson.target.id[i]) right += (double)b.lesson.weight.value[i];
    }
    assert_true(b.pass.valid->sums.correct == right);
    for (size_t i = 0; i < b.p.n; i++) assert_true(b.p.grad[i] == 0);
    close_bench(&b);
}

static pk_status beyond(pk_lesson *l, pk_pair *p) {
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    PK_TRY(pk_lesson_input(l, 1, 0, 0, 1, NULL));
    return pk_lesson_ask(l, 0, MASK, 1); /* no text */
}

static pk_status too_long(pk_lesson *l, pk_pair *p) {
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    PK_TRY(pk_lesson_input(l, 1, 0, 0, 1, NULL));
    return pk_lesson_ask_group(l, 0, 1, N_LENGTHS, 1);
}

static pk_status no_group(pk_lesson *l, pk_pair *p) {
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    PK_TRY(pk_lesson_input(l, 1, 0, 0, 1, NULL));
    return pk_lesson_ask_group(l, 0, 2, 0, 1);
}

static void answers_that_are_not_there_are_refused(void **state) {
    pk_status (*const teach[])(pk_lesson *, pk_pair *) = { beyond, too_long, no_group };
    static const int32_t word[] = { 5 }, ends[] = { 0, 1 };
    const pk_batch       batch = { 1, word, word, ends, ends };
    pk_lesson            l = { 0 };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const pk_task         task = { .name = "wrong", .teach = teach[i] };
        const pk_lesson_maker m = { .task = &task,
                                    .classes = { TEXT, N_LENGTHS },
                                    .source_tag = -1,
                                    .target_tag = -1,
                                    .max_source = 8,
                                    .max_target = 8 };
        ASSERT_STATUS(PK_ARGUMENT, pk_lesson_make(&l, &m, &batch, NULL));
    }
    pk_lesson_free(&l);
}

/* ---- tables that grow ---- */

/* a loaded model of the text alone; as the trainer has it once its list has grown */
static void tables_grow(void **state) {
    const pk_dtype types[] = { PK_F32, PK_F16 };
    (void)state;
    for (int k = 0; k < 8; k++) {
        pk_config                   c = config_of(false, k % 2), larger;
        tiny_network                t;
        pk_parameters               p, fresh;
        pk_backend                  on;
        const pk_parameters_options o = { .seed = 5, .average = true };
        const bool                  apart = k >= 4;
        if (apart) c.share_embeddings = 0;
        ASSERT_OK(tiny_network_open(&c, types[k / 2 % 2], 9, &t));
        pk_model_data m = { .network = t.net };
        larger = config_of(true, k % 2);
        if (apart) larger.share_embeddings = 0, larger.source_vocab = TEXT;
        m.network.config = larger;
        ASSERT_OK(pk_backend_open("cpu", 1, PK_F32, &on));
        ASSERT_OK(pk_parameters_open(&on, &larger, &o, &p));
        ASSERT_OK(pk_parameters_open(&on, &larger, &o, &fresh));
        ASSERT_OK(pk_parameters_load(&p, &m));
        for (size_t i = 0; i < p.n_list; i++) {
            const pk_parameter *one = &p.list[i];
            const bool          bias = one->role == PK_ROLE_OUTPUT_BIAS;
            const pk_weight    *w = one->role == PK_ROLE_OUTPUT         ? &t.net.output
                                    : bias                              ? &t.net.output_bias
                                    : strcmp(one->name, "source_embed") ? &t.net.target_embed
                                                                        : &t.net.source_embed;
            if (!pk_role_is_table(one->role) && !bias) continue;
            assert_int_equal(one->room_rows % 64, bias);
            for (int32_t row = 0; row < one->room_rows; row++)
                for (int32_t col = 0; col < one->cols; col++) {
                    const size_t at = one->first + (size_t)row * (size_t)one->cols + (size_t)col;
                    const bool   old = row < w->rows && col < w->cols;
                    const float  want = old ? pk_weight_get(w, row, col) : fresh.master[at];
                    assert_memory_equal(&p.master[at], &want, sizeof want);
                    if (at < p.n) assert_memory_equal(&p.average[at], &want, sizeof want);
                    if (row >= one->rows) assert_true(want == 0);
                }
        }
        m.network.config.dim = 16, m.network.target_embed.rows = ALL + 1;
        m.network.source_embed.rows = ALL + 1;
        ASSERT_STATUS(PK_FORMAT, pk_parameters_load(&p, &m)); /* it may not have more */
        pk_parameters_close(&p);
        pk_parameters_close(&fresh);
        pk_backend_close(&on);
        tiny_network_close(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_lie_behind_the_text),
        cmocka_unit_test(gradients_are_those_of_the_loss),
        cmocka_unit_test(text_is_learned_as_if_they_were_not_there),
        cmocka_unit_test(a_first_look_at_a_group),
        cmocka_unit_test(answers_that_are_not_there_are_refused),
        cmocka_unit_test(tables_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
