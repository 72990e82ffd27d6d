/* shortlist_test.c - which tokens a sentence may be translated with: by hand, for any sentence rising
 * and without the room being exceeded, and the same whatever came before. */
#include "check.h"

#include <string.h>

#include "lexicon/shortlist.h"

enum { SOURCE = 9000, TARGET = 12000, EACH = PK_SHORTLIST_EACH + 6, EOS = 0 };

typedef struct table {
    uint32_t             row_first[SOURCE + 2], entry_first[SOURCE + 2];
    int32_t              distance[SOURCE + 1];
    pk_lexicon_candidate entry[(SOURCE + 1) * EACH];
    pk_lexicon           lexicon;
} table;

/* source token x becomes tokens x + 1000, x + 1001 ..., and 7 */
static const pk_lexicon *make_table(void) {
    static table t;
    for (uint32_t x = 0; x <= SOURCE; x++) {
        t.distance[x] = PK_LEXICON_ANY;
        t.row_first[x + 1] = x + 1;
        t.entry_first[x + 1] = (x + 1) * EACH;
        for (uint32_t i = 0; i < EACH; i++)
            t.entry[x * EACH + i] = (pk_lexicon_candidate){ i == 1 ? 7 : (int32_t)(1000 + x + i),
                                                            1.0f / (float)(2 + i + x) };
    }
    t.lexicon = (pk_lexicon){ .source_vocab = SOURCE,
                              .target_vocab = TARGET,
                              .row_first = t.row_first,
                              .distance = t.distance,
                              .entry_first = t.entry_first,
                              .entry = t.entry };
    return &t.lexicon;
}

static const uint8_t always[TARGET] = { [11990] = 1 };

static pk_status open_list(void *out) {
    const pk_shortlist_needs needs = { .size = PK_SHORTLIST_SIZE,
                                       .n_tokens = TARGET,
                                       .eos = EOS,
                                       .most_given = 600,
                                       .copies = true,
                                       .always = always };
    return pk_shortlist_open(make_table(), &needs, out);
}

static bool lists(const int32_t *list, int32_t n, int32_t token) {
    for (int32_t i = 0; i < n; i++)
        if (list[i] == token) return true;
    return false;
}

static void by_hand(void **state) {
    static uint8_t mark[TARGET], zeros[TARGET];
    static int32_t list[TARGET], again[TARGET];
    pk_shortlist   s;
    const int32_t  source[] = { 6000, 7500 }, prefix[] = { 9321 };
    (void)state;
    ASSERT_OK(open_list(&s));
    const pk_shortlist_request q = { source, prefix, 2, 1 };
    const int32_t              n = pk_shortlist_find(&s, &q, mark, list);
    assert_memory_equal(mark, zeros, sizeof mark);
    for (int32_t i = 1; i < n; i++) assert_true(list[i] > list[i - 1]);
    for (int32_t i = 0; i < PK_SHORTLIST_EACH; i++)
        assert_true(i == 1 || lists(list, n, 7000 + i)); /* the translations */
    assert_true(lists(list, n, 7) && lists(list, n, EOS) && lists(list, n, 11990));
    assert_true(lists(list, n, 6000) && lists(list, n, 7500)); /* copies */
    assert_true(lists(list, n, 9321));                         /* the prefix */
    assert_false(lists(list, n, 7000 + PK_SHORTLIST_EACH));
    assert_false(lists(list, n, 11500));
    const int32_t              other[] = { 1, 2, 3 };
    const pk_shortlist_request between = { other, NULL, 3, 0 };
    pk_shortlist_find(&s, &between, mark, again);
    assert_int_equal(pk_shortlist_find(&s, &q, mark, again), n);
    assert_memory_equal(list, again, (size_t)n * sizeof *list);
    pk_shortlist_close(&s);
}

/* a sentence of many different words gets fewer translations of each, and keeps its prefix */
static void long_sentences(void **state) {
    static uint8_t mark[TARGET];
    static int32_t list[TARGET], source[500], prefix[100];
    pk_shortlist   s;
    (void)state;
    ASSERT_OK(open_list(&s));
    for (int32_t i = 0; i < 500; i++) source[i] = 17 * i;
    for (int32_t i = 0; i < 100; i++) prefix[i] = 11999 - i;
    const pk_shortlist_request q = { source, prefix, 500, 100 };
    const int32_t              n = pk_shortlist_find(&s, &q, mark, list);
    assert_true(n <= s.longest && s.longest <= PK_SHORTLIST_SIZE.longest);
    for (int32_t i = 0; i < 100; i++) assert_true(lists(list, n, prefix[i]));
    for (int32_t i = 0; i < 500; i++) assert_true(lists(list, n, source[i]));
    pk_shortlist_close(&s);
}

static pk_status attempt(void *user) {
    pk_shortlist s;
    (void)user;
    PK_TRY(open_list(&s));
    pk_shortlist_close(&s);
    return PK_OK;
}

static void failed_allocations(void **state) {
    (void)state;
    assert_int_equal(check_every_allocation(attempt, NULL), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(long_sentences),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
