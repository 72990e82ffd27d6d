/* fine_tuning_test.c - trainings that go on from a model: they begin at its loss, which is the
 * score that the engine gives; what is frozen stays; languages are given as the engine gives them.
 */
#include <limits.h>

#include "trainer_help.h"

#include "length_task.h"
#include "tensor/panel.h"

static toy text; /* and a model in it, good/model.pronk */

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
    assert_int_equal(weights_of(&text, "good/model.pronk"), weights_of(&text, "tuned/model.pronk"));
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

/* ---- tokens of a task ---- */

/* rows [first, end) of two tables, or numbers of two biases */
static bool same_rows(const pk_weight *a, const pk_weight *b, int32_t first, int32_t end) {
    const bool bias = a->rows == 1;
    for (int32_t i = first; i < end; i++)
        for (int32_t col = 0; col < (bias ? 1 : a->cols); col++) {
            const float x = bias ? pk_weight_get(a, 0, i) : pk_weight_get(a, i, col);
            const float y = bias ? pk_weight_get(b, 0, i) : pk_weight_get(b, i, col);
            if (memcmp(&x, &y, sizeof x) != 0) return false;
        }
    return true;
}

static void translates_alike(const char *one, const char *other) {
    static pairs p;
    make_pairs(&p, 2);
    pk_result *r[2] = { translate_valid(one, false, p.side[0], p.side[1], 20),
                        translate_valid(other, false, p.side[0], p.side[1], 20) };
    for (size_t i = 0; i < 20; i++)
        assert_string_equal(pk_result_text(r[0], i), pk_result_text(r[1], i));
    for (int i = 0; i < 2; i++) pk_result_free(r[i]);
}

/* a .pronk file whose tables are one, or three: old rows are as they were, and stay so where they
 * are frozen, with decay and averages; new ones begin like fresh ones, and learn */
static void text_stays_and_new_tokens_learn(void **state) {
    char more[2048], from[PATH_ROOM], grown[PATH_ROOM], path[PATH_ROOM];
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        pk_model_data   old, before, after;
        pk_train_report last;
        if (apart) {
            toy_recipe(&text, "apart.yml",
                       "output: apart\nmodel.tie: none\nmodel.output_bias: true\n"
                       "train.updates: 20\n" SHORT_TRAINING);
            ASSERT_OK(toy_run(&text, "apart.yml", false, 0, NULL, NULL));
        }
        toy_path(&text, apart ? "apart/model.pronk" : "good/model.pronk", from);
        toy_path(&text, apart ? "grown-apart.pronk" : "grown.pronk", grown);
        ASSERT_OK(grow_model(&length_task, from, "lengths:k=2", grown));
        translates_alike(from, grown);
        snprintf(
            more, sizeof more,
            "output: %s\ninit: %s\nfreeze: [text_tokens, encoder.*]\ntrain.updates: 4\n"
            "train.weight_decay: 0.1\ntrain.average: 0.9\nmodel.output_bias: true\n" SHORT_TRAINING,
            apart ? "kept-apart" : "kept", grown);
        toy_recipe(&text, "kept.yml", more);
        ASSERT_OK(toy_run(&text, "kept.yml", false, 0, NULL, &last));
        ASSERT_OK(pk_model_data_open(from, -1, &old));
        ASSERT_OK(pk_model_data_open(grown, -1, &before));
        toy_path(&text, apart ? "kept-apart/model.pronk" : "kept/model.pronk", path);
        ASSERT_OK(pk_model_data_open(path, -1, &after));
        const pk_network *a = &old.network, *b = &before.network, *c = &after.network;
        const int32_t     n = a->config.target_vocab, all = b->config.target_vocab;
        assert_int_equal(b->config.n_text, n);
        assert_string_equal(b->config.tasks, "lengths:k=2 at");
        assert_string_equal(pk_config_tasks(&c->config), "at");
        assert_true(all > n && b->config.n_groups == 1);
        const pk_weight *pair[][3] = {
            { &a->source_embed, &b->source_embed, &c->source_embed },
            { &a->target_embed, &b->target_embed, &c->target_embed },
            { &a->output, &b->output, &c->output },
            { &a->output_bias, &b->output_bias, &c->output_bias },
        };
        for (size_t i = 0; i < 4; i++) {
            assert_true(same_rows(pair[i][0], pair[i][1], 0, n));
            assert_true(same_rows(pair[i][1], pair[i][2], 0, n));
        }
        assert_false(same_rows(&b->output, &c->output, n, all)); /* they decay */
        assert_true(same_rows(&b->encoder[0].up.w, &c->encoder[0].up.w, 0, b->config.encoder_ffn));
        assert_false(same_rows(&b->decoder[0].up.w, &c->decoder[0].up.w, 0, b->config.decoder_ffn));
        pk_model_data_close(&old);
        pk_model_data_close(&before);
        pk_model_data_close(&after);
    }
}

