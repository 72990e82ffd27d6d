/* model_tasks_test.c - models say what they were trained for: strategies that need another task are
 * refused when a translator opens, tokens of tasks are described and given to strategies, and files
 * that say nothing open as before. */
#include "check.h"

#include <pronk.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/model.h"
#include "length_task.h"

#define MODEL "tests/data/models/marian-relu"
static char grown[64];

static pk_model *open_grown(bool also) {
    pk_task   task = length_task;
    pk_model *m;
    if (!also) task.also = NULL;
    ASSERT_OK(grow_model(&task, MODEL, "lengths:k=2", grown));
    ASSERT_OK(pk_model_open(grown, NULL, &m));
    return m;
}

static void another_task_is_refused(void **state) {
    pk_model      *m = open_grown(false), *at;
    pk_translator *t;
    (void)state;
    ASSERT_STATUS(PK_UNSUPPORTED, pk_translator_open(m, NULL, &t));
    assert_non_null(strstr(pk_last_error(),
                           "greedy needs a model trained with task at; this one was "
                           "trained with lengths:k=2"));
    ASSERT_OK(pk_model_open(MODEL, NULL, &at)); /* as one of an ensemble, too */
    ASSERT_STATUS(
        PK_UNSUPPORTED,
        pk_translator_open(m, PK_OPTIONS(pk_translator_options, .decode = "beam:size=2"), &t));
    const pk_strategy needs = { .name = "mine", .needs = "lengths" };
    ASSERT_OK(pk_model_check_task(m, &needs));
    ASSERT_STATUS(PK_UNSUPPORTED, pk_model_check_task(at, &needs));
    assert_non_null(strstr(pk_last_error(),
                           "mine needs a model trained with task lengths; this one "
                           "was trained with at: use -d greedy"));
    const pk_strategy drafted = { .name = "mine", .drafter_needs = "lengths" };
    ASSERT_OK(pk_model_check_drafter_task(m, &drafted));
    ASSERT_STATUS(PK_UNSUPPORTED, pk_model_check_drafter_task(at, &drafted));
    assert_non_null(strstr(pk_last_error(), "mine needs a drafter trained with task lengths"));
    pk_model_close(m);
    pk_model_close(at);
}

/* one that was trained for both is decoded as ever, and never outputs a task's tokens */
static void what_it_can_besides_is_served(void **state) {
    const pk_text  source = { "the cat sees a dog", 18 };
    pk_model      *m[2] = { open_grown(true), NULL };
    pk_translator *t;
    pk_result     *r[2];
    (void)state;
    ASSERT_OK(pk_model_open(MODEL, NULL, &m[1]));
    for (int i = 0; i < 2; i++) {
        ASSERT_OK(pk_translator_open(
            m[i], PK_OPTIONS(pk_translator_options, .decode = "beam:size=3", .n_best = 3), &t));
        ASSERT_OK(pk_translate(t, &source, 1, NULL, &r[i]));
        pk_translator_close(t);
    }
    for (int32_t rank = 0; rank < 3; rank++) {
        pk_hypothesis_view a, b;
        ASSERT_OK(pk_result_hypothesis(r[0], 0, rank, &a));
        ASSERT_OK(pk_result_hypothesis(r[1], 0, rank, &b));
        assert_int_equal(a.n_tokens, b.n_tokens);
        assert_true(a.score == b.score);
    }
    for (int i = 0; i < 2; i++) pk_result_free(r[i]), pk_model_close(m[i]);
}

static void tokens_are_described(void **state) {
    pk_model        *m = open_grown(true);
    char            *json;
    pk_added_tokens *added;
    int32_t          n;
    (void)state;
    ASSERT_OK(pk_model_describe(m, &json));
    assert_non_null(strstr(json, "\"tasks\": \"lengths:k=2 at\""));
    assert_non_null(
        strstr(json, "\"special_tokens\": [\"<mask>\", \"<length:1> to <length:10>\"]"));
    pk_free(json);
    ASSERT_OK(pk_model_added(m, &added, &n));
    assert_int_equal(n, 2);
    const pk_conventions   model = { .added = added, .n_added = n };
    const pk_added_tokens *mask = pk_added_find(&model, "<mask>");
    const pk_added_tokens *length = pk_added_find(&model, "length");
    assert_non_null(mask);
    assert_non_null(length);
    assert_null(pk_added_find(&model, "<unused:1>"));
    assert_string_equal(pk_model_target_token(m, mask->first), "<mask>");
    assert_string_equal(pk_model_target_token(m, length->first), "<length:1>");
    assert_true(mask->count == 1 && mask->group == 0);
    assert_true(length->count == N_LENGTHS && length->group == 1);
    pk_memory_give(added);
    pk_model_close(m);
}

static void old_files_open_as_before(void **state) {
    pk_model *m;
    char     *json;
    (void)state;
    ASSERT_OK(pk_model_open(MODEL, NULL, &m));
    ASSERT_OK(pk_model_describe(m, &json));
    assert_non_null(strstr(json, "\"tasks\": \"at\""));
    assert_null(strstr(json, "special_tokens"));
    pk_free(json);
    pk_model_close(m);
}

/* the other direction is no other task for a strategy */
static void right_to_left_is_decoded_as_ever(void **state) {
    pk_model      *m;
    pk_translator *t;
    char          *json;
    (void)state;
    ASSERT_OK(grow_model(pk_task_find("at-rl"), MODEL, "at-rl", grown));
    ASSERT_OK(pk_model_open(grown, NULL, &m));
    ASSERT_OK(pk_model_describe(m, &json));
    assert_non_null(strstr(json, "\"tasks\": \"at-rl\""));
    assert_non_null(strstr(json, "\"right_to_left\":1"));
    pk_free(json);
    ASSERT_OK(pk_translator_open(m, NULL, &t));
    pk_translator_close(t);
    pk_model_close(m);
}

static int name_file(void **state) {
    (void)state;
    snprintf(grown, sizeof grown, "/tmp/pronk-tasks-%ld.pronk", (long)getpid());
    return 0;
}

static int remove_file(void **state) {
    (void)state;
    return unlink(grown);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_task_is_refused),
        cmocka_unit_test(what_it_can_besides_is_served),
        cmocka_unit_test(tokens_are_described),
        cmocka_unit_test(old_files_open_as_before),
        cmocka_unit_test(right_to_left_is_decoded_as_ever),
    };
    return cmocka_run_group_tests(tests, name_file, remove_file);
}
