/* networks_test.c - a model and its drafter in one session: each answers as it would alone, bit by
 * bit, whatever passes and commits lie in between; an encoder that both share is one that each has.
 * On random networks, for every backend and type. */
#include "session_world.h"

enum { MODEL, DRAFTER, N_MODELS, STEPS = 6, TOP = 2, MOST = 40 };

/* what the passes of a small session came to */
typedef struct record {
    pk_candidate top[MOST][TOP];
    float        log_sum[MOST], attention[MOST][8];
    int32_t      n;
} record;

static void add_answer(record *r, const pk_answer *x, int32_t n_source) {
    assert_true(r->n < MOST);
    memcpy(r->top[r->n], x->top, sizeof r->top[0]);
    memcpy(r->attention[r->n], x->attention, (size_t)n_source * sizeof(float));
    r->log_sum[r->n++] = x->log_sum;
}

static void assert_same(const record *a, const record *b) {
    assert_true(a->n > 0);
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a, b, sizeof *a);
}

static pk_config drafter_config(void) { /* narrower, shallower, with a few tokens more */
    pk_config c = tiny_config();
    c.share_embeddings = false;
    c.target_vocab = 45;
    c.dim = 8;
    c.decoder_layers = 1;
    c.n_suppressed = 2;
    c.suppressed[0] = 42, c.suppressed[1] = 17;
    return c;
}

static pk_session_limits drafter_limits(void) {
    pk_session_limits max = limits;
    max.hypotheses = 2, max.asks = 20, max.slots = 50, max.top_k = 3, max.listed = 300;
    return max;
}

typedef struct pair {
    tiny_network tiny[N_MODELS];
    world        w; /* its session is over both */
} pair;

/* shortlist: room for tokens of a list, on each; 0: there are none */
static pk_status open_with_lists(pair *p, const pk_backend *on, bool shares_encoder,
                                 const int32_t *shortlist, pk_session **out) {
    pk_ensemble      all[N_MODELS];
    pk_session_model model[N_MODELS] = { { .max = limits }, { .max = drafter_limits() } };
    for (int i = 0; i < N_MODELS; i++) model[i].max.shortlist = shortlist[i];
    for (int i = 0; i < N_MODELS; i++) {
        all[i] = pk_ensemble_alone(&p->tiny[i].net);
        model[i].all = &all[i];
    }
    model[DRAFTER].shares_encoder = shares_encoder;
    return pk_session_open_models(model, N_MODELS, on, out);
}

static pk_status open_both(pair *p, const pk_backend *on, bool shares_encoder, pk_session **out) {
    return open_with_lists(p, on, shares_encoder, (int32_t[N_MODELS]){ 0 }, out);
}

static void open_networks(pair *p, const kind *k, const pk_config *drafter) {
    const pk_config c = tiny_config();
    memset(p, 0, sizeof *p);
    p->w.kind = k;
    ASSERT_OK(tiny_network_open(&c, k->type, 7, &p->tiny[MODEL]));
    ASSERT_OK(tiny_network_open(drafter, k->type, 31, &p->tiny[DRAFTER]));
    ASSERT_OK(open_backend(k, &p->w.on));
}

static void close_networks(pair *p) {
    pk_backend_close(&p->w.on);
    for (int i = 0; i < N_MODELS; i++) tiny_network_close(&p->tiny[i]);
}

static void close_session(pk_session *s) {
    for (int32_t i = 0; i < pk_session_models(s); i++) {
        const pk_session *one = pk_session_model_part(s, i);
        assert_int_equal(pk_session_free_slots(one), pk_session_max(one)->slots);
    }
    assert_int_equal(pk_session_free_source(s), limits.source_tokens);
    assert_int_equal(pk_session_free_sentences(s), limits.sentences);
    pk_session_close(s);
}

