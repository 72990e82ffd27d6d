/* ngrams_test.c - the table of n-grams: what it remembers, forgets, and how much memory it takes.
 */
#include "oracle.h"

#include "decode/ngrams.h"

static pk_ngrams *fresh(int32_t bits) {
    pk_ngrams *g = NULL;
    assert_int_equal(pk_ngrams_open(bits, &g), PK_OK);
    return g;
}

static int32_t next(const pk_ngrams *g, int32_t order, int32_t a, int32_t b, int32_t c) {
    const int32_t token[] = { a, b, c };
    int32_t       votes;
    return pk_ngrams_next(g, order, token, 3, &votes);
}

static void test_remembers(void **unused) {
    (void)unused;
    const int32_t text[] = { PK_NO_TOKEN, 5, 6, 7, 8, 6, 7, 9 };
    pk_ngrams    *g = fresh(PK_NGRAMS_BITS);
    int32_t       votes = 5;
    assert_int_equal(next(g, 2, 0, 5, 6), PK_NO_TOKEN); /* nothing is known yet */
    pk_ngrams_learn(g, text, 8);
    assert_int_equal(next(g, 2, 0, 5, 6), 7);
    assert_int_equal(next(g, 2, 0, PK_NO_TOKEN, 5), 6); /* the beginning of a sentence */
    assert_int_equal(next(g, 3, 5, 6, 7), 8);
    assert_int_equal(next(g, 3, 8, 6, 7), 9); /* three tokens distinguish what two cannot */
    assert_int_equal(next(g, 2, 0, 7, 9), PK_NO_TOKEN);
    assert_int_equal(next(g, 3, 1, 6, 7), PK_NO_TOKEN);
    assert_int_equal(pk_ngrams_next(g, 3, text, 2, &votes), PK_NO_TOKEN); /* too few tokens */
    assert_int_equal(votes, 0);
    pk_ngrams_close(g);
}

/* the more frequent successor wins, whichever came last */
static void test_votes(void **unused) {
    (void)unused;
    const int32_t often[] = { 1, 2, 3 }, once[] = { 1, 2, 4 };
    pk_ngrams    *g = fresh(10);
    int32_t       votes;
    for (int i = 0; i < 3; i++) pk_ngrams_learn(g, often, 3);
    assert_int_equal(pk_ngrams_next(g, 2, often, 2, &votes), 3);
    assert_int_equal(votes, 3);
    pk_ngrams_learn(g, once, 3);
    assert_int_equal(pk_ngrams_next(g, 2, often, 2, &votes), 3);
    assert_int_equal(votes, 2);
    for (int i = 0; i < 3; i++) pk_ngrams_learn(g, once, 3);
    assert_int_equal(pk_ngrams_next(g, 2, often, 2, &votes), 4);
    for (int i = 0; i < 1000; i++) pk_ngrams_learn(g, once, 3);
    assert_int_equal(pk_ngrams_next(g, 2, often, 2, &votes), 4);
    assert_int_equal(votes, 255); /* bounded, so that a change of topic gets through */
    pk_ngrams_close(g);
}

/* any amount of text goes into the smallest table; what is frequent survives */
static void test_bounded(void **unused) {
    (void)unused;
    pk_ngrams    *g = fresh(8);
    const int64_t taken = pk_memory_count();
    const int32_t often[] = { 1, 2, 3 };
    int32_t       noise[64], right = 0;
    for (uint32_t i = 0; i < 500; i++) {
        for (uint32_t j = 0; j < 64; j++) noise[j] = (int32_t)(oracle_mix(i * 64 + j) % 30000);
        pk_ngrams_learn(g, noise, 1);
        pk_ngrams_learn(g, noise, (int32_t)(i % 4));
        for (int k = 0; k < 8; k++) pk_ngrams_learn(g, often, 3);
        right += next(g, 2, 0, 1, 2) == 3;
    }
    assert_true(right > 490);
    assert_int_equal(pk_memory_count(), taken);
    pk_ngrams_learn(g, noise, 0);
    pk_ngrams_clear(g);
    assert_int_equal(next(g, 2, 0, 1, 2), PK_NO_TOKEN);
    pk_ngrams_close(g);
}

/* with many more buckets than n-grams almost none are lost */
static void test_few_collisions(void **unused) {
    (void)unused;
    pk_ngrams *g = fresh(PK_NGRAMS_BITS);
    int32_t    text[2000], right = 0, votes;
    for (uint32_t i = 0; i < 2000; i++) text[i] = (int32_t)(oracle_mix(i) % 16000);
    pk_ngrams_learn(g, text, 2000);
    for (int32_t i = 3; i < 2000; i++) right += pk_ngrams_next(g, 3, text, i, &votes) == text[i];
    assert_true(right > 1700);
    pk_ngrams_close(g);
}

static void test_refusals(void **unused) {
    (void)unused;
    const int64_t alive = pk_memory_alive();
    pk_ngrams    *g = (pk_ngrams *)1;
    assert_int_equal(pk_ngrams_open(3, &g), PK_ARGUMENT);
    assert_null(g);
    assert_int_equal(pk_ngrams_open(25, &g), PK_ARGUMENT);
    for (int n = 1; n <= 2; n++) {
        pk_memory_fail_after(n);
        assert_int_equal(pk_ngrams_open(8, &g), PK_NO_MEMORY);
        pk_memory_fail_after(0);
        assert_null(g);
    }
    pk_ngrams_close(NULL);
    assert_int_equal(pk_memory_alive(), alive);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remembers), cmocka_unit_test(test_votes),
        cmocka_unit_test(test_bounded),   cmocka_unit_test(test_few_collisions),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
