/* tokens.c - translates the lines of a file in one call and writes the tokens of each by name.
 *
 * usage: make build/bench/tokens && build/bench/tokens MODEL DECODE THREADS FILE
 * Each line is one sentence, batches are of 32. Tokens stand between spaces, without the end symbol:
 * what ct2_folders.py compares with CTranslate2's. The seconds of the call go to standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text_reader.h"
#include "pronk.h"

enum { MOST = 100000 };

static int fail(void) {
    fprintf(stderr, "tokens: %s\n", pk_last_error());
    return 1;
}

static pk_status read_lines(const char *path, pk_text *line, size_t *n) {
    pk_text_reader *r;
    pk_text         one;
    PK_TRY(pk_text_reader_open(path, &r));
    pk_status status = pk_text_reader_next(r, &one.data, &one.size);
    while (status == PK_OK && one.data && *n < MOST) {
        line[(*n)++] = (pk_text){ strndup(one.data, one.size), one.size };
        status = pk_text_reader_next(r, &one.data, &one.size);
    }
    pk_text_reader_close(r);
    return status;
}

static pk_status print_tokens(const pk_model *m, const pk_result *r, size_t n) {
    for (size_t i = 0; i < n; i++) {
        pk_hypothesis_view h;
        PK_TRY(pk_result_hypothesis(r, i, 0, &h));
        for (int32_t k = 0; k < h.n_tokens; k++) {
            const char *name = pk_model_target_token(m, h.token[k]);
            if (strcmp(name, "</s>") != 0) printf("%s%s", k ? " " : "", name);
        }
        printf("\n");
    }
    return PK_OK;
}

static pk_status run(const char *model, const char *decode, int threads, const char *file) {
    pk_model      *m;
    pk_translator *t;
    pk_result     *r;
    size_t         n = 0;
    pk_text       *line = calloc(MOST, sizeof *line);
    if (!line) return PK_NO_MEMORY;
    PK_TRY(read_lines(file, line, &n));
    PK_TRY(pk_model_open(model, NULL, &m));
    PK_TRY(pk_translator_open(m,
                              PK_OPTIONS(pk_translator_options, .decode = decode,
                                         .threads = threads, .batch = 32, .one_sentence = 1),
                              &t));
    const double begin = pk_clock_now();
    PK_TRY(pk_translate(t, line, n, NULL, &r));
    fprintf(stderr, "%.6f\n", pk_clock_now() - begin);
    return print_tokens(m, r, n);
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: tokens MODEL DECODE THREADS FILE\n");
        return 2;
    }
    return run(argv[1], argv[2], atoi(argv[3]), argv[4]) == PK_OK ? 0 : fail();
}
