/* safetensors_test.c - round trips of the safetensors reader and writer, and files that lie. */
#include <math.h>

#include "checkpoint_help.h"

/* header text and data as one file in memory */
static pk_buffer make_file(const char *header, size_t data_size) {
    pk_buffer    out = { 0 };
    const size_t n = strlen(header);
    for (int i = 0; i < 8; i++) pk_buffer_print(&out, "%c", (int)(n >> (8 * i) & 255));
    pk_buffer_add_text(&out, header);
    for (size_t i = 0; i < data_size; i++) pk_buffer_add(&out, "\x3f", 1);
    return out;
}

static pk_status read_header(const char *header, size_t data_size) {
    pk_buffer       file = make_file(header, data_size);
    const pk_status status = read_copy(pk_safetensors_read, file.data, file.size);
    pk_buffer_free(&file);
    return status;
}

static void test_accepts(void **state) {
    (void)state;
    assert_int_equal(read_header("{}", 0), PK_OK);
    assert_int_equal(read_header("{\"__metadata__\":{}}   ", 0), PK_OK);
    assert_int_equal(
        read_header("{\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[4,12]},"
                    "\"a\":{\"shape\":[],\"dtype\":\"I32\",\"data_offsets\":[0,4]},"
                    "\"e\":{\"shape\":[0,7],\"dtype\":\"F64\",\"data_offsets\":[4,4]}}",
                    12),
        PK_OK);
}

/* each is a claim that the file does not keep, with a word that the error must say */
static void test_refuses(void **state) {
    static const struct {
        const char *header;
        size_t      data_size;
        const char *says;
    } bad[] = {
        { "[]", 0, "not a safetensors" },
        { "{", 0, "JSON" },
        { "{}x", 0, "JSON" },
        { "{\"a\":1}", 0, "needs dtype" },
        { "{\"a\":{}}", 0, "needs dtype" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[NaN],\"data_offsets\":[0,4]}}", 4, "JSON" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4, "needs" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
          "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
          8, "JSON" },
        { "{\"a\":{\"dtype\":\"F8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "F8" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "count" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, "count" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,4]}}", 4,
          "JSON" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":4,\"data_offsets\":[0,4]}}", 4, "shape" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
          "dimensions" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "fit" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 4, "outside" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "outside" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4, "outside" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0.0,4.0]}}", 4,
          "data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, "data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":{}}}", 4, "data_offsets" },
        /* products that overflow 64 bits, to 0 and to 4 bytes */
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
          "fit" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905],\"data_offsets\":[0,4]}}", 4,
          "fit" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}",
          6, "overlaps" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
          4, "overlaps" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[1,5]}}", 5, "no tensor" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 5, "no tensor" },
        { "{}", 1, "no tensor" },
        { "{\"__metadata__\":[]}", 0, "__metadata__" },
        { "{\"__metadata__\":{\"a\":1}}", 0, "__metadata__" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const pk_status status = read_header(bad[i].header, bad[i].data_size);
        if (status == PK_OK || !strstr(pk_last_error(), bad[i].says))
            fail_msg("%s: status %d, \"%s\"", bad[i].header, status, pk_last_error());
    }
}

static void test_header_length(void **state) {
    unsigned char file[16] = { 2, 0, 0, 0, 0, 0, 0, 0, '{', '}' };
    (void)state;
    assert_int_equal(read_copy(pk_safetensors_read, file, 10), PK_OK);
    file[0] = 0;
    assert_int_equal(read_copy(pk_safetensors_read, file, 10), PK_FORMAT);
    file[0] = 3;
    assert_int_equal(read_copy(pk_safetensors_read, file, 10), PK_FORMAT);
    memset(file, 0xFF, 8);
    assert_int_equal(read_copy(pk_safetensors_read, file, 10), PK_FORMAT);
}

