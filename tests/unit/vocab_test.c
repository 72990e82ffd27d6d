/* vocab_test.c - ids and texts equal to those of transformers; and vocabularies that are no good.
 *
 * tests/data/vocab has the tiny vocabularies and what transformers makes of them
 * (tools/make_vocab_samples.py). The real model is tested where PRONK_SHARED has it. */
#include "vocab/vocab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/file_map.h"
#include "text/utf8.h"
#include "vocab/token_list.h"

enum { SHARED, SEPARATE, MBART, BYTES, N_KINDS };
static const char *const kind_name[N_KINDS] = { "shared", "separate", "mbart", "bytes" };
enum {
    SOURCE_SPM,
    TARGET_SPM,
    MBART_SPM,
    BYTES_SPM,
    SHARED_TOKENS,
    SOURCE_TOKENS,
    TARGET_TOKENS,
    MBART_TOKENS,
    BYTES_TOKENS,
    N_FILES
};
static const char *const file_name[N_FILES] = { "source.spm",    "target.spm",    "mbart.spm",
                                                "bytes.spm",     "shared.tokens", "source.tokens",
                                                "target.tokens", "mbart.tokens",  "bytes.tokens" };
static pk_file_map       file[N_FILES];

static int open_files(void **state) {
    (void)state;
    for (int i = 0; i < N_FILES; i++) {
        char path[100];
        snprintf(path, sizeof path, "tests/data/vocab/%s", file_name[i]);
        if (pk_file_map_open(path, &file[i]) != PK_OK) return -1;
    }
    return 0;
}

static int close_files(void **state) {
    (void)state;
    for (int i = 0; i < N_FILES; i++) pk_file_map_close(&file[i]);
    return 0;
}

static pk_vocab_data data_of(int kind) {
    static const int part[N_KINDS][4] = {
        /* spm and tokens of the source, of the target */
        [SHARED] = { SOURCE_SPM, SHARED_TOKENS, TARGET_SPM, -1 },
        [SEPARATE] = { SOURCE_SPM, SOURCE_TOKENS, TARGET_SPM, TARGET_TOKENS },
        [MBART] = { MBART_SPM, MBART_TOKENS, -1, -1 },
        [BYTES] = { BYTES_SPM, BYTES_TOKENS, BYTES_SPM, BYTES_TOKENS },
    };
    const int    *p = part[kind];
    const bool    marian = kind == SHARED || kind == SEPARATE;
    pk_vocab_data d = { .source_spm = file[p[0]].data,
                        .source_spm_size = file[p[0]].size,
                        .source_tokens = (const char *)file[p[1]].data,
                        .source_tokens_size = file[p[1]].size,
                        .unk = marian ? 1 : 3,
                        .eos = marian ? 0 : 2,
                        .no_tags = !marian };
    if (p[2] >= 0) d.target_spm = file[p[2]].data, d.target_spm_size = file[p[2]].size;
    if (p[3] >= 0)
        d.target_tokens = (const char *)file[p[3]].data, d.target_tokens_size = file[p[3]].size;
    return d;
}

static pk_vocab *vocab_of(int kind) {
    const pk_vocab_data d = data_of(kind);
    pk_vocab           *v;
    if (pk_vocab_open(&d, &v) != PK_OK) fail_msg("%s", pk_last_error());
    return v;
}

static void read_ids(char *text, pk_ids *out) {
    for (char *at = text, *end; *at; at = end) {
        const long id = strtol(at, &end, 10);
        if (end == at) break;
        assert_int_equal(pk_ids_add(out, (int32_t)id), PK_OK);
    }
}

static void assert_same_ids(const char *text, const pk_ids *found, const pk_ids *expected) {
    bool same = found->n == expected->n;
    for (size_t i = 0; same && i < found->n; i++) same = found->id[i] == expected->id[i];
    if (same) return;
    print_error("\"%s\" gives", text);
    for (size_t i = 0; i < found->n; i++) print_error(" %d", found->id[i]);
    fail_msg("which is not as expected");
}

