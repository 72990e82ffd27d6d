/* drafter_training_test.c - drafters as `pronk train` makes them: what they share with their model
 * stays as it is, their file holds the rest, and draft and verify with them is greedy search in
 * fewer passes. */
#include "trainer_help.h"

#include "model/drafter.h"

#define GAD "task: gad:block=8,cuts=2\n"

#define SMALL                                                        \
    "vocab: toy.spm\nmodel.dim: 32\nmodel.heads: 2\nmodel.ffn: 64\n" \
    "model.encoder_layers: 1\nmodel.decoder_layers: 2\nmodel.max_positions: 64\n"

static toy text; /* and a model and a drafter in it */

static void write_recipe(const char *name, const char *more) {
    char  path[PATH_ROOM];
    FILE *f = fopen(toy_path(&text, name, path), "w");
    assert_non_null(f);
    fprintf(f,
            "data.source: train.source\ndata.target: train.target\ndata.max_length: 20\n"
            "data.cache: cache\nthreads: 1\n%s",
            more);
    fclose(f);
}

/* ---- translating with both ---- */

typedef struct way {
    const char *model, *drafter, *decode, *type;
    int32_t     batch;
} way;

static pk_stats translate(const way *w, const pairs *p, pk_result **out) {
    char                    path[2][PATH_ROOM];
    pk_model               *m, *d = NULL;
    pk_translator          *t;
    pk_stats                stats;
    const pk_model_options *as = PK_OPTIONS(pk_model_options, .type = w->type);
    ASSERT_OK(
        pk_model_open(*w->model == '/' ? w->model : toy_path(&text, w->model, path[0]), as, &m));
    if (w->drafter) ASSERT_OK(pk_model_open(toy_path(&text, w->drafter, path[1]), as, &d));
    ASSERT_OK(pk_translator_open(m,
                                 PK_OPTIONS(pk_translator_options, .decode = w->decode,
                                            .threads = 1, .batch = w->batch, .one_sentence = 1,
                                            .scores = 1, .drafter = d),
                                 &t));
    ASSERT_OK(pk_translate(t, p->side[0], N_NEW, NULL, out));
    pk_translator_stats(t, &stats);
    pk_translator_close(t);
    pk_model_close(d);
    pk_model_close(m);
    return stats;
}

static void compare(const pk_result *a, const pk_result *b) {
    for (size_t i = 0; i < N_NEW; i++) {
        pk_hypothesis_view x, y;
        assert_string_equal(pk_result_text(a, i), pk_result_text(b, i));
        ASSERT_OK(pk_result_hypothesis(a, i, 0, &x));
        ASSERT_OK(pk_result_hypothesis(b, i, 0, &y));
        assert_memory_equal(&x.log_prob, &y.log_prob, sizeof x.log_prob);
    }
}

static double tokens_per_pass(const char *drafter, const char *decode, const char *type,
                              int32_t batch) {
    static pairs p;
    pk_result   *greedy, *drafted;
    make_pairs(&p, 2);
    translate(&(way){ "good/model.pronk", NULL, "greedy", type, batch }, &p, &greedy);
    const pk_stats s =
        translate(&(way){ "good/model.pronk", drafter, decode, type, batch }, &p, &drafted);
    compare(greedy, drafted);
    pk_result_free(greedy);
    pk_result_free(drafted);
    /* with a batch of one every pass of the model is one sentence's */
    return batch == 1 ? (double)s.target_tokens / (double)(s.passes - s.draft_passes) : 0;
}

static void drafts_are_right_and_save_passes(void **state) {
    static const char *const types[] = { "f32", "i8" };
    (void)state;
    for (int i = 0; i < 2; i++) {
        const double rate = tokens_per_pass("draft/model.pronk", "gad:block=8", types[i], 1);
        print_message("%s: %.2f tokens a pass\n", types[i], rate);
        assert_true(rate > 1.4);
        tokens_per_pass("draft/model.pronk", "gad", types[i], 32);
        tokens_per_pass("draft/model.pronk", "gad:block=5,beta=5,tau=0", types[i], 7);
    }
}

/* ---- what learns ---- */

