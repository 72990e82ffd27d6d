/* reference_test.c - a real model translates real text as transformers does, and the same way
 * always.
 *
 * Needs $PRONK_SHARED (default ../shared) with models/en-de-base-hf and testsets/en-de; skips
 * loudly without. $PRONK_REFERENCE_LINES lines are compared (default 200; 0: all there are). Greedy
 * outputs must be equal on 99.9 % of lines, beam outputs on 99.5 %, and what differs must be a tie.
 * Then exactness: tokens and scores are bitwise the same at every batch size and number of threads,
 * and from folder and file. */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "forced.h"
#include "pronk.h"

#define NEAR      1e-3             /* of scores, and of ties */
#define LIMIT     "max_length=256" /* what the reference was made with */
#define FILE_MADE "build/reference_test.pronk"

enum { MOST_LINES = 4096, NORMAL_LINES = 200, EXACT_LINES = 500, WIDE = 32 };

typedef struct corpus {
    char    folder[512]; /* of the model */
    pk_text line[MOST_LINES];
    size_t  n; /* lines to compare */
    bool    all;
} corpus;

static corpus text; /* read once, by main */

/* ---- reading ---- */

static const char *shared(void) {
    const char *folder = getenv("PRONK_SHARED");
    return folder && *folder ? folder : "../shared";
}

static bool read_corpus(void) {
    const char *limit = getenv("PRONK_REFERENCE_LINES");
    const long  wanted = limit && *limit ? atol(limit) : NORMAL_LINES;
    char        path[512], *line = NULL;
    size_t      room = 0;
    ssize_t     size;
    text.all = wanted <= 0;
    snprintf(text.folder, sizeof text.folder, "%s/models/en-de-base-hf", shared());
    snprintf(path, sizeof path, "%s/testsets/en-de/newstest2014.en", shared());
    struct stat found;
    FILE       *file = stat(text.folder, &found) == 0 ? fopen(path, "r") : NULL;
    if (!file) return false;
    while (text.n < MOST_LINES && (text.all || (long)text.n < wanted) &&
           (size = getline(&line, &room, file)) > 0) {
        if (line[size - 1] == '\n') size--;
        text.line[text.n++] = (pk_text){ strndup(line, (size_t)size), (size_t)size };
    }
    free(line);
    fclose(file);
    return text.n > 0;
}

static void free_corpus(void) {
    for (size_t i = 0; i < text.n; i++) {
        void *data;
        memcpy(&data, &text.line[i].data, sizeof data); /* strndup's, const in pk_text only */
        free(data);
    }
}

#define NEED_SHARED()                                                                           \
    do {                                                                                        \
        if (text.n == 0) {                                                                      \
            print_message("SKIPPED: no %s/models/en-de-base-hf; set PRONK_SHARED\n", shared()); \
            skip();                                                                             \
        }                                                                                       \
    } while (0)

/* an array of objects, one for each line of a .jsonl file */
static json_t *read_reference(const char *kind) {
    char    path[640], *line = NULL;
    size_t  room = 0;
    json_t *all = json_array();
    snprintf(path, sizeof path, "%s/newstest2014.%s.jsonl", text.folder, kind);
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("cannot read %s", path);
    while (getline(&line, &room, file) > 0) {
        json_t *one = json_loads(line, 0, NULL);
        if (!one) fail_msg("%s: line %zu is not JSON", path, json_array_size(all) + 1);
        json_array_append_new(all, one);
    }
    free(line);
    fclose(file);
    return all;
}

/* ---- translating ---- */

typedef struct way {
    const char *decode;
    int32_t     batch, threads;
} way;

static pk_model *open_model(const char *path, const char *type) {
    pk_model *m;
    ASSERT_OK(pk_model_open(path, PK_OPTIONS(pk_model_options, .type = type), &m));
    return m;
}

static pk_result *translate(const pk_model *m, way w, size_t n) {
    pk_translator *t;
    pk_result     *r;
    ASSERT_OK(
        pk_translator_open(m,
                           PK_OPTIONS(pk_translator_options, .decode = w.decode, .batch = w.batch,
                                      .threads = w.threads, .one_sentence = 1, .scores = 1),
                           &t));
    ASSERT_OK(pk_translate(t, text.line, n, NULL, &r));
    pk_translator_close(t);
    assert_int_equal(pk_result_count(r), n);
    return r;
}

static pk_hypothesis_view best(const pk_result *r, size_t i) {
    pk_hypothesis_view view;
    ASSERT_OK(pk_result_hypothesis(r, i, 0, &view));
    return view;
}

