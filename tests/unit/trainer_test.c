/* trainer_test.c - trainings from recipe to model, on a made-up language: it is learned, runs can
 * be repeated and resumed to the bit, and what the trainer measures is what the engine says. */
#include "trainer_help.h"

#include "backend/list.h"
#include "model/model_file.h"
#include "tensor/panel.h"
#include "train/trainer.h"

static toy text; /* shared by the tests; its first training makes good.pronk */

/* ---- learning ---- */

enum { ENOUGH = 3000 }; /* updates until the language is known */

/* Runs a recipe for so many; or for $PRONK_TRAIN_UPDATES, where sanitizers make each slow. Says
 * whether all must be learned by then. */
static bool train_enough(const char *name, pk_train_report *last) {
    const char *fewer = getenv("PRONK_TRAIN_UPDATES");
    const int   updates = fewer && *fewer ? atoi(fewer) : ENOUGH;
    char        set[64];
    snprintf(set, sizeof set, "train.updates=%d", updates);
    run_with(&text, name, (const char *const[]){ set }, 1, NULL, last);
    assert_int_equal(last->done, 1);
    assert_int_equal(last->update, updates);
    return updates >= ENOUGH;
}

static void learns_a_language(void **state) {
    pk_train_report last;
    pairs           p;
    char            path[PATH_ROOM];
    (void)state;
    toy_recipe(&text, "good.yml",
               "output: good\n"
               "data.batch_tokens: 400\n"
               "train.updates: 3000\n"
               "train.warmup: 100\n"
               "train.rate: 0.004\n"
               "train.schedule: linear\n"
               "train.dropout: 0\n"
               "train.label_smoothing: 0\n"
               "train.average: 0.99\n"
               "save.type: f32\n"
               "valid.source: valid.source\n"
               "valid.target: valid.target\n");
    const bool learned = train_enough("good.yml", &last);
    make_pairs(&p, 3);
    pk_result *r =
        translate_valid(toy_path(&text, "good/model.pronk", path), false, p.side[0], NULL, N_NEW);
    if (learned) {
        assert_true(last.accuracy > 0.99);
        assert_true(last.valid_bleu > 97 && last.valid_loss < 0.05);
        assert_true(words_right(r, &p) > 0.99);
    }
    pk_result_free(r);
    pk_model_data m;
    ASSERT_OK(pk_model_data_open(path, -1, &m));
    char updates[64], checkpoint[64];
    snprintf(updates, sizeof updates, "\"updates\":%d", (int)last.update);
    snprintf(checkpoint, sizeof checkpoint, "good/checkpoint-%d.safetensors", (int)last.update);
    assert_non_null(strstr(m.provenance, updates));
    assert_non_null(strstr(m.provenance, "train.source"));
    assert_non_null(strstr(m.provenance, "40000 pairs read"));
    assert_null(strstr(m.provenance, text.folder)); /* folders are nobody's business */
    pk_model_data_close(&m);
    const char *const files[] = { "good/log.jsonl", "good/plot.svg", "good/best.pronk",
                                  checkpoint };
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(access(toy_path(&text, files[i], path), R_OK), 0);
}