/* asks a network for n tokens in a chain behind a sentence's history, and keeps the first `kept` */
static void step(world *w, int32_t model, int32_t sentence, const int32_t *token, int32_t n,
                 int32_t pos, int32_t kept, record *out) {
    pk_pass    p = new_pass(w);
    pk_verdict v = { .room = 8, .tip = w->tips };
    p.model = model;
    for (int32_t i = 0; i < n; i++)
        pk_ask_add(&p, (pk_ask){ .token = token[i],
                                 .pos = pos + i,
                                 .parent = i,
                                 .top_k = TOP,
                                 .logp = true,
                                 .attention = true });
    ASSERT_OK(pk_session_decode(w->s, &(pk_request){ sentence, &p }, 1));
    for (int32_t i = 1; i <= n; i++) add_answer(out, &w->answer[i], 3);
    if (kept)
        pk_keep(&v, kept);
    else
        pk_keep_hypothesis(&v, 0);
    pk_session_commit(w->s, sentence, &v);
}

/* sentences on the networks whose bit is set, their steps in turn; out[model] has the answers.
 * drafter: its number in the session */
static void decode_in_turn(world *w, unsigned which, int32_t drafter, record *out) {
    int32_t id[2];
    memset(out, 0, N_MODELS * sizeof *out);
    ASSERT_OK(pk_session_encode(w->s, sources, 2, id));
    for (int32_t i = 0; i < STEPS; i++) {
        for (int32_t k = 0; k < 2; k++) {
            if (which & 1u << MODEL) step(w, 0, id[k], &words[i], 2, i, 1 - (i == 2), &out[MODEL]);
            if (which & 1u << DRAFTER) step(w, drafter, id[k], &words[1], 1, i, 1, &out[DRAFTER]);
        }
        if (i != 3) continue;
        pk_session_forget(w->s, id[0]);
        ASSERT_OK(pk_session_encode(w->s, &sources[2], 1, &id[0]));
    }
    pk_session_forget(w->s, id[0]);
    pk_session_forget(w->s, id[1]);
}

static void each_network_answers_as_it_does_alone(void **state) {
    const pk_config c = drafter_config();
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        pair                    p;
        record                  alone[N_MODELS], ignored[N_MODELS], both[N_MODELS];
        const pk_session_limits max = drafter_limits();
        open_networks(&p, &kinds[k], &c);
        ASSERT_OK(pk_session_open(&p.tiny[MODEL].net, &p.w.on, &limits, &p.w.s));
        decode_in_turn(&p.w, 1u << MODEL, 0, alone);
        close_session(p.w.s);
        pk_backend_close(&p.w.on); /* what it recorded is of that session */
        ASSERT_OK(open_backend(&kinds[k], &p.w.on));
        ASSERT_OK(pk_session_open(&p.tiny[DRAFTER].net, &p.w.on, &max, &p.w.s));
        decode_in_turn(&p.w, 1u << DRAFTER, 0, ignored);
        alone[DRAFTER] = ignored[DRAFTER];
        close_session(p.w.s);
        pk_backend_close(&p.w.on);
        ASSERT_OK(open_backend(&kinds[k], &p.w.on));
        ASSERT_OK(open_both(&p, &p.w.on, false, &p.w.s));
        decode_in_turn(&p.w, 3, DRAFTER, both);
        assert_same(&both[MODEL], &alone[MODEL]);
        assert_same(&both[DRAFTER], &alone[DRAFTER]);
        decode_in_turn(&p.w, 1u << MODEL, 0, both); /* the drafter's presence alone */
        assert_same(&both[MODEL], &alone[MODEL]);
        close_session(p.w.s);
        close_networks(&p);
    }
}

/* the slots of one are not the other's, nor are its hypotheses */
static void histories_are_independent(void **state) {
    const pk_config c = drafter_config();
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        pair       p;
        int32_t    id;
        record     r = { .n = 0 };
        pk_verdict v = { .room = 8, .tip = p.w.tips };
        open_networks(&p, &kinds[k], &c);
        ASSERT_OK(open_both(&p, &p.w.on, false, &p.w.s));
        const pk_session *drafts = pk_session_model_part(p.w.s, DRAFTER);
        assert_ptr_equal(pk_session_model_part(p.w.s, MODEL), p.w.s);
        ASSERT_OK(pk_session_encode(p.w.s, sources, 1, &id));
        step(&p.w, DRAFTER, id, words, 4, 0, 3, &r);
        assert_int_equal(pk_session_free_slots(p.w.s), limits.slots);
        assert_int_equal(pk_session_free_slots(drafts), drafter_limits().slots - 3);
        pk_pass pass = new_pass(&p.w); /* two of the model; the drafter keeps its one */
        pk_ask_add(&pass, (pk_ask){ .token = 4, .top_k = 1 });
        ASSERT_OK(pk_session_decode(p.w.s, &(pk_request){ id, &pass }, 1));
        pk_keep(&v, 1), pk_keep(&v, 1);
        pk_session_commit(p.w.s, id, &v);
        pass.ask[1].hypothesis = 1;
        pass.model = DRAFTER;
        ASSERT_STATUS(PK_ARGUMENT, pk_session_decode(p.w.s, &(pk_request){ id, &pass }, 1));
        pass.model = MODEL;
        ASSERT_OK(pk_session_decode(p.w.s, &(pk_request){ id, &pass }, 1));
        pk_session_forget(p.w.s, id);
        close_session(p.w.s);
        close_networks(&p);
    }
}