/* one line of golden.tsv: vocabulary, direction, text, ids, text of the ids */
static void check_golden(pk_vocab *const *v, char *line) {
    char *part[5], *at = line;
    for (int i = 0; i < 5; i++) part[i] = strsep(&at, i < 4 ? "\t" : "\n");
    int kind = 0;
    while (strcmp(part[0], kind_name[kind]) != 0) kind++;
    pk_ids       ids = { 0 }, expected = { 0 }, begin = { 0 };
    const bool   source = strcmp(part[1], "source") == 0;
    const size_t size = strlen(part[2]);
    read_ids(part[3], &expected);
    if (source)
        assert_int_equal(pk_vocab_encode_source(v[kind], part[2], size, &ids, &begin), PK_OK);
    else
        assert_int_equal(pk_vocab_encode_target(v[kind], part[2], size, &ids), PK_OK);
    assert_same_ids(part[2], &ids, &expected);
    if (source) assert_int_equal(begin.n, ids.n);
    for (size_t i = 0; i < begin.n; i++)
        assert_in_range(begin.id[i], i ? begin.id[i - 1] : 0, size);
    if (!source) {
        pk_buffer text = { 0 };
        pk_buffer_add_text(&text, "before:"); /* decoding appends */
        assert_int_equal(pk_vocab_decode(v[kind], ids.id, ids.n, &text), PK_OK);
        assert_string_equal(text.data + 7, part[4]);
        pk_buffer_free(&text);
    }
    pk_ids_free(&ids);
    pk_ids_free(&expected);
    pk_ids_free(&begin);
}

static void ids_and_texts_are_those_of_transformers(void **state) {
    (void)state;
    pk_vocab *v[N_KINDS];
    for (int i = 0; i < N_KINDS; i++) v[i] = vocab_of(i);
    FILE  *f = fopen("tests/data/vocab/golden.tsv", "r");
    char  *line = NULL;
    size_t room = 0;
    int    n = 0;
    assert_non_null(f);
    for (; getline(&line, &room, f) > 0; n++) check_golden(v, line);
    assert_true(n > 100);
    free(line);
    fclose(f);
    for (int i = 0; i < N_KINDS; i++) pk_vocab_close(v[i]);
}

static void tokens_are_found_both_ways(void **state) {
    (void)state;
    pk_vocab *v = vocab_of(SEPARATE);
    assert_int_equal(pk_vocab_source_size(v), 151);
    assert_int_equal(pk_vocab_target_size(v), 151);
    for (int32_t id = 0; id < 151; id++) {
        assert_int_equal(pk_vocab_find_source(v, pk_vocab_source_token(v, id)), id);
        assert_int_equal(pk_vocab_find_target(v, pk_vocab_target_token(v, id)), id);
    }
    assert_string_equal(pk_vocab_source_token(v, 0), "</s>");
    assert_string_equal(pk_vocab_target_token(v, 150), "<pad>");
    assert_string_equal(pk_vocab_target_token(v, 151), "?");
    assert_string_equal(pk_vocab_source_token(v, -1), "?");
    assert_int_equal(pk_vocab_find_source(v, "no such token"), -1);
    assert_int_equal(pk_vocab_find_target(v, ""), -1);
    pk_vocab_close(v);
}

static void begins_are_bytes_of_the_text(void **state) {
    (void)state;
    pk_vocab   *v = vocab_of(SHARED);
    pk_ids      ids = { 0 }, begin = { 0 };
    const char *text = ">>de<<  The ship \xC3\xBC\xC3\xBC the";
    assert_int_equal(pk_vocab_encode_source(v, text, strlen(text), &ids, &begin), PK_OK);
    assert_int_equal(begin.id[0], 0);
    assert_int_equal(begin.id[1], 8);  /* The, spaces before it left out */
    assert_int_equal(begin.id[2], 11); /* the space before ship: part of its piece */
    assert_int_equal(begin.id[begin.n - 1], 21);
    assert_int_equal(pk_vocab_encode_source(v, "the", 3, &ids, NULL), PK_OK); /* appends */
    assert_int_equal(ids.n, begin.n + 1);
    assert_int_equal(ids.id[ids.n - 1], ids.id[ids.n - 2]);
    pk_ids_free(&ids);
    pk_ids_free(&begin);
    pk_vocab_close(v);
}

static void bytes_stand_in_for_what_is_unknown(void **state) {
    (void)state;
    pk_vocab   *v = vocab_of(BYTES);
    pk_ids      ids = { 0 };
    pk_buffer   out = { 0 };
    const char *text = "\xE4\xBD\xA0\xE5\xA5\xBD, harbour \xF0\x9F\x98\x80!";
    assert_int_equal(pk_vocab_encode_target(v, text, strlen(text), &ids), PK_OK);
    for (size_t i = 0; i < ids.n; i++) assert_int_not_equal(ids.id[i], 3);
    assert_int_equal(pk_vocab_decode(v, ids.id, ids.n, &out), PK_OK);
    assert_string_equal(out.data, text);
    pk_buffer_clear(&out); /* a character cut in half is still UTF-8 */
    assert_int_equal(pk_vocab_decode(v, ids.id, 3, &out), PK_OK);
    assert_true(pk_utf8_valid(out.data, out.size));
    pk_ids_free(&ids);
    pk_buffer_free(&out);
    pk_vocab_close(v);
}

