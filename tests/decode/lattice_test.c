/* lattice_test.c - the lattice strategy with scripted edge scores: the best of all token sequences
 * that its candidates allow, of all lengths in range; prefixes, limits, and the look-up alone. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "decode/strategy.h"
#include "lexicon/lexicon_count.h"

enum { EOS = 0, UNK = 1, PAD = 9, VOCAB = 10, MOST = 12 };

/* ---- a lexicon: source word w says w or w + 1, lengths grow by one for each ---- */

static pk_buffer      bytes;
static pk_lexicon     lexicon;
static const int32_t  suppressed = PAD;
static pk_conventions model = { .vocab = VOCAB,
                                .start = PK_NO_TOKEN,
                                .eos = EOS,
                                .unk = UNK,
                                .max_positions = 64,
                                .suppressed = &suppressed,
                                .n_suppressed = 1 };

static int open_lexicon(void **state) {
    pk_lexicon_counter c;
    (void)state;
    ASSERT_OK(pk_lexicon_counter_open(VOCAB, VOCAB, &c));
    for (int32_t n = 1; n < 6; n++)
        for (int32_t w = 2; w < 8; w++)
            for (int32_t times = 0; times < 3; times++) {
                int32_t  source[6], target[6];
                uint32_t link[6];
                for (int32_t i = 0; i < n; i++) {
                    source[i] = 2 + (w + i) % 6;
                    target[i] = source[i] + (times == 2); /* two times of three the word itself */
                    link[i] = (uint32_t)i + 1;
                }
                if (times == 2 && w == 3) target[0] = PAD, target[n - 1] = EOS; /* never stand */
                ASSERT_OK(pk_lexicon_count(&c, source, n, target, n, link));
            }
    ASSERT_OK(pk_lexicon_make(&c, 1, &bytes));
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &lexicon));
    pk_lexicon_counter_close(&c);
    return 0;
}

static int close_lexicon(void **state) {
    (void)state;
    pk_buffer_free(&bytes);
    return 0;
}

static pk_source source_of(const int32_t *token, int32_t n) {
    return (pk_source){ .model = &model,
                        .n_tokens = n,
                        .token = token,
                        .max_length = MOST,
                        .n_best = 1,
                        .want_scores = true,
                        .lexicon = &lexicon };
}

/* ---- scripted scores ---- */

static float script(uint32_t seed, int32_t pos, int32_t from, int32_t to) {
    uint32_t h = seed * 2654435761u + (uint32_t)pos * 40503u + (uint32_t)(from + 1) * 9973u +
                 (uint32_t)to * 31337u;
    h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
    return -(float)(h % 1000) / 128; /* sums are exact */
}

typedef struct found {
    int32_t n, token[MOST + 2];
    float   score, logp[MOST + 2];
} found;

/* the best of all paths through the steps that the strategy proposed, tried one by one */
static void try_all(const pk_pass *p, int32_t s, int32_t at, found *path, found *best) {
    if (s == p->n_edges) return;
    const pk_edge_step *e = &p->edges[s];
    for (int32_t j = 0; j < e->n_to; j++) {
        const float before = path->score;
        path->token[s] = e->to[j];
        path->score += e->score[at * e->n_to + j];
        path->n = s + 1;
        if (e->to[j] != EOS)
            try_all(p, s + 1, j, path, best);
        else if (best->n == 0 || path->score > best->score)
            *best = *path;
        path->score = before;
    }
}

/* what must hold of the steps of any lattice */
static void check_steps(const pk_pass *p, const pk_source *src, int32_t k) {
    assert_int_equal(p->n, 0);
    for (int32_t s = 0; s < p->n_edges; s++) {
        const pk_edge_step *e = &p->edges[s], *before = s ? e - 1 : NULL;
        assert_int_equal(e->pos, s);
        assert_int_equal(e->n_from, s ? before->n_to - (before->to[before->n_to - 1] == EOS) : 1);
        assert_true(e->from[0] == (s ? before->to[0] : PK_NO_TOKEN));
        assert_in_range(e->n_to, 1, k + 1);
        for (int32_t j = 0; j < e->n_to; j++) {
            assert_true(e->to[j] != PAD && (e->to[j] != EOS || j == e->n_to - 1));
            for (int32_t i = 0; i < j; i++) assert_int_not_equal(e->to[i], e->to[j]);
        }
        if (s < src->n_prefix) assert_int_equal(e->to[0], src->prefix[s]);
    }
    assert_int_equal(p->edges[p->n_edges - 1].to[p->edges[p->n_edges - 1].n_to - 1], EOS);
    assert_true(p->n_edges <= src->max_length || p->n_edges == src->n_prefix + 1);
}