/* ---- against the reference ---- */

typedef struct tally {
    size_t n, equal, ties, real, scores_off;
    double worst;
} tally;

/* ids of the reference with the end symbol it leaves out */
static int32_t reference_ids(const json_t *one, int32_t eos, int32_t *out) {
    const json_t *list = json_object_get(one, "ids");
    const size_t  n = json_array_size(list);
    assert_in_range(n, 0, FORCED_LONGEST - 1);
    for (size_t i = 0; i < n; i++) out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    out[n] = eos;
    return (int32_t)n + 1;
}

static double sum_of(const float *each, int32_t n) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)each[i];
    return sum;
}

/* How far the model itself sets the two outputs apart. Greedy search is led away by one token, so
 * that token is compared; beam search ranks whole outputs by their mean. */
static double apart(const pk_model *m, size_t i, bool beam, const int32_t *want, int32_t n_want,
                    const pk_hypothesis_view *got) {
    static float ours[FORCED_LONGEST], theirs[FORCED_LONGEST];
    pk_ids       source = { 0 };
    int32_t      at = 0;
    ASSERT_OK(
        pk_vocab_encode_source(m->vocab, text.line[i].data, text.line[i].size, &source, NULL));
    ASSERT_OK(pk_ids_add(&source, m->data.network.config.eos));
    forced_log_probs(m, &source, want, n_want, theirs);
    forced_log_probs(m, &source, got->token, got->n_tokens, ours);
    pk_ids_free(&source);
    while (at + 1 < n_want && at + 1 < got->n_tokens && want[at] == got->token[at]) at++;
    print_message("    line %zu: from token %d on; %s\n", i + 1, (int)at, got->text);
    if (!beam) return fabs((double)ours[at] - (double)theirs[at]);
    return fabs(sum_of(ours, got->n_tokens) / got->n_tokens - sum_of(theirs, n_want) / n_want);
}

static void compare_line(const pk_model *m, const json_t *one, size_t i, bool beam,
                         const pk_hypothesis_view *got, tally *sum) {
    static int32_t want[FORCED_LONGEST];
    const int32_t  n = reference_ids(one, m->data.network.config.eos, want);
    sum->n++;
    if (n == got->n_tokens && memcmp(want, got->token, (size_t)n * sizeof *want) == 0) {
        const double off =
            fabs(json_number_value(json_object_get(one, "score")) - (double)got->log_prob);
        sum->equal++;
        sum->scores_off += !(off <= NEAR);
        if (!(off <= sum->worst)) sum->worst = off;
        return;
    }
    const double distance = apart(m, i, beam, want, n, got);
    const bool   tie = distance <= NEAR;
    print_message("      %s: the model sets the two outputs %.2g apart\n",
                  tie ? "a tie" : "NOT a tie", distance);
    sum->ties += tie;
    sum->real += !tie;
}

static void compare_with_reference(const char *kind, const char *decode, size_t most,
                                   double least) {
    json_t      *reference = read_reference(kind);
    const size_t there = json_array_size(reference), n = most < there ? most : there;
    pk_model    *m = open_model(text.folder, "f32");
    pk_result   *r = translate(m, (way){ decode, WIDE, 0 }, n);
    tally        sum = { 0 };
    for (size_t i = 0; i < n; i++) {
        const pk_hypothesis_view got = best(r, i);
        compare_line(m, json_array_get(reference, i), i, decode[0] == 'b', &got, &sum);
    }
    print_message(
        "  %s: %zu of %zu lines equal, %zu ties, %zu real differences; scores at most %.1e apart\n",
        kind, sum.equal, sum.n, sum.ties, sum.real, sum.worst);
    pk_result_free(r);
    pk_model_close(m);
    json_decref(reference);
    assert_int_equal(sum.real, 0);
    assert_int_equal(sum.scores_off, 0);
    /* in a short run one tie may be more than the share allows */
    assert_true(sum.n - sum.equal <= (size_t)ceil((1 - least) * (double)sum.n));
}

static void test_greedy(void **state) {
    (void)state;
    NEED_SHARED();
    compare_with_reference("greedy", "greedy:" LIMIT, text.n, 0.999);
}

static void test_beam4(void **state) {
    (void)state;
    NEED_SHARED();
    compare_with_reference("beam4", "beam:size=4,rules=hf," LIMIT, text.n, 0.995);
}

