/* align_successors_test.c - what follows what: counts by hand, a saved model that keeps them, and
 * failed allocations. */
#include "align_help.h"

#include <math.h>
#include <string.h>

#include "align/align_model.h"

static pk_status gather(pk_align_corpus *out) {
    static const char *const text[] = { "a b a b", "a c", "b" };
    pk_align_gatherer        g = { 0 };
    pk_status                status = PK_OK;
    for (int i = 0; i < 3; i++) {
        for (const char *c = text[i]; *c && status == PK_OK; c++)
            if (*c != ' ') status = pk_align_gather_word(&g, 1, c, 1);
        if (status == PK_OK) status = pk_align_gather_word(&g, 0, "x", 1);
        if (status == PK_OK) status = pk_align_gather_pair(&g);
    }
    if (status == PK_OK) status = pk_align_gather_end(&g, 1, out);
    pk_align_gatherer_free(&g);
    return status;
}

static pk_status count(void *user) {
    pk_align_corpus c;
    PK_TRY(gather(&c));
    const pk_status status = pk_align_successors_count(&c, 1, user);
    pk_align_corpus_free(&c);
    return status;
}

static pk_status count_and_free(void *user) {
    PK_TRY(count(user));
    pk_align_successors_free(user);
    return PK_OK;
}

static void expect_row(const pk_align_successors *s, uint32_t word, const uint32_t *next,
                       const double *prob, uint32_t n) {
    assert_int_equal(s->first[word + 1] - s->first[word], n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(s->word[s->first[word] + i], next[i]);
        assert_true(fabs((double)s->prob[s->first[word] + i] - prob[i]) < 1e-6);
    }
}

/* words by frequency: a b (3 each, a came first), c; 3 is the end, and the beginning's row */
static void by_hand(void **state) {
    pk_align_successors s;
    (void)state;
    ASSERT_OK(count(&s));
    assert_int_equal(s.n, 3);
    expect_row(&s, 0, (uint32_t[]){ 1, 2 }, (double[]){ 2 / 3., 1 / 3. }, 2);
    expect_row(&s, 1, (uint32_t[]){ 3, 0 }, (double[]){ 2 / 3., 1 / 3. }, 2);
    expect_row(&s, 2, (uint32_t[]){ 3 }, (double[]){ 1 }, 1);
    expect_row(&s, 3, (uint32_t[]){ 0, 1 }, (double[]){ 2 / 3., 1 / 3. }, 2);
    assert_true(fabs((double)s.share[0] - 0.3) < 1e-6 && fabs((double)s.share[3] - 0.3) < 1e-6);
    assert_true(fabs((double)s.share[2] - 0.1) < 1e-6);
    pk_align_successors_free(&s);
}

static void failed_allocations(void **state) {
    pk_align_successors s;
    (void)state;
    assert_true(check_every_allocation(count_and_free, &s) > 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