/* written last token first, read as usual */
static void learns_it_backwards(void **state) {
    pk_train_report    last;
    pairs              p;
    char               path[PATH_ROOM];
    pk_hypothesis_view v;
    (void)state;
    toy_recipe(&text, "back.yml",
               "output: back\n"
               "task: at-rl\n"
               "data.batch_tokens: 400\n"
               "train.updates: 3000\n"
               "train.warmup: 100\n"
               "train.rate: 0.004\n"
               "train.schedule: linear\n"
               "train.dropout: 0\n"
               "train.label_smoothing: 0\n"
               "valid.source: valid.source\n"
               "valid.target: valid.target\n");
    const bool learned = train_enough("back.yml", &last);
    make_pairs(&p, 3);
    toy_path(&text, "back/model.pronk", path);
    pk_result *r = translate_valid(path, false, p.side[0], NULL, N_NEW);
    if (learned) assert_true(words_right(r, &p) > 0.99);
    /* words are aligned in reading order too: most links say which words were swapped */
    ASSERT_OK(pk_result_hypothesis(r, 0, 0, &v));
    assert_non_null(v.alignment);
    if (learned) assert_int_equal(v.token[v.n_tokens - 1], 2); /* the end symbol stays last */
    pk_result_free(r);
    /* scoring reverses the target as well */
    r = translate_valid(path, true, p.side[0], p.side[1], N_NEW);
    double sum = 0;
    int    n = 0;
    for (size_t i = 0; i < N_NEW; i++) {
        ASSERT_OK(pk_result_hypothesis(r, i, 0, &v));
        sum += (double)v.log_prob, n += v.n_tokens;
    }
    if (learned) assert_true(-sum / n < 0.1);
    pk_result_free(r);
    pk_model      *m;
    pk_translator *t;
    const pk_text  prefix = { "ru", 2 };
    ASSERT_OK(pk_model_open(path, NULL, &m));
    ASSERT_OK(pk_translator_open(m, PK_OPTIONS(pk_translator_options, .threads = 1), &t));
    ASSERT_STATUS(PK_UNSUPPORTED, pk_translate(t, p.side[0], 1,
                                               PK_OPTIONS(pk_call_options, .prefix = &prefix), &r));
    const pk_text draft = p.side[1][0];
    ASSERT_OK(pk_translate(t, p.side[0], 1, PK_OPTIONS(pk_call_options, .draft = &draft), &r));
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
}

/* ---- the same again ---- */

#define EVERYTHING                    \
    SHORT_TRAINING                    \
    "train.accumulate: 2\n"           \
    "train.average: 0.9\n"            \
    "train.attention_dropout: 0.1\n"  \
    "train.activation_dropout: 0.1\n" \
    "train.updates: 40\n"             \
    "log.every: 7\n"                  \
    "save.every: 15\n"                \
    "valid.source: valid.source\n"    \
    "valid.target: valid.target\n"    \
    "valid.every: 20\n"

static void assert_same_reports(const pk_train_report *a, const pk_train_report *b, int from) {
    for (int i = from; i <= 40; i++) {
        assert_true(a[i].update == b[i].update && a[i].logged == b[i].logged);
        assert_true(a[i].rate == b[i].rate && a[i].epoch == b[i].epoch);
        if (a[i].logged)
            assert_true(a[i].loss == b[i].loss && a[i].nll == b[i].nll &&
                        a[i].accuracy == b[i].accuracy && a[i].gradient == b[i].gradient);
        if (a[i].validated)
            assert_true(a[i].valid_loss == b[i].valid_loss && a[i].valid_bleu == b[i].valid_bleu);
    }
}

/* killed after update 25, so it goes on from 15, in the midst of an interval of the log */
static void kill_and_go_on(const char *task, const char *whole_name, const char *parts_name) {
    pk_train_report whole[41] = { 0 }, parts[41] = { 0 };
    char            recipe[1024], file[2][64];
    for (int i = 0; i < 2; i++) {
        const char *name = i ? parts_name : whole_name;
        snprintf(recipe, sizeof recipe, "output: %s\ntask: %s\n" EVERYTHING, name, task);
        toy_recipe(&text, i ? "parts.yml" : "whole.yml", recipe);
        snprintf(file[i], sizeof file[i], "%s/model.pronk", name);
    }
    ASSERT_OK(toy_run(&text, "whole.yml", false, 0, whole, NULL));
    ASSERT_OK(toy_run(&text, "parts.yml", false, 25, parts, NULL));
    assert_same_reports(whole, parts, 41);
    memset(&parts[16], 0, sizeof parts - 16 * sizeof *parts);
    ASSERT_OK(toy_run(&text, "parts.yml", true, 0, parts, NULL));
    assert_same_reports(whole, parts, 1);
    assert_int_equal(weights_of(&text, file[0]), weights_of(&text, file[1]));
    pk_train_report again;
    ASSERT_OK(toy_run(&text, "parts.yml", true, 0, NULL, &again)); /* there is nothing left to do */
    assert_true(again.done && again.update == 40);
}

