/* options_test.c - tables of options: every option of every strategy sets its own field and no
 * other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/options.h"
#include "decode/strategy.h"

typedef struct fields {
    int32_t count;
    float   weight;
    int32_t mode;
    float   scale;
} fields;
static const char *const modes[] = { "slow", "fast", NULL };
static const pk_option   table[] = {
      { "count", "how many", PK_OPTION_INT, -2, 3, 10, NULL, offsetof(fields, count) },
      { "weight", "how heavy", PK_OPTION_FLOAT, -1, 0.5, 2, NULL, offsetof(fields, weight) },
      { "mode", "which way", PK_OPTION_CHOICE, 0, 1, 0, modes, offsetof(fields, mode) },
      { "scale", "unset until named", PK_OPTION_FLOAT, 0, -1, 4, NULL, offsetof(fields, scale) },
      { 0 },
};

static fields parse(const char *text) {
    fields f;
    pk_options_defaults(table, &f);
    if (pk_options_parse(table, text, "it", &f)) fail_msg("%s: %s", text, pk_last_error());
    return f;
}

static void refuse(const char *text, const char *reason) {
    fields f;
    pk_options_defaults(table, &f);
    assert_int_equal(pk_options_parse(table, text, "it", &f), PK_ARGUMENT);
    if (!strstr(pk_last_error(), reason)) fail_msg("%s: %s", text, pk_last_error());
    assert_non_null(strstr(pk_last_error(), "it"));
}

static void test_defaults(void **unused) {
    (void)unused;
    const fields f = parse("");
    assert_int_equal(f.count, 3);
    assert_true(f.weight == 0.5f && f.scale == -1);
    assert_int_equal(f.mode, 1);
}

static void test_values(void **unused) {
    (void)unused;
    const fields f = parse("mode=slow,count=-2,weight=-0.25,scale=3.75");
    assert_int_equal(f.count, -2);
    assert_true(f.weight == -0.25f && f.scale == 3.75f);
    assert_int_equal(f.mode, 0);
    assert_true(parse("weight=.6").weight == 0.6f);
    assert_true(parse("weight=1.").weight == 1);
    assert_true(parse("weight=0.1").weight == 0.1f);
    assert_true(parse("scale=auto").scale == -1);
}

static void test_refused(void **unused) {
    (void)unused;
    refuse("coun=3", "no option 'coun'; it has: count, weight, mode, scale");
    refuse("counter=3", "no option 'counter'");
    refuse("=3", "no option ''");
    refuse("count=3,", "no option ''");
    refuse("count", "needs a value");
    refuse("count=", "-2..10");
    refuse("count=11", "-2..10, a whole number");
    refuse("count=-3", "-2..10");
    refuse("count=2.5", "whole number");
    refuse("count=2x", "whole number");
    refuse("count= 2", "whole number");
    refuse("count=auto", "count=auto");
    refuse("count=99999999999999999999", "-2..10");
    refuse("weight=2.001", "-1..2");
    refuse("weight=nan", "-1..2");
    refuse("weight=1.2.3", "-1..2");
    refuse("weight=-", "-1..2");
    refuse("weight=.", "-1..2");
    refuse("mode=medium", "slow|fast");
    refuse("mode=", "slow|fast");
    refuse("count=1,count=2", "count is given twice");
}

static void test_help(void **unused) {
    (void)unused;
    pk_buffer out = { 0 };
    pk_options_help(table, &out);
    assert_int_equal(pk_buffer_status(&out), PK_OK);
    assert_non_null(strstr(out.data, "    count=-2..10 (3) "));
    assert_non_null(strstr(out.data, "mode=slow|fast (fast) "));
    assert_non_null(strstr(out.data, "scale=0..4 (auto) "));
    assert_non_null(strstr(out.data, "how heavy\n"));
    pk_buffer_free(&out);
}

/* a value the option takes that is not its default */
static void another_value(const pk_option *o, char *text, size_t room) {
    if (o->kind == PK_OPTION_CHOICE)
        snprintf(text, room, "%s", o->choices[o->normal == 0]);
    else
        snprintf(text, room, "%g", o->normal == o->highest ? o->lowest : o->highest);
}

static void test_every_option_of_every_strategy(void **unused) {
    (void)unused;
    for (int i = 0; pk_strategies[i]; i++) {
        const pk_strategy *s = pk_strategies[i];
        for (const pk_option *o = s->options; o->name; o++) {
            char               value[64], spec[256];
            const pk_strategy *by;
            unsigned char     *plain, *changed;
            another_value(o, value, sizeof value);
            snprintf(spec, sizeof spec, "%s:%s=%s", s->name, o->name, value);
            assert_int_equal(pk_strategy_parse(s->name, &by, (void **)&plain), PK_OK);
            assert_ptr_equal(by, s);
            if (pk_strategy_parse(spec, &by, (void **)&changed))
                fail_msg("%s: %s", spec, pk_last_error());
            for (size_t at = 0; at < s->state_size; at++) {
                const bool inside = at >= o->offset && at < o->offset + 4;
                if (!inside && plain[at] != changed[at]) fail_msg("%s changed byte %zu", spec, at);
            }
            assert_memory_not_equal(plain + o->offset, changed + o->offset, 4);
            pk_memory_give(plain);
            pk_memory_give(changed);
        }
    }
}

static void test_out_of_memory(void **unused) {
    (void)unused;
    const int64_t alive = pk_memory_alive();
    fields        f;
    for (int n = 1; n < 8; n++) { /* errors are still errors, with a shorter text */
        pk_memory_fail_after(n);
        assert_int_equal(pk_options_parse(table, "x=1", "it", &f), PK_ARGUMENT);
        pk_memory_fail_after(n);
        assert_int_equal(pk_options_parse(table, "mode=x", "it", &f), PK_ARGUMENT);
        pk_buffer out = { 0 };
        pk_memory_fail_after(n);
        pk_options_help(table, &out);
        pk_memory_fail_after(0);
        pk_buffer_free(&out);
    }
    assert_int_equal(pk_memory_alive(), alive);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_every_option_of_every_strategy),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
