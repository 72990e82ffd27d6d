/* ct2_golden_test.c - small CTranslate2 models of every binary version and type, and a package, give
 * token for token what CTranslate2 gives with them (tests/data/ct2, tools/make_ct2_fixtures.py). */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/data/ct2/"
enum { N_FOLDERS = 12, N_WAYS = 2, N_TEXTS = 10, LONGEST = 1024 };

typedef struct bed {
    char           model[64], way[64]; /* what is open */
    pk_model      *m;
    pk_translator *t;
    int            rows, wrong;
} bed;

static void close_bed(bed *b) {
    pk_translator_close(b->t);
    pk_model_close(b->m);
    b->t = NULL, b->m = NULL;
}

static void open_bed(bed *b, const char *path, const char *model, const char *way) {
    if (b->m && strcmp(b->model, model) == 0 && strcmp(b->way, way) == 0) return;
    close_bed(b);
    snprintf(b->model, sizeof b->model, "%s", model);
    snprintf(b->way, sizeof b->way, "%s", way);
    ASSERT_OK(pk_model_open(path, PK_OPTIONS(pk_model_options, .type = "f32"), &b->m));
    ASSERT_OK(pk_translator_open(
        b->m, PK_OPTIONS(pk_translator_options, .decode = way, .threads = 1, .one_sentence = 1),
        &b->t));
}

/* the tokens of a translation by name, without the end symbol */
static void translate(const bed *b, const char *text, char *out) {
    const pk_text      source = { text, strlen(text) };
    pk_result         *r;
    pk_hypothesis_view h;
    ASSERT_OK(pk_translate(b->t, &source, 1, NULL, &r));
    ASSERT_OK(pk_result_hypothesis(r, 0, 0, &h));
    *out = '\0';
    for (int32_t i = 0; i < h.n_tokens; i++) {
        const char  *name = pk_model_target_token(b->m, h.token[i]);
        const size_t n = strlen(out);
        if (strcmp(name, "</s>") != 0) snprintf(out + n, LONGEST - n, "%s%s", n ? " " : "", name);
    }
    pk_result_free(r);
}

/* one line of expected.tsv: folder, way of decoding, source, tokens */
static void check_row(bed *b, char *line) {
    char *part[4], path[128], found[LONGEST];
    for (int i = 0; i < 4; i++) {
        part[i] = line ? strsep(&line, "\t\n") : NULL;
        assert_non_null(part[i]);
    }
    snprintf(path, sizeof path, FOLDER "%s", part[0]);
    open_bed(b, path, part[0], part[1]);
    translate(b, part[2], found);
    b->rows++;
    if (strcmp(found, part[3]) == 0) return;
    b->wrong++;
    print_message("%s, %s, \"%s\":\n  expected %s\n  found    %s\n", part[0], part[1], part[2],
                  part[3], found);
}

static void tokens_are_those_of_ctranslate2(void **state) {
    bed   b = { .rows = 0 };
    char  line[2 * LONGEST];
    FILE *f = fopen(FOLDER "expected.tsv", "r");
    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) check_row(&b, line);
    fclose(f);
    close_bed(&b);
    assert_int_equal(b.rows, N_FOLDERS * N_WAYS * N_TEXTS);
    assert_int_equal(b.wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(tokens_are_those_of_ctranslate2) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
