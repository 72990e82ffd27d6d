/* corpus_cache_test.c - text in, the same ids out; caches that do not fit are made again. */
#include "data/corpus_cache.h"

#include "data_help.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/clock.h"

static tiny_vocab tiny;

static int open_all(void **state) {
    tiny_vocab_open(&tiny);
    return make_scratch(state);
}

static int close_all(void **state) {
    tiny_vocab_close(&tiny);
    return remove_scratch(state);
}

static pk_corpus_request request_of(const char *source, const char *target) {
    static char cache[256];
    snprintf(cache, sizeof cache, "%s/deep/cache", scratch);
    return (pk_corpus_request){ .source = source,
                                .target = target,
                                .cache = cache,
                                .source_language = "",
                                .target_language = "",
                                .vocab = tiny.vocab,
                                .filter = { .max_length = 100, .max_ratio = 4 },
                                .threads = 2 };
}

/* ids of a line as the vocabulary gives them */
static pk_ids ids_of(const char *line, int side) {
    pk_ids ids = { 0 };
    if (side)
        ASSERT_OK(pk_vocab_encode_target(tiny.vocab, line, strlen(line), &ids));
    else
        ASSERT_OK(pk_vocab_encode_source(tiny.vocab, line, strlen(line), &ids, NULL));
    return ids;
}

static void assert_pair(const pk_corpus *c, size_t pair, const char *source, const char *target) {
    for (int side = 0; side < 2; side++) {
        const char *line = side ? target : source;
        pk_ids      expected = ids_of(line, side);
        int32_t     found[200];
        assert_int_equal(pk_corpus_length(c, pair, side), expected.n);
        if (c->kind == PK_CORPUS_TEXT) {
            const pk_text text = pk_corpus_text(c, pair, side);
            assert_int_equal(text.size, strlen(line));
            assert_memory_equal(text.data, line, text.size);
        } else {
            ASSERT_OK(pk_corpus_ids(c, pair, side, found));
            assert_memory_equal(found, expected.id, expected.n * sizeof *found);
        }
        pk_ids_free(&expected);
    }
}

static void test_round_trip(void **state) {
    (void)state;
    pk_corpus_request q = request_of(
        write_text("a", "The ship leaves.\nthe sea\n\nold \xFF ship\nthe sea\r\nhere is a ship"),
        write_text("b", "Das Schiff\nein Meer\nleer\nSchiff\nein Meer\nhier\n"));
    for (int text = 0; text < 2; text++) {
        pk_corpus c;
        q.keep_text = text == 1;
        q.filter.drop_duplicates = true;
        ASSERT_OK(pk_corpus_open(&q, &c));
        assert_int_equal(c.n, 3);
        assert_int_equal(c.kind, text ? PK_CORPUS_TEXT : PK_CORPUS_IDS16);
        assert_pair(&c, 0, "The ship leaves.", "Das Schiff");
        assert_pair(&c, 1, "the sea", "ein Meer");
        assert_pair(&c, 2, "here is a ship", "hier");
        assert_int_equal(pk_filter_read(&c.counts), 6);
        assert_int_equal(c.counts.n[PK_PAIR_KEPT], 3);
        assert_int_equal(c.counts.n[PK_PAIR_EMPTY], 1);
        assert_int_equal(c.counts.n[PK_PAIR_INVALID], 1);
        assert_int_equal(c.counts.n[PK_PAIR_DUPLICATE], 1);
        pk_corpus_close(&c);
    }
}

static void test_changed_as_they_are_read(void **state) {
    (void)state;
    pk_corpus_request q = request_of(write_text("e", "The sea.\nhere\nold ship\n"),
                                     write_text("f", "Das Meer.\nhier\nSchiff\n"));
    pk_corpus         c;
    q.keep_text = true; /* so that the text can be compared */
    q.change = PK_TEXT_UPPER;
    ASSERT_OK(pk_corpus_open(&q, &c));
    assert_int_equal(c.n, 3);
    assert_pair(&c, 0, "THE SEA.", "DAS MEER.");
    pk_corpus_close(&c);
    q.change = PK_TEXT_JOIN; /* the third is left over, and stays alone */
    ASSERT_OK(pk_corpus_open(&q, &c));
    assert_int_equal(c.n, 2);
    assert_pair(&c, 0, "The sea. here", "Das Meer. hier");
    assert_pair(&c, 1, "old ship", "Schiff");
    pk_corpus_close(&c);
    q.to = "de";
    q.change = PK_TEXT_BARE;
    ASSERT_OK(pk_corpus_open(&q, &c));
    assert_pair(&c, 0, ">>de<< The sea", "Das Meer");
    assert_pair(&c, 1, ">>de<< here", "hier");
    pk_corpus_close(&c);
}

static int count_calls(void *user, const char *file, size_t lines) {
    (void)file, (void)lines;
    ++*(int *)user;
    return 0;
}

