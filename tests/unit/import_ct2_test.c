/* import_ct2_test.c - CTranslate2 folders: what becomes of each part, where SentencePiece models are
 * looked for, and what is said of a folder that is not understood. That translations are right is
 * tests/golden/ct2_golden_test.c. */
#include <math.h>
#include <sys/stat.h>

#include "check.h"
#include "checkpoint_help.h"
#include "model/model_file.h"
#include "tensor/panel.h"

#define DATA "tests/data/ct2/"

static char top[256], folder[300]; /* the folder under test is inside another */

static const char *at(char path[400], const char *where, const char *name) {
    snprintf(path, 400, "%s/%s", where, name);
    return path;
}

static void copy(const char *from, const char *name, const char *to) {
    char      path[400];
    pk_buffer file = read_bytes(at(path, from, name));
    write_bytes(at(path, to, name), file.data, file.size);
    pk_buffer_free(&file);
}

static const char *const names[] = { "model.bin",
                                     "config.json",
                                     "source_vocabulary.json",
                                     "target_vocabulary.json",
                                     "shared_vocabulary.json",
                                     "source_vocabulary.txt",
                                     "target_vocabulary.txt",
                                     "sentencepiece.model",
                                     "source.spm",
                                     "target.spm" };
enum { N_NAMES = sizeof names / sizeof *names };

/* a copy of a fixture, to be changed */
static void begin(const char *fixture) {
    char path[400], from[300];
    snprintf(from, sizeof from, DATA "%s", fixture);
    temporary(top, "ct2");
    snprintf(folder, sizeof folder, "%s/model", top);
    mkdir(top, 0777);
    mkdir(folder, 0777);
    for (int i = 0; i < N_NAMES; i++)
        if (access(at(path, from, names[i]), F_OK) == 0) copy(from, names[i], folder);
}

static void end(void) {
    char path[400];
    for (int i = 0; i < N_NAMES; i++) {
        unlink(at(path, folder, names[i]));
        unlink(at(path, top, names[i]));
    }
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(rmdir(top), 0);
}

static void write_text(const char *name, const char *text) {
    char path[400];
    write_bytes(at(path, folder, name), text, strlen(text));
}

static void remove_file(const char *name) {
    char path[400];
    assert_int_equal(unlink(at(path, folder, name)), 0);
}

/* changes bytes of a file, found behind a text that is there once */
static void change(const char *name, const char *behind, size_t skip, const char *bytes, size_t n) {
    char      path[400];
    pk_buffer file = read_bytes(at(path, folder, name));
    char     *found = memmem(file.data, file.size, behind, strlen(behind));
    assert_non_null(found);
    memcpy(found + strlen(behind) + skip, bytes, n);
    write_bytes(path, file.data, file.size);
    pk_buffer_free(&file);
}
/* another name of the same length */
static void rename_variable(const char *from, const char *to) {
    char      path[400];
    pk_buffer file = read_bytes(at(path, folder, "model.bin"));
    char     *found = memmem(file.data, file.size, from, strlen(from) + 1);
    assert_non_null(found);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(found, to, strlen(to));
    write_bytes(path, file.data, file.size);
    pk_buffer_free(&file);
}
/* a variable of one number: behind its name come a NUL, the rank, the type and the size */
#define SET(name, ...)                                                      \
    change("model.bin", name, 1 + 1 + 1 + 4, (const char[]){ __VA_ARGS__ }, \
           sizeof((const char[]){ __VA_ARGS__ }))

static void refuse(pk_status want, const char *says) {
    const int64_t   alive = pk_memory_alive();
    pk_model_data   m;
    const pk_status status = pk_model_data_open(folder, -1, &m);
    if (status != want || !strstr(pk_last_error(), says))
        fail_msg("status %d, \"%s\" instead of \"%s\"", status, pk_last_error(), says);
    const char *first = strstr(pk_last_error(), folder);
    assert_non_null(first);
    assert_null(strstr(first + 1, folder)); /* once is enough */
    assert_int_equal(pk_memory_alive(), alive);
}

static void expect_tokens(const char *config, pk_status want, const char *says) {
    begin("opennmt");
    write_text("config.json", config);
    refuse(want, says);
    end();
}

/* ---- What becomes of it ---- */

