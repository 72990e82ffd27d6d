/* byte_model_test.c - a model whose vocabulary has pieces for bytes, through the whole engine: they
 * come in prefixes and drafts, under bans and penalties and with every strategy, and what comes out
 * is UTF-8. The network has hardly learned anything, so it outputs bytes in any order. */
#include "trainer_help.h"

#include "text/utf8.h"

#define GRIN  "\xF0\x9F\x98\x80"
#define START GRIN "\xC3\xA9" GRIN "\xC3\xA9" /* no byte may be banned in its midst */

static toy       text;
static pk_model *model;

static int open_all(void **state) {
    (void)state;
    char path[2][PATH_ROOM], out[PATH_ROOM];
    toy_open(&text, 100);
    const char *inputs[] = { toy_path(&text, "train.source", path[0]),
                             toy_path(&text, "train.target", path[1]) };
    ASSERT_OK(pk_vocab_train(PK_OPTIONS(pk_vocab_train_options, .inputs = inputs, .n_inputs = 2,
                                        .output = toy_path(&text, "toy.spm", out),
                                        .vocab_size = 300, .type = "bpe", .threads = 1)));
    toy_recipe(&text, "bytes.yml", "output: bytes\ntrain.updates: 2\n" SHORT_TRAINING);
    ASSERT_OK(toy_run(&text, "bytes.yml", false, 0, NULL, NULL));
    ASSERT_OK(pk_model_open(toy_path(&text, "bytes/model.pronk", out), NULL, &model));
    return 0;
}

static int close_all(void **state) {
    (void)state;
    pk_model_close(model);
    toy_close(&text);
    return 0;
}

static const char *const decode[] = {
    "greedy",
    "jacobi",
    "pj",
    "pgj",
    "hgj",
    "beam:size=3",
    "greedy:no_repeat_ngram=1",
    "greedy:no_repeat_ngram=2,repetition_penalty=1.5",
    "jacobi:no_repeat_ngram=2,repetition_penalty=1.5",
    "beam:size=3,no_repeat_ngram=2,repetition_penalty=1.5,unk=ban",
};
enum { N_DECODE = sizeof decode / sizeof *decode };

static const char source[] = "a " GRIN "\xE4\xBD\xA0 b \xE2\x82\xAC";

/* what comes out; the call's options may hold a prefix or a draft */
static pk_result *translate(const char *how, const pk_call_options *call) {
    pk_translator *t;
    pk_result     *r;
    const pk_text  line = { source, sizeof source - 1 };
    ASSERT_OK(pk_translator_open(model,
                                 PK_OPTIONS(pk_translator_options, .decode = how, .threads = 1,
                                            .one_sentence = 1, .alignment = 1),
                                 &t));
    ASSERT_OK(pk_translate(t, &line, 1, call, &r));
    pk_translator_close(t);
    return r;
}

static void prefixes_are_kept_by_all_strategies(void **state) {
    (void)state;
    const pk_text prefix = { START, strlen(START) };
    for (int i = 0; i < N_DECODE; i++) {
        pk_result  *r = translate(decode[i], PK_OPTIONS(pk_call_options, .prefix = &prefix));
        const char *out = pk_result_text(r, 0);
        assert_true(pk_utf8_valid(out, strlen(out)));
        if (strncmp(out, START, strlen(START)) != 0) fail_msg("%s: \"%s\"", decode[i], out);
        pk_result_free(r);
    }
}

static void drafts_change_nothing(void **state) {
    (void)state;
    const pk_text draft = { GRIN " b", strlen(GRIN " b") };
    pk_result    *plain = translate("greedy", NULL);
    for (int i = 1; i < 5; i++) { /* those that guess */
        pk_result *r = translate(decode[i], PK_OPTIONS(pk_call_options, .draft = &draft));
        assert_string_equal(pk_result_text(r, 0), pk_result_text(plain, 0));
        pk_result_free(r);
    }
    pk_result_free(plain);
}

static void alignments_name_words_of_the_source(void **state) {
    (void)state;
    const pk_text      prefix = { START " b", strlen(START " b") };
    pk_result         *r = translate("greedy", PK_OPTIONS(pk_call_options, .prefix = &prefix));
    pk_hypothesis_view h;
    int                links = 0, from, to, used;
    ASSERT_OK(pk_result_hypothesis(r, 0, 0, &h));
    for (const char *c = h.alignment; *c; c += used + (c[used] == ' '), links++) {
        assert_int_equal(sscanf(c, "%d-%d%n", &from, &to, &used), 2);
        assert_in_range(from, 0, 3); /* twelve pieces, four words */
        assert_true(to >= 0);
    }
    assert_true(links > 0);
    pk_result_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_are_kept_by_all_strategies),
        cmocka_unit_test(drafts_change_nothing),
        cmocka_unit_test(alignments_name_words_of_the_source),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
