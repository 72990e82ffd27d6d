/* devices_test.c - device names, and what is computed with on them. */
#include "check.h"

#include <string.h>

#include "backend/list.h"
#include "engine/devices.h"

static void names_are_read(void **state) {
    (void)state;
    pk_devices d;
    ASSERT_OK(pk_devices_parse(NULL, &d));
    assert_true(d.n == 1 && !d.gpu);
    assert_string_equal(d.name[0], "cpu");
    ASSERT_OK(pk_devices_parse("cuda", &d));
    assert_true(d.n == 1 && d.gpu);
    assert_string_equal(d.name[0], "cuda");
    ASSERT_OK(pk_devices_parse("cuda:0,3,12", &d));
    assert_true(d.n == 3 && d.gpu);
    assert_string_equal(d.name[1], "cuda:3");
    assert_string_equal(d.name[2], "cuda:12");
}

static void other_names_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = { "cuda:",
                                       "cuda:x",
                                       "cuda:0,",
                                       "cuda:,1",
                                       "cuda:-1",
                                       "cuda:1 2",
                                       "cuda:5000",
                                       "a-name-that-is-far-too-long",
                                       "cuda:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pk_devices d;
        assert_int_equal(pk_devices_parse(bad[i], &d), PK_ARGUMENT);
        assert_true(strlen(pk_last_error()) > 10);
    }
    pk_backend b;
    assert_int_equal(pk_backend_open("cuda:x", 1, PK_F32, &b), PK_ARGUMENT);
    assert_int_equal(pk_backend_open("cudas", 1, PK_F32, &b), PK_ARGUMENT);
    assert_int_equal(pk_backend_open("cpu", 1, PK_F16, &b), PK_UNSUPPORTED);
    assert_non_null(strstr(pk_last_error(), "GPU"));
}

/* where there is none, it is said why; where there is one, it opens and closes */
static void a_gpu_opens_or_says_why_not(void **state) {
    (void)state;
    pk_backend      b;
    const pk_status status = pk_backend_open("cuda", 1, PK_F16, &b);
    if (status == PK_OK) {
        assert_true(b.remote);
        ASSERT_OK(b.status(b.self));
    } else {
        assert_true(status == PK_UNSUPPORTED || status == PK_DEVICE);
        assert_true(strlen(pk_last_error()) > 10);
    }
    pk_backend_close(&b);
}

static void arithmetic_fits_device_and_weights(void **state) {
    (void)state;
    pk_devices cpu, gpu;
    ASSERT_OK(pk_devices_parse("cpu", &cpu));
    ASSERT_OK(pk_devices_parse("cuda:1", &gpu));
    assert_int_equal(pk_devices_arithmetic(&cpu, -1, PK_F16), PK_F32);
    assert_int_equal(pk_devices_arithmetic(&cpu, PK_I8, PK_I8), PK_F32);
    assert_int_equal(pk_devices_arithmetic(&cpu, PK_F16, PK_F16), PK_F16); /* then refused */
    assert_int_equal(pk_devices_arithmetic(&gpu, -1, PK_F32), PK_F32);
    assert_int_equal(pk_devices_arithmetic(&gpu, -1, PK_F16), PK_F16);
    assert_int_equal(pk_devices_arithmetic(&gpu, -1, PK_I8), PK_F16);
    assert_int_equal(pk_devices_arithmetic(&gpu, PK_F32, PK_F16), PK_F32);
    assert_int_equal(pk_devices_arithmetic(&gpu, PK_BF16, PK_F16), PK_BF16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(a_gpu_opens_or_says_why_not),
        cmocka_unit_test(arithmetic_fits_device_and_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
