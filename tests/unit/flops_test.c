/* flops_test.c - floating-point operations, against sums made by hand: of what a token costs, of an
 * encoding, of passes of every form, of greedy search, of steps that a device takes by itself, and
 * of several networks. */
#include "session_world.h"

#include "model/flops.h"

/* The tiny network: two layers on each side, width 16, feed-forward 24, 40 tokens of text. */
enum {
    SOURCE_TOKEN = 2 * 2 * (48 * 16 + 16 * 16 + 24 * 16 + 16 * 24), /* qkv out up down */
    REMEMBERED = 2 * 2 * 32 * 16,                                   /* keys, values */
    TARGET_TOKEN =
        2 * 2 * (48 * 16 + 3 * 16 * 16 + 24 * 16 + 16 * 24), /* qkv, three (16, 16) ... */
    PAIR = 2 * (2 * 16 + 2 * 16), /* query times key, probability times value */
    SPARED =
        2 * (3 * 16 * 16 + 24 * 16 + 16 * 24), /* of an ask without a question: the last layer */
    SPARED_PAIR = PAIR / 2,                    /* but for its qkv */
    QUESTION = 40 * 2 * 16
};

static void a_token_costs_its_matrices(void **state) {
    const pk_config c = tiny_config();
    tiny_network    t;
    (void)state;
    ASSERT_OK(tiny_network_open(&c, PK_F32, 7, &t));
    const pk_flops f = pk_flops_of(&t.net);
    assert_int_equal(f.source_token, 7168);
    assert_int_equal(f.source_pair, 128);
    assert_int_equal(f.remembered, 2048);
    assert_int_equal(f.target_token, 9216);
    assert_int_equal(f.target_pair, 128);
    assert_int_equal(f.silent_token, SPARED);
    assert_int_equal(f.silent_pair, SPARED_PAIR);
    assert_int_equal(pk_flops_output(16), 32);
    tiny_network_close(&t);
    assert_int_equal(SOURCE_TOKEN, 7168); /* the sums below are of these */
    assert_int_equal(REMEMBERED, 2048);
    assert_int_equal(TARGET_TOKEN, 9216);
    assert_int_equal(PAIR, 128);
}

/* what the session counted since the last call */
static uint64_t counted(const pk_session *s, uint64_t *before) {
    const uint64_t more = pk_session_flops(s) - *before;
    *before += more;
    return more;
}

/* asks: n tokens in a chain, or in a block; the last `asked` of them want an answer. Keeps all. */
static void pass(world *w, int32_t id, int32_t pos, int32_t n, int32_t asked, int32_t block) {
    pk_pass p = new_pass(w);
    for (int32_t i = 0, at = 0; i < n; i++)
        at = pk_ask_add(&p, (pk_ask){ .token = words[i],
                                      .pos = pos + i,
                                      .parent = at,
                                      .block = block,
                                      .top_k = i >= n - asked });
    ASSERT_OK(pk_session_decode(w->s, &(pk_request){ id, &p }, 1));
    keep_and_commit(w, id, n);
}

static void encodings_and_passes_are_sums(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world    w;
        int32_t  id[3];
        uint64_t before = 0;
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, sources, 1, id)); /* 7 tokens */
        assert_int_equal(counted(w.s, &before),
                         7 * SOURCE_TOKEN + 49 * PAIR + 7 * REMEMBERED); /* 70,784 */
        ASSERT_OK(pk_session_encode(w.s, sources + 1, 2, id + 1));       /* 3 and 6 in one call */
        assert_int_equal(counted(w.s, &before), 9 * SOURCE_TOKEN + 45 * PAIR + 9 * REMEMBERED);
        pass(&w, id[0], 0, 2, 1, 0);
        assert_int_equal(counted(w.s, &before), 2 * TARGET_TOKEN + (1 + 2 + 2 * 7) * PAIR +
                                                    QUESTION - SPARED - (1 + 7) * SPARED_PAIR);
        pass(&w, id[0], 2, 3, 2, 0); /* a chain behind two that are known: it sees 3, 4 and 5 */
        assert_int_equal(counted(w.s, &before), 3 * TARGET_TOKEN + (12 + 3 * 7) * PAIR +
                                                    2 * QUESTION - SPARED -
                                                    (3 + 7) * SPARED_PAIR); /* 30,720 */
        pass(&w, id[0], 5, 3, 0, 1); /* a block behind five: each sees 8, and nothing is asked */
        assert_int_equal(counted(w.s, &before),
                         3 * (TARGET_TOKEN - SPARED) + (24 + 3 * 7) * (PAIR - SPARED_PAIR));
        for (int i = 0; i < 3; i++) pk_session_forget(w.s, id[i]);
        close_world(&w);
    }
}

