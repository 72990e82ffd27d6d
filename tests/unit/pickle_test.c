/* pickle_test.c - the pickle machine: what it builds, what it refuses, how it ends when attacked.
 */
#include "checkpoint/pickle.h"
#include "checkpoint_help.h"

/* runs a pickle given as a literal; the machine stays open for looking at the value */
#define RUN(p, text) run(p, text, sizeof(text) - 1)

static const pk_pickle_value *value;

static pk_status run(pk_pickle *p, const char *text, size_t size) {
    *p = (pk_pickle){ 0 };
    value = NULL;
    return pk_pickle_read(p, (const unsigned char *)text, size, NULL, &value);
}

/* the status of a pickle in an exact copy, and that nothing is left behind */
static pk_status status_of(const char *text, size_t size) {
    const int64_t alive = pk_memory_alive();
    char         *copy = malloc(size ? size : 1);
    pk_pickle     p;
    if (size) memcpy(copy, text, size);
    const pk_status status = run(&p, copy, size);
    pk_pickle_free(&p);
    free(copy);
    assert_int_equal(pk_memory_alive(), alive);
    return status;
}
#define STATUS(text) status_of(text, sizeof(text) - 1)

static void test_values(void **state) {
    pk_pickle p;
    (void)state;
    assert_int_equal(
        RUN(&p, "\x80\x02(K\x05M\x01\x02J\xff\xff\xff\xff\x8a\x01\x80\x8a\x00X\x02\x00\x00\x00hi"
                "\x88\x89NG12345678t."),
        PK_OK);
    assert_int_equal(value->kind, PK_PICKLE_TUPLE);
    assert_int_equal(value->n, 10);
    assert_int_equal(value->item[0]->integer, 5);
    assert_int_equal(value->item[1]->integer, 513);
    assert_int_equal(value->item[2]->integer, -1);
    assert_int_equal(value->item[3]->integer, -128);
    assert_int_equal(value->item[4]->integer, 0);
    assert_true(pk_pickle_is_text(value->item[5], "hi"));
    assert_false(pk_pickle_is_text(value->item[5], "h"));
    assert_int_equal(value->item[6]->integer, 1);
    assert_int_equal(value->item[7]->kind, PK_PICKLE_BOOL);
    assert_int_equal(value->item[8]->kind, PK_PICKLE_NONE);
    assert_int_equal(value->item[9]->kind, PK_PICKLE_FLOAT);
    pk_pickle_free(&p);
}

static void test_containers(void **state) {
    pk_pickle p;
    (void)state;
    /* {1: [2, 3, 4]} with APPEND, APPENDS, SETITEM */
    assert_int_equal(RUN(&p, "}K\x01]K\x02"
                             "a(K\x03K\x04"
                             "es."),
                     PK_OK);
    assert_int_equal(value->kind, PK_PICKLE_DICT);
    assert_int_equal(value->n, 2);
    assert_int_equal(value->item[1]->n, 3);
    assert_int_equal(value->item[1]->item[2]->integer, 4);
    pk_pickle_free(&p);
    /* ((1,), (1, 2), (1, 2, 3)) through the memo */
    assert_int_equal(RUN(&p, "(K\x01q\x00\x85h\x00K\x02\x86h\x00K\x02K\x03\x87t."), PK_OK);
    assert_int_equal(value->n, 3);
    assert_int_equal(value->item[2]->n, 3);
    assert_ptr_equal(value->item[0]->item[0], value->item[2]->item[0]);
    pk_pickle_free(&p);
}

static void test_objects(void **state) {
    pk_pickle p;
    (void)state;
    assert_int_equal(RUN(&p, "ccollections\nOrderedDict\n)R}b."), PK_OK);
    assert_int_equal(value->kind, PK_PICKLE_DICT);
    pk_pickle_free(&p);
    assert_int_equal(RUN(&p, "\x8c\x0ctorch._utils\x8c\x12_rebuild_tensor_v2\x93K\x01\x85R."),
                     PK_OK);
    assert_int_equal(value->kind, PK_PICKLE_TENSOR);
    assert_int_equal(value->n, 1);
    pk_pickle_free(&p);
    assert_int_equal(RUN(&p, "(U\x07storagectorch\nHalfStorage\nU\x01"
                             "0U\x03"
                             "cpuK\x04tQ."),
                     PK_OK);
    assert_int_equal(value->kind, PK_PICKLE_STORAGE);
    assert_int_equal(value->item[1]->integer, PK_PICKLE_STORAGE_TYPE + PK_STORED_F16);
    pk_pickle_free(&p);
}