/* whether opening had to encode */
static bool encodes(pk_corpus_request q) {
    pk_corpus c;
    int       calls = 0;
    q.progress = count_calls, q.user = &calls;
    ASSERT_OK(pk_corpus_open(&q, &c));
    pk_corpus_close(&c);
    return calls > 0;
}

static void test_made_once_for_each_setting(void **state) {
    (void)state;
    pk_corpus_request q = request_of(write_text("c", "a\nb c\n"), write_text("d", "e\nf\n"));
    assert_true(encodes(q));
    assert_false(encodes(q));
    q.change = PK_TEXT_JOIN;
    assert_true(encodes(q));
    q.to = "de";
    assert_true(encodes(q));
    assert_false(encodes(q));
    q.change = PK_TEXT_KEEP, q.to = NULL;
    q.threads = 1;
    assert_false(encodes(q)); /* changes nothing */
    q.filter.max_length = 50;
    assert_true(encodes(q));
    q.filter.drop_duplicates = true;
    assert_true(encodes(q));
    q.keep_text = true;
    assert_true(encodes(q));
    assert_false(encodes(q));
    write_text("c", "a\nb c d\n"); /* another size */
    assert_true(encodes(q));
    write_text("d", "e\ng\n"); /* another time */
    assert_true(encodes(q));
    assert_false(encodes(q));
}

static void test_same_file_with_any_number_of_threads(void **state) {
    (void)state;
    char source[256], target[256];
    strcpy(source, write_sentences("many.s", 9000, 20, 1));
    strcpy(target, write_sentences("many.t", 9000, 20, 2));
    pk_file_map file[3];
    for (int i = 0; i < 3; i++) {
        pk_corpus_request q = request_of(source, target);
        char              cache[300];
        snprintf(cache, sizeof cache, "%s/threads%d", scratch, i);
        q.cache = cache;
        q.threads = i == 0 ? 1 : i == 1 ? 3 : 8;
        q.filter.drop_duplicates = true;
        pk_corpus c;
        ASSERT_OK(pk_corpus_open(&q, &c));
        ASSERT_OK(pk_file_map_open(c.path, &file[i]));
        assert_int_equal(file[i].size, file[0].size);
        assert_memory_equal(file[i].data, file[0].data, file[0].size);
        pk_corpus_close(&c);
    }
    for (int i = 0; i < 3; i++) pk_file_map_close(&file[i]);
}

static void assert_refused(const pk_corpus_request *q, pk_status status, const char *says) {
    pk_corpus c;
    ASSERT_STATUS(status, pk_corpus_open(q, &c));
    if (!strstr(pk_last_error(), says)) fail_msg("\"%s\" says not \"%s\"", pk_last_error(), says);
    assert_null(c.map.data);
}

static void test_bad_text_files(void **state) {
    (void)state;
    pk_corpus_request pairs = request_of(write_text("p", "a\nb\nc\n"), write_text("q", "d\ne\n"));
    pairs.change = PK_TEXT_JOIN;
    assert_refused(&pairs, PK_FORMAT, "p has 3 lines but");
    pk_corpus_request q = request_of(write_text("e", "1\n2\n3\n"), write_text("f", "1\n2\n"));
    assert_refused(&q, PK_FORMAT, "has 3 lines but");
    assert_refused(&q, PK_FORMAT, "/f has 2");
    q = request_of(write_text("e", "1\n"), write_text("f", "1\n2\n3\n"));
    assert_refused(&q, PK_FORMAT, "/e has 1 line but");
    assert_refused(&q, PK_FORMAT, "/f has 3");
    q = request_of(write_text("e", "1\n"), write_text("f", ""));
    assert_refused(&q, PK_FORMAT, "/f is empty");
    q = request_of(write_text("e", ""), write_text("f", ""));
    assert_refused(&q, PK_FORMAT, "are empty");
    q = request_of(write_text("e", "1\n"), in_scratch("nowhere"));
    assert_refused(&q, PK_IO, "nowhere");
    q = request_of(write_text("e", "1\n"), scratch);
    assert_refused(&q, PK_IO, "not a regular file");
    q = request_of(write_text("e", "1\n"), write_text("f", "1\n"));
    char cache[300];
    snprintf(cache, sizeof cache, "%s/e/cache", scratch);
    q.cache = cache;
    assert_refused(&q, PK_IO, "cannot make this folder");
    q.cache = write_text("file", "");
    assert_refused(&q, PK_IO, "cannot make this folder");
}

static int cancel(void *user, const char *file, size_t lines) {
    (void)user, (void)file, (void)lines;
    return 1;
}

static void test_cancelled(void **state) {
    (void)state;
    pk_corpus_request q = request_of(write_text("g", "1\n"), write_text("h", "1\n"));
    q.progress = cancel;
    assert_refused(&q, PK_CANCELLED, "cancelled");
    q.progress = NULL;
    assert_true(encodes(q)); /* nothing was left behind */
}

