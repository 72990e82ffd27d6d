/* spm_test.c - the C face of libsentencepiece: damaged models, no memory, many threads.
 *
 * The C++ allocator is replaced here, so that the library can run out of memory too. */
#include "vocab/spm.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file_map.h"
#include "base/memory.h"
#include "vocab/spm_check.h"

/* ---- operator new and delete, under their names in C; visible, so that the library takes them
 * ---- */
#pragma GCC visibility push(default)
void                  *_Znwm(size_t n);
void                  *_Znam(size_t n);
void                   _ZdlPv(void *block);
void                   _ZdlPvm(void *block, size_t n);
void                   _ZdaPv(void *block);
void                   _ZdaPvm(void *block, size_t n);
void                   _ZSt17__throw_bad_allocv(void); /* of libstdc++: throws std::bad_alloc */
#pragma GCC visibility pop

enum { HEAD = 16 };                                   /* before each block: its size */
static atomic_size_t new_limit = SIZE_MAX, new_alive; /* bytes */

void *_Znwm(size_t n) {
    size_t *block = NULL;
    if (atomic_fetch_add(&new_alive, n) + n <= atomic_load(&new_limit)) block = malloc(n + HEAD);
    if (!block) {
        atomic_fetch_sub(&new_alive, n);
        _ZSt17__throw_bad_allocv();
        return NULL;
    }
    *block = n;
    return (char *)block + HEAD;
}
void *_Znam(size_t n) { return _Znwm(n); }

void _ZdlPv(void *block) {
    if (!block) return;
    size_t *head = (size_t *)((char *)block - HEAD);
    atomic_fetch_sub(&new_alive, *head);
    free(head);
}
void _ZdlPvm(void *block, size_t n) {
    (void)n;
    _ZdlPv(block);
}
void _ZdaPv(void *block) { _ZdlPv(block); }
void _ZdaPvm(void *block, size_t n) {
    (void)n;
    _ZdlPv(block);
}

/* ---- helpers ---- */
static pk_file_map model;
static const char  text[] = "The ship leaves the harbour \xEF\xBC\xA1 fa\xCC\x88.";

static int open_model(void **state) {
    (void)state;
    return pk_file_map_open("tests/data/vocab/source.spm", &model) == PK_OK ? 0 : -1;
}

static int close_model(void **state) {
    (void)state;
    pk_file_map_close(&model);
    return 0;
}

/* pieces as one string, each followed by a NUL, and where they begin */
typedef struct pieces {
    pk_buffer names;
    size_t    start[100], begin[100], n;
} pieces;

static pk_status collect(void *user, const char *piece, size_t size, size_t begin) {
    pieces *p = user;
    if (p->n == 100) PK_FAIL(PK_ARGUMENT, "enough");
    p->start[p->n] = p->names.size;
    p->begin[p->n++] = begin;
    pk_buffer_add(&p->names, piece, size);
    pk_buffer_add(&p->names, "", 1);
    return pk_buffer_status(&p->names);
}

static const char *name_of(const void *user, size_t i) {
    const pieces *p = user;
    return p->names.data + p->start[i];
}

/* opens, encodes, decodes; PK_OK only when all three went well */
static pk_status use(const void *data, size_t size, pieces *p, pk_buffer *out) {
    pk_spm   *s = NULL;
    pk_status status;
    PK_GOTO(pk_spm_open(data, size, &s));
    PK_GOTO(pk_spm_encode(s, text, sizeof text - 1, collect, p));
    PK_GOTO(pk_spm_decode(s, name_of, p, p->n, out, NULL));
done:
    pk_spm_close(s);
    return status;
}

static pk_status use_and_forget(const void *data, size_t size) {
    pieces          p = { 0 };
    pk_buffer       out = { 0 };
    const pk_status status = use(data, size, &p, &out);
    pk_buffer_free(&p.names);
    pk_buffer_free(&out);
    return status;
}

