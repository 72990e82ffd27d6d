/* byte_pieces_test.c - nothing is unknown: vocabularies with pieces for bytes give every text back,
 * but for white space and control characters, and make valid UTF-8 of any tokens at all. */
#include "data_help.h"

#include "text/utf8.h"
#include "vocab/spm.h"
#include "vocab/token_list.h"

enum { N_TYPES = 2 };
static const char *const type_name[N_TYPES] = { "unigram", "bpe" };

typedef struct trained { /* a model as a vocabulary: its own pieces, in its own order */
    pk_file_map file;
    pk_buffer   pieces;
    pk_vocab   *vocab;
} trained;
static trained all[N_TYPES];

static int open_one(trained *t, const char *type, const char *text) {
    const char *inputs[1] = { text };
    pk_spm     *spm;
    if (pk_vocab_train(PK_OPTIONS(pk_vocab_train_options, .inputs = inputs, .n_inputs = 1,
                                  .output = in_scratch(type), .vocab_size = 300, .type = type,
                                  .coverage = 0.999, .threads = 1)) != PK_OK ||
        pk_file_map_open(in_scratch(type), &t->file) != PK_OK ||
        pk_spm_open(t->file.data, t->file.size, &spm) != PK_OK)
        return -1;
    const pk_status status = pk_spm_pieces(spm, &t->pieces);
    pk_spm_close(spm);
    if (status != PK_OK) return -1;
    return pk_vocab_open(&(pk_vocab_data){ .source_spm = t->file.data,
                                           .source_spm_size = t->file.size,
                                           .source_tokens = t->pieces.data,
                                           .source_tokens_size = t->pieces.size,
                                           .unk = 0,
                                           .eos = 2 },
                         &t->vocab);
}

/* some words, and one line with a rare character */
static int open_all(void **state) {
    static const char *const word[] = { "Haf", "kalt", "gut", "schiff", "berg", "mond" };
    if (make_scratch(state) != 0) return -1;
    pk_buffer text = { 0 };
    uint64_t  random = 3;
    for (int i = 0; i < 900; i++)
        pk_buffer_print(&text, "der alte %sen, die %ste Stadt %s.\n",
                        word[next_random(&random) % 6], word[next_random(&random) % 6],
                        word[next_random(&random) % 6]);
    pk_buffer_add_text(&text, "Hafen \xE2\x82\xAC\n");
    char path[256];
    strcpy(path, write_file("text", text.data, text.size));
    pk_buffer_free(&text);
    for (int i = 0; i < N_TYPES; i++)
        if (open_one(&all[i], type_name[i], path) != 0) {
            print_error("%s\n", pk_last_error());
            return -1;
        }
    return 0;
}

static int close_all(void **state) {
    for (int i = 0; i < N_TYPES; i++) {
        pk_vocab_close(all[i].vocab);
        pk_buffer_free(&all[i].pieces);
        pk_file_map_close(&all[i].file);
    }
    return remove_scratch(state);
}

/* ---- text comes back ---- */

/* what may change, said by itself: white space is one space, none at the ends; control characters
 * go */