static void a_model_of_opennmt(void **state) {
    pk_model_data m;
    (void)state;
    ASSERT_OK(pk_model_data_open(DATA "opennmt", -1, &m));
    const pk_config *c = &m.network.config;
    assert_int_equal(m.type, PK_F32);
    assert_true(c->dim == 16 && c->encoder_ffn == 24 && c->decoder_ffn == 24);
    assert_true(c->encoder_layers == 1 && c->decoder_layers == 2);
    assert_true(c->encoder_heads == 8 && c->decoder_heads == 8 && c->act == PK_RELU);
    assert_true(c->pre_norm && c->final_norm && !c->embed_norm);
    assert_true(!c->share_embeddings && !c->tie_output && c->embed_scale == 4);
    assert_true(c->epsilon == 1e-5f && c->max_source == 40 && c->max_target == 40);
    assert_true(c->bare_source && c->unk == 0 && c->pad == 1 && c->start == 2 && c->eos == 3);
    assert_true(c->source_vocab == 94 && c->target_vocab == 65 && c->beams == 2);
    assert_true(m.target_spm.size == 0 && m.target_tokens.size > 0);
    assert_memory_equal(m.source_tokens.data, "<unk>\0<blank>\0<s>\0</s>", 23);
    assert_non_null(strstr(m.provenance, "\"format\":\"ctranslate2\""));
    assert_null(strstr(m.provenance, "tests/"));
    pk_model_data_close(&m);
}

static void a_model_of_marian(void **state) {
    pk_model_data m;
    (void)state;
    ASSERT_OK(pk_model_data_open(DATA "marian", -1, &m));
    const pk_config *c = &m.network.config;
    assert_int_equal(m.type, PK_I8);
    assert_true(c->start == -1 && c->eos == 0 && c->unk == 1 && !c->bare_source);
    assert_true(c->share_embeddings && c->tie_output && !c->pre_norm && !c->final_norm);
    assert_ptr_equal(m.network.output.data, m.network.source_embed.data);
    assert_true(m.target_spm.size > 0 && m.target_tokens.size == 0);
    pk_model_data_close(&m);
}

/* stored types that we have stay, others become floats; any can be asked for */
static void types_are_kept_or_changed(void **state) {
    static const struct {
        const char *fixture;
        int         asked, is;
    } cases[] = {
        { "float16", -1, PK_F16 },   { "bfloat16", -1, PK_F32 },    { "int16", -1, PK_F32 },
        { "int8", -1, PK_I8 },       { "int8", PK_F32, PK_F32 },    { "int8", PK_F16, PK_F16 },
        { "opennmt", PK_I8, PK_I8 }, { "float16", PK_F32, PK_F16 }, /* nothing to gain */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char          path[64];
        pk_model_data m;
        snprintf(path, sizeof path, DATA "%s", cases[i].fixture);
        ASSERT_OK(pk_model_data_open(path, cases[i].asked, &m));
        assert_int_equal(m.type, cases[i].is);
        pk_model_data_close(&m);
    }
}

static pk_status gather(void *user, const pk_weight_spec *spec, pk_weight *w) {
    pk_weight **list = user;
    (void)spec;
    *(*list)++ = *w;
    return PK_OK;
}

/* how far the matrices of a fixture are from those in float32, as a share of the largest value */
static double difference(const char *fixture, int type) {
    enum { MOST = 128 };
    static pk_weight weight[2][MOST];
    pk_model_data    m[2];
    char             path[64];
    double           worst = 0;
    size_t           n = 0;
    snprintf(path, sizeof path, DATA "%s", fixture);
    ASSERT_OK(pk_model_data_open(DATA "opennmt", PK_F32, &m[0]));
    ASSERT_OK(pk_model_data_open(path, type, &m[1]));
    for (int i = 0; i < 2; i++) {
        pk_weight *list = weight[i];
        pk_network_walk(&m[i].network, gather, &list);
        n = (size_t)(list - weight[i]);
        assert_true(n < MOST);
    }
    for (size_t k = 0; k < n; k++)
        for (int32_t row = 0; row < weight[0][k].rows; row++)
            for (int32_t col = 0; col < weight[0][k].cols; col++)
                worst = fmax(worst, fabs((double)pk_weight_get(&weight[0][k], row, col) -
                                         (double)pk_weight_get(&weight[1][k], row, col)));
    pk_model_data_close(&m[0]);
    pk_model_data_close(&m[1]);
    return worst;
}

static void weights_are_what_they_were(void **state) {
    (void)state;
    assert_true(difference("v5", -1) == 0);
    assert_true(difference("v3", -1) == 0);
    assert_true(difference("float16", -1) < 1.0 / 512); /* the largest is beyond 4 */
    assert_true(difference("bfloat16", -1) < 1.0 / 32);
    assert_true(difference("int16", -1) < 1.0 / 256);
    const double dequantised = difference("int8", PK_F32), quantised = difference("int8", -1);
    assert_true(dequantised < 1.0 / 32 && dequantised > 1.0 / 4096);
    assert_true(fabs(dequantised - quantised) < 1e-6); /* the same integers again */
}

/* ---- Where SentencePiece models are ---- */

static void open_and_close(size_t target_spm) {
    pk_model_data m;
    ASSERT_OK(pk_model_data_open(folder, -1, &m));
    assert_true(m.source_spm.size > 0 && m.target_spm.size == target_spm);
    pk_model_data_close(&m);
}

