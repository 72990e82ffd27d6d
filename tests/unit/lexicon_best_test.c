/* lexicon_best_test.c - the best candidates of positions where there are many: in order, and the same
 * whether few are wanted or all. */
#include "check.h"

#include "lexicon/lexicon_count.h"

enum { PRINT = 77 };

static uint32_t dice(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*seed >> 8) * below >> 24);
}

enum { MANY = 700, WORDS = 30, TEXTS = 4000, DRAWN = 20 };

/* a lexicon whose words have long rows at every distance */
static pk_status make_many(pk_buffer *out, uint32_t seed) {
    pk_lexicon_counter c;
    pk_status          status = pk_lexicon_counter_open(WORDS, MANY, &c);
    PK_TRY(status);
    for (int i = 0; status == PK_OK && i < TEXTS; i++) {
        int32_t  source[DRAWN], target[DRAWN];
        uint32_t link[DRAWN];
        for (int j = 0; j < DRAWN; j++) {
            source[j] = (int32_t)dice(&seed, WORDS);
            target[j] = (int32_t)dice(&seed, 1 + dice(&seed, MANY));
            link[j] = dice(&seed, DRAWN + 1);
        }
        status = pk_lexicon_count(&c, source, DRAWN, target, DRAWN, link);
    }
    if (status == PK_OK) status = pk_lexicon_make(&c, PRINT, out);
    pk_lexicon_counter_close(&c);
    return status;
}

/* the best k are the first k of all, which are in order, with the same bits */
static void few_are_the_first_of_all(void **state) {
    static pk_lexicon_candidate all[MANY], some[MANY];
    int32_t                     most = 0;
    (void)state;
    for (uint32_t seed = 0; seed < 8; seed++) {
        pk_buffer         bytes = { 0 };
        pk_lexicon        l;
        pk_lexicon_finder f;
        uint32_t          words = seed + 100;
        int32_t           source[DRAWN];
        for (int i = 0; i < DRAWN; i++) source[i] = (int32_t)dice(&words, WORDS);
        ASSERT_OK(make_many(&bytes, seed));
        ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &l));
        const pk_lexicon_query q = { &l, (pk_lexicon_by)(seed % 2), source, DRAWN };
        ASSERT_OK(pk_lexicon_finder_open(&q, DRAWN, &f));
        for (int32_t t = 0; t < DRAWN; t++) {
            const int32_t n = pk_lexicon_find(&f, t, MANY, all);
            for (int32_t i = 1; i < n; i++)
                assert_true(all[i].prob < all[i - 1].prob ||
                            (all[i].prob == all[i - 1].prob && all[i].token > all[i - 1].token));
            for (int32_t k = 1; k <= n; k += 1 + k / 5) {
                assert_int_equal(pk_lexicon_find(&f, t, k, some), k);
                assert_memory_equal(some, all, (size_t)k * sizeof *all);
            }
            most = n > most ? n : most;
        }
        pk_lexicon_finder_close(&f);
        pk_buffer_free(&bytes);
    }
    assert_true(most > 5 * 32); /* so many that not all sums become keys */
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(few_are_the_first_of_all) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
