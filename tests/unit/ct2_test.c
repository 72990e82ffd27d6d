/* ct2_test.c - CTranslate2's model.bin of every binary version and type, cut short, damaged, and as
 * an attacker might write it. */
#include "ct2_file_help.h"

static const float  floats[4] = { 1, -2, 0.5f, 3 };
static const int8_t bytes[4] = { 1, -128, 127, 0 };

/* a matrix, a number, and from version 3 on another name of the matrix */
static pk_buffer make(uint32_t version) {
    pk_buffer b = { 0 };
    put_head(&b, version, "TransformerSpec", 3, 2);
    put_variable(&b, version, "z/weight", 2, 2, 2, 0, 4, floats);
    put_variable(&b, version, "a/number", 0, 0, 0, 1, 1, bytes + 2);
    if (version >= 3) {
        put(&b, 1, 4);
        put_text(&b, "m/weight");
        put_text(&b, "z/weight");
    }
    return b;
}

static void every_version_is_read(void **state) {
    (void)state;
    for (uint32_t version = 1; version <= PK_CT2_NEWEST; version++) {
        pk_buffer       b = make(version);
        pk_stored       s;
        pk_ct2_header   header;
        const pk_status status = pk_ct2_read((const unsigned char *)b.data, b.size, &header, &s);
        if (status != PK_OK) fail_msg("version %u: %s", version, pk_last_error());
        assert_int_equal(header.version, version);
        assert_int_equal(header.revision, version < 2 ? 1 : 3);
        assert_string_equal(header.spec, version < 2 ? "" : "TransformerSpec");
        assert_int_equal(s.n, version < 3 ? 2 : 3);
        const pk_stored_tensor *t = pk_stored_find(&s, "z/weight");
        assert_true(t && t->n_dims == 2 && t->dim[0] == 2 && t->dim[1] == 2);
        for (size_t i = 0; i < 4; i++) assert_true(pk_stored_get(t, i) == floats[i]);
        const pk_stored_tensor *number = pk_stored_find(&s, "a/number");
        assert_true(number && number->n_dims == 0 && pk_stored_get(number, 0) == 127);
        const pk_stored_tensor *other = pk_stored_find(&s, "m/weight");
        assert_true(version < 3 ? !other : other && other->data == t->data);
        pk_stored_close(&s);
        pk_buffer_free(&b);
    }
}

