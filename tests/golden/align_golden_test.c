/* align_golden_test.c - real text aligned as fast_align aligns it.
 *
 * Needs $PRONK_SHARED (default ../shared) with corpora/en-de and goldens/fast_align: what
 * fast_align -d -o -v and atools made of the first 20,000 pairs. At least 99.5 % of links must be
 * equal, in each direction and symmetrised, with the same tension; atools' results on the golden
 * links themselves must be met exactly. Skips without. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/text_reader.h"

enum { PAIRS = 20000, N_METHODS = 5 };
static const double      least = 0.995;
static const char *const methods[N_METHODS] = { "intersect", "union", "grow-diag",
                                                "grow-diag-final", "grow-diag-final-and" };

typedef struct golden {
    char folder[512];
    char text[2][64]; /* the pairs' files */
} golden;

/* ---- reading ---- */

static void golden_path(const golden *g, const char *name, char out[600]) {
    snprintf(out, 600, "%s/goldens/fast_align/%s.pharaoh.xz", g->folder, name);
}

/* the first lines of a file */
static void read_lines(const char *path, size_t most, pk_buffer *out) {
    pk_text_reader *r;
    const char     *line;
    size_t          size;
    ASSERT_OK(pk_text_reader_open(path, &r));
    for (size_t i = 0; i < most; i++) {
        ASSERT_OK(pk_text_reader_next(r, &line, &size));
        if (!line) break;
        pk_buffer_add(out, line, size);
        pk_buffer_add(out, "\n", 1);
    }
    pk_text_reader_close(r);
    ASSERT_OK(pk_buffer_status(out));
}

static void read_golden(const golden *g, const char *name, pk_buffer *out) {
    char path[600];
    golden_path(g, name, path);
    read_lines(path, SIZE_MAX, out);
}

static void write_first_pairs(golden *g, int side) {
    char      path[600];
    pk_buffer lines = { 0 };
    snprintf(path, sizeof path, "%s/corpora/en-de/parliament+tatoeba.train.%s.xz", g->folder,
             side ? "de" : "en");
    read_lines(path, PAIRS, &lines);
    strcpy(g->text[side], "/tmp/pronk_align_text_XXXXXX");
    const int file = mkstemp(g->text[side]);
    assert_true(file >= 0 && write(file, lines.data, lines.size) == (ssize_t)lines.size);
    close(file);
    pk_buffer_free(&lines);
}

/* the state is NULL where there is nothing to compare with */
static int open_golden(void **state) {
    const char *folder = getenv("PRONK_SHARED");
    char        path[600];
    golden     *g = calloc(1, sizeof *g);
    snprintf(g->folder, sizeof g->folder, "%s", folder && *folder ? folder : "../shared");
    golden_path(g, "fwd", path);
    if (access(path, R_OK)) {
        print_message("SKIPPED: no %s; set PRONK_SHARED\n", path);
        free(g);
        return 0;
    }
    for (int side = 0; side < 2; side++) write_first_pairs(g, side);
    *state = g;
    return 0;
}

static int close_golden(void **state) {
    golden *g = *state;
    for (int side = 0; side < 2 && g; side++) remove(g->text[side]);
    free(g);
    return 0;
}

/* ---- comparing ---- */

static int keep(void *user, const char *lines, size_t size) {
    pk_buffer_add(user, lines, size);
    return 0;
}

static bool next_word(char **at, const char *end, pk_text *word) {
    while (*at < end && **at == ' ') ++*at;
    word->data = *at;
    while (*at < end && **at != ' ') ++*at;
    word->size = (size_t)(*at - word->data);
    return word->size > 0;
}

/* links of line a that are in line b too; n: links of a */
static size_t common(char *a, const char *b, size_t *n) {
    const char *end = a + strlen(a);
    size_t      found = 0;
    pk_text     word;
    char        wanted[32], beside[1 << 14];
    assert_true((size_t)snprintf(beside, sizeof beside, " %s ", b) < sizeof beside);
    while (next_word(&a, end, &word)) {
        snprintf(wanted, sizeof wanted, " %.*s ", (int)word.size, word.data);
        found += strstr(beside, wanted) != NULL;
        ++*n;
    }
    return found;
}

/* the share of links that are equal, of those of whichever has more */
static double agreement(char *found, char *expected) {
    size_t same = 0, n = 0, m = 0;
    for (char *a, *b; (a = strsep(&found, "\n")) && (b = strsep(&expected, "\n"));) {
        same += common(a, b, &n);
        common(b, a, &m);
    }
    assert_true((found == NULL || !*found) && (expected == NULL || !*expected));
    return (double)same / (double)(n > m ? n : m);
}

static pk_align_report assert_aligned(const golden *g, pk_align_options o, const char *name,
                                      double at_least) {
    pk_buffer       found = { 0 }, expected = { 0 };
    pk_align_report r;
    if (!g) skip();
    o.size = sizeof o;
    o.source = g->text[0];
    o.target = g->text[1];
    o.write = keep;
    o.user = &found;
    ASSERT_OK(pk_align(&o, &r));
    read_golden(g, name, &expected);
    const double share = agreement(found.data, expected.data);
    print_message("%s: %.4f %% of links are fast_align's\n", name, 100 * share);
    assert_true(share >= at_least);
    pk_buffer_free(&found);
    pk_buffer_free(&expected);
    return r;
}

/* ---- the tests ---- */

static void test_forward(void **state) {
    pk_align_report r = assert_aligned(*state, (pk_align_options){ .reverse = 0 }, "fwd", least);
    assert_true(fabs(r.tension[0] - 9.856) < 0.0005);
    assert_true(fabs(r.cross_entropy[0] - 6.78563) < 0.0005);
    assert_int_equal(r.pairs, PAIRS);
    assert_int_equal(r.empty, 0);
}

static void test_reverse(void **state) {
    assert_aligned(*state, (pk_align_options){ .reverse = 1 }, "rev", least);
}

/* both directions are trained once and saved; every method takes them from there */
static void test_symmetrised(void **state) {
    char model[] = "/tmp/pronk_align_golden_XXXXXX";
    if (*state) assert_true(mkstemp(model) >= 0);
    assert_aligned(*state, (pk_align_options){ .symmetrise = "union", .save = model }, "union",
                   least);
    for (int m = 0; m < N_METHODS; m++)
        assert_aligned(*state, (pk_align_options){ .symmetrise = methods[m], .load = model },
                       methods[m], least);
    remove(model);
}

static void test_golden_links(void **state) {
    const golden *g = *state;
    if (!g) skip();
    for (int m = 0; m < N_METHODS; m++) {
        pk_buffer found = { 0 }, expected = { 0 };
        char      forward[600], reverse[600];
        golden_path(g, "fwd", forward);
        golden_path(g, "rev", reverse);
        ASSERT_OK(pk_align_symmetrise_files(forward, reverse, methods[m], keep, &found));
        read_golden(g, methods[m], &expected);
        assert_string_equal(found.data, expected.data);
        pk_buffer_free(&found);
        pk_buffer_free(&expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_reverse),
        cmocka_unit_test(test_symmetrised),
        cmocka_unit_test(test_golden_links),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