static void zero_bytes_are_unknown_characters(void **state) {
    (void)state;
    pk_vocab *v = vocab_of(SHARED);
    pk_ids    ids = { 0 };
    assert_int_equal(pk_vocab_encode_source(v, "the\0the", 7, &ids, NULL), PK_OK);
    assert_true(ids.n >= 3);
    assert_int_equal(ids.id[1], 1);
    pk_ids_free(&ids);
    pk_vocab_close(v);
}

static void unknowns_may_be_refused(void **state) {
    (void)state;
    pk_vocab_data d = data_of(SHARED);
    pk_vocab     *v;
    pk_ids        ids = { 0 };
    d.unk = -1;
    assert_int_equal(pk_vocab_open(&d, &v), PK_OK);
    assert_int_equal(pk_vocab_encode_source(v, "the ship", 8, &ids, NULL), PK_OK);
    assert_int_equal(pk_vocab_encode_source(v, "\xE4\xBD\xA0", 3, &ids, NULL), PK_UNSUPPORTED);
    assert_non_null(strstr(pk_last_error(), "no token for \"\xE4\xBD\xA0\""));
    pk_ids_free(&ids);
    pk_vocab_close(v);
}

static void ids_out_of_range_are_refused(void **state) {
    (void)state;
    pk_vocab     *v = vocab_of(SHARED);
    pk_buffer     out = { 0 };
    const int32_t bad[] = { 5, -1 }, far[] = { INT32_MAX };
    assert_int_equal(pk_vocab_decode(v, bad, 2, &out), PK_ARGUMENT);
    assert_int_equal(pk_vocab_decode(v, far, 1, &out), PK_ARGUMENT);
    assert_int_equal(pk_vocab_decode(v, far, 0, &out), PK_OK);
    assert_int_equal(out.size, 0);
    pk_buffer_free(&out);
    pk_vocab_close(v);
}

static void refuse(const pk_vocab_data *d, const char *reason) {
    pk_vocab *v = (pk_vocab *)1;
    assert_int_equal(pk_vocab_open(d, &v), PK_FORMAT);
    assert_null(v);
    if (!strstr(pk_last_error(), reason))
        fail_msg("\"%s\" says nothing of %s", pk_last_error(), reason);
}

static void bad_vocabularies_are_refused(void **state) {
    (void)state;
    const int64_t       before = pk_memory_alive();
    const pk_vocab_data good = data_of(SEPARATE);
    pk_vocab_data       d = good;
    d.source_tokens_size = 0, refuse(&d, "empty"), d = good;
    d.source_tokens_size--, refuse(&d, "cut short"), d = good;
    d.target_tokens_size--, refuse(&d, "target: "), d = good;
    d.source_tokens = "a\0b\0\xFF", d.source_tokens_size = 6, refuse(&d, "UTF-8"), d = good;
    d.source_spm_size = 0, refuse(&d, "empty"), d = good;
    d.source_spm_size /= 2, refuse(&d, "damaged"), d = good;
    d.target_spm_size -= 1, refuse(&d, "target: "), d = good;
    d.source_spm = "hello", d.source_spm_size = 5, refuse(&d, "SentencePiece"), d = good;
    d.unk = 151, refuse(&d, "unknown token's id 151"), d = good;
    d.unk = -2, refuse(&d, "unknown token's id"), d = good;
    d.eos = 151, refuse(&d, "end symbol's id 151"), d = good;
    assert_int_equal(pk_memory_alive(), before);
    pk_vocab_close(NULL);
}

