/* trainer_test.c - trainings from recipe to model, on a made-up language: it is learned, runs can
 * be repeated and resumed to the bit, and what the trainer measures is what the engine says. */
#include "trainer_help.h"

#include "backend/list.h"
#include "model/model_file.h"
#include "tensor/panel.h"
#include "train/trainer.h"

static toy text; /* shared by the tests; its first training makes good.pronk */

/* ---- helpers ---- */

static pk_result *translate_valid(const char *model, bool score, pk_text *source, pk_text *target,
                                  size_t n) {
    pk_model      *m;
    pk_translator *t;
    pk_result     *r;
    ASSERT_OK(pk_model_open(model, NULL, &m));
    ASSERT_OK(pk_translator_open(
        m, PK_OPTIONS(pk_translator_options, .threads = 1, .one_sentence = 1, .alignment = !score),
        &t));
    if (score)
        ASSERT_OK(pk_score(t, source, target, n, NULL, &r));
    else
        ASSERT_OK(pk_translate(t, source, n, NULL, &r));
    pk_translator_close(t);
    pk_model_close(m);
    return r;
}

enum { N_NEW = 200 };

typedef struct pairs { /* sentences that no training has seen */
    char    line[2][N_NEW][128];
    pk_text side[2][N_NEW];
} pairs;

static void make_pairs(pairs *p, uint64_t seed) {
    for (int i = 0; i < N_NEW; i++) {
        toy_sentence(&seed, p->line[0][i], p->line[1][i]);
        for (int k = 0; k < 2; k++)
            p->side[k][i] = (pk_text){ p->line[k][i], strlen(p->line[k][i]) };
    }
}

/* the share of words that stand where they should */
static double words_right(const pk_result *r, const pairs *p) {
    int n = 0, right = 0;
    for (int i = 0; i < N_NEW; i++) {
        char        want[128], *save[2];
        const char *found = pk_result_text(r, (size_t)i);
        char       *copy = strdup(found);
        strcpy(want, p->line[1][i]);
        char *a = strtok_r(want, " ", &save[0]), *b = strtok_r(copy, " ", &save[1]);
        for (; a; a = strtok_r(NULL, " ", &save[0]), b = b ? strtok_r(NULL, " ", &save[1]) : NULL) {
            n++;
            right += b && strcmp(a, b) == 0;
        }
        free(copy);
    }
    return (double)right / n;
}

static void assert_near(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.9g is not %.9g", a, b);
}

/* bits of all weights of a saved model */
static pk_status hash_weight(void *user, const char *name, pk_weight *w, int32_t rows, int32_t cols,
                             bool matrix) {
    uint64_t *hash = user;
    (void)name, (void)matrix;
    for (int32_t row = 0; row < rows; row++)
        for (int32_t col = 0; col < cols; col++) {
            const float x = pk_weight_get(w, row, col);
            uint32_t    bits;
            memcpy(&bits, &x, sizeof bits);
            *hash = pk_mix(*hash + bits);
        }
    return PK_OK;
}

static uint64_t weights_of(const char *name) {
    pk_model_data m;
    char          path[PATH_ROOM];
    uint64_t      hash = 1;
    ASSERT_OK(pk_model_data_open(toy_path(&text, name, path), -1, &m));
    pk_network_walk(&m.network, hash_weight, &hash);
    pk_model_data_close(&m);
    return hash;
}

#define SHORT_TRAINING         \
    "data.batch_tokens: 200\n" \
    "train.warmup: 10\n"       \
    "train.rate: 0.003\n"      \
    "save.type: f32\n"

