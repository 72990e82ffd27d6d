/* spm_train_test.c - vocabularies from text, and segmentations drawn at random from a seed. */
#include "vocab/spm_train.h"

#include "spm_help.h"

#include <pthread.h>
#include <zlib.h>

static void test_pieces(void **state) {
    (void)state;
    static const char *const type[] = { "unigram", "bpe" };
    for (int i = 0; i < 2; i++) {
        train_to(in_scratch(type[i]), type[i], text_path);
        trained t = trained_open(in_scratch(type[i]));
        assert_int_equal(pk_vocab_source_size(t.vocab), 60);
        assert_string_equal(pk_vocab_source_token(t.vocab, 0), "<unk>");
        assert_string_equal(pk_vocab_source_token(t.vocab, 1), "<s>");
        assert_string_equal(pk_vocab_source_token(t.vocab, 2), "</s>");
        static const char text[] = "balori tenka pel.";
        pk_ids            ids = { 0 };
        pk_buffer         back = { 0 };
        ASSERT_OK(pk_vocab_encode_target(t.vocab, text, sizeof text - 1, &ids));
        assert_true(ids.n >= 3 && ids.n < sizeof text - 1);
        for (size_t k = 0; k < ids.n; k++) assert_true(ids.id[k] > 2 && ids.id[k] < 60);
        ASSERT_OK(pk_vocab_decode(t.vocab, ids.id, ids.n, &back));
        assert_string_equal(back.data, text);
        pk_ids_free(&ids);
        pk_buffer_free(&back);
        trained_close(&t);
    }
}

static void assert_same_files(const char *a, const char *b, bool same) {
    pk_file_map one, other;
    ASSERT_OK(pk_file_map_open(a, &one));
    ASSERT_OK(pk_file_map_open(b, &other));
    assert_int_equal(one.size == other.size && memcmp(one.data, other.data, one.size) == 0, same);
    pk_file_map_close(&one);
    pk_file_map_close(&other);
}

static void test_the_same_again_and_from_gzip(void **state) {
    (void)state;
    train_to(in_scratch("once"), "unigram", text_path);
    train_to(in_scratch("twice"), "unigram", text_path);
    assert_same_files(in_scratch("once"), in_scratch("twice"), true);
    pk_file_map text;
    ASSERT_OK(pk_file_map_open(text_path, &text));
    gzFile gz = gzopen(in_scratch("text.gz"), "wb");
    assert_int_equal(gzwrite(gz, text.data, (unsigned)text.size), text.size);
    gzclose(gz);
    pk_file_map_close(&text);
    train_to(in_scratch("thrice"), "unigram", in_scratch("text.gz"));
    assert_same_files(in_scratch("once"), in_scratch("thrice"), true);
}

typedef struct calls {
    size_t n, done, all, stop_at;
} calls;
static int record_progress(void *user, size_t done, size_t all) {
    calls *c = user;
    c->n++, c->done = done, c->all = all;
    return c->stop_at && c->n >= c->stop_at;
}

/* some of many lines: so many exactly, others with another seed */
static void test_some_lines(void **state) {
    (void)state;
    char more[256];
    strcpy(more, write_sentences("more", 30000, 5, 1));
    const char            *inputs[2] = { text_path, more };
    pk_vocab_train_options o = options_of(inputs, NULL);
    calls                  c = { 0 };
    o.n_inputs = 2, o.max_lines = 500, o.progress = record_progress, o.user = &c;
    for (uint64_t seed = 0; seed < 2; seed++) {
        o.seed = seed;
        o.output = in_scratch(seed ? "some1" : "some0");
        ASSERT_OK(pk_vocab_train(&o));
        assert_int_equal(c.all, 32000);
    }
    assert_same_files(in_scratch("some0"), in_scratch("some1"), false);
    o.seed = 0, o.output = in_scratch("some2");
    ASSERT_OK(pk_vocab_train(&o));
    assert_same_files(in_scratch("some0"), in_scratch("some2"), true);
    for (size_t stop = 1; stop <= 4; stop += 3) { /* while counting; while picking */
        c = (calls){ .stop_at = stop };
        o.output = in_scratch("cancelled");
        ASSERT_STATUS(PK_CANCELLED, pk_vocab_train(&o));
        assert_int_not_equal(access(o.output, F_OK), 0);
    }
}

