/* align_model_test.c - saved models: they align as the training did, words they do not know,
 * pieces, and files that are cut off, damaged or something else. */
#include "align/align_model.h"

#include "align_help.h"
#include "vocab/token_list.h"

static const char *const method = "grow-diag-final-and";

/* a model of made-up pairs; the path lasts for the test */
static const char *save_model(pk_align_options o, const char *name, pk_buffer *lines) {
    o.save = in_scratch(name);
    ASSERT_OK(align_to(o, NULL, lines));
    return o.save;
}

static const char *made_up_pairs(uint32_t n) {
    pk_buffer text = { 0 };
    add_pairs(&text, n, 11);
    const char *path = write_text("pairs", text.data);
    pk_buffer_free(&text);
    return path;
}

static void test_loaded_aligns_the_same(void **state) {
    static const char *const symmetrise[] = { NULL, NULL, "union", "grow-diag-final-and" };
    pk_buffer                trained = { 0 }, loaded = { 0 };
    pk_align_report          r;
    (void)state;
    for (int i = 0; i < 4; i++) {
        const char            *pairs = made_up_pairs(400);
        const pk_align_options o = { .source = pairs,
                                     .reverse = i == 1,
                                     .symmetrise = symmetrise[i] };
        const char            *model = save_model(o, "model", &trained);
        ASSERT_OK(align_to((pk_align_options){ .source = pairs, .load = model }, &r, &loaded));
        assert_string_equal(trained.data, loaded.data);
        assert_int_equal(r.pairs, 400);
        assert_true((r.tension[0] > 0) == (i != 1) && (r.tension[1] > 0) == (i > 0));
    }
    pk_buffer_free(&trained);
    pk_buffer_free(&loaded);
}

/* one model with both directions serves each of them and every method */
static void test_one_model_for_all(void **state) {
    pk_buffer   lines = { 0 }, alone = { 0 };
    const char *pairs = made_up_pairs(300);
    (void)state;
    const char *both =
        save_model((pk_align_options){ .source = pairs, .symmetrise = method }, "both", &lines);
    ASSERT_OK(align_to((pk_align_options){ .source = pairs, .reverse = 1 }, NULL, &alone));
    ASSERT_OK(
        align_to((pk_align_options){ .source = pairs, .load = both, .reverse = 1 }, NULL, &lines));
    assert_string_equal(lines.data, alone.data);
    ASSERT_OK(
        align_to((pk_align_options){ .source = pairs, .symmetrise = "intersect" }, NULL, &alone));
    ASSERT_OK(
        align_to((pk_align_options){ .source = pairs, .load = both, .symmetrise = "intersect" },
                 NULL, &lines));
    assert_string_equal(lines.data, alone.data);
    pk_buffer_free(&lines);
    pk_buffer_free(&alone);
}

static void test_lacking_directions(void **state) {
    pk_buffer   lines = { 0 };
    const char *pairs = made_up_pairs(20);
    (void)state;
    const char *forward = save_model((pk_align_options){ .source = pairs }, "forward", &lines);
    ASSERT_STATUS(PK_ARGUMENT,
                  align_to((pk_align_options){ .source = pairs, .load = forward, .reverse = 1 },
                           NULL, &lines));
    ASSERT_STATUS(
        PK_ARGUMENT,
        align_to((pk_align_options){ .source = pairs, .load = forward, .symmetrise = method }, NULL,
                 &lines));
    assert_int_equal(lines.size, 0);
    pk_buffer_free(&lines);
}

static const char *links_of(pk_aligner *a, const char *source, const char *target) {
    const char *links;
    ASSERT_OK(pk_aligner_align(a, (pk_text){ source, strlen(source) },
                               (pk_text){ target, strlen(target) }, &links));
    return links;
}

/* Words that are not in the model are linked by position alone: all have the same probability, so
 * the nearest wins, or null where the prior is below its 0.08. */
static void test_aligner(void **state) {
    pk_buffer   lines = { 0 };
    pk_aligner *a;
    (void)state;
    const char *model =
        save_model((pk_align_options){ .source = made_up_pairs(400), .symmetrise = "intersect" },
                   "model", &lines);
    ASSERT_OK(pk_aligner_open(model, &a));
    assert_string_equal(links_of(a, "s1 s2 s3", "t1 t2 t3"), "0-0 1-1 2-2");
    assert_string_equal(links_of(a, "s3 s1", "t1 t3"), "0-1 1-0");
    assert_string_equal(links_of(a, "one two three", "eins zwei drei"), "0-0 1-1 2-2");
    assert_string_equal(links_of(a, "", "t1"), "");
    assert_string_equal(links_of(a, "s1", " \t "), "");
    pk_aligner_close(a);
    pk_aligner_close(NULL);
    pk_buffer_free(&lines);
}