/* ---- learning ---- */

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
    ASSERT_OK(toy_run(&text, "good.yml", false, 0, NULL, &last));
    assert_int_equal(last.done, 1);
    assert_int_equal(last.update, 3000);
    assert_true(last.accuracy > 0.99);
    assert_true(last.valid_bleu > 97 && last.valid_loss < 0.05);
    make_pairs(&p, 3);
    pk_result *r =
        translate_valid(toy_path(&text, "good/model.pronk", path), false, p.side[0], NULL, N_NEW);
    assert_true(words_right(r, &p) > 0.99);
    pk_result_free(r);
    pk_model_data m;
    ASSERT_OK(pk_model_data_open(path, -1, &m));
    assert_non_null(strstr(m.provenance, "\"updates\":3000"));
    assert_non_null(strstr(m.provenance, "train.source"));
    assert_non_null(strstr(m.provenance, "40000 pairs read"));
    assert_null(strstr(m.provenance, text.folder)); /* folders are nobody's business */
    pk_model_data_close(&m);
    const char *const files[] = { "good/log.jsonl", "good/plot.svg", "good/best.pronk",
                                  "good/checkpoint-3000.safetensors" };
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
    ASSERT_OK(toy_run(&text, "back.yml", false, 0, NULL, &last));
    make_pairs(&p, 3);
    toy_path(&text, "back/model.pronk", path);
    pk_result *r = translate_valid(path, false, p.side[0], NULL, N_NEW);
    assert_true(words_right(r, &p) > 0.99);
    /* words are aligned in reading order too: most links say which words were swapped */
    ASSERT_OK(pk_result_hypothesis(r, 0, 0, &v));
    assert_non_null(v.alignment);
    assert_int_equal(v.token[v.n_tokens - 1], 2); /* the end symbol stays last */
    pk_result_free(r);
    /* scoring turns the target round as well */
    r = translate_valid(path, true, p.side[0], p.side[1], N_NEW);
    double sum = 0;
    int    n = 0;
    for (size_t i = 0; i < N_NEW; i++) {
        ASSERT_OK(pk_result_hypothesis(r, i, 0, &v));
        sum += (double)v.log_prob, n += v.n_tokens;
    }
    assert_true(-sum / n < 0.1);
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
static void going_on_is_as_if_nothing_had_happened(void **state) {
    pk_train_report whole[41] = { 0 }, parts[41] = { 0 };
    (void)state;
    toy_recipe(&text, "whole.yml", "output: whole\n" EVERYTHING);
    toy_recipe(&text, "parts.yml", "output: parts\n" EVERYTHING);
    ASSERT_OK(toy_run(&text, "whole.yml", false, 0, whole, NULL));
    ASSERT_OK(toy_run(&text, "parts.yml", false, 25, parts, NULL));
    assert_same_reports(whole, parts, 41);
    memset(&parts[16], 0, sizeof parts - 16 * sizeof *parts);
    ASSERT_OK(toy_run(&text, "parts.yml", true, 0, parts, NULL));
    assert_same_reports(whole, parts, 1);
    assert_int_equal(weights_of("whole/model.pronk"), weights_of("parts/model.pronk"));
    pk_train_report again;
    ASSERT_OK(toy_run(&text, "parts.yml", true, 0, NULL, &again)); /* there is nothing left to do */
    assert_true(again.done && again.update == 40);
}

static void threads_do_not_matter(void **state) {
    pk_train_report one[41] = { 0 }, three[41] = { 0 };
    char            path[PATH_ROOM];
    pk_trainer     *t;
    (void)state;
    toy_recipe(&text, "one.yml", "output: one\n" EVERYTHING);
    ASSERT_OK(toy_run(&text, "one.yml", false, 0, one, NULL));
    const char *const set[] = { "threads=3", "output=" };
    char              output[PATH_ROOM + 8];
    snprintf(output, sizeof output, "output=%s/three", text.folder);
    ASSERT_OK(pk_trainer_open(
        toy_path(&text, "one.yml", path),
        PK_OPTIONS(pk_trainer_options, .set = (const char *const[]){ set[0], output }, .n_set = 2),
        &t));
    for (pk_train_report r = { 0 }; !r.done; three[r.update] = r) ASSERT_OK(pk_trainer_step(t, &r));
    pk_trainer_close(t);
    assert_same_reports(one, three, 1);
    assert_int_equal(weights_of("one/model.pronk"), weights_of("three/model.pronk"));
}

/* ---- going on from a model ---- */

