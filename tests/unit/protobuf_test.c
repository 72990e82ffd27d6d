/* protobuf_test.c - fields of a protocol buffer: written ones are read back, damaged ones are refused. */
#include "vocab/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static pk_proto reader_of(const pk_buffer *b) {
    const unsigned char *data = (const unsigned char *)b->data;
    return (pk_proto){ data, data + b->size };
}

static void what_is_written_is_read(void **state) {
    (void)state;
    static const uint64_t number[] = { 0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX };
    pk_buffer             b = { 0 };
    pk_proto_field        f;
    float                 half = 0.5f, found;
    for (size_t i = 0; i < 7; i++) pk_proto_add_number(&b, 1 + 20 * i, number[i]);
    pk_proto_add_float(&b, 2, half);
    pk_proto_add_bytes(&b, 3, "abc", 3);
    pk_proto_add_bytes(&b, 4, NULL, 0);
    ASSERT_OK(pk_buffer_status(&b));
    pk_proto p = reader_of(&b);
    for (size_t i = 0; i < 7; i++) {
        assert_true(pk_proto_next(&p, &f));
        assert_int_equal(f.id, 1 + 20 * i);
        assert_true(f.number == number[i] && !f.is_bytes);
    }
    assert_true(pk_proto_next(&p, &f));
    memcpy(&found, &f.number, sizeof found);
    assert_true(f.id == 2 && found == half);
    assert_true(pk_proto_next(&p, &f) && f.id == 3 && f.is_bytes);
    assert_true(f.bytes.end - f.bytes.at == 3 && memcmp(f.bytes.at, "abc", 3) == 0);
    assert_true(pk_proto_next(&p, &f) && f.id == 4 && f.bytes.at == f.bytes.end);
    assert_ptr_equal(p.at, p.end);
    pk_buffer_free(&b);
}

/* cut anywhere, the last field is refused and nothing behind the end is read */
static void damaged_fields(void **state) {
    (void)state;
    pk_buffer b = { 0 };
    pk_proto_add_bytes(&b, 1000, "hello", 5);
    for (size_t size = 0; size < b.size; size++) {
        unsigned char *exact = malloc(size + 1); /* a sanitizer sees what is behind it */
        pk_proto_field f;
        memcpy(exact, b.data, size);
        exact = realloc(exact, size ? size : 1);
        assert_false(pk_proto_next(&(pk_proto){ exact, exact + size }, &f));
        free(exact);
    }
    pk_buffer_free(&b);
    static const unsigned char bad[][11] = {
        { 0x00, 0 },                                                          /* id 0 */
        { 0x0B, 0 },                                                          /* a group */
        { 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF }, /* endless */
    };
    for (size_t i = 0; i < 3; i++) {
        pk_proto_field f;
        assert_false(pk_proto_next(&(pk_proto){ bad[i], bad[i] + sizeof bad[i] }, &f));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(damaged_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