/* the scores lie where the session has them */
static void fill(pk_pass *p, uint32_t seed) {
    static float score[MOST + 2][VOCAB * (VOCAB + 1)];
    assert_in_range(p->n_edges, 1, MOST + 2);
    for (int32_t s = 0; s < p->n_edges; s++) {
        pk_edge_step *e = &p->edges[s];
        for (int32_t i = 0; i < e->n_from; i++)
            for (int32_t j = 0; j < e->n_to; j++)
                score[s][i * e->n_to + j] = script(seed, e->pos, e->from[i], e->to[j]);
        e->score = score[s];
    }
}

/* one sentence to its end; best: what trying all paths finds. Returns steps of the pass */
static int32_t decode(const char *spec, const pk_source *src, uint32_t seed, found *out,
                      found *best) {
    const pk_strategy *by;
    void              *state;
    int32_t            tip[1];
    pk_answer          none[1] = { { 0 } };
    pk_pass            pass = { .answer = none };
    pk_verdict         verdict = { .tip = tip };
    pk_hypothesis      h;
    const int64_t      alive = pk_memory_alive();
    *out = *best = (found){ 0 };
    ASSERT_OK(pk_strategy_parse(spec, &by, &state));
    const pk_strategy_limits most = by->limits(by, state, src);
    ASSERT_OK(by->begin(by, state, src));
    if (!by->alone(state)) {
        const int64_t allocations = pk_memory_count();
        found         path = { 0 };
        by->propose(state, &pass);
        check_steps(&pass, src, most.edges - 1);
        fill(&pass, seed);
        try_all(&pass, 0, 0, &path, best);
        by->absorb(state, &pass, &verdict);
        assert_true(verdict.done);
        assert_int_equal(pk_memory_count(), allocations); /* none while decoding */
    }
    assert_int_equal(by->result(state, &h, 1), 1);
    out->n = h.n;
    out->score = h.score;
    memcpy(out->token, h.token, (size_t)h.n * sizeof *h.token);
    memcpy(out->logp, h.logp, (size_t)h.n * sizeof *h.logp);
    by->end(state);
    by->end(state); /* twice is harmless */
    pk_memory_give(state);
    assert_int_equal(pk_memory_alive(), alive);
    return pass.n_edges;
}

static const int32_t sentence[] = { 4, 5, 6, 7, EOS };

/* ---- tests ---- */

static void the_best_of_all_paths(void **unused) {
    const pk_source src = source_of(sentence, 5);
    int             lengths[MOST] = { 0 };
    (void)unused;
    for (uint32_t seed = 0; seed < 300; seed++) {
        found got, want;
        assert_int_equal(decode("lattice:k=4,delta=2", &src, seed, &got, &want), 4 + 2 + 1);
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.token, want.token, (size_t)want.n * sizeof *want.token);
        assert_true(got.score == want.score);
        float sum = 0;
        for (int32_t i = 0; i < got.n; i++) sum += got.logp[i];
        assert_true(sum == got.score);
        lengths[got.n - 1]++;
    }
    for (int32_t n = 0; n < MOST; n++) /* 4 tokens expected, two more or less: all occur */
        assert_true((lengths[n] > 0) == (n >= 2 && n <= 6));
}

/* the expected length is the only one, and the look-up's best are the candidates */
static void one_candidate(void **unused) {
    const pk_source src = source_of(sentence, 5);
    found           got, want;
    (void)unused;
    assert_int_equal(decode("lattice:k=1,delta=0", &src, 1, &got, &want), 0); /* no pass at all */
    assert_int_equal(got.n, 5);
    assert_memory_equal(got.token, sentence, sizeof sentence);
    assert_int_equal(decode("lattice:k=1,delta=1", &src, 1, &got, &want), 6);
    assert_int_equal(got.n, want.n);
}

/* Word 2 becomes 5 before 3 and 6 before 4, as often: neighbours tell which, distances do not and
 * take the lower one. Words 3 and 4 become themselves. */
static void candidates_are_looked_up_in_either_way(void **unused) {
    const int32_t      words[2][2] = { { 2, 3 }, { 2, 4 } };
    const uint32_t     link[] = { 1, 2 };
    const int32_t      token[] = { 2, 4, EOS };
    pk_source          src = source_of(token, 3);
    pk_lexicon_counter c;
    pk_buffer          counted = { 0 };
    pk_lexicon         beside;
    found              got, none;
    (void)unused;
    ASSERT_OK(pk_lexicon_counter_open(VOCAB, VOCAB, &c));
    for (int i = 0; i < 40; i++) {
        const int32_t target[] = { 5 + i % 2, words[i % 2][1] };
        ASSERT_OK(pk_lexicon_count(&c, words[i % 2], 2, target, 2, link));
    }
    ASSERT_OK(pk_lexicon_make(&c, 1, &counted));
    ASSERT_OK(pk_lexicon_read(counted.data, counted.size, &beside));
    src.lexicon = &beside;
    decode("lattice:k=1,delta=0,by=neighbours", &src, 1, &got, &none);
    assert_true(got.n == 3 && got.token[0] == 6 && got.token[1] == 4);
    decode("lattice:k=1,delta=0", &src, 1, &got, &none);
    assert_int_equal(got.token[0], 6);
    decode("lattice:k=1,delta=0,by=distances", &src, 1, &got, &none);
    assert_true(got.n == 3 && got.token[0] == 5);
    pk_lexicon_counter_close(&c);
    pk_buffer_free(&counted);
}