static void fine_tuning_begins_where_the_model_is(void **state) {
    pk_train_report last;
    char            path[PATH_ROOM], more[1024];
    pk_model_data   before, after;
    (void)state;
    toy_path(&text, "good/model.pronk", path);
    snprintf(more, sizeof more,
             "output: tuned\ninit: %s\ndata.batch_tokens: 200\ntrain.updates: 1\ntrain.rate: 0\n"
             "train.warmup: 0\nsave.type: f32\nvalid.source: valid.source\n"
             "valid.target: valid.target\n",
             path);
    toy_recipe(&text, "tuned.yml", more);
    ASSERT_OK(toy_run(&text, "tuned.yml", false, 0, NULL, &last));
    /* what the engine says of the same sentences */
    pairs  p;
    double sum = 0;
    int    n = 0;
    make_pairs(&p, 2); /* the first 60 are the validation text */
    pk_result *r = translate_valid(path, true, p.side[0], p.side[1], 60);
    for (size_t i = 0; i < 60; i++) {
        pk_hypothesis_view v;
        ASSERT_OK(pk_result_hypothesis(r, i, 0, &v));
        sum -= (double)v.log_prob, n += v.n_tokens;
    }
    pk_result_free(r);
    assert_near(last.valid_loss, sum / n, 1e-5);
    assert_int_equal(weights_of("good/model.pronk"), weights_of("tuned/model.pronk"));
    /* with a rate, what is frozen stays and the rest moves */
    snprintf(more, sizeof more,
             "output: frozen\ninit: %s\nfreeze: [encoder.*, decoder.0.up.w]\n"
             "train.updates: 3\n" SHORT_TRAINING,
             path);
    toy_recipe(&text, "frozen.yml", more);
    ASSERT_OK(toy_run(&text, "frozen.yml", false, 0, NULL, &last));
    ASSERT_OK(pk_model_data_open(path, -1, &before));
    ASSERT_OK(pk_model_data_open(toy_path(&text, "frozen/model.pronk", path), -1, &after));
    const pk_weight *pair[][2] = {
        { &before.network.encoder[0].qkv.w, &after.network.encoder[0].qkv.w },
        { &before.network.encoder[0].ffn_norm.gain, &after.network.encoder[0].ffn_norm.gain },
        { &before.network.decoder[0].up.w, &after.network.decoder[0].up.w },
        { &before.network.decoder[0].down.w, &after.network.decoder[0].down.w },
        { &before.network.source_embed, &after.network.source_embed },
    };
    for (size_t i = 0; i < 5; i++) {
        const size_t floats = (size_t)pair[i][0]->rows * (size_t)pair[i][0]->cols;
        const bool   same = memcmp(pair[i][0]->data, pair[i][1]->data, floats * 4) == 0;
        assert_int_equal(same, i < 3);
    }
    pk_model_data_close(&before);
    pk_model_data_close(&after);
}

/* a model of several languages is told which, as the engine tells it */
static void models_of_several_languages(void **state) {
    static const char *const lines[2][3] = { { "the cat", "a dog sees", "good" },
                                             { "die katze", "ein hund", "gut" } };
    pk_train_report          last;
    char                     path[PATH_ROOM], name[2][PATH_ROOM];
    pk_text                  side[2][3];
    pk_model                *m;
    pk_translator           *t;
    pk_result               *r;
    double                   sum = 0;
    int                      n = 0;
    (void)state;
    char *model = realpath("tests/data/models/mbart-relu", NULL);
    for (int k = 0; k < 2; k++) {
        FILE *f = fopen(toy_path(&text, k ? "many.target" : "many.source", name[k]), "w");
        for (int i = 0; i < 3; i++) {
            fprintf(f, "%s\n", lines[k][i]);
            side[k][i] = (pk_text){ lines[k][i], strlen(lines[k][i]) };
        }
        fclose(f);
    }
    FILE *f = fopen(toy_path(&text, "many.yml", path), "w");
    fprintf(f,
            "output: many\ninit: %s\nfrom: en\nto: de_DE\ndata.max_length: 20\n"
            "data.source: many.source\ndata.target: many.target\ndata.max_ratio: 100\n"
            "valid.source: many.source\nvalid.target: many.target\ndevice: cpu\nthreads: 1\n"
            "train.rate: 0\ntrain.updates: 1\ntrain.warmup: 0\ndata.batch_tokens: 64\n",
            model);
    fclose(f);
    ASSERT_OK(toy_run(&text, "many.yml", false, 0, NULL, &last));
    ASSERT_OK(pk_model_open(model, NULL, &m));
    ASSERT_OK(pk_translator_open(m,
                                 PK_OPTIONS(pk_translator_options, .from = "en_XX", .to = "de_DE",
                                            .threads = 1, .one_sentence = 1),
                                 &t));
    ASSERT_OK(pk_score(t, side[0], side[1], 3, NULL, &r));
    for (size_t i = 0; i < 3; i++) {
        pk_hypothesis_view v;
        ASSERT_OK(pk_result_hypothesis(r, i, 0, &v));
        sum -= (double)v.log_prob, n += v.n_tokens;
    }
    print_message("loss %.6f, score %.6f over %d tokens\n", last.valid_loss, sum / n, n);
    assert_near(last.valid_loss, sum / n, 1e-5);
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
    free(model);
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
               "output: minutes\ntrain.updates: 0\ntrain.minutes: 0.005\ntrain.cooldown: "
               "0.5\n" SHORT_TRAINING);
    ASSERT_OK(toy_run(&text, "minutes.yml", false, 0, NULL, &last));
    assert_true(last.done && last.update > 1);
    assert_true(last.seconds >= 0.3 && last.seconds < 10);
    assert_true(last.rate < 0.003 * 0.2); /* it has cooled down */
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

/* ---- passes ---- */

typedef struct bench { /* a pass without a trainer */
    pk_backend    on;
    pk_parameters p;
    pk_train_pass pass;
    pk_lesson     lesson;
} bench;

