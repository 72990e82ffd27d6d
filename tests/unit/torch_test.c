/* torch_test.c - PyTorch checkpoints of both forms, as torch wrote them
 * (tools/make_torch_samples.py) and as an attacker might. */
#include "zip_help.h"

#define FOLDER "tests/data/torch/"

static void expect(const pk_stored *s, const char *name, pk_stored_type type, size_t n,
                   const float *want) {
    const pk_stored_tensor *t = pk_stored_find(s, name);
    if (!t) fail_msg("%s is missing", name);
    assert_int_equal(t->type, type);
    assert_int_equal(t->bytes, n * pk_stored_type_bytes(type));
    for (size_t i = 0; i < n; i++) assert_true(pk_stored_get(t, i) == want[i]);
}
#define EXPECT(name, type, ...)                                                      \
    expect(&s, name, PK_STORED_##type, sizeof((float[])__VA_ARGS__) / sizeof(float), \
           (const float[])__VA_ARGS__)

/* the tensors of state() in tools/make_torch_samples.py */
static void check_sample(const char *path) {
    pk_stored s;
    float     counted[24], eighths[24];
    if (pk_torch_open(path, &s) != PK_OK) fail_msg("%s", pk_last_error());
    for (int i = 0; i < 24; i++) counted[i] = (float)i, eighths[i] = (float)i / 8;
    assert_int_equal(s.n, 15);
    expect(&s, "f32", PK_STORED_F32, 24, eighths);
    expect(&s, "tied", PK_STORED_F32, 24, eighths);
    expect(&s, "view", PK_STORED_F32, 12, counted + 6);
    assert_ptr_equal(pk_stored_find(&s, "f32")->data, pk_stored_find(&s, "tied")->data);
    assert_int_equal(pk_stored_find(&s, "view")->n_dims, 2);
    assert_int_equal(pk_stored_find(&s, "view")->dim[0], 3);
    EXPECT("f64", F64, { 0.5f, -2 });
    EXPECT("f16", F16, { 1.5f, -0.25f, 0x1.ff8p-15f });
    EXPECT("bf16", BF16, { 3, -0x1.5ap66f });
    EXPECT("i64", I64, { -1, 0x1p40f });
    EXPECT("i32", I32, { 7 });
    EXPECT("i16", I16, { -300 });
    EXPECT("i8", I8, { -128, 127 });
    EXPECT("u8", U8, { 255 });
    EXPECT("bool", BOOL, { 1, 0 });
    EXPECT("scalar", F32, { 42 });
    EXPECT("parameter", F32, { 1, 1 });
    assert_int_equal(pk_stored_find(&s, "scalar")->n_dims, 0);
    assert_int_equal(pk_stored_find(&s, "empty")->bytes, 0);
    pk_stored_close(&s);
}

static void test_zip(void **state) { (void)state, check_sample(FOLDER "zip.bin"); }
static void test_protocol4(void **state) { (void)state, check_sample(FOLDER "zip_protocol4.bin"); }
static void test_old(void **state) { (void)state, check_sample(FOLDER "old.bin"); }

static void refuse(const char *path, pk_status want, const char *says) {
    pk_stored s;
    assert_int_equal(pk_torch_open(path, &s), want);
    if (!strstr(pk_last_error(), says)) fail_msg("%s", pk_last_error());
    assert_non_null(strstr(pk_last_error(), path));
}

static void test_refused(void **state) {
    char path[256];
    (void)state;
    refuse(FOLDER "transposed.bin", PK_UNSUPPORTED, "not contiguous");
    refuse(FOLDER "module.bin", PK_UNSUPPORTED, "refuses to load torch.nn.modules.linear.Linear");
    refuse(FOLDER "nested.bin", PK_UNSUPPORTED, "tensor \"model\": not a tensor");
    refuse("/nowhere/at/all", PK_IO, "No such file");
    write_bytes(temporary(path, "empty"), "", 0);
    refuse(path, PK_FORMAT, "not a PyTorch checkpoint");
    write_bytes(path, "hello", 5);
    refuse(path, PK_FORMAT, "not a PyTorch checkpoint");
    write_bytes(path, "PK\3\4", 4);
    refuse(path, PK_FORMAT, "without its directory");
    unlink(path);
}

