/* task_pass_law_test.c - what can be taught can be asked: a lesson and the pass that asks for the
 * same tokens, positions and views give the same log-probabilities, whatever the layout.
 *
 * Two comparisons, on random layouts and networks. The lesson's rows through the network by the ops
 * of decoding, without a memory of keys: bitwise, on every host backend. The trainer's own pass:
 * bitwise on ref, elsewhere within rounding, since the ops of training sum in another order. */
#include "session_world.h"

#include <math.h>

#include "lesson_asks.h"
#include "train/train_pass.h"

enum { TRIALS = 12, MOST = 14, SENTENCES = 2, MOST_QUESTIONS = SENTENCES * MOST };
/* of networks with tokens of a task: text, then a mask or so, then a group of lengths */
enum { TEXT = 37, LENGTH = 48, N_LENGTHS = 10 };

typedef struct layout { /* of one sentence; input i sees first .. first + count - 1 */
    int32_t n;
    int32_t token[MOST], pos[MOST], first[MOST], count[MOST], target[MOST];
    int32_t slice[MOST]; /* what a question is about: 0 the text, else a group */
    bool    asked[MOST];
} layout;

static uint64_t seed;

static int32_t below(int32_t n) {
    const int32_t x = (int32_t)((tiny_random(&seed) + 1) / 2 * (float)n);
    return x < n ? x : n - 1;
}

static const int32_t  source[] = { 5, 9, 11, 3, 27, 8, 0, 33, 2, 0 };
static const int32_t  first_of[SENTENCES + 1] = { 0, 7, 10 };
static const pk_batch batch = { SENTENCES, source, source, first_of, first_of };

/* ---- layouts ---- */

static int32_t classes_of(const pk_config *c, int32_t slice) {
    return slice ? c->group[slice - 1].count : c->n_text ? c->n_text : c->target_vocab;
}

/* blocks of one to four inputs, each beginning anew or behind the one before */
static void draw_layout(layout *o, const pk_config *c) {
    const int32_t longest = 1 + below(4);
    *o = (layout){ 0 };
    for (int32_t begin = 0; o->n < MOST - 4;) {
        if (below(4) == 0) begin = o->n;
        const int32_t size = 1 + below(longest), end = o->n + size;
        for (; o->n < end; o->n++) {
            const int32_t i = o->n;
            o->token[i] = below(c->target_vocab + 1) - 1, o->pos[i] = below(c->max_target);
            o->first[i] = begin, o->count[i] = end - begin;
            o->asked[i] = i == 0 || below(2), o->slice[i] = c->n_groups ? below(2) : 0;
            o->target[i] = below(classes_of(c, o->slice[i]));
        }
    }
}

static pk_status teach_layout(pk_lesson *l, pk_pair *p) {
    const layout *o = (const layout *)p->options + (p->source != source);
    PK_TRY(pk_lesson_source(l, p->source, p->n_source));
    for (int32_t i = 0; i < o->n; i++)
        PK_TRY(pk_lesson_input(l, o->token[i], o->pos[i], o->first[i], o->count[i], NULL));
    for (int32_t i = 0; i < o->n; i++)
        if (o->asked[i] && o->slice[i])
            PK_TRY(pk_lesson_ask_group(l, i, o->slice[i], o->target[i], 1));
        else if (o->asked[i])
            PK_TRY(pk_lesson_ask(l, i, o->target[i], 1));
    return PK_OK;
}

static void draw_lesson(const pk_config *c, pk_lesson *l) {
    static const pk_task task = { .name = "layout", .teach = teach_layout };
    layout               both[SENTENCES];
    for (int i = 0; i < SENTENCES; i++) draw_layout(&both[i], c);
    const pk_lesson_maker m = { .task = &task,
                                .options = both,
                                .classes = { classes_of(c, 0), c->n_groups ? N_LENGTHS : 0 },
                                .source_tag = -1,
                                .target_tag = -1,
                                .max_source = c->max_source,
                                .max_target = c->max_target };
    ASSERT_OK(pk_lesson_make(l, &m, &batch, NULL));
}

static pk_config draw_config(void) {
    pk_config c = tiny_config();
    c.encoder_layers = 1 + below(2), c.decoder_layers = 1 + below(3);
    c.decoder_heads = 1 << below(3);
    c.pre_norm = c.final_norm = below(2);
    c.embed_norm = below(2);
    c.act = below(2) ? PK_SWISH : PK_RELU;
    if (below(2)) {
        c.source_vocab = c.target_vocab = LENGTH + N_LENGTHS;
        c.n_text = TEXT, c.n_groups = 1;
        c.group[0] = (pk_token_group){ "length", LENGTH, N_LENGTHS };
    }
    return c;
}