/* nesting as deep as it likes ends in an error, not in the stack */
static void test_deep_nesting(void **state) {
    pk_buffer header = { 0 };
    (void)state;
    pk_buffer_add_text(&header, "{\"a\":");
    for (int i = 0; i < 100000; i++) pk_buffer_add_text(&header, "[");
    assert_int_equal(read_header(header.data, 0), PK_FORMAT);
    pk_buffer_free(&header);
}

/* ---- Round trips ---- */

static const uint32_t bytes_of_data[16] = { 0x3F800000, 0xC0000000, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

#define TENSOR(text, kind, size, ...)                                                         \
    {                                                                                         \
        .name = text, .type = PK_STORED_##kind, .n_dims = sizeof((int64_t[])__VA_ARGS__) / 8, \
        .dim = __VA_ARGS__, .data = bytes_of_data, .bytes = size                              \
    }

static const pk_stored_tensor sample[] = {
    TENSOR("z.f32", F32, 24, { 2, 3 }),
    TENSOR("a.u8", U8, 5, { 5 }),
    TENSOR("quote \" back \\ tab \t", I8, 64, { 4, 16 }),
    TENSOR("f16", F16, 6, { 3 }),
    TENSOR("i64", I64, 8, { 1, 1, 1 }),
    { .name = "empty", .type = PK_STORED_F64, .n_dims = 1, .data = bytes_of_data },
    { .name = "scalar", .type = PK_STORED_BF16, .data = bytes_of_data, .bytes = 2 },
};
enum { N_SAMPLE = sizeof sample / sizeof *sample };

static pk_buffer sample_file(const char *name) {
    char path[256];
    assert_int_equal(pk_safetensors_write(temporary(path, name), "{\"k\":\"v\"}", sample, N_SAMPLE),
                     PK_OK);
    pk_buffer out = read_bytes(path);
    unlink(path);
    return out;
}

static void test_round_trip(void **state) {
    char      path[256];
    pk_stored s;
    (void)state;
    temporary(path, "round");
    assert_int_equal(pk_safetensors_write(path, "{\"k\":\"v\"}", sample, N_SAMPLE), PK_OK);
    assert_int_equal(pk_safetensors_open(path, &s), PK_OK);
    assert_string_equal(s.metadata, "{\"k\":\"v\"}");
    for (int i = 0; i < N_SAMPLE; i++) {
        const pk_stored_tensor *want = &sample[i], *t = pk_stored_find(&s, want->name);
        assert_non_null(t);
        assert_int_equal(t->type, want->type);
        assert_int_equal(t->n_dims, want->n_dims);
        assert_memory_equal(t->dim, want->dim, sizeof t->dim);
        assert_int_equal(t->bytes, want->bytes);
        assert_memory_equal(t->data, want->data, want->bytes);
        assert_int_equal(((const unsigned char *)t->data - s.map.data) % 64, 0);
    }
    assert_null(pk_stored_find(&s, "none"));
    assert_int_equal(s.n, N_SAMPLE); /* the padding is not listed */
    for (size_t i = 1; i < s.n; i++)
        assert_true(strcmp(s.tensor[i - 1].name, s.tensor[i].name) < 0);
    pk_stored_close(&s);
    unlink(path);
}

static void test_write_fails(void **state) {
    pk_stored_tensor wrong = sample[0];
    char             path[256];
    (void)state;
    assert_int_equal(pk_safetensors_write("/nowhere/at/all", NULL, sample, N_SAMPLE), PK_IO);
    wrong.dim[0] = 7;
    temporary(path, "wrong");
    assert_int_equal(pk_safetensors_write(path, NULL, &wrong, 1), PK_ARGUMENT);
    assert_int_not_equal(access(path, F_OK), 0);
    for (int64_t n = 1; n < 100; n++) {
        const int64_t alive = pk_memory_alive();
        pk_memory_fail_after(n);
        const pk_status status = pk_safetensors_write(path, NULL, sample, N_SAMPLE);
        pk_memory_fail_after(0);
        assert_int_equal(pk_memory_alive(), alive);
        if (status == PK_OK) break;
        assert_int_equal(status, PK_NO_MEMORY);
        assert_int_not_equal(access(path, F_OK), 0); /* nothing half-written appears */
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(pk_safetensors_write("/dev/full/x", NULL, sample, 1), PK_IO);
}

static void test_open_fails(void **state) {
    char      path[256];
    pk_stored s;
    (void)state;
    assert_int_equal(pk_safetensors_open("/nowhere/at/all", &s), PK_IO);
    assert_int_equal(pk_safetensors_open("/tmp", &s), PK_IO);
    write_bytes(temporary(path, "empty"), "", 0);
    assert_int_equal(pk_safetensors_open(path, &s), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), path));
    unlink(path);
}

