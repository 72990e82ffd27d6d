/* train_log_test.c - the log of a training: lines that any tool reads, cut off where a training
 * goes on, and a plot that can be drawn from whatever was measured. */
#include "train/train_log.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "checkpoint/json.h"

static char folder[256], log_path[300], plot_path[300];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/pronk-log-%ld", (long)getpid());
    snprintf(log_path, sizeof log_path, "%s/log.jsonl", folder);
    snprintf(plot_path, sizeof plot_path, "%s/plot.svg", folder);
    return mkdir(folder, 0777);
}

static int remove_folder(void **state) {
    (void)state;
    unlink(log_path);
    unlink(plot_path);
    return rmdir(folder);
}

/* the file as text; the caller frees */
static char *file_text(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
    fclose(file);
    return text;
}

static pk_train_report report(int64_t update) {
    return (pk_train_report){ .update = update,
                              .epoch = 0.25,
                              .loss = 5 - 0.001 * (double)update,
                              .nll = 4,
                              .accuracy = 0.5,
                              .gradient = 1.5,
                              .rate = 7e-4,
                              .tokens_per_second = 1e5,
                              .seconds = 12.5,
                              .logged = 1,
                              .valid_loss = NAN,
                              .valid_bleu = NAN,
                              .valid_chrf = NAN };
}

/* updates from first to last by 100, every fifth validated */
static void add_lines(pk_train_log *l, int64_t first, int64_t last) {
    for (int64_t update = first; update <= last; update += 100) {
        pk_train_report r = report(update);
        r.validated = r.saved = update % 500 == 0;
        if (r.validated) r.valid_loss = 4, r.valid_bleu = 20 + 0.001 * (double)update;
        ASSERT_OK(pk_train_log_add(l, &r));
        r.logged = r.validated = r.saved = 0;
        ASSERT_OK(pk_train_log_add(l, &r)); /* nothing to say */
    }
}

/* how many lines there are; each is a JSON object, updates rise */
static int count_lines(void) {
    char  *text = file_text(log_path);
    int    n = 0;
    double before = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, n++) {
        json_t *object;
        ASSERT_OK(pk_json_parse(line, (size_t)(end - line), "line", &object));
        const double update = json_number_value(json_object_get(object, "update"));
        assert_true(update > before);
        before = update;
        json_decref(object);
    }
    free(text);
    return n;
}

static void lines_are_json(void **state) {
    pk_train_log *l;
    (void)state;
    ASSERT_OK(pk_train_log_open(folder, 0, &l));
    add_lines(l, 100, 1000);
    pk_train_log_close(l);
    assert_int_equal(count_lines(), 10);
    char *text = file_text(log_path);
    assert_non_null(
        strstr(text, "{\"update\":100,\"epoch\":0.25000,\"seconds\":12.50,\"loss\":4.9,"));
    assert_non_null(strstr(text, "\"valid_loss\":4,\"valid_bleu\":20.5,\"saved\":true}\n"));
    assert_null(strstr(text, "nan"));
    free(text);
}

static void an_update_has_one_line(void **state) {
    pk_train_log   *l;
    pk_train_report r = report(100), next = report(200);
    (void)state;
    ASSERT_OK(pk_train_log_open(folder, 0, &l));
    ASSERT_OK(pk_train_log_add(l, &r));
    assert_int_equal(count_lines(), 1); /* whole at once, as for one that is killed now */
    r.logged = 0, r.saved = 1;
    ASSERT_OK(pk_train_log_add(l, &r));
    assert_int_equal(count_lines(), 1);
    ASSERT_OK(pk_train_log_add(l, &next));
    pk_train_log_close(l);
    assert_int_equal(count_lines(), 2);
    char *text = file_text(log_path);
    assert_non_null(strstr(text, "\"skipped\":0,\"saved\":true}\n{\"update\":200,"));
    free(text);
    ASSERT_OK(pk_train_log_open(folder, 100, &l)); /* a line of an earlier run stays as it is */
    r.saved = 0, r.done = 1;
    ASSERT_OK(pk_train_log_add(l, &r));
    pk_train_log_close(l);
    text = file_text(log_path);
    assert_non_null(strstr(text, "\"saved\":true}\n{\"update\":100,"));
    free(text);
}

static void going_on_cuts_what_came_later(void **state) {
    pk_train_log *l;
    (void)state;
    ASSERT_OK(pk_train_log_open(folder, 0, &l)); /* anew */
    add_lines(l, 100, 1000);
    pk_train_log_close(l);
    FILE *file = fopen(log_path, "ab"); /* killed in the middle of a line */
    fputs("{\"update\":1100,\"lo", file);
    fclose(file);
    ASSERT_OK(pk_train_log_open(folder, 2000, &l));
    pk_train_log_close(l);
    assert_int_equal(count_lines(), 10);
    ASSERT_OK(pk_train_log_open(folder, 500, &l));
    assert_int_equal(count_lines(), 5);
    add_lines(l, 600, 700);
    ASSERT_OK(pk_train_log_plot(l));
    pk_train_log_close(l);
    assert_int_equal(count_lines(), 7);
    char *plot = file_text(plot_path);
    assert_non_null(strstr(plot, "update 100: training loss 4.9"));
    assert_non_null(strstr(plot, "update 700: training loss 4.3"));
    assert_non_null(strstr(plot, "update 500: validation loss 4<"));
    assert_non_null(strstr(plot, "update 500: BLEU 20.5"));
    assert_null(strstr(plot, "update 1000:"));
    free(plot);
    ASSERT_OK(pk_train_log_open(folder, 0, &l));
    pk_train_log_close(l);
    assert_int_equal(count_lines(), 0);
}