static void sentencepiece_is_in_the_folder_or_above(void **state) {
    (void)state;
    begin("opennmt");
    open_and_close(0);
    copy(folder, "sentencepiece.model", top);
    remove_file("sentencepiece.model");
    open_and_close(0);
    copy(DATA "marian", "source.spm", folder); /* one of two is nothing */
    open_and_close(0);
    copy(DATA "marian", "target.spm", folder); /* the folder's own come first */
    open_and_close(1871);
    end();
    begin("opennmt");
    remove_file("sentencepiece.model");
    refuse(PK_IO, "put source.spm and target.spm, or sentencepiece.model, into this folder");
    write_text("sentencepiece.model", "");
    refuse(PK_FORMAT, "sentencepiece.model: empty");
    end();
}

/* ---- What is refused ---- */

static void damaged_files_are_named(void **state) {
    (void)state;
    begin("opennmt");
    write_text("config.json", "{\"eos_token\":");
    refuse(PK_FORMAT, "config.json: not valid JSON");
    write_text("config.json", "[]");
    refuse(PK_FORMAT, "config.json: must hold a JSON object");
    write_text("model.bin", "\6");
    refuse(PK_FORMAT, "model.bin: cut short");
    write_text("model.bin", "");
    refuse(PK_FORMAT, "model.bin: cut short");
    end();
}

static void vocabularies_must_be_there_and_fit(void **state) {
    (void)state;
    begin("opennmt");
    write_text("source_vocabulary.json", "[\"<unk>\",\"</s>\"]");
    refuse(PK_FORMAT, "the source vocabulary has 2 tokens, the weights have 94 rows");
    write_text("source_vocabulary.json", "[1]");
    refuse(PK_FORMAT, "source_vocabulary.json: token 0 is not a text");
    write_text("source_vocabulary.json", "{}");
    refuse(PK_FORMAT, "must hold a JSON list");
    write_text("source_vocabulary.json", "[]");
    refuse(PK_FORMAT, "source_vocabulary.json: empty");
    remove_file("source_vocabulary.json");
    refuse(PK_FORMAT, "no vocabulary; it is shared_vocabulary.json, or");
    end();
}

static void tokens_with_a_meaning_must_be_known(void **state) {
    (void)state;
    expect_tokens("{\"eos_token\":\"nothing\"}", PK_FORMAT, "the end symbol, \"nothing\"");
    expect_tokens("{\"decoder_start_token\":\"x\"}", PK_FORMAT, "the token to start from, \"x\"");
    expect_tokens("{\"decoder_start_token\":null}", PK_UNSUPPORTED, "many languages");
    expect_tokens("{\"add_source_bos\":true}", PK_UNSUPPORTED, "add_source_bos");
    expect_tokens("{\"add_source_eos\":1}", PK_FORMAT, "\"add_source_eos\" must be true or false");
    expect_tokens("{\"unk_token\":7}", PK_FORMAT, "\"unk_token\" must be a text");
    expect_tokens("{\"layer_norm_epsilon\":\"a\"}", PK_FORMAT, "layer_norm_epsilon");
    expect_tokens("{\"layer_norm_epsilon\":7}", PK_FORMAT, "epsilon is 7");
    expect_tokens("{\"unk_token\":\"\\u2581der\"}", PK_UNSUPPORTED, "in the source vocabulary");
}

/* who starts from the end symbol, or says so, ends the source with it */
static void sources_end_as_the_model_was_trained(void **state) {
    static const struct {
        const char *config;
        bool        bare;
    } cases[] = { { "{}", true },
                  { "{\"add_source_eos\":true}", false },
                  { "{\"decoder_start_token\":\"</s>\"}", false } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pk_model_data m;
        begin("opennmt");
        write_text("config.json", cases[i].config);
        ASSERT_OK(pk_model_data_open(folder, -1, &m));
        assert_int_equal(m.network.config.bare_source, cases[i].bare);
        pk_model_data_close(&m);
        end();
    }
}

static void what_is_not_understood_is_named(void **state) {
    (void)state;
    begin("opennmt");
    SET("decoder/alibi", 1);
    refuse(PK_UNSUPPORTED, "unexpected tensor \"decoder/alibi\"");
    SET("decoder/alibi", 0);
    SET("encoder/activation", 1);
    refuse(PK_UNSUPPORTED, "of different kinds");
    SET("decoder/activation", 1);
    refuse(PK_UNSUPPORTED, "activation 1 is not supported; those are: ");
    SET("decoder/activation", 7);
    refuse(PK_FORMAT, "\"decoder/activation\" must be one number between 0 and 6");
    SET("decoder/activation", 0);
    SET("encoder/activation", 0);
    SET("encoder/num_heads", 7, 0);
    refuse(PK_FORMAT, "7 or 8 heads do not divide the width 16");
    SET("encoder/num_heads", 8, 0);
    SET("decoder/pre_norm", 0);
    refuse(PK_UNSUPPORTED, "of different kinds");
    SET("decoder/pre_norm", 1);
    change("model.bin", "TransformerS", 0, "kin", 3);
    refuse(PK_UNSUPPORTED, "a model of kind TransformerSkin");
    end();
}

