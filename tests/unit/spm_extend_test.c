/* spm_extend_test.c - a vocabulary that is extended: old pieces keep their ids, text that was known is cut as
 * before, and nothing is unknown any more. */
#include "vocab/spm_extend.h"

#include "spm_help.h"

static pk_vocab_train_report report;

/* old is read, extended by the characters of the text of syllables and `characters`, and written */
static pk_status extend_to(const char *old, const char *output, const char *characters,
                           bool no_bytes) {
    const char *inputs[1] = { text_path };
    pk_file_map file;
    ASSERT_OK(pk_file_map_open(old, &file));
    pk_vocab_train_options o = options_of(inputs, output);
    o.vocab_size = 0, o.extend = file.data, o.extend_size = file.size, o.coverage = 1;
    o.characters = characters, o.no_byte_fallback = no_bytes, o.report = &report;
    const pk_status status = pk_vocab_train(&o);
    pk_file_map_close(&file);
    return status;
}

static pk_ids encode(const trained *t, const char *text) {
    pk_ids ids = { 0 };
    ASSERT_OK(pk_vocab_encode_target(t->vocab, text, strlen(text), &ids));
    return ids;
}

static void assert_comes_back(const trained *t, const char *text) {
    pk_ids    ids = encode(t, text);
    pk_buffer back = { 0 };
    for (size_t i = 0; i < ids.n; i++) assert_int_not_equal(ids.id[i], 0); /* <unk> */
    ASSERT_OK(pk_vocab_decode(t->vocab, ids.id, ids.n, &back));
    assert_string_equal(back.data, text);
    pk_ids_free(&ids);
    pk_buffer_free(&back);
}

static void assert_cut_alike(const trained *a, const trained *b, const char *text) {
    pk_ids x = encode(a, text), y = encode(b, text);
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.id, y.id, x.n * sizeof *x.id);
    pk_ids_free(&x);
    pk_ids_free(&y);
}

static void nothing_is_unknown(void **state) {
    (void)state;
    static const char *const type[] = { "unigram", "bpe" };
    for (int i = 0; i < 2; i++) {
        char old[256], new[256];
        strcpy(old, in_scratch("old")), strcpy(new, in_scratch("new"));
        train_to(old, type[i], text_path);
        ASSERT_OK(extend_to(old, new, "\xC3\x96 @\xC3\x96", false)); /* a space and a repetition */
        trained       a = trained_open(old), b = trained_open(new);
        const int32_t n = pk_vocab_source_size(a.vocab);
        assert_int_equal(report.pieces, n + 2 + 256);
        assert_int_equal(pk_vocab_source_size(b.vocab), report.pieces);
        assert_memory_equal(b.pieces.data, a.pieces.data, a.pieces.size);
        assert_int_equal(report.covered, report.characters);
        assert_cut_alike(&a, &b, "balori tenka pel.");
        assert_cut_alike(&a, &b, "sum sum sumsum ri.");
        pk_ids ids = encode(&b, "ba\xC3\x96");
        assert_string_equal(pk_vocab_source_token(b.vocab, ids.id[ids.n - 1]), "\xC3\x96");
        pk_ids_free(&ids);
        assert_comes_back(&b, "ba@lo \xC3\x96ri {x} \xE2\x82\xAC \xF0\x9F\x98\x8D \xC2\xBD");
        trained_close(&a);
        trained_close(&b);
        /* there is nothing to add the second time */
        ASSERT_OK(extend_to(new, old, "@", false));
        assert_int_equal(report.pieces, n + 2 + 256);
    }
}

static void characters_alone(void **state) {
    (void)state;
    char old[256], new[256];
    strcpy(old, in_scratch("old")), strcpy(new, in_scratch("new"));
    train_to(old, "unigram", text_path);
    ASSERT_OK(extend_to(old, new, "\xE2\x82\xAC", true));
    trained t = trained_open(new);
    assert_int_equal(report.pieces, 61);
    assert_comes_back(&t, "balo \xE2\x82\xAC");
    pk_ids ids = encode(&t, "balo@");
    assert_int_equal(ids.id[ids.n - 1], 0); /* no bytes: still unknown */
    pk_ids_free(&ids);
    trained_close(&t);
}

