/* align_symmetrise_test.c - two directions made one: by hand, as atools does it on real links, and
 * what must hold of any links. */
#include "align/align_symmetrise.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const methods[] = { "intersect", "union", "grow-diag", "grow-diag-final",
                                       "grow-diag-final-and" };
enum { N_METHODS = 5 };

static void parse(const char *text, pk_align_links *l) {
    ASSERT_OK(pk_align_links_parse((pk_text){ text, strlen(text) }, l));
}

static void assert_symmetrised(const char *forward, const char *reverse, const char *method,
                               const char *expected) {
    pk_align_symmetriser s = { 0 };
    pk_align_links       a = { 0 }, b = { 0 }, out = { 0 };
    pk_align_method      m;
    pk_buffer            text = { 0 };
    parse(forward, &a);
    parse(reverse, &b);
    ASSERT_OK(pk_align_method_find(method, &m));
    ASSERT_OK(pk_align_symmetrise(&s, m, &a, &b, &out));
    pk_buffer_add(&text, "", 0);
    pk_align_links_print(&out, &text);
    assert_string_equal(text.data, expected);
    pk_buffer_free(&text);
    pk_align_links_free(&a);
    pk_align_links_free(&b);
    pk_align_links_free(&out);
    pk_align_symmetriser_free(&s);
}

/* 0-0 is in both; 1-1 is its neighbour and brings 2-2 along in the next sweep at the latest; 5-5 is
 * far from all and has no word in common with them; 0-6 shares source word 0 */
static void test_by_hand(void **state) {
    static const char *const expected[N_METHODS] = { "0-0", "0-0 0-6 1-1 2-2 5-5", "0-0 1-1 2-2",
                                                     "0-0 0-6 1-1 2-2 5-5", "0-0 1-1 2-2 5-5" };
    (void)state;
    for (int m = 0; m < N_METHODS; m++)
        assert_symmetrised("0-0 2-2 0-6", "0-0 1-1 5-5", methods[m], expected[m]);
}

/* a link whose words both have one is not added, however close */
static void test_neighbours_need_a_free_word(void **state) {
    (void)state;
    assert_symmetrised("0-0 1-1 0-1", "0-0 1-1", "grow-diag", "0-0 1-1");
    assert_symmetrised("0-0 0-1", "0-0", "grow-diag", "0-0 0-1");
}

/* links that grow backwards take several sweeps: each makes the one before it a neighbour */
static void test_grows_backwards(void **state) {
    (void)state;
    assert_symmetrised("0-3 1-2 2-1 3-0", "3-0", "grow-diag", "0-3 1-2 2-1 3-0");
}

/* final-and takes forward links first: 5-8 leaves neither 5-9 nor 6-8 two free words */
static void test_final_prefers_forward(void **state) {
    (void)state;
    assert_symmetrised("5-8", "5-9 6-8", "grow-diag-final-and", "5-8");
    assert_symmetrised("5-8", "5-9 6-8", "grow-diag-final", "5-8 5-9 6-8");
}

static void test_no_links(void **state) {
    (void)state;
    for (int m = 0; m < N_METHODS; m++) assert_symmetrised("", " ", methods[m], "");
    assert_symmetrised("", "3-1", "union", "3-1");
    assert_symmetrised("3-1 3-1", "3-1", "intersect", "3-1"); /* twice is once */
}

static void test_as_atools(void **state) {
    char  line[8192];
    int   n = 0;
    FILE *file = fopen("tests/data/align/symmetrised.tsv", "r");
    (void)state;
    assert_non_null(file);
    for (; fgets(line, sizeof line, file); n++) {
        char *column[2 + N_METHODS], *at = line;
        line[strcspn(line, "\n")] = '\0';
        for (int c = 0; c < 2 + N_METHODS; c++) column[c] = strsep(&at, "\t");
        for (int m = 0; m < N_METHODS; m++)
            assert_symmetrised(column[0], column[1], methods[m], column[2 + m]);
    }
    fclose(file);
    assert_int_equal(n, 80);
}

/* ---- what must hold of any links ---- */

static uint32_t dice(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*seed >> 8) * below >> 24);
}

/* as a model gives them: at most one link for each generated word */
static void draw(uint32_t *seed, uint32_t n, bool reverse, pk_align_links *out) {
    out->n = 0;
    for (uint32_t j = 0; j < n; j++)
        if (dice(seed, 4)) {
            const uint32_t i = dice(seed, n);
            ASSERT_OK(pk_align_links_add(out, reverse ? j : i, reverse ? i : j));
        }
}

static bool holds(const pk_align_links *l, pk_align_link k) {
    for (size_t i = 0; i < l->n; i++)
        if (l->link[i].source == k.source && l->link[i].target == k.target) return true;
    return false;
}

