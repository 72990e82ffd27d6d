/* cuda_fault_test.c - a GPU that fails in a pass: a status with one clear line, then and ever
 * after, and closing still works. A program of its own: such a failure takes the process's GPU with
 * it. */
#include "check.h"

#include <string.h>

#include "backend/list.h"

static void nothing(void *context) { (void)context; }

/* a call that the runtime refuses is reported once; later calls work again */
static void a_refused_call_is_reported_once(void **state) {
    pk_backend b;
    char       bytes[64] = { 0 };
    void      *memory;
    (void)state;
    if (pk_backend_open("cuda", 1, PK_F16, &b) != PK_OK) skip();
    b.put(b.self, NULL, bytes, sizeof bytes);
    b.repeat(b.self, 1, 1, NULL, nothing, NULL); /* does nothing: the failure sticks */
    assert_int_equal(b.status(b.self), PK_DEVICE);
    assert_non_null(strstr(pk_last_error(), "upload"));
    assert_int_equal(b.status(b.self), PK_OK);
    ASSERT_OK(b.take(b.self, sizeof bytes, &memory));
    b.put(b.self, memory, bytes, sizeof bytes);
    assert_int_equal(b.status(b.self), PK_OK);
    /* more than there is: said how much, and nothing is lost */
    assert_int_equal(b.take(b.self, (size_t)1 << 50, &memory), PK_NO_MEMORY);
    assert_non_null(strstr(pk_last_error(), "MB more are needed"));
    assert_int_equal(b.status(b.self), PK_OK);
    pk_backend_close(&b);
}

static void a_broken_pass_is_reported_and_closing_works(void **state) {
    const float     ones[64] = { 1 };
    const pk_weight host = { ones, NULL, 1, 64, PK_F32, true };
    const pk_tensor nowhere = { (float *)(uintptr_t)0x100, 4, 64, 64, PK_F16 };
    const pk_limits limits = { 8, 64, 8, 8, 1, 64 };
    pk_weight       gain;
    pk_backend      b;
    (void)state;
    if (pk_backend_open("cuda", 1, PK_F16, &b) != PK_OK) skip();
    ASSERT_OK(b.reserve(b.self, &limits));
    ASSERT_OK(b.adopt(b.self, &host, &gain));
    b.norm(b.self, nowhere, nowhere, &gain, &gain, 1e-5f); /* reads memory that is not there */
    assert_int_equal(b.status(b.self), PK_DEVICE);
    assert_non_null(strstr(pk_last_error(), "GPU 0 failed"));
    b.norm(b.self, nowhere, nowhere, &gain, &gain, 1e-5f);
    assert_int_equal(b.status(b.self), PK_DEVICE); /* it does not come back by itself */
    pk_backend_close(&b);
    const pk_status again = pk_backend_open("cuda", 1, PK_F16, &b);
    assert_true(again != PK_OK || b.status(b.self) != PK_OK); /* nor in this process */
    assert_true(strlen(pk_last_error()) > 10);
    pk_backend_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_call_is_reported_once),
        cmocka_unit_test(a_broken_pass_is_reported_and_closing_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