/* ---- tests ---- */
static void text_becomes_pieces_and_text_again(void **state) {
    (void)state;
    pieces    p = { 0 };
    pk_buffer out = { 0 };
    assert_int_equal(use(model.data, model.size, &p, &out), PK_OK);
    assert_string_equal(name_of(&p, 0), "\xE2\x96\x81The");
    assert_int_equal(p.begin[0], 0);
    assert_string_equal(name_of(&p, 1), "\xE2\x96\x81ship");
    assert_int_equal(p.begin[1], 3);
    assert_string_equal(out.data, "The ship leaves the harbour A f\xC3\xA4.");
    pk_buffer_free(&p.names);
    pk_buffer_free(&out);
}

static void control_and_unknown_pieces_decode_as_they_should(void **state) {
    (void)state;
    pk_spm   *s;
    pieces    p = { 0 };
    pk_buffer out = { 0 };
    assert_int_equal(pk_spm_open(model.data, model.size, &s), PK_OK);
    static const char *const given[] = { "</s>", "\xE2\x96\x81The", "", "NotKnown", "<unk>", "e" };
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(collect(&p, given[i], strlen(given[i]), 0), PK_OK);
    assert_int_equal(pk_spm_decode(s, name_of, &p, p.n, &out, NULL), PK_OK);
    assert_string_equal(out.data, "TheNotKnown \xE2\x81\x87 e");
    pk_buffer_clear(&out);
    assert_int_equal(pk_spm_decode(s, name_of, &p, 0, &out, NULL), PK_OK);
    assert_int_equal(out.size, 0);
    pk_spm_close(s);
    pk_spm_close(NULL);
    pk_buffer_free(&p.names);
    pk_buffer_free(&out);
}

static pk_status stop(void *user, const char *piece, size_t size, size_t begin) {
    (void)piece, (void)size, (void)begin;
    ++*(int *)user;
    PK_FAIL(PK_CANCELLED, "stop");
}

static void visitor_may_stop(void **state) {
    (void)state;
    pk_spm *s;
    int     n = 0;
    assert_int_equal(pk_spm_open(model.data, model.size, &s), PK_OK);
    assert_int_equal(pk_spm_encode(s, text, sizeof text - 1, stop, &n), PK_CANCELLED);
    assert_int_equal(n, 1);
    assert_int_equal(pk_spm_encode(s, NULL, 0, stop, &n), PK_OK); /* no text, no pieces */
    assert_int_equal(n, 1);
    assert_int_equal(pk_spm_encode(s, text, (size_t)INT32_MAX + 1, stop, &n), PK_ARGUMENT);
    pk_spm_close(s);
}

static void long_text_takes_linear_time(void **state) {
    (void)state;
    enum { SIZE = 1000000 };
    char   *big;
    int     n = 0;
    pk_spm *s;
    assert_int_equal(PK_TAKE(&big, SIZE), PK_OK);
    memset(big, 'e', SIZE);
    assert_int_equal(pk_spm_open(model.data, model.size, &s), PK_OK);
    assert_int_equal(pk_spm_encode(s, big, SIZE, stop, &n), PK_CANCELLED);
    pk_spm_close(s);
    pk_memory_give(big);
}

/* a copy of exactly that size, so that the sanitizer sees a step beyond it */
static unsigned char *copy_of(size_t size) {
    unsigned char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, model.data, size);
    return copy;
}

static void cut_models_are_refused(void **state) {
    (void)state;
    int n_good = 0;
    for (size_t size = 0; size < model.size; size++) {
        unsigned char  *copy = copy_of(size);
        const pk_status status = use_and_forget(copy, size);
        if (status == PK_OK)
            n_good++; /* cut between two parts: fewer pieces, but whole */
        else
            assert_int_equal(status, PK_FORMAT);
        free(copy);
    }
    assert_in_range(n_good, 0, 152);
}