/* ---- the session's answers ---- */

static void open_random(world *w, const kind *k) {
    const pk_config c = draw_config();
    *w = (world){ .kind = k };
    ASSERT_OK(tiny_network_open(&c, k->type, seed, &w->tiny));
    ASSERT_OK(open_backend(k, &w->on));
    ASSERT_OK(pk_session_open(&w->tiny.net, &w->on, &limits, &w->s));
}

static void ask_session(world *w, const pk_lesson *l, float *out) {
    pk_ask     ask[SENTENCES][MOST + 1];
    pk_answer  answer[SENTENCES][MOST + 1];
    pk_pass    pass[SENTENCES];
    pk_request request[SENTENCES];
    for (int32_t i = 0; i < SENTENCES; i++) {
        pass[i] = (pk_pass){ .room = MOST, .ask = ask[i], .answer = answer[i] };
        request[i].pass = &pass[i];
        const pk_sentence_tokens text = { source + first_of[i], first_of[i + 1] - first_of[i] };
        ASSERT_OK(pk_session_encode(w->s, &text, 1, &request[i].sentence));
        lesson_asks(l, i, &pass[i]);
    }
    ASSERT_OK(pk_session_decode(w->s, request, SENTENCES));
    for (int32_t i = 0, q = 0; i < SENTENCES; i++)
        for (; q < l->question_segment.id[i + 1]; q++)
            out[q] = answer[i][l->question_row.id[q] - l->segment.id[i] + 1].target_logp[0];
    for (int32_t i = 0; i < SENTENCES; i++) pk_session_forget(w->s, request[i].sentence);
}

/* ---- the lesson's rows by the ops of decoding ---- */

/* the questions about one slice; the others keep what they have */
static void answer_slice(world *w, pk_run *r, const pk_lesson *l, pk_tensor hidden, int32_t slice,
                         float *out) {
    pk_question question[MOST_QUESTIONS];
    pk_scored   top[MOST_QUESTIONS];
    float       sum[MOST_QUESTIONS], score[MOST_QUESTIONS];
    pk_weight   table, bias;
    int32_t     n = 0, which[MOST_QUESTIONS];
    for (int32_t q = 0; q < (int32_t)l->target.n; q++) {
        if (l->slice.id[q] != slice) continue;
        which[n] = q;
        question[n] = (pk_question){
            .row = l->question_row.id[q], .target = q, .n_target = 1, .log_sum = true
        };
        n++;
    }
    if (n == 0) return;
    const pk_answering a = { .n = n,
                             .any_log_sum = true,
                             .question = question,
                             .tokens = l->target.id,
                             .top_stride = 1,
                             .top = top,
                             .log_sum = sum,
                             .target_score = score };
    pk_network_slice(&w->tiny.net, slice, &table, &bias);
    pk_answers(r, hidden, &table, &bias, &a);
    ASSERT_OK(pk_run_status(r));
    for (int32_t i = 0; i < n; i++) out[which[i]] = score[which[i]] - sum[i];
}

static void answer_lesson(world *w, pk_run *r, const pk_lesson *l, pk_tensor hidden, float *out) {
    for (int32_t i = 0; i <= w->tiny.net.config.n_groups; i++)
        answer_slice(w, r, l, hidden, i, out);
}

static void run_lesson(world *w, const pk_lesson *l, float *out) {
    const pk_network *net = &w->tiny.net;
    const pk_backend *on = &w->on;
    const pk_config  *c = &net->config;
    pk_arena          arena = { .size = 1 << 20 };
    pk_lesson_there   t;
    char             *block;
    pk_run            r;
    ASSERT_OK(PK_TAKE(&block, pk_lesson_bytes(l)));
    ASSERT_OK(on->take(on->self, arena.size, (void **)&arena.base));
    pk_lesson_pack(l, c->encoder_heads, c->decoder_heads, block, block, &t);
    pk_run_begin(&r, on, &arena);
    const pk_target target = { .n = t.n_target,
                               .asked = t.n_target,
                               .token = t.token,
                               .pos = t.pos,
                               .self = &t.self,
                               .cross = &t.cross,
                               .source = pk_encode(&r, net, t.source_token, t.source_pos,
                                                   t.n_source, &t.source_self) };
    answer_lesson(w, &r, l, pk_decode(&r, net, &target), out);
    on->give(on->self, arena.base);
    pk_memory_give(block);
}