/* so do models that others made */
static void hugging_face_models_grow(void **state) {
    static const char *const folders[] = { "marian-gelu-separate", "marian-swish-untied",
                                           "mbart-relu" };
    char                     from[PATH_ROOM], to[PATH_ROOM];
    (void)state;
    for (int i = 0; i < 3; i++) {
        pk_model_data a, b;
        snprintf(from, sizeof from, "tests/data/models/%s", folders[i]);
        ASSERT_OK(grow_model(&length_task, from, "lengths", toy_path(&text, "grown-hf.pronk", to)));
        ASSERT_OK(pk_model_data_open(from, -1, &a));
        ASSERT_OK(pk_model_data_open(to, -1, &b));
        const int32_t n = a.network.config.target_vocab;
        assert_int_equal(b.network.config.n_text, n);
        assert_true(same_rows(&a.network.output, &b.network.output, 0, n));
        assert_true(same_rows(&a.network.output_bias, &b.network.output_bias, 0, n));
        assert_true(same_rows(&a.network.source_embed, &b.network.source_embed, 0,
                              a.network.config.source_vocab));
        pk_model_data_close(&a);
        pk_model_data_close(&b);
    }
}

/* ---- a vocabulary that has grown ---- */

/* the good model's vocabulary with a sign and the bytes */
static void extend_vocabulary(const char *model, const char *output) {
    pk_model   *m;
    const void *spm;
    size_t      size;
    char        input[PATH_ROOM];
    const char *inputs[] = { toy_path(&text, "train.source", input) };
    ASSERT_OK(pk_model_open(model, NULL, &m));
    ASSERT_OK(pk_model_sentencepiece(m, 0, &spm, &size));
    ASSERT_OK(pk_vocab_train(PK_OPTIONS(pk_vocab_train_options, .inputs = inputs, .n_inputs = 1,
                                        .output = output, .characters = "@", .extend = spm,
                                        .extend_size = size)));
    pk_model_close(m);
}

static pk_status go_on_with(const char *vocab, const char *model) {
    char  path[PATH_ROOM];
    FILE *f = fopen(toy_path(&text, "extended.yml", path), "w");
    fprintf(f,
            "output: extended\ninit: %s\nvocab: %s\ndata.source: valid.source\n"
            "data.target: valid.target\ndata.max_length: 30\ndevice: cpu\nthreads: 1\n"
            "train.rate: 0\ntrain.updates: 1\ntrain.warmup: 0\ndata.batch_tokens: 64\n"
            "save.type: f32\n",
            model, vocab);
    fclose(f);
    return toy_run(&text, "extended.yml", false, 0, NULL, NULL);
}

/* pieces behind the old ones get rows behind the old ones, which begin like fresh ones */
static void a_vocabulary_grows_with_its_model(void **state) {
    char          from[PATH_ROOM], spm[PATH_ROOM], to[PATH_ROOM];
    pk_model_data old, grown;
    (void)state;
    toy_path(&text, "good/model.pronk", from);
    extend_vocabulary(from, toy_path(&text, "extended.spm", spm));
    ASSERT_OK(go_on_with(spm, from));
    ASSERT_OK(pk_model_data_open(from, -1, &old));
    ASSERT_OK(pk_model_data_open(toy_path(&text, "extended/model.pronk", to), -1, &grown));
    const pk_config *c = &grown.network.config;
    const int32_t    n = old.network.config.target_vocab;
    assert_int_equal(c->target_vocab, n + 1 + 256);
    assert_int_equal(c->source_vocab, n + 1 + 256);
    assert_int_equal(pk_config_text(c), n + 1 + 256); /* what is new can be output */
    assert_true(same_rows(&old.network.output, &grown.network.output, 0, n));
    assert_true(same_rows(&old.network.source_embed, &grown.network.source_embed, 0, n));
    pk_model_data_close(&old);
    pk_model_data_close(&grown);
}

/* the mean with the model of before: rows that only the new one has are its own */
static void the_old_model_may_be_averaged_in(void **state) {
    char          path[2][PATH_ROOM], to[PATH_ROOM];
    const char   *both[] = { toy_path(&text, "extended/model.pronk", path[0]),
                             toy_path(&text, "good/model.pronk", path[1]) };
    const char   *turned[] = { both[1], both[0] };
    pk_model_data grown, old, mean;
    (void)state;
    toy_path(&text, "mean.pronk", to);
    ASSERT_OK(pk_model_average(both, 2, to, "f32"));
    ASSERT_OK(pk_model_data_open(both[0], -1, &grown));
    ASSERT_OK(pk_model_data_open(both[1], -1, &old));
    ASSERT_OK(pk_model_data_open(to, -1, &mean));
    const pk_weight *a = &grown.network.output, *b = &old.network.output, *m = &mean.network.output;
    assert_int_equal(m->rows, a->rows);
    assert_true(same_rows(a, m, b->rows, a->rows));
    for (int32_t col = 0; col < m->cols; col++)
        assert_near((double)pk_weight_get(m, 5, col),
                    ((double)pk_weight_get(a, 5, col) + (double)pk_weight_get(b, 5, col)) / 2,
                    1e-6);
    pk_model_data_close(&grown);
    pk_model_data_close(&old);
    pk_model_data_close(&mean);
    ASSERT_STATUS(PK_ARGUMENT, pk_model_average(turned, 2, to, "f32"));
    assert_non_null(strstr(pk_last_error(), "do not have the same vocabulary"));
}

