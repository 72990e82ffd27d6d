/* spm_help.h - what tests of vocabularies share: a text of syllables, and vocabularies trained on it. */
#ifndef PK_TESTS_SPM_HELP_H
#define PK_TESTS_SPM_HELP_H
#include "data_help.h"

#include "vocab/spm.h"

static char text_path[256];

/* sentences of words that are made of a few syllables */
static inline int open_all(void **state) {
    static const char *const syllable[] = { "ba", "lo", "ri", "ten", "sum", "ka", "pel", "do" };
    if (make_scratch(state) != 0) return -1;
    pk_buffer text = { 0 };
    uint64_t  random = 5;
    for (int i = 0; i < 2000; i++) {
        for (uint32_t words = 3 + next_random(&random) % 6; words; words--) {
            for (uint32_t n = 1 + next_random(&random) % 3; n; n--)
                pk_buffer_add_text(&text, syllable[next_random(&random) % 8]);
            pk_buffer_add_text(&text, words > 1 ? " " : ".\n");
        }
    }
    strcpy(text_path, write_file("text", text.data, text.size));
    pk_buffer_free(&text);
    return 0;
}

static inline pk_vocab_train_options options_of(const char *const *inputs, const char *output) {
    return (pk_vocab_train_options){ .size = sizeof(pk_vocab_train_options),
                                     .inputs = inputs,
                                     .n_inputs = 1,
                                     .output = output,
                                     .vocab_size = 60,
                                     .no_byte_fallback = 1,
                                     .threads = 2 };
}

static inline void train_to(const char *output, const char *type, const char *input) {
    const char            *inputs[1] = { input };
    pk_vocab_train_options o = options_of(inputs, output);
    o.type = type;
    ASSERT_OK(pk_vocab_train(&o));
}

/* a trained model as a vocabulary: its own pieces, in its own order */
typedef struct trained {
    pk_file_map file;
    pk_buffer   pieces;
    pk_spm     *spm;
    pk_vocab   *vocab;
} trained;

static inline trained trained_open(const char *path) {
    trained t = { 0 };
    ASSERT_OK(pk_file_map_open(path, &t.file));
    ASSERT_OK(pk_spm_open(t.file.data, t.file.size, &t.spm));
    ASSERT_OK(pk_spm_pieces(t.spm, &t.pieces));
    ASSERT_OK(pk_vocab_open(&(pk_vocab_data){ .source_spm = t.file.data,
                                              .source_spm_size = t.file.size,
                                              .source_tokens = t.pieces.data,
                                              .source_tokens_size = t.pieces.size,
                                              .unk = 0,
                                              .eos = 2 },
                            &t.vocab));
    return t;
}

static inline void trained_close(trained *t) {
    pk_vocab_close(t->vocab);
    pk_spm_close(t->spm);
    pk_buffer_free(&t->pieces);
    pk_file_map_close(&t->file);
}

static inline void assert_refused(pk_vocab_train_options o, pk_status status, const char *says) {
    ASSERT_STATUS(status, pk_vocab_train(&o));
    if (!strstr(pk_last_error(), says)) fail_msg("\"%s\" says not \"%s\"", pk_last_error(), says);
    if (o.output) assert_int_not_equal(access(o.output, F_OK), 0);
}
#endif