static void prefixes_are_kept(void **unused) {
    const int32_t given[] = { 8, 3, 3, 3, 3, 3, 3, 3 };
    (void)unused;
    for (int32_t n = 0; n <= 8; n++)
        for (uint32_t seed = 0; seed < 20; seed++) {
            pk_source src = source_of(sentence, 5);
            found     got, want;
            src.prefix = given;
            src.n_prefix = n;
            src.n_free_prefix = n > 0;
            decode("lattice:k=3,delta=2", &src, seed, &got, &want);
            assert_memory_equal(got.token, given, (size_t)n * sizeof *given);
            assert_int_equal(got.n, want.n);
            assert_memory_equal(got.token, want.token, (size_t)want.n * sizeof *want.token);
            if (n) assert_true(got.logp[0] == 0); /* a language is certain */
        }
}

static void lengths_have_limits(void **unused) {
    pk_source src = source_of(sentence, 5);
    found     got, want;
    (void)unused;
    src.max_length = 4; /* end symbol included */
    for (uint32_t seed = 0; seed < 50; seed++) {
        assert_int_equal(decode("lattice:k=2,delta=3", &src, seed, &got, &want), 4);
        assert_in_range(got.n, 2, 4);
    }
    src.max_length = 1;
    assert_int_equal(decode("lattice:k=2,delta=3", &src, 1, &got, &want), 1);
    assert_int_equal(got.n, 1);
    assert_int_equal(got.token[0], EOS);
}

/* words that were never counted, and nothing but the end symbol */
static void nothing_is_known(void **unused) {
    const int32_t strange[] = { UNK, UNK, EOS }, only_end[] = { EOS };
    found         got, want;
    (void)unused;
    const pk_source src = source_of(strange, 3), empty = source_of(only_end, 1);
    decode("lattice:k=1,delta=0", &src, 1, &got, &want);
    assert_int_equal(got.n, 3);
    assert_true(got.token[0] == UNK && got.token[1] == UNK);
    decode("lattice", &empty, 1, &got, &want);
    assert_true(got.n == want.n && got.token[got.n - 1] == EOS);
}

/* attention is what the look-up says */
static void attention_to_the_source(void **unused) {
    const pk_strategy *by;
    void              *state;
    pk_hypothesis      h;
    pk_source          src = source_of(sentence, 5);
    (void)unused;
    src.want_attention = true;
    ASSERT_OK(pk_strategy_parse("lattice:k=1,delta=0", &by, &state));
    ASSERT_OK(by->begin(by, state, &src));
    assert_int_equal(by->result(state, &h, 1), 1);
    for (int32_t i = 0; i < 4; i++) assert_true(h.attention[i * 5 + i] > 0.5f);
    by->end(state);
    pk_memory_give(state);
}

static void what_is_refused(void **unused) {
    const pk_strategy *by;
    void              *state;
    pk_source          src = source_of(sentence, 5);
    (void)unused;
    ASSERT_STATUS(PK_ARGUMENT, pk_strategy_parse("lattice:k=0", &by, &state));
    ASSERT_STATUS(PK_ARGUMENT, pk_strategy_parse("lattice:normalise=some", &by, &state));
    ASSERT_OK(pk_strategy_parse("lattice", &by, &state));
    src.lexicon = NULL;
    ASSERT_STATUS(PK_UNSUPPORTED, by->begin(by, state, &src));
    ASSERT_STATUS(PK_ARGUMENT, by->check(by, state, 2));
    pk_memory_give(state);
}

static pk_status begin_and_end(void *user) {
    const pk_strategy *by;
    void              *state;
    const pk_source    src = source_of(sentence, 5);
    (void)user;
    PK_TRY(pk_strategy_parse("lattice:k=3", &by, &state));
    const pk_status status = by->begin(by, state, &src);
    if (status == PK_OK) by->end(state);
    pk_memory_give(state);
    return status;
}

static void every_allocation(void **unused) {
    (void)unused;
    assert_true(check_every_allocation(begin_and_end, NULL) > 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_all_paths),
        cmocka_unit_test(one_candidate),
        cmocka_unit_test(candidates_are_looked_up_in_either_way),
        cmocka_unit_test(prefixes_are_kept),
        cmocka_unit_test(lengths_have_limits),
        cmocka_unit_test(nothing_is_known),
        cmocka_unit_test(attention_to_the_source),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(every_allocation),
    };
    return cmocka_run_group_tests(tests, open_lexicon, close_lexicon);
}