static void another_vocabulary_is_refused(void **state) {
    char        from[PATH_ROOM], spm[PATH_ROOM], input[PATH_ROOM];
    const char *inputs[] = { toy_path(&text, "train.target", input) };
    (void)state;
    ASSERT_OK(
        pk_vocab_train(PK_OPTIONS(pk_vocab_train_options, .inputs = inputs, .n_inputs = 1,
                                  .output = toy_path(&text, "other.spm", spm), .vocab_size = 300)));
    ASSERT_STATUS(PK_ARGUMENT, go_on_with(spm, toy_path(&text, "good/model.pronk", from)));
    assert_non_null(strstr(pk_last_error(), "is not the vocabulary of"));
}

/* a model of several languages gets the language tokens that the engine gives it */
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
        sum -= (double)v.log_prob, n += v.n_tokens - 1; /* the language is given */
    }
    assert_near(last.valid_loss, sum / n, 1e-5);
    pk_result_free(r);
    pk_translator_close(t);
    pk_model_close(m);
    free(model);
}

/* sentences begin with the padding, whose row is zeros: it is no class, and stays as it is */
static void padding_stays_zero(void **state) {
    char            path[PATH_ROOM];
    pk_train_report last;
    pk_model_data   after;
    (void)state;
    char *model = realpath("tests/data/models/marian-relu", NULL);
    FILE *f = fopen(toy_path(&text, "padding.yml", path), "w");
    fprintf(f,
            "output: padding\ninit: %s\ndata.max_length: 30\ndata.source: valid.source\n"
            "data.target: valid.target\ndata.max_ratio: 100\ndevice: cpu\nthreads: 1\n"
            "train.rate: 1e-3\ntrain.updates: 3\ntrain.warmup: 0\ndata.batch_tokens: 64\n"
            "save.type: f32\n",
            model);
    fclose(f);
    ASSERT_OK(toy_run(&text, "padding.yml", false, 0, NULL, &last));
    ASSERT_OK(pk_model_data_open(toy_path(&text, "padding/model.pronk", path), -1, &after));
    const pk_config *c = &after.network.config;
    const pk_weight *table = &after.network.target_embed;
    assert_int_equal(c->start, c->pad);
    for (int32_t i = 0; i < c->dim; i++) assert_true(pk_weight_get(table, c->pad, i) == 0);
    pk_model_data_close(&after);
    free(model);
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

/* a training would end their sources with a symbol that they were not trained with */
static void models_of_bare_sources_do_not_learn(void **state) {
    char model[PATH_MAX], more[PATH_MAX + 1024];
    (void)state;
    assert_non_null(realpath("tests/data/ct2/opennmt", model));
    snprintf(more, sizeof more, "output: bare\ninit: %s\n" SHORT_TRAINING, model);
    toy_recipe(&text, "bare.yml", more);
    ASSERT_STATUS(PK_UNSUPPORTED, toy_run(&text, "bare.yml", false, 0, NULL, NULL));
    assert_non_null(strstr(pk_last_error(), "no end symbol"));
}

static int open_text(void **state) {
    (void)state;
    toy_open(&text, 4000);
    toy_recipe(&text, "good.yml", "output: good\ntrain.updates: 200\n" SHORT_TRAINING);
    ASSERT_OK(toy_run(&text, "good.yml", false, 0, NULL, NULL));
    return 0;
}

static int close_text(void **state) {
    (void)state;
    toy_close(&text);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fine_tuning_begins_where_the_model_is),
        cmocka_unit_test(text_stays_and_new_tokens_learn),
        cmocka_unit_test(hugging_face_models_grow),
        cmocka_unit_test(a_vocabulary_grows_with_its_model),
        cmocka_unit_test(the_old_model_may_be_averaged_in),
        cmocka_unit_test(another_vocabulary_is_refused),
        cmocka_unit_test(models_of_several_languages),
        cmocka_unit_test(padding_stays_zero),
        cmocka_unit_test(loss_is_score),
        cmocka_unit_test(models_of_bare_sources_do_not_learn),
    };
    return cmocka_run_group_tests(tests, open_text, close_text);
}