static void every_type_is_read(void **state) {
    static const struct {
        int            type;
        pk_stored_type is;
        uint64_t       bits;
        float          value;
    } cases[] = {
        { 0, PK_STORED_F32, 0x40200000, 2.5f }, { 1, PK_STORED_I8, 0x85, -123 },
        { 2, PK_STORED_I16, 0xFED4, -300 },     { 3, PK_STORED_I32, 70000, 70000 },
        { 4, PK_STORED_F16, 0x3E00, 1.5f },     { 5, PK_STORED_BF16, 0xC040, -3 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pk_buffer     b = { 0 };
        pk_stored     s;
        pk_ct2_header header;
        put_head(&b, 6, "TransformerSpec", 7, 1);
        put_variable(&b, 6, "w", 1, 1, 0, cases[i].type, pk_stored_type_bytes(cases[i].is),
                     &cases[i].bits);
        put(&b, 0, 4);
        assert_int_equal(pk_ct2_read((const unsigned char *)b.data, b.size, &header, &s), PK_OK);
        assert_int_equal(s.tensor[0].type, cases[i].is);
        assert_true(pk_stored_get(&s.tensor[0], 0) == cases[i].value);
        pk_stored_close(&s);
        pk_buffer_free(&b);
    }
}

static void no_part_of_a_file_passes_for_whole(void **state) {
    (void)state;
    for (uint32_t version = 1; version <= PK_CT2_NEWEST; version++) {
        pk_buffer b = make(version);
        try_truncations(read_without_header, &b, 0);
        assert_true(try_flips(read_without_header, &b, b.size) > 0);
        try_allocations(read_without_header, &b);
        pk_buffer_free(&b);
    }
}

static void refuse(pk_buffer *b, pk_status want, const char *says) {
    assert_int_equal(read_copy(read_without_header, b->data, b->size), want);
    if (!strstr(pk_last_error(), says)) fail_msg("\"%s\" instead of \"%s\"", pk_last_error(), says);
    pk_buffer_free(b);
}

static void other_files_are_refused(void **state) {
    pk_buffer b = { 0 };
    (void)state;
    put(&b, 7, 4);
    put(&b, 0, 64);
    refuse(&b, PK_UNSUPPORTED, "binary version 7");
    pk_buffer_add_text(&b, "PK\3\4 and so on: a zip archive");
    refuse(&b, PK_FORMAT, "not a model");
    put(&b, 0, 64);
    refuse(&b, PK_FORMAT, "not a model");
    refuse(&b, PK_FORMAT, "cut short");
    b = make(6);
    put(&b, 1, 1);
    refuse(&b, PK_FORMAT, "behind its end");
}

/* counts and sizes that no file can keep: no memory may be taken for them */
static void promises_are_checked_first(void **state) {
    pk_buffer b = { 0 };
    (void)state;
    put_head(&b, 6, "TransformerSpec", 7, UINT32_MAX);
    refuse(&b, PK_FORMAT, "too many");
    put_head(&b, 6, "TransformerSpec", 7, 60000);
    put(&b, 0, 100);
    refuse(&b, PK_FORMAT, "cut short");
    put_head(&b, 6, "TransformerSpec", 7, 1); /* 2^62 elements, no bytes */
    put_text(&b, "w");
    put(&b, 2, 1), put(&b, (uint64_t)1 << 31, 4), put(&b, (uint64_t)1 << 31, 4);
    put(&b, 0, 1), put(&b, 0, 4), put(&b, 0, 4);
    refuse(&b, PK_FORMAT, "other sizes");
    put_head(&b, 3, "TransformerSpec", 3, 1); /* 2^32 - 1 elements of four bytes */
    put_text(&b, "w");
    put(&b, 1, 1), put(&b, UINT32_MAX, 4), put(&b, 4, 1), put(&b, UINT32_MAX, 4);
    refuse(&b, PK_FORMAT, "cut short");
    put_head(&b, 6, "TransformerSpec", 7, 1);
    put_text(&b, "w");
    put(&b, 9, 1), put(&b, 0, 64);
    refuse(&b, PK_FORMAT, "9 dimensions");
}

static void wrong_names_and_types_are_refused(void **state) {
    pk_buffer b = { 0 };
    (void)state;
    put_head(&b, 6, "S", 7, 2);
    put_variable(&b, 6, "w", 2, 2, 2, 0, 4, floats);
    put_variable(&b, 6, "w", 2, 2, 2, 0, 4, floats);
    put(&b, 0, 4);
    refuse(&b, PK_FORMAT, "there twice");
    put_head(&b, 6, "S", 7, 1);
    put_variable(&b, 6, "w", 2, 2, 2, 6, 4, floats);
    refuse(&b, PK_UNSUPPORTED, "unknown type (6)");
    put_head(&b, 3, "S", 3, 1);
    put_variable(&b, 3, "w", 1, 1, 0, 0, 8, (const double[]){ 1 });
    refuse(&b, PK_UNSUPPORTED, "unknown type (8)");
    put_head(&b, 6, "S", 7, 1);
    put(&b, 4, 2), pk_buffer_add(&b, "a\0b\0", 4), put(&b, 0, 64);
    refuse(&b, PK_FORMAT, "does not end where");
    put_head(&b, 6, "S", 7, 1);
    put(&b, 0, 2), put(&b, 0, 64);
    refuse(&b, PK_FORMAT, "does not end where");
    b = make(2);
    b.data[0] = 3; /* from version 3 on there are aliases */
    put(&b, 1, 4), put_text(&b, "x"), put_text(&b, "nothing");
    refuse(&b, PK_FORMAT, "which is missing");
    b = make(2);
    b.data[0] = 3;
    put(&b, 1, 4), put_text(&b, "a/number"), put_text(&b, "z/weight");
    refuse(&b, PK_FORMAT, "there twice");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_is_read),
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(no_part_of_a_file_passes_for_whole),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(promises_are_checked_first),
        cmocka_unit_test(wrong_names_and_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