/* nothing but tensors, by any road that pickle offers */
static void test_forbidden(void **state) {
    (void)state;
    assert_int_equal(STATUS("cos\nsystem\n(U\x08rm -rf /tR."), PK_UNSUPPORTED);
    assert_string_equal(pk_last_error(), "refuses to load os.system: only tensors are read");
    assert_int_equal(STATUS("\x8c\x02os\x8c\x06system\x93."), PK_UNSUPPORTED);
    assert_non_null(strstr(pk_last_error(), "os.system"));
    assert_int_equal(STATUS("cbuiltins\neval\n."), PK_UNSUPPORTED);
    assert_int_equal(STATUS("ctorch\nload\n."), PK_UNSUPPORTED);
    assert_int_equal(STATUS("ctorch\nFloatStorageX\n."), PK_UNSUPPORTED);
    assert_int_equal(STATUS("ctorch\nFloatStorage\n)R."), PK_FORMAT);
    assert_int_equal(STATUS("(cos\nsystem\nU\x02lso."), PK_UNSUPPORTED);           /* OBJ */
    assert_int_equal(STATUS("(U\x02lsios\nsystem\n."), PK_UNSUPPORTED);            /* INST */
    assert_int_equal(STATUS("\x82\x01."), PK_UNSUPPORTED);                         /* EXT1 */
    assert_int_equal(STATUS("ccollections\nOrderedDict\n)\x81."), PK_UNSUPPORTED); /* NEWOBJ */
    assert_int_equal(STATUS("Pmodule\n."), PK_UNSUPPORTED);                        /* PERSID */
    assert_int_equal(STATUS("(U\x06moduleNNNNtQ."), PK_UNSUPPORTED);
    assert_int_equal(STATUS("K\x01Q."), PK_UNSUPPORTED);
    assert_int_equal(STATUS("]}b."), PK_UNSUPPORTED);
    assert_int_equal(STATUS("ccollections\nOrderedDict\nK\x01\x85R."), PK_UNSUPPORTED);
    /* a name that is not text, or very long */
    assert_int_equal(STATUS("K\x01K\x02\x93."), PK_FORMAT);
    pk_buffer b = { 0 };
    pk_buffer_add_text(&b, "c");
    for (int i = 0; i < 5000; i++) pk_buffer_add_text(&b, "x");
    pk_buffer_add_text(&b, "\nname\n.");
    assert_int_equal(status_of(b.data, b.size), PK_UNSUPPORTED);
    pk_buffer_free(&b);
}