/* Any byte may be anything: refused at opening, or good for use. */
static void damaged_models_never_crash(void **state) {
    (void)state;
    unsigned char *copy = copy_of(model.size);
    int            n_late = 0, n_refused = 0;
    for (size_t at = 0; at < model.size; at++)
        for (int i = 0; i < 3; i++) {
            static const unsigned char flip[] = { 0xFF, 0x01, 0x80 };
            copy[at] ^= flip[i];
            const pk_status opened = pk_spm_check(copy, model.size);
            const pk_status used = use_and_forget(copy, model.size);
            copy[at] ^= flip[i];
            assert_true(opened == PK_OK || opened == PK_FORMAT);
            if (opened == PK_FORMAT) assert_int_equal(used, PK_FORMAT);
            n_refused += opened != PK_OK;
            n_late += opened == PK_OK && used != PK_OK;
        }
    free(copy);
    assert_true(n_refused > 1000);
    assert_int_equal(n_late, 0); /* none is found out only when used */
}

static pk_status check_text(const char *bytes, size_t size) { return pk_spm_check(bytes, size); }

static void models_that_make_no_sense_are_refused(void **state) {
    (void)state;
#define REFUSED(bytes, reason)                                         \
    assert_int_equal(check_text(bytes, sizeof(bytes) - 1), PK_FORMAT); \
    assert_non_null(strstr(pk_last_error(), reason))
    /* a piece: 0A size { 0A size text, 15 score, 18 type } */
    assert_int_equal(check_text("\x0A\x07\x0A\x03<u>\x18\x02\x0A\x03\x0A\x01"
                                "a",
                                14),
                     PK_OK);
    REFUSED("", "empty");
    REFUSED("\x10\x05", "field 2 is a number");
    REFUSED("\x0B", "damaged");                                         /* a group */
    REFUSED("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "damaged"); /* a size of 2^64 - 1 */
    REFUSED("\x0A\x80", "damaged"); /* a number without an end */
    REFUSED("\x32\x01"
            "x",
            "no pieces");
    REFUSED("\x0A\x03\x0A\x01"
            "a",
            "0 unknown");
    REFUSED("\x0A\x05\x0A\x01"
            "a\x18\x02\x0A\x05\x0A\x01"
            "b\x18\x02",
            "2 unknown");
    REFUSED("\x0A\x03\x0A\x01"
            "a\x0A\x03\x0A\x01"
            "a",
            "twice");
    REFUSED("\x0A\x02\x0A\x00", "empty or not UTF-8");
    REFUSED("\x0A\x02\x18\x01", "empty or not UTF-8");
    REFUSED("\x0A\x04\x0A\x02"
            "\xC3(",
            "empty or not UTF-8");
    REFUSED("\x0A\x05\x0A\x03"
            "a\0b",
            "empty or not UTF-8");
    REFUSED("\x0A\x08\x0A\x01"
            "a\x15\x00\x00\xC0\x7F",
            "not a number");
    REFUSED("\x0A\x47\x0A\x43"
            "0123456789012345678901234567890123456789012345678901234567890123456"
            "\x18\x04",
            "longer than 64");
    REFUSED("\x1A\x01\x0A", "normalisation rules are damaged");
    REFUSED("\x1A\x03\x12\x01"
            "x",
            "cut short");
    REFUSED("\x12\x01\x0A", "training record is damaged");
#undef REFUSED
}

/* a trie of 256 units behind its size, and texts behind that */
enum { N_UNITS = 256 };
typedef struct charsmap {
    uint32_t bytes, unit[N_UNITS];
    char     texts[4];
} charsmap;

static pk_status check_map(const charsmap *m) {
    return pk_charsmap_check((const void *)m, sizeof *m);
}

static void hostile_rules_are_refused(void **state) {
    (void)state;
    /* root's children are at 1 ^ label; 'a' is at 1 ^ 0x61 = 0x60, its value at 0x60 ^ 2 */
    charsmap good = { .bytes = 4 * N_UNITS, .texts = "xy" };
    good.unit[0] = 1u << 10;
    good.unit[0x60] = 2u << 10 | 1u << 8 | 'a';
    good.unit[0x62] = 1u << 31 | 3;
    assert_int_equal(check_map(&good), PK_OK);
    charsmap m = good;
    m.unit[0] = 1u << 20, assert_int_equal(check_map(&m), PK_FORMAT), m = good; /* out */
    m.unit[0x60] |= 1u << 9 | 1u << 30, assert_int_equal(check_map(&m), PK_FORMAT), m = good;
    m.unit[0x62] = 1u << 31 | 4, assert_int_equal(check_map(&m), PK_FORMAT), m = good; /* no text */
    m.texts[3] = 'z', assert_int_equal(check_map(&m), PK_FORMAT), m = good;            /* no end */
    m.bytes = 4 * N_UNITS + 4, assert_int_equal(check_map(&m), PK_FORMAT), m = good;
    m.bytes = 0, assert_int_equal(check_map(&m), PK_FORMAT), m = good;
    m.bytes = UINT32_MAX, assert_int_equal(check_map(&m), PK_FORMAT), m = good;
    /* a circle: 'a' under root's base leads back to that base, so "aaaa..." would match for ever */
    m.unit[0x60] = (0x60u ^ 1u) << 10 | 1u << 8 | 'a';
    m.unit[1] = 1u << 31;
    assert_int_equal(check_map(&m), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "longer than 32"));
    assert_int_equal(pk_charsmap_check((const unsigned char *)"abc", 3), PK_FORMAT);
}