static void lists_take_first_of_equals_and_skip_gaps(void **state) {
    (void)state;
    const char    names[] = "a\0b\0\0a\0\0\xC3\xA4"; /* ids 0 to 5; 2 and 4 are nobody's */
    pk_token_list list;
    assert_int_equal(pk_token_list_open(names, sizeof names, &list), PK_OK);
    assert_int_equal(list.n, 6);
    assert_int_equal(pk_token_list_find(&list, "a", 1), 0);
    assert_int_equal(pk_token_list_find(&list, "b", 1), 1);
    assert_int_equal(pk_token_list_find(&list, "\xC3\xA4", 2), 5);
    assert_int_equal(pk_token_list_find(&list, "", 0), -1);
    assert_int_equal(pk_token_list_find(&list, "a\0b", 3), -1);
    assert_int_equal(pk_token_list_find(&list, "\0", 1), -1);
    assert_string_equal(pk_token_list_name(&list, 3), "a");
    assert_string_equal(pk_token_list_name(&list, 4), "");
    pk_token_list_close(&list);
    assert_int_equal(pk_token_list_open("", 1, &list), PK_OK); /* one nameless token */
    assert_int_equal(list.n, 1);
    pk_token_list_close(&list);
}

static void long_lists_are_searched(void **state) {
    (void)state;
    enum { N = 50000 };
    pk_buffer     names = { 0 };
    pk_token_list list;
    char          name[32];
    for (int i = 0; i < N; i++) {
        pk_buffer_print(&names, "token-%d", i * 7);
        pk_buffer_add(&names, "", 1);
    }
    assert_int_equal(pk_token_list_open(names.data, names.size, &list), PK_OK);
    for (int i = 0; i < 7 * N; i++) {
        const size_t n = (size_t)snprintf(name, sizeof name, "token-%d", i);
        assert_int_equal(pk_token_list_find(&list, name, n), i % 7 ? -1 : i / 7);
    }
    pk_token_list_close(&list);
    pk_buffer_free(&names);
}

/* opens, encodes and decodes while the n-th allocation fails */
static pk_status use_once(void) {
    const pk_vocab_data d = data_of(SEPARATE);
    pk_vocab           *v = NULL;
    pk_ids              ids = { 0 }, begin = { 0 };
    pk_buffer           out = { 0 };
    pk_status           status;
    const char *text = "The captain of the ship knows every stone on this coast. xxxxxxxxxxxxxxx";
    PK_GOTO(pk_vocab_open(&d, &v));
    PK_GOTO(pk_vocab_encode_source(v, text, strlen(text), &ids, &begin));
    PK_GOTO(pk_vocab_decode(v, ids.id, ids.n, &out));
done:
    pk_ids_free(&ids);
    pk_ids_free(&begin);
    pk_buffer_free(&out);
    pk_vocab_close(v);
    return status;
}

static void no_memory_is_reported(void **state) {
    (void)state;
    const int64_t before = pk_memory_alive();
    int           n_failed = 0;
    for (int64_t fail = 1; fail < 100; fail++) {
        pk_memory_fail_after(fail);
        const pk_status status = use_once();
        pk_memory_fail_after(0);
        assert_int_equal(pk_memory_alive(), before);
        if (status == PK_OK) break;
        assert_int_equal(status, PK_NO_MEMORY);
        n_failed++;
    }
    assert_in_range(n_failed, 15, 60);
}

/* ---- the real model, where there is one ---- */

static const char *shared_path(const char *name, char *room, size_t size) {
    const char *folder = getenv("PRONK_SHARED");
    snprintf(room, size, "%s/%s", folder ? folder : "../shared", name);
    return room;
}

typedef struct real {
    pk_file_map spm;
    pk_buffer   tokens;
    pk_vocab   *vocab;
    double      took; /* seconds to open the vocabulary */
} real;

static void real_close(real *r) {
    pk_vocab_close(r->vocab);
    pk_file_map_close(&r->spm);
    pk_buffer_free(&r->tokens);
}

/* false: no shared data here */
static bool real_open(real *r) {
    char path[300];
    *r = (real){ 0 };
    if (pk_file_map_open(shared_path("models/en-de-base-hf/source.spm", path, sizeof path),
                         &r->spm))
        return false;
    json_t *names =
        json_load_file(shared_path("models/en-de-base-hf/vocab.json", path, sizeof path), 0, NULL);
    const char *name;
    json_t     *id;
    assert_non_null(names);
    int expected = 0;
    json_object_foreach(names, name, id) { /* the file is in the order of ids */
        assert_int_equal(json_integer_value(id), expected++);
        pk_buffer_add(&r->tokens, name, strlen(name) + 1);
    }
    json_decref(names);
    const pk_vocab_data d = { .source_spm = r->spm.data,
                              .source_spm_size = r->spm.size,
                              .source_tokens = r->tokens.data,
                              .source_tokens_size = r->tokens.size,
                              .unk = 1 };
    const double        start = pk_clock_now();
    if (pk_vocab_open(&d, &r->vocab) != PK_OK) fail_msg("%s", pk_last_error());
    r->took = pk_clock_now() - start;
    return true;
}