static void test_bad_options(void **state) {
    (void)state;
    const char                  *inputs[1] = { text_path };
    char                         output[256];
    const pk_vocab_train_options good = options_of(inputs, strcpy(output, in_scratch("refused")));
    pk_vocab_train_options       o = good;
    for (int bpe = 0; bpe < 2; bpe++) {
        o = good, o.type = bpe ? "bpe" : "unigram";
        o.vocab_size = 100000;
        assert_refused(o, PK_ARGUMENT, "no vocabulary of 100000 pieces");
        o.vocab_size = 9;
        assert_refused(o, PK_ARGUMENT, "no vocabulary of 9 pieces");
        print_message("%s\n", pk_last_error());
    }
    o = good, o.vocab_size = 3;
    assert_refused(o, PK_ARGUMENT, "3 pieces");
    o = good, o.type = "words";
    assert_refused(o, PK_ARGUMENT, "\"words\"");
    o = good, o.coverage = 7;
    assert_refused(o, PK_ARGUMENT, "coverage");
    o = good, o.max_lines = -5;
    assert_refused(o, PK_ARGUMENT, "-5 lines");
    o = good, o.threads = -1;
    assert_refused(o, PK_ARGUMENT, "-1 threads");
    o = good, o.n_inputs = 0;
    assert_refused(o, PK_ARGUMENT, "inputs");
    o = good, o.output = NULL;
    assert_refused(o, PK_ARGUMENT, "output");
    o = good, o.output = in_scratch("no/such/folder");
    assert_refused(o, PK_IO, "no/such/folder");
    ASSERT_STATUS(PK_ARGUMENT, pk_vocab_train(NULL));
    o = good, inputs[0] = in_scratch("nowhere");
    assert_refused(o, PK_IO, "nowhere");
    inputs[0] = scratch;
    assert_refused(o, PK_IO, "not a regular file");
    inputs[0] = write_text("blank", "\n\xFF\xFE\n\n");
    assert_refused(o, PK_FORMAT, "blank: no text");
    inputs[0] = write_text("spaces", "  \n\t\x01\n\xC2\xA0\n\xE2\x96\x81\n");
    assert_refused(o, PK_FORMAT, "spaces: no text");
}

/* lines without characters are none: what is drawn can be learned from */
static void test_lines_that_say_nothing(void **state) {
    (void)state;
    pk_buffer text = { 0 };
    for (int i = 0; i < 50; i++) pk_buffer_add_text(&text, " \t\n");
    pk_buffer_add_text(&text, "balo ri tenka.\n");
    const char            *inputs[1] = { write_file("hollow", text.data, text.size) };
    pk_vocab_train_options o = options_of(inputs, in_scratch("drawn"));
    pk_vocab_train_report  report;
    pk_buffer_free(&text);
    o.report = &report, o.vocab_size = 15, o.max_lines = 1;
    ASSERT_OK(pk_vocab_train(&o));
    assert_int_equal(report.lines, 1);
    assert_int_equal(report.characters, 12);
}

/* 256 pieces are bytes: what is too small names the size that would do, and that does */
static void test_bytes_need_room(void **state) {
    (void)state;
    const char            *inputs[1] = { text_path };
    pk_vocab_train_options o = options_of(inputs, in_scratch("bytes"));
    pk_vocab_train_report  report;
    o.report = &report, o.no_byte_fallback = 0, o.coverage = 1;
    for (int bpe = 0; bpe < 2; bpe++) {
        int needed = 0;
        o.type = bpe ? "bpe" : "unigram", o.vocab_size = 60;
        unlink(o.output);
        assert_refused(o, PK_ARGUMENT, "256 bytes and its characters need ");
        assert_int_equal(sscanf(strstr(pk_last_error(), "need "), "need %d", &needed), 1);
        assert_in_range(needed, 3 + 256 + 10, 3 + 256 + 30);
        o.vocab_size = needed - 1;
        assert_refused(o, PK_ARGUMENT, "256 bytes and its characters need ");
        o.vocab_size = needed;
        ASSERT_OK(pk_vocab_train(&o));
        trained t = trained_open(o.output);
        assert_int_equal(pk_vocab_source_size(t.vocab), needed);
        assert_string_equal(pk_vocab_source_token(t.vocab, 3), "<0x00>");
        assert_string_equal(pk_vocab_source_token(t.vocab, 258), "<0xFF>");
        trained_close(&t);
    }
    o.byte_fallback = 1; /* as it was once asked for */
    ASSERT_OK(pk_vocab_train(&o));
    o.no_byte_fallback = 1, unlink(o.output);
    assert_refused(o, PK_ARGUMENT, "give one of them");
}