/* also where what is learned changes with the training; validation decodes as the task says */
static void going_on_is_as_if_nothing_had_happened(void **state) {
    (void)state;
    kill_and_go_on("at", "whole", "parts");
    kill_and_go_on("hrt:k=2,k_max=3,most=0.8,lengths=20", "whole-hrt", "parts-hrt");
    kill_and_go_on("cmlm:lengths=20", "whole-cmlm", "parts-cmlm");
}

static void threads_do_not_matter(void **state) {
    pk_train_report one[41] = { 0 }, three[41] = { 0 }, last;
    char            output[PATH_ROOM + 8];
    (void)state;
    toy_recipe(&text, "one.yml", "output: one\n" EVERYTHING);
    ASSERT_OK(toy_run(&text, "one.yml", false, 0, one, NULL));
    snprintf(output, sizeof output, "output=%s/three", text.folder);
    run_with(&text, "one.yml", (const char *const[]){ "threads=3", output }, 2, three, &last);
    assert_same_reports(one, three, 1);
    assert_int_equal(weights_of(&text, "one/model.pronk"), weights_of(&text, "three/model.pronk"));
}

/* ---- on a GPU ---- */

/* in F32 it follows the CPU, dropout included; in BF16 it learns as well */
static void a_gpu_learns_too(void **state) {
    pk_train_report host[41] = { 0 }, gpu[41] = { 0 }, last;
    pk_backend      on;
    char            output[PATH_ROOM + 8];
    (void)state;
    if (pk_backend_open("cuda", 1, PK_F32, &on) != PK_OK) skip();
    pk_backend_close(&on);
    toy_recipe(&text, "host.yml", "output: host\n" EVERYTHING);
    ASSERT_OK(toy_run(&text, "host.yml", false, 0, host, NULL));
    snprintf(output, sizeof output, "output=%s/gpu", text.folder);
    run_with(&text, "host.yml", (const char *const[]){ "device=cuda", "type=f32", output }, 3, gpu,
             &last);
    for (int i = 1; i <= 40; i++) {
        if (host[i].logged) assert_near(gpu[i].loss, host[i].loss, 2e-3 * host[i].loss);
        if (host[i].validated)
            assert_near(gpu[i].valid_loss, host[i].valid_loss, 2e-3 * host[i].valid_loss);
    }
    snprintf(output, sizeof output, "output=%s/gpu16", text.folder);
    run_with(&text, "good.yml", (const char *const[]){ "device=cuda", output }, 2, NULL, &last);
    assert_true(last.accuracy > 0.99 && last.valid_bleu > 95);
    assert_int_equal(last.skipped, 0);
}

/* ---- ends ---- */

static void patience_ends_it(void **state) {
    pk_train_report last;
    (void)state;
    toy_recipe(&text, "patience.yml",
               "output: patience\ndata.batch_tokens: 200\ntrain.updates: 0\ntrain.rate: 0\n"
               "valid.source: valid.source\nvalid.target: valid.target\nvalid.every: 2\n"
               "valid.bleu: false\nvalid.patience: 2\n");
    ASSERT_OK(toy_run(&text, "patience.yml", false, 100, NULL, &last));
    assert_true(last.done);
    assert_int_equal(last.update, 6); /* the first was the best; two more were no better */
    assert_true(isnan(last.valid_bleu) && isfinite(last.valid_loss));
}

static void minutes_end_it(void **state) {
    pk_train_report last;
    (void)state;
    toy_recipe(&text, "minutes.yml",
               "output: minutes\ntrain.updates: 0\ntrain.minutes: 0.02\ntrain.cooldown: "
               "0.5\n" SHORT_TRAINING);
    ASSERT_OK(toy_run(&text, "minutes.yml", false, 0, NULL, &last));
    assert_true(last.done && last.update > 1);
    assert_true(last.seconds >= 1.2 && last.seconds < 60); /* one update may take long */
    assert_true(last.rate < 0.003 * 0.2);                  /* it has cooled down */
}