/* Keys in 16 bits are rounded on their way into a session's memory, so int8 is another matter. */
static void a_lesson_and_its_pass_are_the_same_bits(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        const bool host = strcmp(kinds[k].backend, "cuda") && strcmp(kinds[k].backend, "far");
        if (!host || kinds[k].type == PK_I8) continue;
        seed = 3;
        for (int trial = 0; trial < TRIALS; trial++) {
            world     w;
            pk_lesson l = { 0 };
            float     asked[MOST_QUESTIONS], taught[MOST_QUESTIONS];
            open_random(&w, &kinds[k]);
            draw_lesson(&w.tiny.net.config, &l);
            ask_session(&w, &l, asked);
            run_lesson(&w, &l, taught);
            assert_memory_equal(asked, taught, l.target.n * sizeof *asked);
            pk_lesson_free(&l);
            close_world(&w);
        }
    }
}

/* ---- the trainer's pass ---- */

typedef struct trainer {
    pk_backend    on;
    pk_parameters p;
    pk_train_pass pass;
} trainer;

/* the network of the world, on a backend that learns: the far device computes as ref does */
static void open_trainer(trainer *t, const world *w) {
    const pk_pass_limits        most = { 10, MOST_QUESTIONS, SENTENCES, MOST };
    const pk_parameters_options o = { .learn_positions = true, .learn_output_bias = true };
    const pk_model_data         model = { .network = w->tiny.net };
    const bool                  far = strcmp(w->kind->backend, "far") == 0;
    *t = (trainer){ 0 };
    ASSERT_OK(pk_backend_open(far ? "ref" : w->kind->backend, w->kind->threads, w->kind->arithmetic,
                              &t->on));
    ASSERT_OK(pk_parameters_open(&t->on, &w->tiny.net.config, &o, &t->p));
    ASSERT_OK(pk_parameters_load(&t->p, &model));
    ASSERT_OK(pk_train_pass_open(&t->on, &t->p, &most, false, &t->pass));
}

static void close_trainer(trainer *t) {
    pk_train_pass_close(&t->pass);
    pk_parameters_close(&t->p);
    pk_backend_close(&t->on);
}

/* the loss counts one question at a time, so that each is known by itself */
static void ask_trainer(trainer *t, pk_lesson *l, float *out) {
    const pk_pass_options o = { .never = -1, .measure = true };
    for (size_t q = 0; q < l->target.n; q++) {
        pk_readings read;
        for (size_t i = 0; i < l->target.n; i++) l->weight.value[i] = i == q;
        t->on.train->clear(t->on.self, t->pass.valid, sizeof read);
        ASSERT_OK(pk_train_pass_ready(&t->pass, NULL, NULL));
        ASSERT_OK(pk_train_pass_compute(&t->pass, l, &o));
        ASSERT_OK(pk_device_get(&t->on, &read, t->pass.valid, sizeof read));
        assert_true(read.sums.weight == 1);
        out[q] = -(float)read.sums.nll;
    }
}

static bool can_train(const kind *k) { return k->type != PK_I8 && k->arithmetic != PK_F16; }

typedef struct differences {
    double most, sum;
    size_t n;
} differences;

static differences compare(const kind *k) {
    differences d = { 0 };
    seed = 5;
    for (int trial = 0; trial < TRIALS; trial++) {
        world     w;
        trainer   t;
        pk_lesson l = { 0 };
        float     asked[MOST_QUESTIONS], taught[MOST_QUESTIONS];
        open_random(&w, k);
        open_trainer(&t, &w);
        draw_lesson(&w.tiny.net.config, &l);
        ask_session(&w, &l, asked);
        ask_trainer(&t, &l, taught);
        for (size_t q = 0; q < l.target.n; q++, d.n++) {
            const double one = fabs((double)asked[q] - (double)taught[q]);
            d.most = fmax(d.most, one), d.sum += one;
        }
        pk_lesson_free(&l);
        close_trainer(&t);
        close_world(&w);
    }
    return d;
}

/* 16 bits: the mean alone, which is 0.16 where blocks are asked for as chains */
static void the_trainer_and_the_session_agree(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        if (!can_train(&kinds[k])) continue;
        const differences d = compare(&kinds[k]);
        const bool   ref = !strcmp(kinds[k].backend, "ref") || !strcmp(kinds[k].backend, "far");
        const double near = ref ? 0 : strcmp(kinds[k].backend, "cuda") ? 2e-5 : 1e-3;
        const double mean = d.sum / (double)d.n;
        if (kinds[k].arithmetic == PK_F32 ? d.most > near : mean > 0.08)
            fail_msg("%s: differs by %g, on average %g", kinds[k].backend, d.most, mean);
    }
}

static void on_a_gpu_too(void **state) {
    (void)state;
    if (n_kinds == N_HOST_KINDS) skip(); /* no GPU: the kinds above were the host's */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lesson_and_its_pass_are_the_same_bits),
        cmocka_unit_test(the_trainer_and_the_session_agree),
        cmocka_unit_test(on_a_gpu_too),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