static void attack(const char *path, size_t rest) {
    pk_buffer file = read_bytes(path);
    try_truncations(pk_torch_read, &file, rest);
    assert_true(try_flips(pk_torch_read, &file, file.size) > 0);
    try_allocations(pk_torch_read, &file);
    pk_buffer_free(&file);
}

static void test_hostile_zip(void **state) { (void)state, attack(FOLDER "zip.bin", 0); }
static void test_hostile_old(void **state) { (void)state, attack(FOLDER "old.bin", 0); }

/* ---- Archives made by hand ---- */

/* gives the status of the archive and forgets it */
static pk_status finish(made *z) {
    end_archive(z);
    const pk_status status = read_copy(pk_torch_read, z->file.data, z->file.size);
    free_archive(z);
    return status;
}

/* {"w": tensor of `shape` in the storage "0" of four floats}; texts are pickle opcodes */
#define PICKLE(offset, shape, stride, count)                                              \
    "}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((U\7storagectorch\nFloatStorage\nU\1" \
    "0U\3cpu" count "tQ" offset shape stride "\x89NtRs."
#define GOOD                PICKLE("K\1", "K\3\x85", "K\1\x85", "K\4")
#define ADD_PICKLE(z, text) add_entry(z, "x/data.pkl", text, sizeof(text) - 1)

static const char floats[16] = { 0 };

static pk_status try_pickle(const char *text, size_t size) {
    made z = { 0 };
    add_entry(&z, "x/data.pkl", text, size);
    add_entry(&z, "x/data/0", floats, 16);
    return finish(&z);
}
#define TRY_PICKLE(...) try_pickle(PICKLE(__VA_ARGS__), sizeof(PICKLE(__VA_ARGS__)) - 1)

static void test_made_zip(void **state) {
    made z = { .wide = true };
    (void)state;
    ADD_PICKLE(&z, GOOD);
    add_entry(&z, "x/data/0", floats, 16);
    add_entry(&z, "x/byteorder", "little", 6);
    assert_int_equal(finish(&z), PK_OK);
    ADD_PICKLE(&z, GOOD);
    add_entry(&z, "x/data/0", floats, 16);
    add_entry(&z, "x/byteorder", "big", 3);
    assert_int_equal(finish(&z), PK_UNSUPPORTED);
    z.method = 8;
    ADD_PICKLE(&z, GOOD);
    assert_int_equal(finish(&z), PK_UNSUPPORTED);
    assert_non_null(strstr(pk_last_error(), "compressed"));
    z.flags = 1;
    ADD_PICKLE(&z, GOOD);
    assert_int_equal(finish(&z), PK_UNSUPPORTED);
    assert_non_null(strstr(pk_last_error(), "encrypted"));
    ADD_PICKLE(&z, GOOD);
    ADD_PICKLE(&z, GOOD);
    assert_int_equal(finish(&z), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "one name"));
    ADD_PICKLE(&z, GOOD); /* no storage */
    assert_int_equal(finish(&z), PK_FORMAT);
    ADD_PICKLE(&z, GOOD);
    add_entry(&z, "x/data/0", floats, 15); /* too short */
    assert_int_equal(finish(&z), PK_FORMAT);
    add_entry(&z, "x/other", floats, 15);
    assert_int_equal(finish(&z), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "data.pkl"));
}

