/* panel_test.c - the layout of panels, packing, and 16-bit floats. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tensor/panel.h"

static void test_sizes(void **state) {
    (void)state;
    assert_int_equal(pk_panel_count(0), 0);
    assert_int_equal(pk_panel_count(16), 1);
    assert_int_equal(pk_panel_count(17), 2);
    assert_int_equal(pk_panel_bytes(17, 5, PK_F32), 2 * 5 * 16 * 4);
    assert_int_equal(pk_panel_bytes(17, 5, PK_F16), 2 * 5 * 16 * 2);
    assert_int_equal(pk_panel_bytes(17, 5, PK_I8), 2 * 8 * 16); /* five columns: two quads */
    assert_int_equal(pk_panel_stride(512, PK_I8), 512 * 16);
    /* beyond 4 GB no offset overflows */
    assert_true(pk_panel_bytes(1 << 20, 1 << 14, PK_F32) == (size_t)1 << 36);
}

static void test_index(void **state) {
    (void)state;
    assert_int_equal(pk_panel_index(5, PK_F32, 0, 0), 0);
    assert_int_equal(pk_panel_index(5, PK_F32, 1, 0), 1);
    assert_int_equal(pk_panel_index(5, PK_F32, 0, 1), 16);
    assert_int_equal(pk_panel_index(5, PK_F16, 16, 0), 5 * 16);
    assert_int_equal(pk_panel_index(5, PK_I8, 0, 3), 3);
    assert_int_equal(pk_panel_index(5, PK_I8, 1, 0), 4);
    assert_int_equal(pk_panel_index(5, PK_I8, 0, 4), 64);
    assert_int_equal(pk_panel_index(5, PK_I8, 16, 0), 2 * 64);
}

/* every element has an index of its own, inside the matrix */
static void test_index_is_one_to_one(void **state) {
    (void)state;
    for (pk_dtype type = PK_F32; type <= PK_I8; type++) {
        const int32_t rows = 35, cols = 7;
        const size_t  each = type == PK_F32   ? 4
                             : type == PK_F16 ? 2
                                              : 1,
                     n = pk_panel_bytes(rows, cols, type) / each;
        char *seen = calloc(n, 1);
        for (int32_t r = 0; r < rows; r++)
            for (int32_t c = 0; c < cols; c++) {
                const size_t at = pk_panel_index(cols, type, r, c);
                assert_true(at < n && !seen[at]);
                seen[at] = 1;
            }
        free(seen);
    }
}

static void test_pack(void **state) {
    (void)state;
    enum { ROWS = 19, COLS = 6 };
    float values[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; i++) values[i] = (float)((i * 37) % 101 - 50) / 64;
    for (int c = 0; c < COLS; c++) values[3 * COLS + c] = 0; /* a row without a scale */
    for (pk_dtype type = PK_F32; type <= PK_I8; type++) {
        float     scale[ROWS];
        void     *data = calloc(pk_panel_bytes(ROWS, COLS, type), 1);
        pk_weight w = { data, scale, ROWS, COLS, type, false };
        pk_panel_pack(data, scale, COLS, type, 0, 10, values); /* in two pieces */
        pk_panel_pack(data, scale, COLS, type, 10, ROWS - 10, values + 10 * COLS);
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLS; c++) {
                const float wrong = fabsf(pk_weight_get(&w, r, c) - values[r * COLS + c]);
                assert_true(type == PK_I8 ? wrong <= scale[r] * 0.5001f : wrong == 0);
            }
        free(data);
    }
}

/* the largest magnitude becomes 127; halves go to the even neighbour; tiny rows do no harm */
static void test_rounding(void **state) {
    (void)state;
    const float rows[3][4] = { { 127, 0.5f, 1.5f, -2.5f },
                               { -12.7f, 12.7f, 0, 0.04f },
                               { 1e-44f, -1e-44f, 0, 0 } };
    int8_t      data[64 * 1];
    float       scale[3];
    memset(data, 0, sizeof data);
    pk_panel_pack(data, scale, 4, PK_I8, 0, 3, rows[0]);
    assert_true(scale[0] == 1);
    const int8_t expected[8] = { 127, 0, 2, -2, -127, 127, 0, 0 };
    assert_memory_equal(data, expected, sizeof expected);
    for (int i = 8; i < 12; i++) assert_true(data[i] >= -127 && data[i] <= 127);
}