static void test_broken(void **state) {
    (void)state;
    assert_int_equal(STATUS(""), PK_FORMAT);
    assert_int_equal(STATUS("."), PK_FORMAT);
    assert_int_equal(STATUS("(."), PK_FORMAT);
    assert_int_equal(STATUS("K"), PK_FORMAT);
    assert_int_equal(STATUS("N"), PK_FORMAT);
    assert_int_equal(STATUS("t."), PK_FORMAT);
    assert_int_equal(STATUS("\x85."), PK_FORMAT);
    assert_int_equal(STATUS("(\x85."), PK_FORMAT);
    assert_int_equal(STATUS("N(\x86."), PK_FORMAT);
    assert_int_equal(STATUS("(N\x87."), PK_FORMAT);
    assert_int_equal(STATUS("a."), PK_FORMAT);
    assert_int_equal(STATUS("Na."), PK_FORMAT);
    assert_int_equal(STATUS("NNa."), PK_FORMAT);
    assert_int_equal(STATUS("(Na."), PK_FORMAT);
    assert_int_equal(STATUS("](a."), PK_FORMAT);
    assert_int_equal(STATUS("](Nu."), PK_FORMAT);
    assert_int_equal(STATUS("}(Nu."), PK_FORMAT);
    assert_int_equal(STATUS("](e."), PK_OK);
    assert_int_equal(STATUS("(e."), PK_FORMAT);
    assert_int_equal(STATUS("((e."), PK_FORMAT);
    assert_int_equal(STATUS("NNR."), PK_FORMAT);
    assert_int_equal(STATUS("h\x00."), PK_FORMAT);
    assert_int_equal(STATUS("q\x00."), PK_FORMAT);
    assert_int_equal(STATUS("(q\x00."), PK_FORMAT);
    assert_int_equal(STATUS("Nq\x01h\x00."), PK_FORMAT);
    assert_int_equal(STATUS("cno newline"), PK_FORMAT);
    assert_int_equal(STATUS("X\xff\xff\xff\xff"
                            "a."),
                     PK_FORMAT);
    assert_int_equal(STATUS("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                            "a."),
                     PK_FORMAT);
}

/* a list in itself, a dict in itself: no walk goes in circles */
static void test_cyclic(void **state) {
    (void)state;
    assert_int_equal(STATUS("]q\x00h\x00"
                            "a."),
                     PK_OK);
    assert_int_equal(STATUS("}q\x00U\x01"
                            "ah\x00s."),
                     PK_OK);
    assert_int_equal(STATUS("]q\x00(h\x00h\x00h\x00"
                            "e."),
                     PK_OK);
}

static void repeat(pk_buffer *b, const char *text, size_t n, int times) {
    for (int i = 0; i < times; i++) pk_buffer_add(b, text, n);
}

static void test_bombs(void **state) {
    pk_buffer b = { 0 };
    (void)state;
    /* each tuple holds the one before twice: 2^10000 leaves if anyone counted them */
    repeat(&b, "N", 1, 1);
    repeat(&b, "q\x00h\x00\x86", 5, 10000);
    repeat(&b, ".", 1, 1);
    assert_int_equal(status_of(b.data, b.size), PK_OK);
    pk_buffer_clear(&b);
    /* more values than any checkpoint has */
    repeat(&b, ")", 1, PK_PICKLE_MAX_VALUES + 1);
    assert_int_equal(status_of(b.data, b.size), PK_FORMAT);
    pk_buffer_clear(&b);
    /* marks without an end */
    repeat(&b, "(", 1, PK_PICKLE_MAX_VALUES + 1);
    assert_int_equal(status_of(b.data, b.size), PK_FORMAT);
    pk_buffer_clear(&b);
    /* nested lists, deeper than a C stack would bear */
    repeat(&b, "](", 2, 400000);
    repeat(&b, "e", 1, 400000);
    repeat(&b, ".", 1, 1);
    assert_int_equal(status_of(b.data, b.size), PK_OK);
    pk_buffer_free(&b);
    /* memo indices far beyond what is there */
    assert_int_equal(STATUS("Nr\xff\xff\xff\xff."), PK_FORMAT);
    assert_int_equal(STATUS("Nr\xff\xff\x0f\x00."), PK_OK);
    assert_int_equal(STATUS("Nj\xff\xff\xff\xff."), PK_FORMAT);
}

/* containers that grow in small steps keep their items */
static void test_growth(void **state) {
    pk_pickle p;
    pk_buffer b = { 0 };
    (void)state;
    repeat(&b, "]", 1, 1);
    for (int i = 0; i < 30000; i++) {
        const char item[4] = { 'M', (char)(i & 255), (char)(i >> 8), 'a' };
        repeat(&b, item, 4, 1);
    }
    repeat(&b, ".", 1, 1);
    assert_int_equal(run(&p, b.data, b.size), PK_OK);
    assert_int_equal(value->n, 30000);
    for (int i = 0; i < 30000; i++) assert_int_equal(value->item[i]->integer, i);
    pk_pickle_free(&p);
    for (int64_t n = 1;; n++) {
        pk_memory_fail_after(n);
        const pk_status status = status_of(b.data, b.size);
        pk_memory_fail_after(0);
        if (status == PK_OK) break;
        assert_int_equal(status, PK_NO_MEMORY);
        assert_true(n < 1000);
    }
    pk_buffer_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_containers),
        cmocka_unit_test(test_objects), cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_broken),  cmocka_unit_test(test_cyclic),
        cmocka_unit_test(test_bombs),   cmocka_unit_test(test_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