/* what both networks say of two sentences, which keep their histories */
static void ask_both(world *w, const int32_t *id, record out[N_MODELS][2]) {
    memset(out, 0, N_MODELS * sizeof *out);
    for (int32_t k = 0; k < 2; k++)
        for (int32_t i = 0; i < N_MODELS; i++) step(w, i, id[k], words, 4, 0, 0, &out[i][k]);
}

static bool is_listed(const int32_t *list, int32_t n, const record *r) {
    bool all = true;
    for (int32_t i = 0; i < r->n; i++)
        for (int32_t k = 0; k < TOP; k++) {
            bool found = false;
            for (int32_t j = 0; j < n; j++) found |= list[j] == r->top[i][k].token;
            all = all && found;
        }
    return all;
}

/* of the one sentence it was given for, until that is forgotten */
static void a_list_is_of_one_network(void **state) {
    static const int32_t list[N_MODELS][5] = { { 2, 3, 9, 25, 31 }, { 4, 10, 11, 33, 44 } };
    const pk_config      c = drafter_config();
    (void)state;
    for (int k = 0; k < N_HOST_KINDS; k++)
        for (unsigned which = 1; which < 4; which++) { /* networks that have room for lists */
            pair    p;
            int32_t id[2];
            record  plain[N_MODELS][2], listed[N_MODELS][2];
            int32_t room[N_MODELS];
            if (!strcmp(kinds[k].backend, "far")) continue;
            for (unsigned i = 0; i < N_MODELS; i++) room[i] = which & 1u << i ? 5 : 0;
            open_networks(&p, &kinds[k], &c);
            ASSERT_OK(open_with_lists(&p, &p.w.on, false, room, &p.w.s));
            ASSERT_OK(pk_session_encode(p.w.s, sources, 2, id));
            ask_both(&p.w, id, plain);
            for (int32_t i = 0; i < N_MODELS; i++)
                if (room[i]) pk_session_shorten(p.w.s, i, id[0], list[i], 5);
            ask_both(&p.w, id, listed);
            for (int32_t i = 0; i < N_MODELS; i++) {
                assert_same(&listed[i][1], &plain[i][1]);
                assert_false(is_listed(list[i], 5, &plain[i][0]));
                if (room[i])
                    assert_true(is_listed(list[i], 5, &listed[i][0]));
                else
                    assert_same(&listed[i][0], &plain[i][0]);
            }
            pk_session_forget(p.w.s, id[0]);
            pk_session_forget(p.w.s, id[1]);
            ASSERT_OK(pk_session_encode(p.w.s, sources, 2, id));
            ask_both(&p.w, id, listed);
            for (int32_t i = 0; i < 2 * N_MODELS; i++)
                assert_same(&listed[i / 2][i % 2], &plain[i / 2][i % 2]);
            pk_session_forget(p.w.s, id[0]);
            pk_session_forget(p.w.s, id[1]);
            close_session(p.w.s);
            close_networks(&p);
        }
}