static void test_shapes(void **state) {
    (void)state;
    assert_int_equal(TRY_PICKLE("K\1", "K\3\x85", "K\1\x85", "K\4"), PK_OK);
    assert_int_equal(TRY_PICKLE("K\0", "K\4\x85", "K\1\x85", "K\4"), PK_OK);
    assert_int_equal(TRY_PICKLE("K\0", "K\2K\2\x86", "K\2K\1\x86", "K\4"), PK_OK);
    assert_int_equal(TRY_PICKLE("K\0", "K\1K\4\x86", "K\7K\1\x86", "K\4"), PK_OK);
    assert_int_equal(TRY_PICKLE("K\4", "K\0\x85", "K\1\x85", "K\4"), PK_OK);
    assert_int_equal(TRY_PICKLE("K\0", "K\2K\2\x86", "K\1K\2\x86", "K\4"), PK_UNSUPPORTED);
    assert_int_equal(TRY_PICKLE("K\2", "K\3\x85", "K\1\x85", "K\4"), PK_FORMAT);
    assert_int_equal(TRY_PICKLE("K\5", "K\0\x85", "K\1\x85", "K\4"), PK_FORMAT);
    assert_int_equal(TRY_PICKLE("K\0", "K\5\x85", "K\1\x85", "K\4"), PK_FORMAT);
    assert_int_equal(TRY_PICKLE("K\0", "K\4\x85", "K\1\x85", "K\5"), PK_FORMAT);
    assert_int_equal(TRY_PICKLE("J\xff\xff\xff\xff", "K\1\x85", "K\1\x85", "K\4"), PK_FORMAT);
    assert_int_equal(TRY_PICKLE("K\0", "J\xff\xff\xff\xff\x85", "K\1\x85", "K\4"), PK_FORMAT);
    assert_int_equal(TRY_PICKLE("K\0", "K\1\x85", "K\1\x85", "J\xff\xff\xff\xff"), PK_FORMAT);
    assert_int_equal(TRY_PICKLE("K\0", "K\4\x85", ")", "K\4"), PK_FORMAT);
    assert_int_equal(TRY_PICKLE("K\0", "N", "N", "K\4"), PK_FORMAT);
    assert_int_equal(TRY_PICKLE("K\0", "N\x85", "K\1\x85", "K\4"), PK_FORMAT);
    assert_int_equal(TRY_PICKLE("N", "K\4\x85", "K\1\x85", "K\4"), PK_FORMAT);
    /* 2^62 elements, offsets of 2^62: products that overflow */
    assert_int_equal(TRY_PICKLE("K\0", "\x8a\x08\0\0\0\0\0\0\0\x40\x85", "K\1\x85", "K\4"),
                     PK_FORMAT);
    assert_int_equal(TRY_PICKLE("\x8a\x08\0\0\0\0\0\0\0\x40", "K\1\x85", "K\1\x85", "K\4"),
                     PK_FORMAT);
    assert_int_equal(TRY_PICKLE("K\0", "K\1\x85", "K\1\x85", "\x8a\x08\0\0\0\0\0\0\0\x40"),
                     PK_FORMAT);
    /* nine dimensions */
    assert_int_equal(
        TRY_PICKLE("K\0", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t", "K\4"),
        PK_FORMAT);
}

#define TRY(text) try_pickle(text, sizeof(text) - 1)

static void test_not_state_dicts(void **state) {
    (void)state;
    assert_int_equal(TRY("]."), PK_UNSUPPORTED);
    assert_int_equal(TRY("}."), PK_OK);
    assert_int_equal(TRY("}q\0U\1ah\0s."), PK_UNSUPPORTED); /* itself inside */
    assert_int_equal(TRY("}K\1K\1s."), PK_FORMAT);
    assert_int_equal(TRY("}U\1aK\1s."), PK_UNSUPPORTED);
    assert_int_equal(TRY("}U\3a\0bK\1s."), PK_FORMAT);
    assert_int_equal(TRY("}U\1actorch._utils\n_rebuild_tensor_v2\n)Rs."), PK_UNSUPPORTED);
    assert_int_equal(TRY("}U\1actorch._utils\n_rebuild_parameter\n)Rs."), PK_UNSUPPORTED);
    assert_int_equal(TRY("}U\1actorch._utils\n_rebuild_tensor_v2\n(NNNNtRs."), PK_FORMAT);
}

/* a long name that is repeated by reference must not be copied a million times */
static void test_name_bomb(void **state) {
    pk_buffer b = { 0 };
    (void)state;
    pk_buffer_add(&b, "}(X\0\0\1\0", 7);
    for (int i = 0; i < 65536; i++) pk_buffer_add_text(&b, "n");
    pk_buffer_add(&b, "q\0N", 3);
    for (int i = 0; i < 50000; i++) pk_buffer_add(&b, "h\0N", 3);
    pk_buffer_add_text(&b, "u.");
    assert_int_equal(try_pickle(b.data, b.size), PK_FORMAT);
    pk_buffer_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zip),
        cmocka_unit_test(test_protocol4),
        cmocka_unit_test(test_old),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hostile_zip),
        cmocka_unit_test(test_hostile_old),
        cmocka_unit_test(test_made_zip),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_not_state_dicts),
        cmocka_unit_test(test_name_bomb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