static void normal_form(const char *text, size_t size, pk_buffer *out) {
    int32_t code;
    bool    space = false;
    pk_buffer_clear(out);
    pk_buffer_add_text(out, "");
    for (size_t at = 0, n; at < size; at += n) {
        n = pk_utf8_next(text + at, size - at, &code);
        const bool white = (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20) ||
                           code == 0x85 || code == 0xA0 || code == 0x1680 ||
                           (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
                           code == 0x202F || code == 0x205F || code == 0x3000 || code == 0x2581;
        if (white) space = true;
        if (white || code < 0x20 || (code >= 0x7F && code < 0xA0)) continue;
        if (space && out->size) pk_buffer_add_text(out, " ");
        space = false;
        pk_buffer_add(out, text + at, n);
    }
}

static void assert_comes_back(const pk_vocab *v, const char *text, size_t size, uint64_t seed) {
    pk_buffer expected = { 0 }, found = { 0 };
    pk_ids    ids = { 0 };
    normal_form(text, size, &expected);
    for (int way = 0; way < 3; way++) {
        ids.n = 0;
        if (way == 0) ASSERT_OK(pk_vocab_encode_source(v, text, size, &ids, NULL));
        if (way == 1) ASSERT_OK(pk_vocab_encode_target(v, text, size, &ids));
        if (way == 2) ASSERT_OK(pk_vocab_sample_target(v, text, size, 0.2f, seed, &ids));
        for (size_t i = 0; i < ids.n; i++) assert_int_not_equal(ids.id[i], 0);
        pk_buffer_clear(&found);
        ASSERT_OK(pk_vocab_decode(v, ids.id, ids.n, &found));
        if (found.size != expected.size ||
            (found.size && memcmp(found.data, expected.data, found.size) != 0))
            fail_msg("text %llu (%d): \"%s\" comes back as \"%s\"", (unsigned long long)seed, way,
                     expected.data, found.data);
    }
    pk_buffer_free(&expected);
    pk_buffer_free(&found);
    pk_ids_free(&ids);
}

static const char *const part[] = {
    "Hafen",
    "die ",
    "\xC3\x96sterreich",
    "\xE2\x82\xAC 20",
    "anna@example.com",
    "{name}",
    "<b>x</b>",
    "&amp;",
    "</s>",
    "<s>",
    "<unk>",
    "<0x41>",
    ">>de<<",
    "\xE2\x81\x87",
    "\xEF\xBF\xBD",
    "\xE2\x96\x85",
    "\xEF\xAC\x81",
    "\xEF\xBC\xA1",
    "\xC2\xBD",
    "\xE2\x80\xA6", /* NFKC's own */
    "e\xCC\x81",
    "a\xCC\x88\xCC\x83\xCC\xA3",
    "\xE0\xA4\x95\xE0\xA5\x8D\xE0\xA4\xB7",
    "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB", /* woman, joiner, computer */
    "\xE2\x9D\xA4\xEF\xB8\x8F",
    "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA",
    "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD",
    "\xE2\x80\x8B",
    "\xEF\xBB\xBF",
    "\xE2\x80\x8F", /* zero width, byte order, right to left */
    "  ",
    "\t",
    "\r\n",
    "\xC2\xA0",
    "\xE2\x80\xA8",
    "\xE3\x80\x80",
    "\xE2\x96\x81",
    "\x01",
    "\x7F",
    "\xC2\x85",
    "\xC2\x9F",
};
enum { N_PARTS = sizeof part / sizeof *part };

static uint32_t draw(uint64_t *random, uint32_t n) { return next_random(random) % n; }

static void add_random(pk_buffer *text, uint64_t *random) {
    const uint32_t kind = draw(random, 8);
    if (kind < 4) {
        pk_buffer_add_text(text, part[draw(random, N_PARTS)]);
        return;
    }
    int32_t code = (int32_t)(kind < 6 ? draw(random, 0x3000) : draw(random, 0x110000));
    if (code == 0) code = 'a';
    const uint32_t times = draw(random, 40) == 0 ? 500 : 1; /* now and then a long row of them */
    for (uint32_t i = 0; i < times; i++) pk_utf8_add(text, code); /* U+FFFD for surrogates */
}

static void random_text_comes_back(void **state) {
    (void)state;
    pk_buffer text = { 0 };
    uint64_t  random = 16;
    for (uint64_t i = 0; i < 3000; i++) {
        pk_buffer_clear(&text);
        for (uint32_t n = draw(&random, 12); n; n--) add_random(&text, &random);
        assert_comes_back(all[i % N_TYPES].vocab, text.data ? text.data : "", text.size, i);
    }
    pk_buffer_free(&text);
}

/* each of them by itself, between letters, and twice */
static void every_character_comes_back(void **state) {
    (void)state;
    pk_buffer text = { 0 };
    for (int32_t code = 1; code < 0x110000; code += code < 0x3000 ? 1 : 61) {
        pk_buffer_clear(&text);
        pk_utf8_add(&text, code);
        pk_buffer_add_text(&text, "a");
        pk_utf8_add(&text, code);
        pk_utf8_add(&text, code);
        assert_comes_back(all[code % N_TYPES].vocab, text.data, text.size, (uint64_t)code);
    }
    for (size_t i = 0; i < N_PARTS; i++)
        assert_comes_back(all[i % N_TYPES].vocab, part[i], strlen(part[i]), i);
    assert_comes_back(all[0].vocab, "a\0b", 3, 0); /* NUL is dropped when it is read back */
    pk_buffer_free(&text);
}

/* ---- any tokens give UTF-8 ---- */

static void add_byte(const pk_vocab *v, pk_ids *ids, unsigned byte) {
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", byte);
    const int32_t id = pk_vocab_find_target(v, name);
    assert_true(id > 0);
    assert_int_equal(pk_ids_add(ids, id), PK_OK);
}

static void assert_decodes(const pk_vocab *v, const pk_ids *ids, size_t first, size_t n,
                           const char *expected) {
    pk_buffer text = { 0 };
    ASSERT_OK(pk_vocab_decode(v, ids->id + first, n, &text));
    assert_true(pk_utf8_valid(text.data, text.size));
    assert_null(memchr(text.data, 0, text.size));
    assert_null(strpbrk(text.data, "\n\r\t\x01\x7F"));
    if (expected) assert_string_equal(text.data, expected);
    pk_buffer_free(&text);
}

#define LOST "\xEF\xBF\xBD"

static void bytes_cut_anywhere_are_utf8(void **state) {
    (void)state;
    const pk_vocab *v = all[0].vocab;
    const char     *bytes = "\xF0\x9F\x98\x80\xE2\x82\xAC\xC3\xA9x\xED\xA0\x80\xC0\x80\xFF";
    pk_ids          ids = { 0 };
    for (size_t i = 0; bytes[i]; i++) add_byte(v, &ids, (unsigned char)bytes[i]);
    for (size_t first = 0; first < ids.n; first++)
        for (size_t n = 0; first + n <= ids.n; n++) assert_decodes(v, &ids, first, n, NULL);
    assert_decodes(v, &ids, 0, 10, "\xF0\x9F\x98\x80\xE2\x82\xAC\xC3\xA9x");
    assert_decodes(v, &ids, 0, 3, LOST LOST LOST);
    assert_decodes(v, &ids, 2, 5, LOST LOST "\xE2\x82\xAC");
    assert_decodes(v, &ids, 13, 3, LOST LOST LOST);
    pk_ids_free(&ids);
}

static void any_tokens_are_utf8(void **state) {
    (void)state;
    const pk_vocab *v = all[1].vocab;
    pk_ids          ids = { 0 };
    uint64_t        random = 7;
    for (int i = 0; i < 2000; i++) {
        ids.n = 0;
        for (uint32_t n = draw(&random, 30); n; n--)
            if (draw(&random, 4))
                add_byte(v, &ids, draw(&random, 256));
            else
                assert_int_equal(
                    pk_ids_add(&ids, (int32_t)draw(&random, (uint32_t)pk_vocab_target_size(v))),
                    PK_OK);
        if (ids.n) assert_decodes(v, &ids, 0, ids.n, NULL);
    }
    ids.n = 0; /* lines stay lines, texts stay whole */
    for (size_t i = 0; i < 6; i++) add_byte(v, &ids, (unsigned char)"a\nb\0c\x01"[i]);
    assert_decodes(v, &ids, 0, ids.n, "a bc");
    pk_ids_free(&ids);
}

/* ---- what is known of them ---- */

static void continuation_bytes_are_found(void **state) {
    (void)state;
    int32_t first;
    assert_int_equal(pk_vocab_continuation(all[0].vocab, &first), 64);
    assert_string_equal(pk_vocab_target_token(all[0].vocab, first), "<0x80>");
    tiny_vocab t;
    tiny_vocab_open(&t);
    assert_int_equal(pk_vocab_continuation(t.vocab, &first), 0);
    tiny_vocab_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_text_comes_back),
        cmocka_unit_test(every_character_comes_back),
        cmocka_unit_test(bytes_cut_anywhere_are_utf8),
        cmocka_unit_test(any_tokens_are_utf8),
        cmocka_unit_test(continuation_bytes_are_found),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