static void the_model_stays_and_the_rest_learns(void **state) {
    char          path[PATH_ROOM], fingerprint[PK_FINGERPRINT];
    pk_model_data model, first, last;
    pk_joined     j;
    (void)state;
    write_recipe("once.yml", GAD "output: once\nverifier: good\nmodel.decoder_layers: 1\n"
                                 "train.updates: 1\ntrain.rate: 0\ntrain.warmup: 0\n"
                                 "data.batch_tokens: 200\nsave.type: f32\n");
    ASSERT_OK(toy_run(&text, "once.yml", false, 0, NULL, NULL));
    ASSERT_OK(pk_model_data_open(toy_path(&text, "good/model.pronk", path), -1, &model));
    ASSERT_OK(pk_model_data_open(toy_path(&text, "once/model.pronk", path), -1, &first));
    ASSERT_OK(pk_model_data_open(toy_path(&text, "draft/model.pronk", path), -1, &last));
    pk_fingerprint(&model, fingerprint);
    assert_string_equal(first.network.config.verifier, fingerprint);
    /* without a rate: the model's last layer; with one it has moved, and so have the masks */
    const pk_decoder_layer *own = &model.network.decoder[1];
    const size_t            up = (size_t)own->up.w.rows * (size_t)own->up.w.cols * sizeof(float);
    assert_memory_equal(first.network.decoder[0].up.w.data, own->up.w.data, up);
    assert_memory_not_equal(last.network.decoder[0].up.w.data, own->up.w.data, up);
    assert_true(pk_weight_get(&first.network.own_embed, first.network.own_embed.rows - 1, 0) !=
                pk_weight_get(&last.network.own_embed, last.network.own_embed.rows - 1, 0));
    assert_null(pk_stored_find(&last.stored, "source_embed"));
    ASSERT_OK(pk_drafter_join(&model, &last, &j));
    pk_joined_close(&j);
    pk_model_data_close(&last);
    pk_model_data_close(&first);
    pk_model_data_close(&model);
    tokens_per_pass("once/model.pronk", "gad:block=3", "f32", 32); /* untrained: greedy still */
}

/* the mean of a checkpoint is the drafter that the training wrote */
static void checkpoints_become_drafters(void **state) {
    char          path[2][PATH_ROOM];
    pk_model_data m;
    (void)state;
    const char *const from[] = { toy_path(&text, "draft/checkpoint-300.safetensors", path[0]) };
    ASSERT_OK(pk_model_average(from, 1, toy_path(&text, "mean.pronk", path[1]), "f32"));
    assert_int_equal(weights_of(&text, "mean.pronk"), weights_of(&text, "draft/model.pronk"));
    ASSERT_OK(pk_model_data_open(path[1], -1, &m));
    assert_int_equal(m.network.config.shares_encoder, 1);
    pk_model_data_close(&m);
    const char *const both[] = { path[1], path[1] };
    ASSERT_OK(pk_model_average(both, 2, toy_path(&text, "mean2.pronk", path[0]), "f16"));
    tokens_per_pass("mean2.pronk", "gad", NULL, 4);
}

/* ---- a model that was downloaded ---- */

static void a_downloaded_model_gets_a_drafter(void **state) {
    static pairs p;
    char         more[1024], path[PATH_ROOM];
    char        *model = realpath("tests/data/models/marian-relu", NULL);
    pk_result   *r[2];
    (void)state;
    snprintf(more, sizeof more,
             GAD "output: hf\nverifier: %s\nmodel.decoder_layers: 1\ntrain.updates: 3\n"
                 "data.batch_tokens: 400\nsave.type: f16\n",
             model);
    write_recipe("hf.yml", more);
    ASSERT_OK(toy_run(&text, "hf.yml", false, 0, NULL, NULL));
    ASSERT_OK(pk_model_convert(model, toy_path(&text, "hf.pronk", path),
                               PK_OPTIONS(pk_convert_options, .type = "i8")));
    make_pairs(&p, 2);
    const char *const as[] = { model, "hf.pronk" }; /* the folder, and what became of it */
    for (int i = 0; i < 2; i++) {
        translate(&(way){ as[i], NULL, "greedy", NULL, 8 }, &p, &r[0]);
        translate(&(way){ as[i], "hf/model.pronk", "gad:block=4", NULL, 8 }, &p, &r[1]);
        compare(r[0], r[1]);
        pk_result_free(r[0]);
        pk_result_free(r[1]);
    }
    free(model);
}