/* gradients that are not finite change nothing, and do not go on for ever */
static void not_finite(void **state) {
    char            path[PATH_ROOM];
    pk_trainer     *t;
    pk_train_report r;
    (void)state;
    toy_recipe(&text, "nan.yml", "output: nan\ntrain.updates: 100\n" SHORT_TRAINING);
    ASSERT_OK(pk_trainer_open(toy_path(&text, "nan.yml", path), NULL, &t));
    ASSERT_OK(pk_trainer_step(t, &r));
    const float good = t->p.master[100], was = t->p.master[0];
    t->p.master[0] = NAN;
    for (int i = 0; i < 3; i++) ASSERT_OK(pk_trainer_step(t, &r));
    assert_int_equal(r.skipped, 3);
    assert_true(t->p.master[100] == good);
    t->p.master[0] = was; /* it can go on */
    ASSERT_OK(pk_trainer_step(t, &r));
    assert_int_equal(r.skipped, 3);
    assert_true(t->p.master[100] != good);
    t->p.master[0] = NAN;
    for (int i = 0; i < 19; i++) ASSERT_OK(pk_trainer_step(t, &r));
    ASSERT_STATUS(PK_ARGUMENT, pk_trainer_step(t, &r));
    assert_non_null(strstr(pk_last_error(), "train.rate"));
    pk_trainer_close(t);
}

/* Who goes on from a checkpoint finds all that was said up to it in the log: so it is written there
 * before. Here the checkpoint cannot be saved, as if the power had gone. */
static void the_log_is_written_before_the_checkpoint(void **state) {
    char            path[PATH_ROOM], line[512];
    pk_trainer     *t;
    pk_train_report r;
    bool            found = false;
    (void)state;
    toy_recipe(&text, "early.yml",
               "output: early\ntrain.updates: 100\nsave.every: 3\nlog.every: 1\n" SHORT_TRAINING);
    ASSERT_OK(pk_trainer_open(toy_path(&text, "early.yml", path), NULL, &t));
    assert_int_equal(mkdir(toy_path(&text, "early/checkpoint-3.safetensors", path), 0777), 0);
    for (int i = 0; i < 2; i++) ASSERT_OK(pk_trainer_step(t, &r));
    ASSERT_STATUS(PK_IO, pk_trainer_step(t, &r));
    pk_trainer_close(t);
    FILE *f = fopen(toy_path(&text, "early/log.jsonl", path), "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strstr(line, "\"update\":3,") && strstr(line, "\"loss\":")) {
            assert_null(strstr(line, "saved"));
            found = true;
        }
    fclose(f);
    assert_true(found);
}

static void folders_with_checkpoints_are_not_overwritten(void **state) {
    pk_train_report last;
    char            path[PATH_ROOM];
    pk_trainer     *t;
    (void)state;
    toy_recipe(&text, "twice.yml", "output: twice\ntrain.updates: 2\n" SHORT_TRAINING);
    ASSERT_OK(toy_run(&text, "twice.yml", true, 0, NULL, &last)); /* nothing there: begins */
    ASSERT_STATUS(PK_ARGUMENT, toy_run(&text, "twice.yml", false, 0, NULL, &last));
    assert_non_null(strstr(pk_last_error(), "--resume"));
    toy_path(&text, "twice.yml", path);
    const char *const set[] = { "model.dim=64" };
    ASSERT_STATUS(
        PK_ARGUMENT,
        pk_trainer_open(path, PK_OPTIONS(pk_trainer_options, .set = set, .n_set = 1, .resume = 1),
                        &t));
    assert_non_null(strstr(pk_last_error(), "model.dim"));
    const char *const more[] = { "train.updates=4" };
    ASSERT_OK(pk_trainer_open(
        path, PK_OPTIONS(pk_trainer_options, .set = more, .n_set = 1, .resume = 1), &t));
    ASSERT_OK(pk_trainer_step(t, &last));
    assert_int_equal(last.update, 3);
    pk_trainer_close(t);
}

