/* data_help.h - what the tests of training data share: a folder of their own, files in it, the tiny
 * vocabulary, and made-up sentences. */
#ifndef PK_TESTS_DATA_HELP_H
#define PK_TESTS_DATA_HELP_H
#include "check.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file_map.h"
#include "vocab/vocab.h"

static char scratch[64]; /* this test's folder */

static inline int make_scratch(void **state) {
    (void)state;
    strcpy(scratch, "/tmp/pronk_test_XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at) {
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static inline void remove_folder(const char *path) {
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline int remove_scratch(void **state) {
    (void)state;
    remove_folder(scratch);
    return 0;
}

/* the path of a file in the folder; four calls in turn have memory of their own */
static inline const char *in_scratch(const char *name) {
    static char   path[4][256];
    static size_t turn;
    char         *to = path[turn++ % 4];
    snprintf(to, 256, "%s/%s", scratch, name);
    return to;
}

static inline const char *write_file(const char *name, const void *data, size_t size) {
    const char *path = in_scratch(name);
    FILE       *file = fopen(path, "wb");
    assert_non_null(file);
    if (size) assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline const char *write_text(const char *name, const char *text) {
    return write_file(name, text, strlen(text));
}

/* ids 0: end, 1: unknown; source and target have models of their own and one list */
typedef struct tiny_vocab {
    pk_file_map source, target, tokens;
    pk_vocab   *vocab;
} tiny_vocab;

static inline void tiny_vocab_open(tiny_vocab *t) {
    ASSERT_OK(pk_file_map_open("tests/data/vocab/source.spm", &t->source));
    ASSERT_OK(pk_file_map_open("tests/data/vocab/target.spm", &t->target));
    ASSERT_OK(pk_file_map_open("tests/data/vocab/shared.tokens", &t->tokens));
    ASSERT_OK(pk_vocab_open(&(pk_vocab_data){ .source_spm = t->source.data,
                                              .source_spm_size = t->source.size,
                                              .target_spm = t->target.data,
                                              .target_spm_size = t->target.size,
                                              .source_tokens = (const char *)t->tokens.data,
                                              .source_tokens_size = t->tokens.size,
                                              .unk = 1,
                                              .eos = 0 },
                            &t->vocab));
}

static inline void tiny_vocab_close(tiny_vocab *t) {
    pk_vocab_close(t->vocab);
    pk_file_map_close(&t->source);
    pk_file_map_close(&t->target);
    pk_file_map_close(&t->tokens);
}

static inline uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* the line's number in digits that the tiny vocabulary has: base 8, from 1 to 8 */
static inline void add_number(pk_buffer *text, size_t number) {
    char digits[32];
    snprintf(digits, sizeof digits, "%zo", number);
    for (char *at = digits; *at; at++) ++*at;
    pk_buffer_add_text(text, digits);
}

static inline size_t read_number(const char *text) {
    size_t number = 0;
    for (; *text >= '1' && *text <= '8'; text++) number = 8 * number + (size_t)(*text - '1');
    return number;
}

/* n lines of 1 to `most` words, the first of which is the line's number */
static inline const char *write_sentences(const char *name, size_t n, uint32_t most,
                                          uint64_t seed) {
    static const char *const word[] = { "the",  "ship", "leaves", "harbour", "a",    "and", "in",
                                        "over", "sea",  "is",     "not",     "here", "go",  "old" };
    pk_buffer                text = { 0 };
    for (size_t i = 0; i < n; i++) {
        add_number(&text, i);
        for (uint32_t left = next_random(&seed) % most; left; left--)
            pk_buffer_print(&text, " %s", word[next_random(&seed) % 14]);
        pk_buffer_add_text(&text, "\n");
    }
    assert_int_equal(pk_buffer_status(&text), PK_OK);
    const char *path = write_file(name, text.data, text.size);
    pk_buffer_free(&text);
    return path;
}
#endif