/* rows of any panels side by side: the same numbers, and zeros behind them */
static void test_gather(void **state) {
    enum { ROWS = 19, COLS = 6 };
    (void)state;
    float         values[ROWS * COLS], scale[ROWS];
    const int32_t row[] = { 17, 0, 3, 16 };
    for (int i = 0; i < ROWS * COLS; i++) values[i] = (float)((i * 37) % 101 - 50) / 64;
    for (pk_dtype type = PK_F32; type <= PK_I8; type++) {
        void     *data = calloc(pk_panel_bytes(ROWS, COLS, type), 1);
        void     *some = malloc(pk_panel_bytes(PK_PANEL, COLS, type));
        pk_weight w = { data, scale, ROWS, COLS, type, false };
        float     chosen[PK_PANEL] = { 0 };
        memset(some, 77, pk_panel_bytes(PK_PANEL, COLS, type));
        pk_panel_pack(data, scale, COLS, type, 0, ROWS, values);
        pk_panel_gather(some, &w, row, 4);
        for (int i = 0; i < 4; i++) chosen[i] = scale[row[i]];
        for (int i = 4; i < PK_PANEL; i++) chosen[i] = 1;
        const pk_weight part = { some, chosen, PK_PANEL, COLS, type, false };
        for (int r = 0; r < PK_PANEL; r++)
            for (int c = 0; c < COLS; c++)
                assert_true(pk_weight_get(&part, r, c) ==
                            (r < 4 ? pk_weight_get(&w, row[r], c) : 0));
        free(some);
        free(data);
    }
}

static void test_plain(void **state) {
    (void)state;
    const float     values[6] = { 1, 2, 3, 4, 5, 6 };
    const pk_weight w = { values, NULL, 2, 3, PK_F32, true };
    assert_true(pk_weight_get(&w, 1, 2) == 6);
    assert_true(pk_weight_get(&w, 0, 1) == 2);
}

static void test_f16_known(void **state) {
    static const struct {
        uint16_t half;
        float    value;
    } known[] = {
        { 0x0000, 0 },           { 0x3c00, 1 },        { 0xc000, -2 },
        { 0x7bff, 65504 },       { 0x0400, 0x1p-14f }, { 0x0001, 0x1p-24f },
        { 0x83ff, -0x3ffp-24f }, { 0x7c00, INFINITY }, { 0xfc00, -INFINITY },
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(pk_f16_to_f32(known[i].half) == known[i].value);
        assert_int_equal(pk_f32_to_f16(known[i].value), known[i].half);
    }
    assert_int_equal(pk_f32_to_f16(-0.0f), 0x8000);
    assert_true(signbit(pk_f16_to_f32(0x8000)));
}

/* all 65,536 halves survive the way there and back; NaN stays NaN */
static void test_f16_round_trip(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        const float value = pk_f16_to_f32((uint16_t)h);
        if ((h & 0x7fff) > 0x7c00)
            assert_true(isnan(value) && isnan(pk_f16_to_f32(pk_f32_to_f16(value))));
        else
            assert_int_equal(pk_f32_to_f16(value), h);
    }
}

/* halfway between two neighbours: the even one; just off it: the nearer one */
static void test_f16_nearest(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x7bff; h++) {
        const float low = pk_f16_to_f32((uint16_t)h), high = pk_f16_to_f32((uint16_t)(h + 1));
        const float middle = 0.5f * (low + high); /* exact in 32 bits */
        assert_int_equal(pk_f32_to_f16(middle), h % 2 ? h + 1 : h);
        assert_int_equal(pk_f32_to_f16(nextafterf(middle, 0)), h);
        assert_int_equal(pk_f32_to_f16(nextafterf(middle, INFINITY)), h + 1);
    }
    assert_int_equal(pk_f32_to_f16(65519.99f), 0x7bff);
    assert_int_equal(pk_f32_to_f16(65520), 0x7c00);
    assert_int_equal(pk_f32_to_f16(1e30f), 0x7c00);
    assert_int_equal(pk_f32_to_f16(1e-30f), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_index_is_one_to_one),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_f16_known),
        cmocka_unit_test(test_f16_round_trip),
        cmocka_unit_test(test_f16_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