/* one training in a folder at a time, and the next when it is closed */
static void a_folder_in_use_is_refused(void **state) {
    char        path[PATH_ROOM];
    pk_trainer *first, *second;
    (void)state;
    toy_recipe(&text, "locked.yml", "output: locked\ntrain.updates: 2\n" SHORT_TRAINING);
    toy_path(&text, "locked.yml", path);
    ASSERT_OK(pk_trainer_open(path, NULL, &first));
    for (int resume = 0; resume < 2; resume++) {
        ASSERT_STATUS(PK_IO, pk_trainer_open(path, PK_OPTIONS(pk_trainer_options, .resume = resume),
                                             &second));
        assert_non_null(strstr(pk_last_error(), "another training is at work in this folder"));
    }
    pk_trainer_close(first);
    ASSERT_OK(pk_trainer_open(path, NULL, &second));
    pk_trainer_close(second);
}

/* ---- memory ---- */

/* Threads that load ahead take memory too, and their failures are reported later: so one success is not
 * yet the end. */
static void failed_allocations(void **state) {
    char path[PATH_ROOM];
    int  failures = 0, well = 0;
    (void)state;
    toy_recipe(&text, "memory.yml", "output: memory\ntrain.updates: 2\n" SHORT_TRAINING);
    toy_path(&text, "memory.yml", path);
    for (int n = 1; well < 12; n++) {
        pk_trainer   *t;
        const int64_t alive = pk_memory_alive();
        pk_memory_fail_after(n);
        const pk_status status = pk_trainer_open(path, NULL, &t);
        pk_memory_fail_after(0);
        if (status == PK_OK) pk_trainer_close(t);
        well = status == PK_OK ? well + 1 : 0;
        failures += status != PK_OK;
        if (status != PK_OK) assert_int_equal(status, PK_NO_MEMORY);
        assert_int_equal(pk_memory_alive(), alive);
    }
    assert_true(failures > 50);
}

/* ---- the final mixture of tasks ---- */

static double least_share, most_share;

static pk_status teach_and_see(pk_lesson *l, pk_pair *pair) {
    least_share = fmin(least_share, pair->share);
    most_share = fmax(most_share, pair->share);
    return pk_task_find("at")->teach(l, pair);
}

/* a task that changes over time is validated as it will be in the end, so that losses compare */
static void validation_takes_the_final_mixture(void **state) {
    char        path[PATH_ROOM];
    pk_trainer *t;
    pk_task     seen = *pk_task_find("at");
    (void)state;
    seen.teach = teach_and_see;
    toy_recipe(&text, "mixture.yml",
               "output: mixture\ntrain.updates: 4\nvalid.source: valid.source\n"
               "valid.target: valid.target\nvalid.every: 1000\nvalid.bleu: false\n" SHORT_TRAINING);
    ASSERT_OK(pk_trainer_open(toy_path(&text, "mixture.yml", path), NULL, &t));
    t->maker.task = &seen;
    for (int i = 0; i < 2; i++) {
        least_share = 2, most_share = -1;
        ASSERT_OK(pk_trainer_update(t));
        assert_true(least_share == i / 4.0 && most_share == i / 4.0);
        least_share = 2, most_share = -1;
        ASSERT_OK(pk_trainer_validate(t));
        assert_true(least_share == 1 && most_share == 1);
    }
    pk_trainer_close(t);
}

static int open_text(void **state) {
    (void)state;
    toy_open(&text, 40000);
    return 0;
}

static int close_text(void **state) {
    (void)state;
    toy_close(&text);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns_a_language),
        cmocka_unit_test(learns_it_backwards),
        cmocka_unit_test(going_on_is_as_if_nothing_had_happened),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(a_gpu_learns_too),
        cmocka_unit_test(patience_ends_it),
        cmocka_unit_test(minutes_end_it),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(validation_takes_the_final_mixture),
        cmocka_unit_test(the_log_is_written_before_the_checkpoint),
        cmocka_unit_test(folders_with_checkpoints_are_not_overwritten),
        cmocka_unit_test(a_folder_in_use_is_refused),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, open_text, close_text);
}