/* the paper's drafter: an encoder of its own, known tokens that see the block; validated alone */
static void a_drafter_may_have_its_own_encoder(void **state) {
    static pairs    p;
    pk_train_report last;
    pk_result      *r;
    (void)state;
    write_recipe("own.yml",
                 "task: gad:block=8,prefix=all\noutput: own\n" SMALL
                 "train.updates: 60\nvalid.source: valid.source\nvalid.target: valid.target\n"
                 "valid.every: 60\n" SHORT_TRAINING);
    ASSERT_OK(toy_run(&text, "own.yml", false, 0, NULL, &last));
    assert_true(last.valid_bleu >= 0 && last.valid_bleu <= 100);
    tokens_per_pass("own/model.pronk", "gad:block=6", "f32", 1);
    tokens_per_pass("own/model.pronk", "gad", "i8", 32);
    make_pairs(&p, 2);
    const pk_stats s = translate(&(way){ "own/model.pronk", NULL, "blocks", NULL, 1 }, &p, &r);
    assert_true(s.sentence_passes < s.target_tokens);
    pk_result_free(r);
}

/* a model that drafts for itself: greedy's output, its own */
static void a_model_may_draft_for_itself(void **state) {
    static pairs p;
    pk_result   *r[2];
    (void)state;
    write_recipe("self.yml", "task: gad-self:block=6\noutput: self\ninit: good\n"
                             "train.updates: 100\n" SHORT_TRAINING);
    ASSERT_OK(toy_run(&text, "self.yml", false, 0, NULL, NULL));
    make_pairs(&p, 2);
    translate(&(way){ "self/model.pronk", NULL, "greedy", NULL, 8 }, &p, &r[0]);
    const pk_stats s = translate(
        &(way){ "self/model.pronk", NULL, "gad-self:block=5,points=4", NULL, 1 }, &p, &r[1]);
    compare(r[0], r[1]);
    print_message("for itself: %.2f tokens a pass\n",
                  (double)s.target_tokens / (double)s.sentence_passes);
    assert_true(s.sentence_passes < s.target_tokens);
    pk_result_free(r[0]);
    pk_result_free(r[1]);
}

/* ---- refusals ---- */

static void refused(const char *more, const char *says) {
    write_recipe("refused.yml", more);
    const pk_status status = toy_run(&text, "refused.yml", false, 0, NULL, NULL);
    assert_true(status == PK_ARGUMENT || status == PK_UNSUPPORTED);
    if (!strstr(pk_last_error(), says)) fail_msg("%s", pk_last_error());
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    refused("output: no\nverifier: good\n", "set task to gad");
    refused(GAD "output: no\nverifier: good\ninit: good\n", "give one");
    refused(GAD "output: no\nverifier: good\nmodel.decoder_layers: 3\n", "the verifier has 2");
    refused(GAD "output: no\nverifier: good\nvalid.metric: bleu\n", "no BLEU");
    refused(GAD "output: no\nverifier: draft\n", "is a drafter itself");
    refused(GAD "output: no\ninit: draft\n", "as verifier");
}

static int open_text(void **state) {
    (void)state;
    toy_open(&text, 4000);
    write_recipe("good.yml", "output: good\n" SMALL "train.updates: 300\n" SHORT_TRAINING);
    ASSERT_OK(toy_run(&text, "good.yml", false, 0, NULL, NULL));
    write_recipe("draft.yml", GAD "output: draft\nverifier: good\nmodel.decoder_layers: 1\n"
                                  "train.updates: 300\nvalid.source: valid.source\n"
                                  "valid.target: valid.target\nvalid.every: 300\n" SHORT_TRAINING);
    ASSERT_OK(toy_run(&text, "draft.yml", false, 0, NULL, NULL));
    return 0;
}

static int close_text(void **state) {
    (void)state;
    toy_close(&text);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drafts_are_right_and_save_passes),
        cmocka_unit_test(the_model_stays_and_the_rest_learns),
        cmocka_unit_test(checkpoints_become_drafters),
        cmocka_unit_test(a_downloaded_model_gets_a_drafter),
        cmocka_unit_test(a_drafter_may_have_its_own_encoder),
        cmocka_unit_test(a_model_may_draft_for_itself),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, open_text, close_text);
}
