/* memory_test.c - allocation: alignment, zeroes, overflow, growth, counters, injected failures. */
#include "check.h"

#include <string.h>

#include "base/arena.h"

static void blocks_are_aligned_and_zeroed(void **state) {
    (void)state;
    for (size_t n = 0; n < 300; n += 7) {
        char *p;
        ASSERT_OK(PK_TAKE(&p, n));
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0);
        memset(p, 1, n);
        pk_memory_give(p);
    }
}

static void overflow_is_an_error(void **state) {
    void *p = &p;
    (void)state;
    ASSERT_STATUS(PK_NO_MEMORY, pk_memory_take(SIZE_MAX / 2, 4, &p));
    assert_null(p);
    ASSERT_STATUS(PK_NO_MEMORY, pk_memory_take(SIZE_MAX - 8, 1, &p));
    assert_null(p);
}

static void growing_keeps_contents(void **state) {
    int32_t *p = NULL;
    (void)state;
    for (size_t n = 1; n < 500; n *= 3) {
        ASSERT_OK(PK_GROW(&p, n));
        p[n - 1] = (int32_t)n;
        for (size_t i = 1; i <= n; i *= 3) assert_int_equal(p[i - 1], i);
    }
    pk_memory_give(p);
}

static void failing_to_grow_loses_nothing(void **state) {
    int32_t *p = NULL;
    (void)state;
    ASSERT_OK(PK_GROW(&p, 4));
    p[3] = 17;
    int32_t *before = p;
    pk_memory_fail_after(1);
    ASSERT_STATUS(PK_NO_MEMORY, PK_GROW(&p, 400));
    pk_memory_fail_after(0);
    assert_ptr_equal(p, before);
    assert_int_equal(p[3], 17);
    pk_memory_give(p);
}

static void reserving_doubles(void **state) {
    int32_t *p = NULL;
    size_t   room = 0;
    (void)state;
    const int64_t count = pk_memory_count();
    for (size_t n = 0; n < 1000; n++) {
        ASSERT_OK(PK_RESERVE(&p, n + 1, &room));
        assert_true(room > n);
        p[n] = (int32_t)n;
    }
    for (size_t i = 0; i < 1000; i++) assert_int_equal(p[i], i);
    assert_true(pk_memory_count() - count < 8);
    ASSERT_OK(PK_RESERVE(&p, 5000, &room));
    assert_true(room >= 5000 && p[999] == 999);
    size_t same = room;
    pk_memory_fail_after(1);
    ASSERT_STATUS(PK_NO_MEMORY, PK_RESERVE(&p, 100000, &same));
    pk_memory_fail_after(0);
    assert_true(same == room && p[999] == 999);
    ASSERT_STATUS(PK_NO_MEMORY, PK_RESERVE(&p, SIZE_MAX / 2 + 2, &same));
    assert_true(same == room);
    pk_memory_give(p);
}

static void the_nth_allocation_fails(void **state) {
    void *p[4] = { 0 };
    (void)state;
    const int64_t alive = pk_memory_alive(), count = pk_memory_count();
    pk_memory_fail_after(3);
    for (int i = 0; i < 4; i++) {
        const pk_status status = pk_memory_take(1, 1, &p[i]);
        assert_int_equal(status, i == 2 ? PK_NO_MEMORY : PK_OK);
    }
    assert_int_equal(pk_memory_count() - count, 4);
    assert_int_equal(pk_memory_alive() - alive, 3);
    for (int i = 0; i < 4; i++) pk_memory_give(p[i]);
    assert_int_equal(pk_memory_alive(), alive);
}

static void text_copies_end_with_nul(void **state) {
    char *copy;
    (void)state;
    ASSERT_OK(pk_memory_copy_text("abcdef", 3, &copy));
    assert_string_equal(copy, "abc");
    pk_free(copy);
    ASSERT_OK(pk_memory_copy_text(NULL, 0, &copy));
    assert_string_equal(copy, "");
    pk_free(copy);
    pk_free(NULL);
}

static void an_arena_hands_out_aligned_pieces_and_remembers_what_it_lacked(void **state) {
    pk_arena a;
    (void)state;
    ASSERT_OK(pk_arena_open(&a, 256));
    char *x = pk_arena_take(&a, 1), *y = pk_arena_take(&a, 65);
    assert_non_null(x);
    assert_ptr_equal(y, x + 64);
    assert_int_equal(a.used, 192);
    assert_null(pk_arena_take(&a, 65));
    assert_int_equal(a.short_of, 64);
    assert_null(pk_arena_take(&a, SIZE_MAX));
    a.used = 64;
    assert_ptr_equal(pk_arena_take(&a, 64), x + 64);
    pk_arena_close(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_zeroed),
        cmocka_unit_test(overflow_is_an_error),
        cmocka_unit_test(growing_keeps_contents),
        cmocka_unit_test(failing_to_grow_loses_nothing),
        cmocka_unit_test(reserving_doubles),
        cmocka_unit_test(the_nth_allocation_fails),
        cmocka_unit_test(text_copies_end_with_nul),
        cmocka_unit_test(an_arena_hands_out_aligned_pieces_and_remembers_what_it_lacked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
