/* drafts_test.c - drafts that come from a table: whatever a lexicon says, jacobi and gad with it give
 * greedy's output and log-probabilities, gad-beam beam's, bit for bit, and a lexicon that is right
 * saves passes. */
#include "scenes.h"

#include "decode/ngrams.h"
#include "lexicon/lexicon_draft.h"

enum { VOCAB = 32, SOURCE = 40, EACH = 6 };

typedef struct table { /* a lexicon and its arrays: a row of EACH for every token */
    pk_lexicon           lexicon;
    uint32_t             row_first[SOURCE + 2], entry_first[SOURCE + 2], next_first[VOCAB + 2];
    int32_t              distance[SOURCE + 1];
    pk_lexicon_candidate entry[(SOURCE + 1) * EACH], next[(VOCAB + 1) * EACH];
    float                share[VOCAB];
    uint32_t             none[2];
} table;

/* any tokens, some of which do not exist: as in a damaged file */
static pk_lexicon_candidate any_candidate(void) {
    return (pk_lexicon_candidate){ any(12) ? any(VOCAB) : any(1000) - 100,
                                   (float)any(100) / 100.0f };
}

static void fill_table(table *t, uint32_t seed) {
    random_state = seed;
    for (uint32_t x = 0; x <= SOURCE; x++) {
        t->distance[x] = PK_LEXICON_ANY;
        t->row_first[x + 1] = x + 1;
        t->entry_first[x + 1] = (x + 1) * EACH;
    }
    for (int i = 0; i < (SOURCE + 1) * EACH; i++) t->entry[i] = any_candidate();
    for (int i = 0; i < (VOCAB + 1) * EACH; i++) t->next[i] = any_candidate();
    for (uint32_t y = 0; y <= VOCAB; y++) t->next_first[y + 1] = (y + 1) * EACH;
    for (int y = 0; y < VOCAB; y++) t->share[y] = (float)any(10) / 10.0f;
    t->lexicon = (pk_lexicon){ .source_vocab = SOURCE,
                               .target_vocab = VOCAB,
                               .slope = 1,
                               .row_first = t->row_first,
                               .distance = t->distance,
                               .entry_first = t->entry_first,
                               .entry = t->entry,
                               .length_first = t->none,
                               .link_first = t->none };
    if (!any(3)) return; /* without successors */
    t->lexicon.next_first = t->next_first;
    t->lexicon.next = t->next;
    t->lexicon.share = t->share;
}

static const char *const methods[] = {
    "jacobi:init=lexicon",
    "jacobi:init=lexicon,window=16",
    "jacobi:init=lexicon,window=1",
    "jacobi",
    "jacobi:window=7",
    "gad:init=lexicon",
    "gad:init=lexicon,block=1",
    "gad:init=lexicon,block=9",
    "gad:init=lexicon,beta=5,tau=0",
};

static void the_output_without_drafts(void **state) {
    static table t;
    pk_ngrams   *ngrams;
    (void)state;
    assert_int_equal(pk_ngrams_open(6, &ngrams), PK_OK);
    for (uint32_t seed = 0; seed < 1500; seed++) {
        oracle_result want, got;
        char          spec[128];
        int32_t       source[3], prefix[3];
        fill_table(&t, seed);
        oracle    o = { .seed = seed,
                        .vocab = any(3) ? VOCAB : 8,
                        .pad = -1,
                        .eos_bias = (float)any(5) - 3,
                        .eos_slope = 0.1f * (float)any(4) };
        pk_source src = oracle_source(&o, 2 + any(30));
        for (int i = 0; i < 3; i++) source[i] = any(SOURCE + 20), prefix[i] = any(o.vocab - 1);
        src.token = source;
        src.prefix = prefix;
        src.n_prefix = any(3) ? 0 : any(src.max_length < 3 ? src.max_length : 3);
        src.want_scores = any(2);
        src.lexicon = &t.lexicon;
        o.conventions.lexicon = true;
        if (any(2)) src.ngrams = ngrams;
        const char *limit = ANY_OF(limits);
        const bool  beam = any(4) == 0;
        spell(spec, sizeof spec, beam ? "beam:size=3" : "greedy", limit);
        oracle_translate(&o, spec, &src, &want);
        spell(spec, sizeof spec, beam ? "gad-beam:size=3" : ANY_OF(methods), limit);
        oracle_translate(&o, spec, &src, &got);
        expect_same(&want, &got, &src, spec);
    }
    pk_ngrams_close(ngrams);
}

/* a table that knows what the model will say: a token is followed by the right one alone */
static void right_drafts_save_passes(void **state) {
    static table  t;
    const int32_t says[] = { 5, 9, 11, 3, 27, 8, 14, 21, 6, 19, 0 };
    const int32_t source[] = { 1, 2, 3 };
    const char   *specs[] = { "jacobi:init=lexicon,window=16", "gad:init=lexicon,block=16" };
    (void)state;
    fill_table(&t, 1);
    t.lexicon.next_first = t.next_first, t.lexicon.next = t.next, t.lexicon.share = t.share;
    for (int y = 0; y < VOCAB; y++) t.share[y] = 1.0f / VOCAB;
    for (int i = 0; i < (SOURCE + 1) * EACH; i++)
        t.entry[i] = (pk_lexicon_candidate){ says[i % 10], 0.1f };
    for (int i = 0; i < (VOCAB + 1) * EACH; i++) t.next[i] = (pk_lexicon_candidate){ 1, 0.01f };
    for (int i = 0; i < 11; i++)
        t.next[(i ? says[i - 1] : VOCAB) * EACH] = (pk_lexicon_candidate){ says[i], 0.9f };
    for (int k = 0; k < 2; k++) {
        oracle        o = { .seed = 3, .vocab = VOCAB, .pad = -1, .says = says, .n_says = 11 };
        pk_source     src = oracle_source(&o, 30);
        oracle_result got;
        src.token = source;
        src.lexicon = &t.lexicon;
        o.conventions.lexicon = true;
        oracle_translate(&o, specs[k], &src, &got);
        assert_int_equal(got.best[0].n, 11);
        assert_true(o.passes <= 2);
    }
}