static void *use_in_thread(void *shared) {
    for (int i = 0; i < 20; i++) {
        pieces p = { 0 };
        if (pk_spm_encode(shared, text, sizeof text - 1, collect, &p) != PK_OK || p.n < 5)
            return NULL;
        pk_buffer_free(&p.names);
    }
    return shared;
}

static void threads_share_one_model(void **state) {
    (void)state;
    for (int repetition = 0; repetition < 10; repetition++) {
        pk_spm   *s;
        pthread_t thread[4];
        assert_int_equal(pk_spm_open(model.data, model.size, &s), PK_OK);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, use_in_thread, s), 0);
        for (int i = 0; i < 4; i++) {
            void *good;
            pthread_join(thread[i], &good);
            assert_ptr_equal(good, s);
        }
        pk_spm_close(s);
    }
}

static void no_memory_is_reported(void **state) {
    (void)state;
    const int64_t before = pk_memory_alive();
    for (int64_t fail = 1;; fail++) {
        pk_memory_fail_after(fail);
        const pk_status status = use_and_forget(model.data, model.size);
        pk_memory_fail_after(0);
        assert_int_equal(pk_memory_alive(), before);
        if (status == PK_OK) break;
        assert_int_equal(status, PK_NO_MEMORY);
    }
}

/* also when it is the library that cannot have any: less and less is left to it */
static void no_memory_inside_the_library_is_reported(void **state) {
    (void)state;
    const int64_t before = pk_memory_alive();
    const size_t  alive = atomic_load(&new_alive);
    int           n_failed = 0, n_good = 0;
    for (size_t room = 1 << 19; room > 0; room -= 1 << 10) {
        atomic_store(&new_limit, alive + room);
        const pk_status status = use_and_forget(model.data, model.size);
        atomic_store(&new_limit, SIZE_MAX);
        assert_true(status == PK_OK || status == PK_NO_MEMORY);
        assert_int_equal(pk_memory_alive(), before);
        assert_int_equal(atomic_load(&new_alive), alive);
        if (status == PK_OK)
            n_good++;
        else
            n_failed++;
    }
    assert_true(n_good > 0 && n_failed > 100);
    assert_int_equal(use_and_forget(model.data, model.size), PK_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_becomes_pieces_and_text_again),
        cmocka_unit_test(control_and_unknown_pieces_decode_as_they_should),
        cmocka_unit_test(visitor_may_stop),
        cmocka_unit_test(long_text_takes_linear_time),
        cmocka_unit_test(cut_models_are_refused),
        cmocka_unit_test(damaged_models_never_crash),
        cmocka_unit_test(models_that_make_no_sense_are_refused),
        cmocka_unit_test(hostile_rules_are_refused),
        cmocka_unit_test(threads_share_one_model),
        cmocka_unit_test(no_memory_is_reported),
        cmocka_unit_test(no_memory_inside_the_library_is_reported),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