/* what somebody else has written into the file does no harm */
static void strange_lines_are_cut(void **state) {
    static const char *const wrong[] = { "\n", "[]\n", "hello\n", "{\"update\":\"x\"}\n", "{}\n" };
    pk_train_log            *l;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FILE *file = fopen(log_path, "wb");
        fprintf(file, "{\"update\":100,\"loss\":3}\n%s{\"update\":200,\"loss\":3}\n", wrong[i]);
        fclose(file);
        ASSERT_OK(pk_train_log_open(folder, 300, &l));
        pk_train_log_close(l);
        assert_int_equal(count_lines(), 1);
    }
}

static void what_cannot_be_written_is_said(void **state) {
    pk_train_log   *l;
    pk_train_report r = report(100);
    (void)state;
    assert_int_equal(pk_train_log_open("/nowhere/at/all", 0, &l), PK_IO);
    assert_null(l);
    assert_non_null(strstr(pk_last_error(), "/nowhere/at/all/log.jsonl"));
    ASSERT_OK(pk_train_log_open(folder, 0, &l));
    add_lines(l, 100, 300);
    struct rlimit before, full;
    struct stat   about;
    assert_int_equal(stat(log_path, &about), 0);
    getrlimit(RLIMIT_FSIZE, &before);
    full = (struct rlimit){ (rlim_t)about.st_size + 10, before.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &full); /* a disk with room for ten bytes more */
    r.update = 400;
    assert_int_equal(pk_train_log_add(l, &r), PK_IO);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(count_lines(), 3);
    ASSERT_OK(pk_train_log_add(l, &r)); /* room again */
    assert_int_equal(count_lines(), 4);
    pk_train_log_close(l);
}

/* ---- The plot ---- */

static void draws(const pk_train_point *point, size_t n) {
    pk_buffer svg = { 0 };
    pk_train_plot_svg(point, n, &svg);
    ASSERT_OK(pk_buffer_status(&svg));
    assert_memory_equal(svg.data, "<svg xmlns=", 11);
    assert_string_equal(svg.data + svg.size - 7, "</svg>\n");
    assert_null(strstr(svg.data, "nan"));
    assert_null(strstr(svg.data, "inf"));
    assert_true(svg.size < 250000);
    pk_buffer_free(&svg);
}

static void anything_can_be_drawn(void **state) {
    enum { MANY = 100000 };
    static const double odd[] = { 0, -1, 1e-300, 1e14, -1e14, 1e300, NAN, INFINITY, 5 };
    pk_train_point     *many = calloc(MANY, sizeof *many);
    (void)state;
    assert_non_null(many);
    draws(NULL, 0);
    for (size_t i = 0; i < 9; i++)
        for (size_t k = 0; k < 9; k++) {
            const pk_train_point two[] = { { 1, odd[i], odd[k], NAN }, { 2, odd[k], NAN, odd[i] } };
            draws(two, 1);
            draws(two, 2);
        }
    for (size_t i = 0; i < MANY; i++)
        many[i] = (pk_train_point){ (double)i * 10, 2 + 8 / (1 + (double)i / 500),
                                    i % 100 ? NAN : 3, i % 100 ? NAN : 30 };
    draws(many, MANY);
    free(many);
}

/* ---- Out of memory ---- */

static pk_status whole_life(void *user) {
    pk_train_log   *l;
    pk_train_report r = report(600);
    (void)user;
    PK_TRY(pk_train_log_open(folder, 500, &l));
    pk_status status = pk_train_log_add(l, &r);
    if (status == PK_OK) status = pk_train_log_plot(l);
    pk_train_log_close(l);
    return status;
}

static void memory_may_fail(void **state) {
    pk_train_log *l;
    (void)state;
    ASSERT_OK(pk_train_log_open(folder, 0, &l));
    add_lines(l, 100, 500);
    pk_train_log_close(l);
    assert_true(check_every_allocation(whole_life, NULL) > 5);
    assert_int_equal(count_lines(), 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_json),
        cmocka_unit_test(an_update_has_one_line),
        cmocka_unit_test(going_on_cuts_what_came_later),
        cmocka_unit_test(strange_lines_are_cut),
        cmocka_unit_test(what_cannot_be_written_is_said),
        cmocka_unit_test(anything_can_be_drawn),
        cmocka_unit_test(memory_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