/* white space and control characters do not count */
static void test_share_that_is_covered(void **state) {
    (void)state;
    pk_buffer text = { 0 };
    for (int i = 0; i < 999; i++) pk_buffer_add_text(&text, "abba baab\tabab bb\x01\n");
    pk_buffer_add_text(&text, "\xC3\xA9\xC3\xA9 \xE2\x82\xAC\n");
    const char            *inputs[1] = { write_file("few", text.data, text.size) };
    pk_vocab_train_options o = options_of(inputs, in_scratch("covered"));
    pk_vocab_train_report  report;
    pk_buffer_free(&text);
    o.report = &report, o.vocab_size = 8, o.coverage = 0.99;
    ASSERT_OK(pk_vocab_train(&o));
    assert_int_equal(report.lines, 1000);
    assert_int_equal(report.characters, 999 * 14 + 3);
    assert_int_equal(report.covered, 999 * 14);
    assert_int_equal(report.kinds, 4);
    assert_int_equal(report.kinds_covered, 2);
    o.characters = "\xE2\x82\xAC@"; /* rare, and absent */
    o.vocab_size = 10;
    ASSERT_OK(pk_vocab_train(&o));
    assert_int_equal(report.covered, 999 * 14 + 1);
    trained t = trained_open(o.output);
    assert_true(pk_vocab_find_source(t.vocab, "@") > 0);
    trained_close(&t);
    o.characters = "\xFF", unlink(o.output);
    assert_refused(o, PK_ARGUMENT, "not UTF-8");
}

static pk_status train_attempt(void *user) { return pk_vocab_train(user); }

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    const char            *inputs[1] = { text_path };
    pk_vocab_train_options o = options_of(inputs, in_scratch("attempt"));
    pk_vocab_train_report  report;
    o.report = &report;
    assert_true(check_every_allocation(train_attempt, &o) >= 8);
}

/* ---- sampling ---- */
enum { SAMPLES = 300 };
typedef struct sampler {
    const pk_vocab *vocab;
    float           alpha;
    pk_ids          ids;
} sampler;

static const char sampled_text[] = "balori tenka pelsum dodori katen.";

static void *sample(void *user) {
    sampler *s = user;
    for (uint64_t seed = 0; seed < SAMPLES; seed++) {
        if (pk_vocab_sample_source(s->vocab, sampled_text, sizeof sampled_text - 1, s->alpha, seed,
                                   &s->ids) != PK_OK)
            return NULL;
        if (pk_ids_add(&s->ids, -1) != PK_OK) return NULL;
    }
    return user;
}

/* what is drawn depends on the seed alone, also when threads draw at the same time */
static void test_sampling(void **state) {
    (void)state;
    enum { THREADS = 4 };
    static const char *const type[] = { "unigram", "bpe" };
    for (int i = 0; i < 2; i++) {
        train_to(in_scratch(type[i]), type[i], text_path);
        trained   t = trained_open(in_scratch(type[i]));
        sampler   s[THREADS];
        pthread_t thread[THREADS];
        for (int k = 0; k < THREADS; k++) {
            s[k] = (sampler){ t.vocab, 0.3f, { 0 } };
            assert_int_equal(pthread_create(&thread[k], NULL, sample, &s[k]), 0);
        }
        for (int k = 0; k < THREADS; k++) {
            void *result;
            pthread_join(thread[k], &result);
            assert_non_null(result);
            assert_int_equal(s[k].ids.n, s[0].ids.n);
            assert_memory_equal(s[k].ids.id, s[0].ids.id, s[0].ids.n * sizeof(int32_t));
        }
        size_t    different = 0; /* from the sample before */
        pk_buffer text = { 0 };
        for (size_t at = 0, before = 0, n_before = 0, end; at < s[0].ids.n; at = end + 1) {
            for (end = at; s[0].ids.id[end] >= 0; end++) {}
            different += end - at != n_before || memcmp(s[0].ids.id + at, s[0].ids.id + before,
                                                        n_before * sizeof(int32_t)) != 0;
            before = at, n_before = end - at;
            pk_buffer_clear(&text);
            ASSERT_OK(pk_vocab_decode(t.vocab, s[0].ids.id + at, end - at, &text));
            assert_string_equal(text.data, sampled_text);
        }
        assert_true(different > SAMPLES / 2);
        pk_buffer_free(&text);
        for (int k = 0; k < THREADS; k++) pk_ids_free(&s[k].ids);
        trained_close(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_the_same_again_and_from_gzip),
        cmocka_unit_test(test_some_lines),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_lines_that_say_nothing),
        cmocka_unit_test(test_bytes_need_room),
        cmocka_unit_test(test_share_that_is_covered),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_sampling),
    };
    return cmocka_run_group_tests(tests, open_all, remove_scratch);
}
