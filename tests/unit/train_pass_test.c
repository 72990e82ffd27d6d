/* train_pass_test.c - lessons through the network and back: parts add up to the whole, a first look
 * brings answers and learns nothing, and memory is planned. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "backend/list.h"
#include "train/train_pass.h"

typedef struct bench { /* a pass without a trainer */
    pk_backend    on;
    pk_parameters p;
    pk_train_pass pass;
    pk_lesson     lesson;
} bench;

static const int32_t numbers[] = { 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18 };
static const int32_t starts[] = { 0, 4, 9, 11, 14 };

static void open_bench(bench *b, bool two_pass) {
    const pk_parameters_options o = { .seed = 3 };
    pk_config                   c;
    *b = (bench){ 0 };
    pk_config_defaults(&c);
    c.source_vocab = c.target_vocab = 20;
    c.dim = 16, c.encoder_ffn = c.decoder_ffn = 24;
    c.encoder_heads = c.decoder_heads = 2;
    c.encoder_layers = c.decoder_layers = 2;
    ASSERT_OK(pk_backend_open("cpu", 1, PK_F32, &b->on));
    ASSERT_OK(pk_parameters_open(&b->on, &c, &o, &b->p));
    ASSERT_OK(
        pk_train_pass_open(&b->on, &b->p, &(pk_pass_limits){ 20, 20, 4, 8 }, two_pass, &b->pass));
}

static void close_bench(bench *b) {
    pk_train_pass_close(&b->pass);
    pk_parameters_close(&b->p);
    pk_backend_close(&b->on);
    pk_lesson_free(&b->lesson);
}

/* sentences [first, first + n) forwards and back */
static void run_part(bench *b, int32_t first, int32_t n, const pk_pass_options *o) {
    const pk_lesson_maker m = { .task = pk_task_find("at"),
                                .eos = 2,
                                .start = -1,
                                .source_tag = -1,
                                .target_tag = -1,
                                .max_source = 64,
                                .max_target = 64 };
    const pk_batch        batch = { n, numbers, numbers, starts + first, starts + first };
    ASSERT_OK(pk_lesson_make(&b->lesson, &m, &batch, NULL));
    ASSERT_OK(pk_train_pass_ready(&b->pass, NULL, NULL));
    ASSERT_OK(pk_train_pass_compute(&b->pass, &b->lesson, o));
}

static void parts_add_up(void **state) {
    bench                 b;
    float                *whole;
    const pk_pass_options o = { .smoothing = 0.1f, .never = -1 };
    (void)state;
    open_bench(&b, false);
    ASSERT_OK(PK_TAKE(&whole, b.p.n));
    run_part(&b, 0, 4, &o);
    memcpy(whole, b.p.grad, b.p.n * sizeof *whole);
    const pk_loss_sums sums = b.pass.train->sums;
    memset(b.p.grad, 0, b.p.n * sizeof *whole);
    *b.pass.train = (pk_readings){ 0 };
    run_part(&b, 0, 2, &o);
    run_part(&b, 2, 2, &o);
    double largest = 0, difference = 0;
    for (size_t i = 0; i < b.p.n; i++) {
        largest = fmax(largest, fabs((double)whole[i]));
        difference = fmax(difference, fabs((double)(whole[i] - b.p.grad[i])));
    }
    assert_true(largest > 0.1 && difference < 1e-5 * largest);
    assert_true(fabs(b.pass.train->sums.loss - sums.loss) < 1e-5 * sums.loss);
    assert_true(sums.weight == 18);
    pk_memory_give(whole);
    close_bench(&b);
}

static void a_first_look_brings_answers(void **state) {
    bench                 b;
    const pk_pass_options look = { .never = -1, .measure = true, .answers = true };
    (void)state;
    open_bench(&b, true);
    run_part(&b, 0, 4, &look);
    double right = 0;
    for (size_t i = 0; i < b.lesson.target.n; i++) {
        assert_in_range(b.pass.best_here[i], 0, 19);
        right += b.pass.best_here[i] == b.lesson.target.id[i];
    }
    assert_true(b.pass.valid->sums.correct == right);
    assert_true(b.pass.train->sums.weight == 0);
    for (size_t i = 0; i < b.p.n; i++) assert_true(b.p.grad[i] == 0); /* nothing was learned */
    close_bench(&b);
}

static void lessons_beyond_the_plan_are_refused(void **state) {
    bench                 b;
    const pk_pass_options o = { .never = -1 };
    const int32_t         long_starts[] = { 0, 12, 14 };
    const pk_batch        batch = { 2, numbers, numbers, long_starts, long_starts };
    const pk_lesson_maker m = { .task = pk_task_find("at"),
                                .eos = 2,
                                .start = -1,
                                .source_tag = -1,
                                .target_tag = -1,
                                .max_source = 64,
                                .max_target = 64 };
    (void)state;
    open_bench(&b, false);
    b.pass.most.target_rows = 10;
    ASSERT_OK(pk_lesson_make(&b.lesson, &m, &batch, NULL));
    ASSERT_STATUS(PK_ARGUMENT, pk_train_pass_compute(&b.pass, &b.lesson, &o));
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(a_first_look_brings_answers),
        cmocka_unit_test(lessons_beyond_the_plan_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