static void test_hostile_bytes(void **state) {
    pk_buffer    file = sample_file("hostile");
    const size_t header =
        8 + (unsigned char)file.data[0] + 256 * (size_t)(unsigned char)file.data[1];
    (void)state;
    assert_int_equal(header % 64, 0);
    try_truncations(pk_safetensors_read, &file, 0);
    assert_true(try_flips(pk_safetensors_read, &file, header) > header);
    try_allocations(pk_safetensors_read, &file);
    pk_buffer_free(&file);
}

/* ---- Elements ---- */

static double half_by_definition(unsigned h) {
    const double sign = h & 0x8000 ? -1 : 1, mantissa = h & 0x3FF;
    const int    exponent = h >> 10 & 31;
    if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1 + mantissa / 1024, exponent - 15) : ldexp(mantissa, -24));
}

static void test_every_half(void **state) {
    static uint16_t all[65536];
    static float    out[65536];
    (void)state;
    for (unsigned i = 0; i < 65536; i++) all[i] = (uint16_t)i;
    const pk_stored_tensor t = { .type = PK_STORED_F16, .data = all, .bytes = sizeof all };
    pk_stored_get_many(&t, 0, 65536, out);
    for (unsigned i = 0; i < 65536; i++) {
        const double want = half_by_definition(i);
        assert_true(isnan(want) ? isnan(out[i]) : (double)out[i] == want);
        assert_true(!!signbit(out[i]) == (i >= 32768));
    }
}

static void test_elements(void **state) {
    static const union {
        double   f64[2];
        int64_t  i64[2];
        int32_t  i32[4];
        int16_t  i16[8];
        int8_t   i8[16];
        uint16_t u16[8];
    } data[] = { { .f64 = { 0, 1.5 } }, { .i64 = { 0, -5 } },    { .i32 = { 0, 7 } },
                 { .i16 = { 0, -8 } },  { .i8 = { 0, -9 } },     { .i8 = { 0, (int8_t)200 } },
                 { .i8 = { 0, 3 } },    { .u16 = { 0, 0xC049 } } };
    static const struct {
        pk_stored_type type;
        float          want;
    } cases[] = { { PK_STORED_F64, 1.5f }, { PK_STORED_I64, -5 },         { PK_STORED_I32, 7 },
                  { PK_STORED_I16, -8 },   { PK_STORED_I8, -9 },          { PK_STORED_U8, 200 },
                  { PK_STORED_BOOL, 1 },   { PK_STORED_BF16, -3.140625f } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pk_stored_tensor t = { .type = cases[i].type, .data = &data[i], .bytes = 16 };
        assert_true(pk_stored_get(&t, 1) == cases[i].want);
    }
    assert_string_equal(pk_stored_type_name(PK_STORED_BF16), "BF16");
    assert_int_equal(pk_stored_type_bytes(PK_STORED_N_TYPES), 0);
    assert_string_equal(pk_stored_type_name(PK_STORED_N_TYPES), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),       cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_header_length), cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_write_fails),
        cmocka_unit_test(test_open_fails),    cmocka_unit_test(test_hostile_bytes),
        cmocka_unit_test(test_every_half),    cmocka_unit_test(test_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