static void test_pieces(void **state) {
    pk_buffer   lines = { 0 }, loaded = { 0 };
    pk_aligner *a;
    (void)state;
    const char *pairs =
        write_text("text", "the ship ||| the ship\nold ship ||| old ship\nthe sea ||| "
                           "the sea\nhere the old sea ||| here the old sea\n");
    const char *model =
        save_model((pk_align_options){ .source = pairs, .vocab = "tests/data/vocab/source.spm" },
                   "pieces", &lines);
    ASSERT_OK(align_to((pk_align_options){ .source = pairs, .load = model }, NULL, &loaded));
    assert_string_equal(lines.data, loaded.data);
    ASSERT_OK(pk_aligner_open(model, &a));
    assert_non_null(a);
    const char *links = links_of(a, "the ship", "the ship");
    assert_true(strlen(links) >= 7); /* two words or more */
    assert_memory_equal(links, "0-0 1-1", 7);
    pk_aligner_close(a);
    ASSERT_STATUS(PK_FORMAT,
                  align_to((pk_align_options){ .source = pairs, .vocab = pairs }, NULL, &lines));
    ASSERT_STATUS(PK_ARGUMENT,
                  align_to((pk_align_options){ .source = pairs,
                                               .load = model,
                                               .vocab = "tests/data/vocab/source.spm" },
                           NULL, &lines));
    pk_buffer_free(&lines);
    pk_buffer_free(&loaded);
}

/* ---- bad files ---- */

static unsigned char *model_bytes(size_t *size) {
    pk_buffer      lines = { 0 };
    pk_file_map    map;
    unsigned char *bytes;
    ASSERT_OK(pk_file_map_open(
        save_model((pk_align_options){ .source = made_up_pairs(30), .symmetrise = "union" },
                   "whole", &lines),
        &map));
    ASSERT_OK(PK_TAKE(&bytes, map.size));
    memcpy(bytes, map.data, map.size);
    *size = map.size;
    pk_file_map_close(&map);
    pk_buffer_free(&lines);
    return bytes;
}

static void test_cut_off(void **state) {
    size_t         size;
    unsigned char *bytes = model_bytes(&size);
    pk_align_model m;
    (void)state;
    ASSERT_OK(pk_align_model_read(bytes, size, &m));
    pk_align_model_close(&(pk_align_model){ .spm = { m.spm[0], m.spm[1] } });
    for (size_t n = 0; n < size; n++) ASSERT_STATUS(PK_FORMAT, pk_align_model_read(bytes, n, &m));
    pk_memory_give(bytes);
}

static void test_damaged(void **state) {
    size_t         size;
    unsigned char *bytes = model_bytes(&size);
    pk_align_model m;
    (void)state;
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x10;
        /* padding behind a part is nobody's */
        const pk_status status = pk_align_model_read(bytes, size, &m);
        assert_true(status == PK_FORMAT || (status == PK_OK && bytes[i] == 0x10));
        bytes[i] ^= 0x10;
    }
    pk_memory_give(bytes);
}

static void test_foreign(void **state) {
    static const char *const paths[] = { "tests/data/vocab/source.spm",
                                         "tests/data/align/README.md", "/dev/null", "/no/such/file",
                                         "tests" };
    pk_aligner              *a;
    (void)state;
    for (int i = 0; i < 5; i++) {
        ASSERT_STATUS(i < 2 ? PK_FORMAT : PK_IO, pk_aligner_open(paths[i], &a));
        assert_null(a);
        assert_non_null(strstr(pk_last_error(), paths[i]));
    }
    ASSERT_STATUS(PK_FORMAT, pk_aligner_open(write_text("empty", ""), &a));
}

static pk_status attempt(void *user) {
    pk_aligner *a = NULL;
    const char *links;
    pk_status   status = pk_aligner_open(user, &a);
    if (status == PK_OK)
        status = pk_aligner_align(a, (pk_text){ "s1 s2", 5 }, (pk_text){ "t1 t2", 5 }, &links);
    pk_aligner_close(a);
    return status;
}

static void test_no_memory(void **state) {
    pk_buffer lines = { 0 };
    (void)state;
    const char *model = save_model(
        (pk_align_options){ .source = made_up_pairs(30), .symmetrise = "union" }, "model", &lines);
    assert_true(check_every_allocation(attempt, (void *)model) > 10);
    pk_buffer_free(&lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded_aligns_the_same),
        cmocka_unit_test(test_one_model_for_all),
        cmocka_unit_test(test_lacking_directions),
        cmocka_unit_test(test_aligner),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