/* the drafter's encoder is replaced by the model's: weights, or states */
static void a_shared_encoder_is_an_own_encoder(void **state) {
    pk_config c = tiny_config();
    (void)state;
    c.share_embeddings = false;
    c.decoder_layers = 1;
    c.target_vocab = 45;
    for (int k = 0; k < n_kinds; k++) {
        pair   p;
        record own[N_MODELS], shared[N_MODELS], other[N_MODELS];
        open_networks(&p, &kinds[k], &c);
        ASSERT_OK(open_both(&p, &p.w.on, true, &p.w.s));
        decode_in_turn(&p.w, 3, DRAFTER, shared);
        close_session(p.w.s);
        pk_backend_close(&p.w.on);
        ASSERT_OK(open_backend(&kinds[k], &p.w.on));
        ASSERT_OK(open_both(&p, &p.w.on, false, &p.w.s));
        decode_in_turn(&p.w, 3, DRAFTER, other);
        close_session(p.w.s);
        pk_backend_close(&p.w.on);
        ASSERT_OK(open_backend(&kinds[k], &p.w.on));

        pk_network *draft = &p.tiny[DRAFTER].net, *model = &p.tiny[MODEL].net;
        memcpy(draft->encoder, model->encoder, (size_t)c.encoder_layers * sizeof *draft->encoder);
        draft->source_embed = model->source_embed;
        draft->source_positions = model->source_positions;
        ASSERT_OK(open_both(&p, &p.w.on, false, &p.w.s));
        decode_in_turn(&p.w, 3, DRAFTER, own);
        assert_same(&shared[MODEL], &own[MODEL]);
        assert_same(&shared[DRAFTER], &own[DRAFTER]);
        assert_memory_not_equal(&other[DRAFTER], &own[DRAFTER], sizeof *own);
        close_session(p.w.s);
        close_networks(&p);
    }
}

/* a device replays what it recorded under a key: of another network it must be another key */
static void (*repeat_on_device)(void *, uint64_t, int32_t, const int32_t *, void (*)(void *),
                                void *);
static uint64_t last_key;

static void repeat_and_keep_key(void *self, uint64_t key, int32_t steps, const int32_t *live,
                                void (*body)(void *context), void *context) {
    last_key = key;
    repeat_on_device(self, key, steps, live, body, context);
}

static void recordings_are_of_one_network(void **state) {
    const pk_config c = drafter_config();
    pair            p;
    int32_t         id;
    uint64_t        key[N_MODELS];
    record          r = { .n = 0 };
    (void)state;
    open_networks(&p, &kinds[0], &c);
    repeat_on_device = p.w.on.repeat;
    p.w.on.repeat = repeat_and_keep_key;
    ASSERT_OK(open_both(&p, &p.w.on, false, &p.w.s));
    ASSERT_OK(pk_session_encode(p.w.s, sources, 1, &id));
    for (int32_t model = 0; model < N_MODELS; model++) {
        step(&p.w, model, id, words, 2, 0, 1, &r);
        key[model] = last_key;
    }
    assert_true(key[MODEL] != key[DRAFTER]);
    pk_session_forget(p.w.s, id);
    close_session(p.w.s);
    close_networks(&p);
}

/* both follow by themselves, in passes of the same shape */
static void both_may_follow(void **state) {
    const pk_config c = drafter_config();
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        pair         p;
        pk_candidate found[N_MODELS][3][5];
        int32_t      n[N_MODELS][3];
        open_networks(&p, &kinds[k], &c);
        p.w.on.follow = 8;
        ASSERT_OK(open_both(&p, &p.w.on, false, &p.w.s));
        for (int i = 0; i < 3; i++)
            for (int32_t model = 0; model < N_MODELS; model++) {
                int32_t id;
                pk_pass pass = new_pass(&p.w);
                pass.model = model;
                pk_ask_add(&pass, (pk_ask){ .token = 9, .top_k = 1, .logp = true, .follow = 5 });
                ASSERT_OK(pk_session_encode(p.w.s, sources, 1, &id));
                ASSERT_OK(pk_session_decode(p.w.s, &(pk_request){ id, &pass }, 1));
                n[model][i] = p.w.answer[1].n_found;
                memcpy(found[model][i], p.w.answer[1].found,
                       (size_t)n[model][i] * sizeof **found[0]);
                pk_session_forget(p.w.s, id);
                assert_int_equal(n[model][i], n[model][0]);
                assert_memory_equal(found[model][i], found[model][0],
                                    (size_t)n[model][0] * sizeof **found[0]);
            }
        assert_memory_not_equal(found[MODEL][0], found[DRAFTER][0], sizeof **found[0]);
        close_session(p.w.s);
        close_networks(&p);
    }
}