static void assert_within(const pk_align_links *few, const pk_align_links *many) {
    for (size_t i = 0; i < few->n; i++) assert_true(holds(many, few->link[i]));
}

static void assert_sorted(const pk_align_links *l) {
    for (size_t i = 1; i < l->n; i++) {
        const pk_align_link a = l->link[i - 1], b = l->link[i];
        assert_true(a.source < b.source || (a.source == b.source && a.target < b.target));
    }
}

static void test_order_of_methods(void **state) {
    uint32_t             seed = 1;
    pk_align_symmetriser s = { 0 };
    pk_align_links       a = { 0 }, b = { 0 }, out[PK_ALIGN_N_METHODS] = { 0 };
    (void)state;
    for (int turn = 0; turn < 300; turn++) {
        const uint32_t n = 1 + dice(&seed, 12);
        draw(&seed, n, false, &a);
        draw(&seed, n, true, &b);
        for (int m = PK_ALIGN_ONE_WAY + 1; m < PK_ALIGN_N_METHODS; m++) {
            ASSERT_OK(pk_align_symmetrise(&s, (pk_align_method)m, &a, &b, &out[m]));
            assert_sorted(&out[m]);
        }
        assert_within(&out[PK_ALIGN_INTERSECT], &a);
        assert_within(&out[PK_ALIGN_INTERSECT], &b);
        assert_within(&a, &out[PK_ALIGN_UNION]);
        assert_within(&b, &out[PK_ALIGN_UNION]);
        assert_within(&out[PK_ALIGN_INTERSECT], &out[PK_ALIGN_GROW_DIAG]);
        assert_within(&out[PK_ALIGN_GROW_DIAG], &out[PK_ALIGN_GROW_DIAG_FINAL_AND]);
        assert_within(&out[PK_ALIGN_GROW_DIAG], &out[PK_ALIGN_GROW_DIAG_FINAL]);
        assert_within(&out[PK_ALIGN_GROW_DIAG_FINAL], &out[PK_ALIGN_UNION]);
        assert_within(&out[PK_ALIGN_GROW_DIAG_FINAL_AND], &out[PK_ALIGN_UNION]);
    }
    for (int m = 0; m < PK_ALIGN_N_METHODS; m++) pk_align_links_free(&out[m]);
    pk_align_links_free(&a);
    pk_align_links_free(&b);
    pk_align_symmetriser_free(&s);
}

/* ---- what is refused ---- */

static void test_bad_links(void **state) {
    static const char *const bad[] = { "1",         "1-",    "-1",    "a-b",
                                       "1-2,3-4",   "1-2-3", "1 - 2", "0-99999999999",
                                       "1048576-0", "1--2",  "0x1-2" };
    pk_align_links           l = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ASSERT_STATUS(PK_FORMAT, pk_align_links_parse((pk_text){ bad[i], strlen(bad[i]) }, &l));
    parse(" 1-2\t1048575-3 \r", &l);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.link[1].source, 1048575);
    pk_align_links_free(&l);
}

static void test_methods(void **state) {
    pk_align_method m;
    (void)state;
    for (int i = 0; i < N_METHODS; i++) {
        ASSERT_OK(pk_align_method_find(methods[i], &m));
        assert_string_equal(pk_align_method_name(m), methods[i]);
    }
    ASSERT_STATUS(PK_ARGUMENT, pk_align_method_find("grow", &m));
    assert_non_null(strstr(pk_last_error(), "grow-diag-final-and"));
    ASSERT_STATUS(PK_ARGUMENT, pk_align_method_find("", &m));
}

static pk_status attempt(void *user) {
    pk_align_symmetriser s = { 0 };
    pk_align_links       a = { 0 }, b = { 0 }, out = { 0 };
    (void)user;
    pk_status status = pk_align_links_parse((pk_text){ "0-0 2-2", 7 }, &a);
    if (status == PK_OK) status = pk_align_links_parse((pk_text){ "0-0 1-1", 7 }, &b);
    if (status == PK_OK) status = pk_align_symmetrise(&s, PK_ALIGN_GROW_DIAG_FINAL, &a, &b, &out);
    pk_align_links_free(&a);
    pk_align_links_free(&b);
    pk_align_links_free(&out);
    pk_align_symmetriser_free(&s);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    assert_true(check_every_allocation(attempt, NULL) >= 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),          cmocka_unit_test(test_neighbours_need_a_free_word),
        cmocka_unit_test(test_grows_backwards),  cmocka_unit_test(test_final_prefers_forward),
        cmocka_unit_test(test_no_links),         cmocka_unit_test(test_as_atools),
        cmocka_unit_test(test_order_of_methods), cmocka_unit_test(test_bad_links),
        cmocka_unit_test(test_methods),          cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