/* sentences that share a pass cost what they cost alone, whatever the device fills it up to */
static void a_pass_of_several_sentences_is_their_sum(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++) {
        world      w;
        int32_t    id[3];
        pk_ask     ask[3][2];
        pk_answer  answer[3][2];
        pk_pass    p[3];
        pk_request request[3];
        open_world(&w, &kinds[k]);
        ASSERT_OK(pk_session_encode(w.s, sources, 3, id));
        uint64_t before = pk_session_flops(w.s);
        for (int i = 0; i < 3; i++) {
            p[i] = (pk_pass){ .room = 1, .ask = ask[i], .answer = answer[i] };
            pk_ask_add(&p[i], (pk_ask){ .token = PK_NO_TOKEN, .top_k = 1 });
            request[i] = (pk_request){ id[i], &p[i] };
        }
        ASSERT_OK(pk_session_decode(w.s, request, 3));
        assert_int_equal(counted(w.s, &before),
                         3 * (TARGET_TOKEN + QUESTION) + (3 + 7 + 3 + 6) * PAIR);
        for (int i = 0; i < 3; i++) pk_session_forget(w.s, id[i]);
        close_world(&w);
    }
}

/* n tokens of greedy search, each of which sees itself, those before it and the source */
static void greedy_search_is_the_sum_of_its_tokens(void **state) {
    enum { N = 10 };
    world    w;
    int32_t  id;
    uint64_t before = 0, sum = 7 * SOURCE_TOKEN + 49 * PAIR + 7 * REMEMBERED;
    (void)state;
    open_world(&w, &kinds[0]);
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    for (int32_t i = 0; i < N; i++) {
        pass(&w, id, i, 1, 1, 0);
        sum += TARGET_TOKEN + QUESTION + (uint64_t)(i + 1 + 7) * PAIR;
    }
    assert_int_equal(sum, 70784 + 10 * (9216 + 1280) + (55 + 70) * 128);
    assert_int_equal(counted(w.s, &before), sum);
    pk_session_forget(w.s, id);
    close_world(&w);
}

/* a device that goes on by itself counts what the same steps count one by one */
static void steps_count_as_if_taken_one_by_one(void **state) {
    (void)state;
    for (int k = 0; k < n_kinds; k++)
        for (int32_t width = 1; width <= 2; width++) {
            world   w;
            int32_t id;
            open_world(&w, &kinds[k]);
            ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
            pass(&w, id, 0, 3, 0, 0); /* a history */
            uint64_t before = pk_session_flops(w.s), sum = 0;
            pk_pass  p = new_pass(&w);
            for (int32_t i = 0; i < width; i++)
                pk_ask_add(&p, (pk_ask){ .token = words[3 + i],
                                         .pos = 3 + i,
                                         .parent = i,
                                         .block = width == 2,
                                         .top_k = 1,
                                         .follow = 6 });
            ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
            const int32_t found = w.answer[p.n].n_found, n = found ? found : 1;
            if (w.on.follow) assert_true(n > 1);
            for (int32_t i = 1; i <= n; i++)
                sum += (uint64_t)width *
                       (TARGET_TOKEN + QUESTION + (uint64_t)(3 + i * width + 7) * PAIR);
            assert_int_equal(counted(w.s, &before), sum);
            pk_session_forget(w.s, id);
            close_world(&w);
        }
}