static void tensors_must_be_there_in_their_shape(void **state) {
    (void)state;
    begin("opennmt");
    rename_variable("encoder/layer_0/ffn/linear_1/weight", "encoder/layer_0/ffn/linear_1/height");
    refuse(PK_UNSUPPORTED, "no tensor for the network's \"encoder.0.down.w\"");
    rename_variable("encoder/layer_0/ffn/linear_1/height", "encoder/layer_0/ffn/linear_1/weight");
    rename_variable("encoder/layer_0/ffn/layer_norm/beta", "encoder/layer_0/ffn/layer_norm/zeta");
    refuse(PK_UNSUPPORTED, "\"encoder/layer_0/ffn/layer_norm/beta\" is missing");
    rename_variable("encoder/layer_0/ffn/layer_norm/zeta", "encoder/layer_0/ffn/layer_norm/beta");
    rename_variable("encoder/layer_0/ffn/linear_1/bias", "encoder/layer_0/ffn/linear_1/bits");
    refuse(PK_UNSUPPORTED, "unexpected tensor \"encoder/layer_0/ffn/linear_1/bits\"");
    end();
    begin("opennmt"); /* (24, 16) becomes (16, 24): behind the name a NUL and the rank */
    change("model.bin", "encoder/layer_0/ffn/linear_0/weight", 2, "\x10\0\0\0\x18", 5);
    refuse(PK_UNSUPPORTED, "\"encoder/layer_0/ffn/linear_0/weight\" is not of shape (16, 16)");
    end();
    begin("int8");
    rename_variable("decoder/layer_1/ffn/linear_1/weight_scale",
                    "decoder/layer_1/ffn/linear_1/weight_spare");
    refuse(PK_FORMAT, "is quantised, but its scale is missing");
    end();
    begin("opennmt"); /* the last byte of the first float of a bias: infinity */
    change("model.bin", "decoder/projection/bias", 1 + 1 + 4 + 1 + 4, "\0\0\x80\x7f", 4);
    refuse(PK_FORMAT, "\"decoder/projection/bias\" has values that are not finite");
    end();
}

static void refuse_language(const char *with) {
    pk_buffer list = { 0 };
    begin("opennmt");
    pk_buffer_add_text(&list, "[\"<unk>\",\"<blank>\",\"<s>\",\"</s>\"");
    for (int i = 4; i < 94; i++) {
        char token[32];
        snprintf(token, sizeof token, "%s", with);
        *strchr(token, '?') = (char)('a' + i / 26);
        *strchr(token, '?') = (char)('a' + i % 26);
        pk_buffer_add_text(&list, token);
    }
    pk_buffer_add_text(&list, "]");
    write_text("source_vocabulary.json", list.data);
    pk_buffer_free(&list);
    refuse(PK_UNSUPPORTED, "a model of many languages");
    end();
}

static void models_of_many_languages_are_refused(void **state) {
    (void)state;
    refuse_language(",\"__??__\"");   /* M2M-100 */
    refuse_language(",\"x??_Latn\""); /* NLLB */
    refuse_language(",\"??_XX\"");    /* mBART */
}

/* ---- Memory ---- */

static pk_status try_open(void *user) {
    pk_model_data   m;
    const pk_status status = pk_model_data_open(user, -1, &m);
    if (status == PK_OK) pk_model_data_close(&m);
    return status;
}

static void memory_may_be_short(void **state) {
    (void)state;
    assert_true(check_every_allocation(try_open, DATA "int8") > 40);
    assert_true(check_every_allocation(try_open, DATA "v1") > 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_of_opennmt),
        cmocka_unit_test(a_model_of_marian),
        cmocka_unit_test(types_are_kept_or_changed),
        cmocka_unit_test(weights_are_what_they_were),
        cmocka_unit_test(sentencepiece_is_in_the_folder_or_above),
        cmocka_unit_test(damaged_files_are_named),
        cmocka_unit_test(vocabularies_must_be_there_and_fit),
        cmocka_unit_test(tokens_with_a_meaning_must_be_known),
        cmocka_unit_test(sources_end_as_the_model_was_trained),
        cmocka_unit_test(what_is_not_understood_is_named),
        cmocka_unit_test(tensors_must_be_there_in_their_shape),
        cmocka_unit_test(models_of_many_languages_are_refused),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
