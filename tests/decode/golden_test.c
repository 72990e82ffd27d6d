/* golden_test.c - greedy and beam search against the peers on random cases: the files of
 * tests/data/decode, made by tools/beam_oracle.py (greedy.txt and hf.txt by transformers itself).
 * Tokens must be equal, scores within 1e-4. */
#include "oracle.h"

typedef struct golden { /* one case */
    char          spec[512];
    oracle        model;
    pk_source     src;
    int32_t       prefix[16];
    oracle_result want;
} golden;

static int32_t read_ints(char *text, int32_t *out, int32_t room) {
    int32_t n = 0;
    for (char *word = strtok(text, " \n"); word && n < room; word = strtok(NULL, " \n"))
        out[n++] = (int32_t)strtol(word, NULL, 10);
    return n;
}

static void read_case(char *line, golden *g) {
    int      forced_eos, renormalise, n_best, max_length, vocab, n_free, used = 0;
    unsigned seed;
    float    bias, slope;
    memset(g, 0, sizeof *g);
    const int n =
        sscanf(line, "C %511s | %d %d %d %d %u %d %f %f %d%n", g->spec, &max_length, &forced_eos,
               &renormalise, &n_best, &seed, &vocab, &bias, &slope, &n_free, &used);
    assert_int_equal(n, 10);
    g->model = (oracle){ .seed = seed,
                         .vocab = vocab,
                         .pad = vocab - 1,
                         .eos_bias = bias,
                         .eos_slope = slope,
                         .renormalise = renormalise };
    g->src = oracle_source(&g->model, max_length);
    g->model.conventions.forced_eos = forced_eos;
    g->src.n_best = n_best;
    g->src.want_scores = true;
    g->src.n_free_prefix = n_free;
    g->src.n_prefix = read_ints(line + used, g->prefix, 16);
    g->src.prefix = g->prefix;
}

static void read_hypothesis(char *line, golden *g) {
    int           used = 0;
    const int32_t i = g->want.n++;
    assert_int_equal(sscanf(line, "H %f%n", &g->want.best[i].score, &used), 1);
    g->want.best[i].n = read_ints(line + used, g->want.best[i].token, ORACLE_LONGEST);
}

static void check_case(golden *g, int line) {
    oracle_result got = { 0 };
    oracle_translate(&g->model, g->spec, &g->src, &got);
    if (got.n != g->want.n)
        fail_msg("line %d: %d hypotheses, not %d", line, (int)got.n, (int)g->want.n);
    for (int32_t i = 0; i < got.n; i++) {
        const float score = g->want.best[i].score, error = fabsf(got.best[i].score - score);
        if (got.best[i].n != g->want.best[i].n || memcmp(got.best[i].token, g->want.best[i].token,
                                                         (size_t)got.best[i].n * sizeof(int32_t)))
            fail_msg("line %d: hypothesis %d has other tokens: %s", line, (int)i, g->spec);
        if (!(error <= 1e-4f * (1 + fabsf(score))))
            fail_msg("line %d: score %g, not %g: %s", line, (double)got.best[i].score,
                     (double)score, g->spec);
    }
}

static void check_file(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s is missing: run tests from the root of the repository", path);
    char   line[2048];
    golden g = { 0 };
    int    at = 0, case_at = 0, n = 0;
    while (fgets(line, sizeof line, f)) {
        at++;
        if (line[0] == 'H') {
            read_hypothesis(line, &g);
            continue;
        }
        if (case_at) {
            check_case(&g, case_at);
            n++;
        }
        read_case(line, &g);
        case_at = at;
    }
    check_case(&g, case_at);
    assert_int_equal(n + 1, 300);
    fclose(f);
}

static void test_greedy(void **unused) {
    (void)unused;
    check_file("tests/data/decode/greedy.txt");
}
static void test_hf(void **unused) {
    (void)unused;
    check_file("tests/data/decode/hf.txt");
}
static void test_marian(void **unused) {
    (void)unused;
    check_file("tests/data/decode/marian.txt");
}
static void test_ct2(void **unused) {
    (void)unused;
    check_file("tests/data/decode/ct2.txt");
}
static void test_fairseq(void **unused) {
    (void)unused;
    check_file("tests/data/decode/fairseq.txt");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy),  cmocka_unit_test(test_hf),
        cmocka_unit_test(test_marian),  cmocka_unit_test(test_ct2),
        cmocka_unit_test(test_fairseq),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