/* a question about a task's tokens is a product with theirs alone, and text with the text's */
static void a_group_costs_its_own_tokens(void **state) {
    world    w = { 0 };
    int32_t  id;
    uint64_t before = 0;
    (void)state;
    pk_config c = tiny_config();
    c.source_vocab = c.target_vocab = 60;
    c.n_text = 32, c.n_groups = 1;
    c.group[0] = (pk_token_group){ "length", 48, 12 };
    ASSERT_OK(tiny_network_open(&c, PK_F32, 7, &w.tiny));
    ASSERT_OK(open_backend(&kinds[0], &w.on));
    ASSERT_OK(pk_session_open(&w.tiny.net, &w.on, &limits, &w.s));
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    counted(w.s, &before);
    pk_pass p = new_pass(&w);
    for (int32_t group = 0; group < 2; group++)
        pk_ask_add(&p, (pk_ask){ .token = 5, .top_k = 1, .group = group });
    ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
    assert_int_equal(counted(w.s, &before),
                     2 * TARGET_TOKEN + 2 * (1 + 7) * PAIR + (32 + 12) * 2 * 16);
    pk_session_forget(w.s, id);
    close_world(&w);
}

/* two steps of a lattice: rows that see the source alone, and a logit for each edge */
static void a_lattice_costs_its_rows_and_edges(void **state) {
    static const int32_t from[] = { 5, 6, 7 }, to[] = { 8, 9 };
    (void)state;
    for (int full = 0; full < 2; full++) {
        world             w = { 0 };
        int32_t           id;
        uint64_t          before = 0;
        const pk_config   c = tiny_config();
        pk_session_limits max = limits;
        max.edge_rows = 8, max.edge_tokens = 4;
        ASSERT_OK(tiny_network_open(&c, PK_F32, 7, &w.tiny));
        ASSERT_OK(open_backend(&kinds[0], &w.on));
        ASSERT_OK(pk_session_open(&w.tiny.net, &w.on, &max, &w.s));
        ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
        counted(w.s, &before);
        pk_edge_step steps[] = { { 0, 1, 2, from, to, NULL }, { 1, 3, 2, from, to, NULL } };
        pk_pass      p = { .n_edges = 2, .edges = steps, .whole_vocabulary = full };
        ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
        assert_int_equal(counted(w.s, &before), 4 * (TARGET_TOKEN - 2 * 2 * 32 * 16) +
                                                    4 * 7 * PAIR + (2 + 6) * 2 * 16 +
                                                    full * 4 * QUESTION);
        pk_session_forget(w.s, id);
        close_world(&w);
    }
}

/* ---- several networks ---- */

/* members compute side by side; log-probabilities take their output layers once more */
static void an_ensemble_is_the_sum_of_its_members(void **state) {
    const pk_config c = tiny_config();
    pk_config       d = tiny_config();
    tiny_network    net[2];
    pk_ensemble     all;
    world           w = { 0 };
    int32_t         id;
    uint64_t        before = 0;
    (void)state;
    d.dim = 8, d.decoder_layers = 1; /* its decoder layer: 24 8, three of 8 8, twice 24 8 */
    const uint64_t token = 2 * (24 * 8 + 3 * 8 * 8 + 2 * 24 * 8), pair = 2 * (8 + 8);
    ASSERT_OK(tiny_network_open(&c, PK_F32, 3, &net[0]));
    ASSERT_OK(tiny_network_open(&d, PK_F32, 4, &net[1]));
    ASSERT_OK(pk_ensemble_open((const pk_network *[]){ &net[0].net, &net[1].net }, 2, &all));
    ASSERT_OK(open_backend(&kinds[0], &w.on));
    ASSERT_OK(pk_session_open_ensemble(&all, &w.on, &limits, &w.s));
    ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
    counted(w.s, &before);
    for (int logp = 0; logp < 2; logp++) {
        pk_pass p = new_pass(&w);
        pk_ask_add(&p, (pk_ask){ .token = PK_NO_TOKEN, .top_k = 1, .logp = logp });
        ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
        keep_as_it_was(&w, id);
        assert_int_equal(counted(w.s, &before), TARGET_TOKEN + token + 8 * (PAIR + pair) +
                                                    (uint64_t)(1 + logp) * 40 * 2 * (16 + 8));
    }
    /* where attention is wanted, the first member's rows all go through its last layer */
    for (int attention = 0; attention < 2; attention++) {
        pk_pass p = new_pass(&w);
        pk_ask_add(&p, (pk_ask){ .token = PK_NO_TOKEN, .attention = attention });
        ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
        keep_as_it_was(&w, id);
        const uint64_t spared = attention ? 0 : SPARED + 8 * SPARED_PAIR;
        assert_int_equal(counted(w.s, &before), TARGET_TOKEN + 8 * PAIR - spared + 2 * 24 * 8);
    }
    pk_session_forget(w.s, id);
    pk_session_close(w.s);
    pk_backend_close(&w.on);
    pk_ensemble_close(&all);
    for (int i = 0; i < 2; i++) tiny_network_close(&net[i]);
}

