/* options_test.c - tables of options: every kind is read, checked and printed, and every option of
 * every strategy sets its own field and no other. */
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
    assert_int_equal(pk_options_defaults(table, &f), PK_OK);
    if (pk_options_parse(table, text, "it", &f)) fail_msg("%s: %s", text, pk_last_error());
    return f;
}

static void refuse(const char *text, const char *reason) {
    fields f;
    assert_int_equal(pk_options_defaults(table, &f), PK_OK);
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

/* ---- the other kinds ---- */

typedef struct wide_fields {
    int64_t  many;
    double   share;
    int32_t  type; /* of letters, without b; auto unless given */
    bool     flag;
    char    *name;
    pk_texts files, numbers;
} wide_fields;
static const char *const letters[] = { "a", "b", "c", NULL };
// clang-format off
static const pk_option wide[] = {
    { "many", "", PK_OPTION_LONG, 0, 7, 9e15, NULL, offsetof(wide_fields, many) },
    { "share", "", PK_OPTION_DOUBLE, 0, 0.1, 1, NULL, offsetof(wide_fields, share) },
    { "type", "", PK_OPTION_CHOICE, 0, PK_CHOICE_AUTO, 0, letters, offsetof(wide_fields, type), .only = 1 | 4 },
    { "flag", "", PK_OPTION_FLAG, 0, 1, 0, NULL, offsetof(wide_fields, flag) },
    { "name", "", PK_OPTION_TEXT, 0, 0, 0, NULL, offsetof(wide_fields, name), .text = "nobody" },
    { "files", "", PK_OPTION_PATHS, 0, 0, 0, NULL, offsetof(wide_fields, files) },
    { "numbers", "", PK_OPTION_NUMBERS, 0, 0, 2, NULL, offsetof(wide_fields, numbers) },
    { 0 },
};
// clang-format on

static wide_fields *make(const char *text) {
    wide_fields *f;
    if (pk_options_make(wide, sizeof *f, text, "it", (void **)&f))
        fail_msg("%s: %s", text, pk_last_error());
    return f;
}

static void drop(wide_fields *f) {
    pk_options_free(wide, f);
    assert_null(f->name);
    pk_memory_give(f);
}

static void test_wide_kinds(void **unused) {
    (void)unused;
    wide_fields *f = make("");
    assert_true(f->many == 7 && f->share == 0.1 && f->flag && f->type == PK_CHOICE_AUTO);
    assert_string_equal(f->name, "nobody");
    assert_int_equal(f->files.n + f->numbers.n, 0);
    drop(f);
    f = make("many=9e15,share=1e-3,type=c,flag=OFF,name=a=b,files=x,numbers=1.5");
    assert_true(f->many == INT64_C(9000000000000000) && f->share == 1e-3 && !f->flag);
    assert_int_equal(f->type, 2);
    assert_string_equal(f->name, "a=b");
    assert_string_equal(f->files.item[0], "x");
    assert_string_equal(f->numbers.item[0], "1.5");
    assert_true(pk_option_number(&wide[0], f) == 9e15 && pk_option_number(&wide[3], f) == 0);
    drop(f);
    f = make("type=auto");
    assert_int_equal(f->type, PK_CHOICE_AUTO);
    drop(f);
}

static void test_wide_kinds_refused(void **unused) {
    static const char *const wrong[][2] = {
        { "many=1.5", "many takes 0..9e+15, a whole number" },
        { "share=1.01", "share takes 0..1" },
        { "type=b", "type takes auto|a|c" },
        { "flag=2", "flag takes true|false" },
        { "numbers=3", "numbers takes [NUMBER, ...]" },
        { "numbers=x", "numbers takes [NUMBER, ...]" },
    };
    void *f;
    (void)unused;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pk_options_make(wide, sizeof(wide_fields), wrong[i][0], "it", &f),
                         PK_ARGUMENT);
        assert_null(f);
        if (!strstr(pk_last_error(), wrong[i][1])) fail_msg("%s", pk_last_error());
    }
}

/* what is printed reads back the same */
static void test_values_as_text(void **unused) {
    wide_fields *f = make("many=123456789012,share=0.3333333333333333,type=c,flag=no");
    pk_buffer    text = { 0 }, help = { 0 };
    (void)unused;
    for (int i = 0; i < 4; i++) {
        pk_buffer_print(&text, "%s%s=", i ? "," : "", wide[i].name);
        pk_option_print_value(&wide[i], f, &text);
    }
    assert_string_equal(text.data, "many=123456789012,share=0.3333333333333333,type=c,flag=false");
    pk_options_help(wide, &help);
    assert_non_null(strstr(help.data, "type=auto|a|c (auto) "));
    assert_non_null(strstr(help.data, "name=TEXT (nobody) "));
    assert_non_null(strstr(help.data, "files=PATH or [PATH, ...]  "));
    pk_buffer_free(&text);
    pk_buffer_free(&help);
    drop(f);
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
        void *made;
        pk_memory_fail_after(n);
        if (!pk_options_make(wide, sizeof(wide_fields), "name=x,files=y", "it", &made)) drop(made);
        pk_memory_fail_after(0);
    }
    assert_int_equal(pk_memory_alive(), alive);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wide_kinds),
        cmocka_unit_test(test_wide_kinds_refused),
        cmocka_unit_test(test_values_as_text),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_every_option_of_every_strategy),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
