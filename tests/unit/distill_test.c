/* distill_test.c - pk_distill as a library: counts, cancelling and going on, and every failed
 * allocation survived; and which text is closest to another. The program's side is in
 * tests/cli/distill_test.sh. */
#include "tiny_translator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metric/closest.h"

#define MODEL "tests/data/models/marian-relu"

static char folder[] = "/tmp/pronk-distill-XXXXXX";
static char source[64], target[64], reference[64];

static int open_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(source, sizeof source, "%s/source", folder);
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(reference, sizeof reference, "%s/reference", folder);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    unlink(source), unlink(target), unlink(reference);
    return rmdir(folder);
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int count_lines(const char *path) {
    FILE *f = fopen(path, "r");
    int   c, n = 0;
    assert_non_null(f);
    while ((c = getc(f)) != EOF) n += c == '\n';
    fclose(f);
    return n;
}

static const pk_translator_options quick = { .size = sizeof quick,
                                             .decode = "beam:size=2,max_length=12",
                                             .n_best = 2,
                                             .max_input = 12,
                                             .threads = 1,
                                             .batch = 2 };

typedef struct seen {
    int      calls, stop_at;
    uint64_t last, all;
} seen;

static int look(void *user, const pk_distill_report *r) {
    seen *s = user;
    assert_true(r->lines >= s->last);
    s->last = r->lines;
    s->all = r->all;
    return ++s->calls == s->stop_at;
}

static void lines_are_counted_by_what_became_of_them(void **state) {
    pk_model         *m;
    pk_distill_report report;
    seen              s = { 0 };
    (void)state;
    write_file(source,
               "a dog\n\n \nthe cat and the dog and the house and the river and the sea\nx");
    unlink(target);
    ASSERT_OK(pk_model_open(MODEL, NULL, &m));
    ASSERT_OK(pk_distill(
        m, source, target,
        PK_OPTIONS(pk_distill_options, .translator = &quick, .progress = look, .user = &s),
        &report));
    assert_int_equal(report.lines, 5);
    assert_int_equal(report.all, 5);
    assert_int_equal(report.resumed, 0);
    assert_int_equal(report.empty, 2);
    assert_int_equal(report.too_long, 1);
    assert_int_equal(report.untranslated, 0);
    assert_true(report.target_tokens > 0);
    assert_int_equal(count_lines(target), 5);
    assert_true(s.calls > 0 && s.last == 5 && s.all == 5);
    pk_model_close(m);
}

static void what_is_cancelled_can_be_gone_on_with(void **state) {
    pk_model         *m;
    pk_distill_report report;
    seen              s = { .stop_at = 1 };
    (void)state;
    write_file(source, "a dog\nthe cat\n");
    write_file(target, "ein Hund\nhalb");
    ASSERT_OK(pk_model_open(MODEL, NULL, &m));
    ASSERT_STATUS(PK_CANCELLED, pk_distill(m, source, target,
                                           PK_OPTIONS(pk_distill_options, .translator = &quick,
                                                      .resume = 1, .progress = look, .user = &s),
                                           &report));
    assert_int_equal(report.resumed, 1);
    assert_int_equal(count_lines(target), 1);
    ASSERT_OK(pk_distill(m, source, target,
                         PK_OPTIONS(pk_distill_options, .translator = &quick, .resume = 1),
                         &report));
    assert_int_equal(report.resumed, 1);
    assert_int_equal(report.lines, 2);
    assert_int_equal(count_lines(target), 2);
    ASSERT_STATUS(PK_ARGUMENT, pk_distill(m, source, target, NULL, &report));
    pk_model_close(m);
}

static pk_status distill(void *user) {
    unlink(target);
    return pk_distill(user, source, target,
                      PK_OPTIONS(pk_distill_options, .translator = &quick, .reference = reference),
                      NULL);
}

static void every_failed_allocation_is_survived(void **state) {
    pk_model *m;
    (void)state;
    write_file(source, "a dog\n\n");
    write_file(reference, "ein Hund\n\n");
    ASSERT_OK(pk_model_open(MODEL, NULL, &m));
    assert_true(check_every_allocation(distill, m) > 20);
    pk_model_close(m);
}

static void the_closest_shares_most_characters(void **state) {
    pk_closest c = { 0 };
    double     same, near, far, none;
    (void)state;
    ASSERT_OK(pk_closest_begin(&c, text_of("das kleine Haus")));
    ASSERT_OK(pk_closest_score(&c, text_of("das kleine Haus"), &same));
    ASSERT_OK(pk_closest_score(&c, text_of("das kleine Boot"), &near));
    ASSERT_OK(pk_closest_score(&c, text_of("wir gehen"), &far));
    ASSERT_OK(pk_closest_score(&c, text_of(""), &none));
    assert_true(same > 99.99 && same > near && near > far && far > none && none == 0);
    pk_closest_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_counted_by_what_became_of_them),
        cmocka_unit_test(what_is_cancelled_can_be_gone_on_with),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(the_closest_shares_most_characters),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