/* another process makes files in the same folder: waiting for it can be cancelled, too */
static void test_cancelled_while_waiting(void **state) {
    (void)state;
    pk_corpus_request q = request_of(write_text("g", "2\n"), write_text("h", "2\n"));
    assert_int_equal(mkdir(in_scratch("busy"), 0777), 0);
    q.cache = in_scratch("busy");
    const int folder = open(q.cache, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(folder, LOCK_EX), 0);
    q.progress = cancel;
    assert_refused(&q, PK_CANCELLED, "cancelled while another process encodes");
    close(folder);
    q.progress = NULL;
    assert_true(encodes(q));
}

/* Every damage to the footer or the offsets is found, and the file made again. */
static void test_damaged_caches(void **state) {
    (void)state;
    pk_corpus_request q = request_of(write_text("i", "the sea\nold ship\nhere\n"),
                                     write_text("j", "Meer\nSchiff\nhier\n"));
    for (int text = 0; text < 2; text++) {
        pk_corpus c;
        char      path[300];
        q.keep_text = text == 1;
        ASSERT_OK(pk_corpus_open(&q, &c));
        snprintf(path, sizeof path, "%s", c.path);
        const size_t size = c.map.size,
                     offsets = (size_t)((const char *)c.first - (const char *)c.data);
        char *whole = malloc(size), *bad = malloc(size);
        memcpy(whole, c.map.data, size);
        pk_corpus_close(&c);
        for (size_t i = 0; i <= size - offsets; i++) {
            memcpy(bad, whole, size);
            if (i < size - offsets) bad[offsets + i] = (char)(bad[offsets + i] ^ 0x41);
            FILE *file = fopen(path, "wb");
            fwrite(bad, 1, i < size - offsets ? size : size / 2, file);
            fclose(file);
            const bool again = encodes(q);
            /* what remains: the tokens of a text, changed to another possible number, and filling
             */
            if (!again && !(text && i >= 7 * 8 && i < 7 * 8 + 16)) fail_msg("byte %zu passed", i);
        }
        free(whole);
        free(bad);
    }
}

/* ids are not looked at when a file is opened, but when they are used */
static void test_damaged_ids(void **state) {
    (void)state;
    pk_corpus_request q = request_of(write_text("k", "the sea\n"), write_text("l", "Meer\n"));
    pk_corpus         c;
    int32_t           found[100];
    ASSERT_OK(pk_corpus_open(&q, &c));
    FILE *file = fopen(c.path, "r+b");
    fwrite("\xFF\xFF", 1, 2, file);
    fclose(file);
    pk_corpus_close(&c);
    ASSERT_OK(pk_corpus_open(&q, &c));
    ASSERT_STATUS(PK_FORMAT, pk_corpus_ids(&c, 0, 0, found));
    assert_non_null(strstr(pk_last_error(), c.path));
    ASSERT_OK(pk_corpus_ids(&c, 0, 1, found));
    pk_corpus_close(&c);
}

static pk_status open_attempt(void *user) {
    const pk_corpus_request *q = user;
    pk_corpus                c;
    remove_folder(q->cache);
    PK_TRY(pk_corpus_open(q, &c));
    pk_corpus_close(&c);
    return PK_OK;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    pk_corpus_request q = request_of(write_text("m", "the sea\nold ship\nthe sea\n"),
                                     write_text("n", "Meer\nSchiff\nMeer\n"));
    q.filter.drop_duplicates = true;
    for (int text = 0; text < 2; text++) {
        q.keep_text = text == 1;
        assert_true(check_every_allocation(open_attempt, &q) > 10);
    }
}

static void test_many_lines(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    enum { MANY = 5000 };
#else
    enum { MANY = 100000 };
#endif
    char source[256], target[256];
    strcpy(source, write_sentences("large.s", MANY, 20, 1));
    strcpy(target, write_sentences("large.t", MANY, 20, 2));
    pk_corpus_request q = request_of(source, target);
    pk_corpus         c;
    q.filter.drop_duplicates = true;
    const double began = pk_clock_now();
    ASSERT_OK(pk_corpus_open(&q, &c));
    const double encoded = pk_clock_now();
    pk_corpus_close(&c);
    ASSERT_OK(pk_corpus_open(&q, &c));
    print_message("%d pairs: encoded in %.2f s, opened in %.4f s\n", MANY, encoded - began,
                  pk_clock_now() - encoded);
    assert_int_equal(pk_filter_read(&c.counts), MANY);
    assert_true(c.n > MANY / 2);
    pk_corpus_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_changed_as_they_are_read),
        cmocka_unit_test(test_made_once_for_each_setting),
        cmocka_unit_test(test_same_file_with_any_number_of_threads),
        cmocka_unit_test(test_bad_text_files),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_cancelled_while_waiting),
        cmocka_unit_test(test_damaged_caches),
        cmocka_unit_test(test_damaged_ids),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_many_lines),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