/* text whose characters are all known adds nothing; where there are none at all it is refused, and nothing is written */
static void text_without_new_characters(void **state) {
    (void)state;
    char old[256], new[256], text[256];
    strcpy(old, in_scratch("old")), strcpy(new, in_scratch("known"));
    train_to(old, "unigram", text_path);
    trained                a = trained_open(old);
    const char            *inputs[1] = { strcpy(text, write_text("sums", "sum ri.\n\n  \n")) };
    pk_vocab_train_options o = options_of(inputs, new);
    o.vocab_size = 0, o.extend = a.file.data, o.extend_size = a.file.size, o.report = &report;
    ASSERT_OK(pk_vocab_train(&o));
    trained b = trained_open(new);
    assert_int_equal(report.lines, 1);
    assert_int_equal(report.pieces, pk_vocab_source_size(a.vocab));
    assert_int_equal(b.pieces.size, a.pieces.size);
    assert_memory_equal(b.pieces.data, a.pieces.data, a.pieces.size);
    assert_cut_alike(&a, &b, "balori tenka pel.");
    trained_close(&b);
    unlink(new);
    static const char *const nothing[] = { "", "\n\n\n", " \t\n\xC2\xA0\n" };
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        write_text("sums", nothing[i]);
        assert_refused(o, PK_FORMAT, "sums: no text");
    }
    trained_close(&a);
}

/* as many characters as coverage asks for, the frequent ones first */
static void coverage_counts(void **state) {
    (void)state;
    pk_buffer text = { 0 };
    for (int i = 0; i < 98; i++) pk_buffer_add_text(&text, "@\n");
    pk_buffer_add_text(&text, "#\n%\n");
    char old[256], new[256];
    strcpy(old, in_scratch("old")), strcpy(new, in_scratch("new"));
    const char *inputs[1] = { write_file("signs", text.data, text.size) };
    char        path[256];
    inputs[0] = strcpy(path, inputs[0]);
    train_to(old, "unigram", text_path);
    pk_file_map file;
    ASSERT_OK(pk_file_map_open(old, &file));
    static const double coverage[] = { 0.95, 0.985, 1 };
    for (int i = 0; i < 3; i++) {
        pk_vocab_train_options o = options_of(inputs, new);
        o.vocab_size = 0, o.extend = file.data, o.extend_size = file.size, o.report = &report;
        o.coverage = coverage[i];
        ASSERT_OK(pk_vocab_train(&o));
        assert_int_equal(report.pieces, 61 + i);
    }
    pk_file_map_close(&file);
    pk_buffer_free(&text);
}

static void what_is_refused(void **state) {
    (void)state;
    const char            *inputs[1] = { text_path };
    char                   output[256];
    pk_vocab_train_options o = options_of(inputs, strcpy(output, in_scratch("refused")));
    o.extend = "no model", o.extend_size = 8;
    assert_refused(o, PK_ARGUMENT, "leave its size out");
    o.vocab_size = 0;
    assert_refused(o, PK_FORMAT, "cannot be used");
}

typedef struct attempt {
    const char *old, *output;
} attempt;
static pk_status extend_attempt(void *user) {
    const attempt *a = user;
    return extend_to(a->old, a->output, "@", false);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    char old[256], new[256];
    strcpy(old, in_scratch("old")), strcpy(new, in_scratch("new"));
    train_to(old, "unigram", text_path);
    assert_true(check_every_allocation(extend_attempt, &(attempt){ old, new }) >= 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_unknown),
        cmocka_unit_test(characters_alone),
        cmocka_unit_test(text_without_new_characters),
        cmocka_unit_test(coverage_counts),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, open_all, remove_scratch);
}