static const int32_t numbers[] = { 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18 };
static const int32_t starts[] = { 0, 4, 9, 11, 14 };

static void open_bench(bench *b, bool glances) {
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
        pk_train_pass_open(&b->on, &b->p, &(pk_pass_limits){ 20, 20, 4, 8 }, glances, &b->pass));
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
                                .mask = -1,
                                .source_tag = -1,
                                .target_tag = -1,
                                .max_source = 64,
                                .max_target = 64 };
    const pk_batch        batch = { n, numbers, numbers, starts + first, starts + first };
    ASSERT_OK(pk_lesson_make(&b->lesson, &m, &batch, NULL));
    ASSERT_OK(pk_train_pass_ready(&b->pass, NULL, NULL));
    ASSERT_OK(pk_train_pass_run(&b->pass, &b->lesson, o));
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
    assert_near(b.pass.train->sums.loss, sums.loss, 1e-5 * sums.loss);
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
    ASSERT_STATUS(PK_ARGUMENT, pk_train_pass_run(&b.pass, &b.lesson, &o));
    close_bench(&b);
}

/* ---- a model people have ---- */

enum { N_REAL = 8 };

static void copy_lines(const char *from, const char *name, pk_text *out) {
    char  path[PATH_ROOM], line[4096];
    FILE *in = fopen(from, "r"), *to = fopen(toy_path(&text, name, path), "w");
    assert_true(in && to);
    for (int i = 0; i < N_REAL; i++) {
        assert_non_null(fgets(line, sizeof line, in));
        fputs(line, to);
        out[i].size = strcspn(line, "\n");
        out[i].data = strndup(line, out[i].size);
    }
    fclose(in);
    fclose(to);
}

/* the trainer's loss of a real model is the score that the engine gives */
static void loss_is_score(void **state) {
    char            model[PATH_ROOM], source[PATH_ROOM], target[PATH_ROOM], more[1024];
    const char     *shared = getenv("PRONK_SHARED") ? getenv("PRONK_SHARED") : "../shared";
    pk_text         lines[2][N_REAL];
    pk_train_report last;
    double          sum = 0;
    int             n = 0;
    (void)state;
    snprintf(model, sizeof model, "%s/models/en-de-base-hf", shared);
    snprintf(source, sizeof source, "%s/testsets/en-de/newstest2014.en", shared);
    snprintf(target, sizeof target, "%s/testsets/en-de/newstest2014.de", shared);
    if (access(model, R_OK) || access(source, R_OK)) skip();
    char *whole = realpath(model, NULL);
    copy_lines(source, "real.source", lines[0]);
    copy_lines(target, "real.target", lines[1]);
    /* nothing learns but the bias, so that little memory is needed */
    snprintf(more, sizeof more,
             "output: real\ninit: %s\nfreeze: [encoder.*, decoder.*, source_embed]\n"
             "model.output_bias: true\ndata.max_length: 200\ndata.batch_tokens: 256\n"
             "data.source: real.source\ndata.target: real.target\n"
             "train.updates: 1\ntrain.rate: 0\ntrain.warmup: 0\nvalid.bleu: false\n"
             "valid.source: real.source\nvalid.target: real.target\n",
             whole);
    free(whole);
    char  path[PATH_ROOM];
    FILE *f = fopen(toy_path(&text, "real.yml", path), "w");
    fputs(more, f);
    fclose(f);
    ASSERT_OK(toy_run(&text, "real.yml", false, 0, NULL, &last));
    pk_result *r = translate_valid(model, true, lines[0], lines[1], N_REAL);
    for (size_t i = 0; i < N_REAL; i++) {
        pk_hypothesis_view v;
        ASSERT_OK(pk_result_hypothesis(r, i, 0, &v));
        sum -= (double)v.log_prob, n += v.n_tokens;
        for (int k = 0; k < 2; k++) free((char *)lines[k][i].data);
    }
    pk_result_free(r);
    print_message("loss %.6f, score %.6f over %d tokens\n", last.valid_loss, sum / n, n);
    assert_near(last.valid_loss, sum / n, 1e-4);
}

/* ---- memory ---- */

/* Threads that load ahead take memory too, and what they meet is told later: so one success is not
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
        cmocka_unit_test(fine_tuning_begins_where_the_model_is),
        cmocka_unit_test(models_of_several_languages),
        cmocka_unit_test(patience_ends_it),
        cmocka_unit_test(minutes_end_it),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(folders_with_checkpoints_are_not_overwritten),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(a_first_look_brings_answers),
        cmocka_unit_test(lessons_beyond_the_plan_are_refused),
        cmocka_unit_test(loss_is_score),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, open_text, close_text);
}