static void a_pass_is_for_one_network(void **state) {
    const pk_config c = drafter_config();
    pair            p;
    int32_t         id[2];
    pk_ask          ask[2];
    pk_answer       answer[2];
    (void)state;
    open_networks(&p, &kinds[0], &c);
    ASSERT_OK(open_both(&p, &p.w.on, false, &p.w.s));
    ASSERT_OK(pk_session_encode(p.w.s, sources, 2, id));
    pk_pass          a = new_pass(&p.w), b = { .room = 1, .ask = ask, .answer = answer };
    const pk_request both[] = { { id[0], &a }, { id[1], &b } };
    pk_ask_add(&a, (pk_ask){ .token = 4, .top_k = 1 });
    pk_ask_add(&b, (pk_ask){ .token = 4, .top_k = 1 });
    const int32_t wrong[][2] = { { 0, 1 }, { 1, 0 }, { 2, 2 }, { -1, -1 } };
    for (int i = 0; i < 4; i++) {
        a.model = wrong[i][0], b.model = wrong[i][1];
        ASSERT_STATUS(PK_ARGUMENT, pk_session_decode(p.w.s, both, 2));
    }
    a.ask[1].token = b.ask[1].token = 43; /* which the drafter alone has */
    a.model = b.model = MODEL;
    ASSERT_STATUS(PK_ARGUMENT, pk_session_decode(p.w.s, both, 2));
    a.model = b.model = DRAFTER;
    ASSERT_OK(pk_session_decode(p.w.s, both, 2));
    pk_session_forget(p.w.s, id[0]);
    pk_session_forget(p.w.s, id[1]);
    close_session(p.w.s);
    close_networks(&p);
}

static void refuse(const pk_config *drafter, bool shares_encoder, const char *says) {
    pair        p;
    pk_session *s;
    open_networks(&p, &kinds[0], drafter);
    ASSERT_STATUS(PK_UNSUPPORTED, open_both(&p, &p.w.on, shares_encoder, &s));
    assert_non_null(strstr(pk_last_error(), says));
    assert_null(s);
    close_networks(&p);
}

static void networks_that_do_not_fit_are_refused(void **state) {
    pk_config c[7];
    (void)state;
    for (int i = 0; i < 7; i++) c[i] = tiny_config(), c[i].share_embeddings = false;
    c[0].target_vocab = 39;
    c[1].source_vocab = 39;
    c[2].eos = 1;
    c[3].start = 5;
    c[4].dim = 8;
    c[5].max_source = 47;
    c[6].max_target = 47;
    refuse(&c[0], false, "vocabulary");
    refuse(&c[1], false, "vocabulary");
    refuse(&c[2], false, "ends");
    refuse(&c[3], false, "begins");
    refuse(&c[4], true, "encoder");
    refuse(&c[5], false, "reads 47");
    refuse(&c[6], false, "writes 47");
}

static pk_status open_and_close(void *user) {
    pair       *p = user;
    pk_session *s = NULL;
    pk_backend  on;
    PK_TRY(open_backend(p->w.kind, &on));
    const bool      lists = strcmp(p->w.kind->backend, "far") != 0;
    const pk_status status =
        open_with_lists(p, &on, false, lists ? (int32_t[]){ 20, 5 } : (int32_t[]){ 0, 0 }, &s);
    pk_session_close(s);
    pk_backend_close(&on);
    return status;
}

static void opening_survives_every_failed_allocation(void **state) {
    const pk_config c = drafter_config();
    pair            p;
    (void)state;
    for (int k = 0; k < N_HOST_KINDS; k++) {
        open_networks(&p, &kinds[k], &c);
        assert_true(check_every_allocation(open_and_close, &p) > 30);
        close_networks(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_network_answers_as_it_does_alone),
        cmocka_unit_test(histories_are_independent),
        cmocka_unit_test(a_list_is_of_one_network),
        cmocka_unit_test(a_shared_encoder_is_an_own_encoder),
        cmocka_unit_test(recordings_are_of_one_network),
        cmocka_unit_test(both_may_follow),
        cmocka_unit_test(a_pass_is_for_one_network),
        cmocka_unit_test(networks_that_do_not_fit_are_refused),
        cmocka_unit_test(opening_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