static void real_outputs_decode_to_the_reference(void **state) {
    (void)state;
    real r;
    if (!real_open(&r)) skip();
    char      path[300], *line = NULL, *text = NULL;
    size_t    room = 0, text_room = 0;
    pk_buffer out = { 0 };
    FILE     *f = fopen(
            shared_path("models/en-de-base-hf/newstest2014.greedy.jsonl", path, sizeof path), "r");
    FILE *g =
        fopen(shared_path("models/en-de-base-hf/newstest2014.greedy.txt", path, sizeof path), "r");
    assert_non_null(f);
    assert_non_null(g);
    for (int i = 0; i < 1000; i++) {
        assert_true(getline(&line, &room, f) > 0);
        const ssize_t n = getline(&text, &text_room, g);
        assert_true(n > 0);
        text[n - 1] = '\0';
        pk_ids ids = { 0 };
        for (char *at = strchr(line, '[') + 1; *at && *at != ']'; at += *at == ',')
            assert_int_equal(pk_ids_add(&ids, (int32_t)strtol(at, &at, 10)), PK_OK);
        pk_buffer_clear(&out);
        assert_int_equal(pk_vocab_decode(r.vocab, ids.id, ids.n, &out), PK_OK);
        assert_string_equal(out.data, text);
        pk_ids_free(&ids);
    }
    fclose(f);
    fclose(g);
    free(line);
    free(text);
    pk_buffer_free(&out);
    real_close(&r);
}

static void real_text_comes_back(void **state) {
    (void)state;
    real r;
    if (!real_open(&r)) skip();
    char      path[300], *line = NULL;
    size_t    room = 0;
    int       n_known = 0;
    pk_ids    ids = { 0 }, begin = { 0 };
    pk_buffer out = { 0 };
    FILE     *f = fopen(shared_path("testsets/en-de/newstest2014.en", path, sizeof path), "r");
    assert_non_null(f);
    for (int i = 0; i < 200; i++) {
        const ssize_t n = getline(&line, &room, f);
        assert_true(n > 0);
        ids.n = begin.n = 0;
        pk_buffer_clear(&out);
        assert_int_equal(pk_vocab_encode_source(r.vocab, line, (size_t)n - 1, &ids, &begin), PK_OK);
        assert_int_equal(pk_vocab_decode(r.vocab, ids.id, ids.n, &out), PK_OK);
        line[n - 1] = '\0';
        bool known = true;
        for (size_t k = 0; k < ids.n; k++) known = known && ids.id[k] != 1;
        if (known && !strchr(line, '\xC2') &&
            !strchr(line, '\xE2')) { /* normalisation rewrites those */
            assert_string_equal(out.data, line);
            n_known++;
        }
    }
    assert_true(n_known > 150);
    fclose(f);
    free(line);
    pk_ids_free(&ids);
    pk_ids_free(&begin);
    pk_buffer_free(&out);
    real_close(&r);
}

static void real_vocabulary_opens_at_once(void **state) {
    (void)state;
    double best = 1;
    for (int i = 0; i < 5; i++) {
        real r;
        if (!real_open(&r)) skip();
        if (r.took < best) best = r.took;
        assert_int_equal(pk_vocab_source_size(r.vocab), 16001);
        real_close(&r);
    }
    print_message("opening took %.2f ms\n", 1e3 * best);
    assert_true(best < 0.2); /* some 2 ms as built for use; sanitizers are slow */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_and_texts_are_those_of_transformers),
        cmocka_unit_test(tokens_are_found_both_ways),
        cmocka_unit_test(begins_are_bytes_of_the_text),
        cmocka_unit_test(bytes_stand_in_for_what_is_unknown),
        cmocka_unit_test(zero_bytes_are_unknown_characters),
        cmocka_unit_test(unknowns_may_be_refused),
        cmocka_unit_test(ids_out_of_range_are_refused),
        cmocka_unit_test(bad_vocabularies_are_refused),
        cmocka_unit_test(lists_take_first_of_equals_and_skip_gaps),
        cmocka_unit_test(long_lists_are_searched),
        cmocka_unit_test(no_memory_is_reported),
        cmocka_unit_test(real_outputs_decode_to_the_reference),
        cmocka_unit_test(real_text_comes_back),
        cmocka_unit_test(real_vocabulary_opens_at_once),
    };
    return cmocka_run_group_tests(tests, open_files, close_files);
}