static void test_beam5(void **state) {
    (void)state;
    NEED_SHARED();
    /* much like beam 4: a short run takes half as many */
    compare_with_reference("beam5", "beam:size=5,rules=hf," LIMIT,
                           text.all ? text.n : (text.n + 1) / 2, 0.995);
}

/* ---- exactness ---- */

static bool same_floats(const float *a, const float *b, int32_t n) {
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* lines of which tokens or any score differ in a single bit */
static size_t different_lines(const pk_result *a, const pk_result *b, size_t n) {
    size_t different = 0;
    for (size_t i = 0; i < n; i++) {
        const pk_hypothesis_view x = best(a, i), y = best(b, i);
        const bool               same = x.n_tokens == y.n_tokens &&
                          memcmp(x.token, y.token, (size_t)x.n_tokens * sizeof *x.token) == 0 &&
                          same_floats(x.token_log_prob, y.token_log_prob, x.n_tokens) &&
                          same_floats(&x.log_prob, &y.log_prob, 1) &&
                          same_floats(&x.score, &y.score, 1) && strcmp(x.text, y.text) == 0;
        if (!same) print_error("    line %zu: \"%s\" or \"%s\"\n", i + 1, x.text, y.text);
        different += !same;
    }
    return different;
}

/* an eighth of the lines compared: this translates them twelve times over */
static size_t exact_lines(void) {
    const size_t n = text.all ? EXACT_LINES : (text.n + 7) / 8;
    return n < text.n ? n : text.n;
}

static void every_way_is_the_same(const char *type, const char *decode, size_t n) {
    static const int32_t batch[] = { 1, 3, WIDE }, threads[] = { 1, 2 };
    pk_model            *m = open_model(text.folder, type);
    pk_result           *first = translate(m, (way){ decode, batch[0], threads[0] }, n);
    size_t               different = 0;
    for (size_t i = 1; i < 6; i++) {
        const way    w = { decode, batch[i % 3], threads[i / 3] };
        pk_result   *r = translate(m, w, n);
        const size_t here = different_lines(first, r, n);
        if (here)
            print_error("  %s, %s: %zu of %zu lines differ at batch %d with %d threads\n", type,
                        decode, here, n, (int)w.batch, (int)w.threads);
        different += here;
        pk_result_free(r);
    }
    print_message("  %s, %s: %zu lines at batch 1, 3 and 32, on 1 and 2 threads\n", type, decode,
                  n);
    pk_result_free(first);
    pk_model_close(m);
    assert_int_equal(different, 0);
}

static void test_exact_f32(void **state) {
    (void)state;
    NEED_SHARED();
    every_way_is_the_same("f32", "greedy", exact_lines());
}

static void test_exact_i8(void **state) {
    (void)state;
    NEED_SHARED();
    every_way_is_the_same("i8", "greedy", exact_lines());
}

static void test_exact_beam(void **state) {
    (void)state;
    NEED_SHARED();
    every_way_is_the_same("i8", "beam:size=4", (exact_lines() + 3) / 4);
}

/* ---- folder and file ---- */

static void test_file(void **state) {
    (void)state;
    NEED_SHARED();
    const size_t n = exact_lines();
    const char  *types[] = { "f32", "i8" };
    mkdir("build", 0777);
    for (size_t i = 0; i < 2; i++) {
        /* f32 of a file in halves stays in halves: nothing is lost, so "as found" */
        ASSERT_OK(pk_model_convert(text.folder, FILE_MADE,
                                   PK_OPTIONS(pk_convert_options, .type = i ? "i8" : NULL)));
        pk_model  *folder = open_model(text.folder, types[i]), *file = open_model(FILE_MADE, NULL);
        pk_result *a = translate(folder, (way){ "greedy", WIDE, 0 }, n),
                  *b = translate(file, (way){ "greedy", WIDE, 0 }, n);
        const size_t different = different_lines(a, b, n);
        pk_result_free(a);
        pk_result_free(b);
        pk_model_close(folder);
        pk_model_close(file);
        remove(FILE_MADE);
        print_message("  %s: %zu of %zu lines the same from folder and file\n", types[i],
                      n - different, n);
        assert_int_equal(different, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy),   cmocka_unit_test(test_beam4),
        cmocka_unit_test(test_beam5),    cmocka_unit_test(test_exact_f32),
        cmocka_unit_test(test_exact_i8), cmocka_unit_test(test_exact_beam),
        cmocka_unit_test(test_file),
    };
    read_corpus();
    const int failed = cmocka_run_group_tests_name("reference", tests, NULL, NULL);
    free_corpus();
    return failed;
}