/* each network counts its own; an encoder that is shared counts once */
static void networks_count_apart(void **state) {
    const pk_config c = tiny_config();
    tiny_network    net[2];
    (void)state;
    for (int i = 0; i < 2; i++) ASSERT_OK(tiny_network_open(&c, PK_F32, 3, &net[i]));
    for (int shares = 0; shares < 2; shares++) {
        const pk_ensemble      all[] = { pk_ensemble_alone(&net[0].net),
                                         pk_ensemble_alone(&net[1].net) };
        const pk_session_model model[] = { { &all[0], limits, false },
                                           { &all[1], limits, shares } };
        world                  w = { 0 };
        int32_t                id;
        const uint64_t         encoder = 7 * SOURCE_TOKEN + 49 * PAIR;
        ASSERT_OK(open_backend(&kinds[0], &w.on));
        ASSERT_OK(pk_session_open_models(model, 2, &w.on, &w.s));
        const pk_session *second = pk_session_model_part(w.s, 1);
        ASSERT_OK(pk_session_encode(w.s, sources, 1, &id));
        assert_int_equal(pk_session_flops(w.s), encoder + 7 * REMEMBERED);
        assert_int_equal(pk_session_flops(second), (shares ? 0 : encoder) + 7 * REMEMBERED);
        const uint64_t before[] = { pk_session_flops(w.s), pk_session_flops(second) };
        pk_pass        p = new_pass(&w);
        p.model = 1;
        pk_ask_add(&p, (pk_ask){ .token = PK_NO_TOKEN, .top_k = 1 });
        ASSERT_OK(pk_session_decode(w.s, &(pk_request){ id, &p }, 1));
        keep_as_it_was(&w, id);
        assert_int_equal(pk_session_flops(w.s), before[0]);
        assert_int_equal(pk_session_flops(second) - before[1], TARGET_TOKEN + 8 * PAIR + QUESTION);
        pk_session_forget(w.s, id);
        pk_session_close(w.s);
        pk_backend_close(&w.on);
    }
    for (int i = 0; i < 2; i++) tiny_network_close(&net[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_costs_its_matrices),
        cmocka_unit_test(encodings_and_passes_are_sums),
        cmocka_unit_test(a_pass_of_several_sentences_is_their_sum),
        cmocka_unit_test(greedy_search_is_the_sum_of_its_tokens),
        cmocka_unit_test(steps_count_as_if_taken_one_by_one),
        cmocka_unit_test(a_group_costs_its_own_tokens),
        cmocka_unit_test(a_lattice_costs_its_rows_and_edges),
        cmocka_unit_test(an_ensemble_is_the_sum_of_its_members),
        cmocka_unit_test(networks_count_apart),
    };
    return cmocka_run_group_tests(tests, find_kinds, NULL);
}