/* "ein Haus" of "a house": by hand what lexicon_draft.h says */
static void by_hand(void **state) {
    enum { A = 1, HOUSE, EIN = 1, EINE, HAUS, DAS };
    static const uint32_t             row_first[] = { 0, 0, 1, 2, 2 }, entry_first[] = { 0, 2, 4 };
    static const int32_t              distance[] = { PK_LEXICON_ANY, PK_LEXICON_ANY };
    static const pk_lexicon_candidate entry[] = {
        { EINE, 0.5f }, { EIN, 0.4f }, { HAUS, 0.9f }, { DAS, 0.1f }
    };
    static const uint32_t             next_first[] = { 0, 0, 1, 1, 2, 2, 3 };
    static const pk_lexicon_candidate next[] = { { HAUS, 0.8f }, { 0, 0.9f }, { EIN, 0.6f } };
    static const float                share[] = { 0.2f, 0.2f, 0.2f, 0.2f, 0.2f };
    pk_lexicon                        l = { .source_vocab = 3,
                                            .target_vocab = 5,
                                            .row_first = row_first,
                                            .distance = distance,
                                            .entry_first = entry_first,
                                            .entry = entry };
    pk_lexicon_draft                  d;
    const int32_t source[] = { A, HOUSE }, said[] = { EIN, HAUS }, other[] = { EINE, HAUS };
    float         all;
    (void)state;
    assert_int_equal(pk_lexicon_draft_open(&l, source, 2, 5, 0, &d), PK_OK);
    assert_int_equal(pk_lexicon_draft_next(&d, said, 0, 0, &all), EINE); /* the table alone */
    assert_true(all > 0 && all < 1);
    assert_int_equal(pk_lexicon_draft_next(&d, other, 1, 1, &all), HAUS);
    assert_int_equal(pk_lexicon_draft_next(&d, other, 2, 2, &all), 0);   /* all is translated */
    assert_int_equal(pk_lexicon_draft_next(&d, said, 1, 0, &all), HAUS); /* the guess was wrong */
    pk_lexicon_draft_close(&d);
    l.next_first = next_first, l.next = next, l.share = share;
    assert_int_equal(pk_lexicon_draft_open(&l, source, 2, 5, 0, &d), PK_OK);
    assert_int_equal(pk_lexicon_draft_next(&d, said, 0, 0, &all), EIN); /* a text begins so */
    assert_int_equal(pk_lexicon_draft_next(&d, said, 1, 0, &all), HAUS);
    assert_int_equal(pk_lexicon_draft_next(&d, said, 2, 0, &all), 0);
    pk_lexicon_draft_close(&d);
    pk_lexicon_draft_close(&d);
}

static void refused_without(void **state) {
    const char *specs[] = { "jacobi:init=lexicon", "gad:init=lexicon" };
    (void)state;
    for (int i = 0; i < 2; i++) {
        const pk_strategy   *by;
        void                *options;
        const pk_conventions model = { .vocab = 9 }, with = { .vocab = 9, .lexicon = true };
        assert_int_equal(pk_strategy_parse(specs[i], &by, &options), PK_OK);
        assert_int_equal(by->fits(by, options, &model), PK_ARGUMENT);
        assert_int_equal(by->fits(by, options, &with), PK_OK);
        assert_int_equal(pk_strategy_check_drafter(by, options, false), PK_OK);
        assert_int_equal(pk_strategy_check_drafter(by, options, true), PK_ARGUMENT);
        pk_memory_give(options);
    }
}

/* every allocation of begin() fails in turn, and nothing stays behind */
static void failed_allocations(void **state) {
    static table t;
    const char  *specs[] = { "jacobi:init=lexicon", "gad:init=lexicon" };
    (void)state;
    fill_table(&t, 2);
    for (int i = 0; i < 2; i++) {
        const pk_strategy *by;
        void              *options, *copy;
        oracle             o = { .seed = 3, .vocab = VOCAB, .pad = -1 };
        pk_source          src = oracle_source(&o, 20);
        src.token = (int32_t[]){ 3, 4, 5 };
        src.lexicon = &t.lexicon;
        assert_int_equal(pk_strategy_parse(specs[i], &by, &options), PK_OK);
        assert_int_equal(pk_memory_take(1, by->state_size, &copy), PK_OK);
        const int64_t alive = pk_memory_alive();
        pk_status     status = PK_NO_MEMORY;
        int           n = 0;
        for (; status != PK_OK; n++) {
            memcpy(copy, options, by->state_size);
            pk_memory_fail_after(n + 1);
            status = by->begin(by, copy, &src);
            pk_memory_fail_after(0);
            if (status == PK_OK) by->end(copy);
            assert_true(status == PK_OK || status == PK_NO_MEMORY);
            assert_int_equal(pk_memory_alive(), alive);
        }
        assert_true(n > 7);
        pk_memory_give(copy);
        pk_memory_give(options);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_output_without_drafts),
        cmocka_unit_test(right_drafts_save_passes),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(refused_without),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
