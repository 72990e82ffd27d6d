/* import_hf_test.c - Hugging Face folders, made here tensor by tensor: what becomes of each, and what
 * is said when one does not fit. */
#include "model/model_file.h"

#include <math.h>
#include <sys/stat.h>

#include "checkpoint_help.h"
#include "tensor/panel.h"

enum { V = 6, D = 4, F = 6, POSITIONS = 5, MAX_TENSORS = 96 };

/* ---- A folder being made ---- */

typedef struct folder {
    char             path[256];
    pk_stored_tensor tensor[MAX_TENSORS];
    char             name[MAX_TENSORS][96];
    float           *data[MAX_TENSORS];
    size_t           n;
} folder;

static float value_of(const char *name, size_t i) {
    size_t sum = i * 7;
    for (; *name; name++) sum = sum * 31 + (unsigned char)*name;
    return (float)((int)(sum % 83) - 41) / 32;  /* exact in 16 bits */
}

static void add(folder *f, const char *name, int64_t rows, int64_t cols) {
    const size_t i = f->n++, n = (size_t)(rows ? rows * cols : cols);
    assert_true(i < MAX_TENSORS);
    snprintf(f->name[i], sizeof f->name[i], "%s", name);
    f->data[i] = calloc(n, sizeof(float));
    for (size_t k = 0; k < n; k++) f->data[i][k] = value_of(name, k);
    f->tensor[i] = (pk_stored_tensor){ .name = f->name[i], .type = PK_STORED_F32,
                                       .n_dims = rows ? 2 : 1, .dim = { rows ? rows : cols, cols },
                                       .data = f->data[i], .bytes = n * sizeof(float) };
    if (!rows) f->tensor[i].dim[1] = 0;
}

static void add_dense(folder *f, const char *prefix, const char *name, int64_t out, int64_t in) {
    char full[96];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    add(f, full, in ? out : 0, in ? in : out);
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    add(f, full, 0, out);
}

static void add_layer(folder *f, const char *prefix, bool decoder) {
    static const char *const projections[] = { "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                               "self_attn.out_proj", "encoder_attn.q_proj",
                                               "encoder_attn.k_proj", "encoder_attn.v_proj",
                                               "encoder_attn.out_proj" };
    for (int i = 0; i < (decoder ? 8 : 4); i++) add_dense(f, prefix, projections[i], D, D);
    add_dense(f, prefix, "self_attn_layer_norm", D, 0);
    if (decoder) add_dense(f, prefix, "encoder_attn_layer_norm", D, 0);
    add_dense(f, prefix, "fc1", F, D);
    add_dense(f, prefix, "fc2", D, F);
    add_dense(f, prefix, "final_layer_norm", D, 0);
}

static void write_text(const folder *f, const char *file, const char *text) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", f->path, file);
    if (text) write_bytes(path, text, strlen(text));
    else unlink(path);
}

static void save_as(const folder *f, const char *file) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", f->path, file);
    assert_int_equal(pk_safetensors_write(path, "{\"format\":\"pt\"}", f->tensor, f->n), PK_OK);
}

#define SIZES                                                                                      \
    "\"d_model\":4,\"encoder_layers\":1,\"decoder_layers\":1,\"encoder_attention_heads\":2,"       \
    "\"decoder_attention_heads\":1,\"encoder_ffn_dim\":6,\"decoder_ffn_dim\":6,"                   \
    "\"max_position_embeddings\":5"
#define MARIAN                                                                                     \
    "\"model_type\":\"marian\",\"vocab_size\":6,\"activation_function\":\"swish\","                \
    "\"scale_embedding\":true,\"eos_token_id\":0,\"pad_token_id\":5,\"decoder_start_token_id\":5," \
    "\"num_beams\":3," SIZES
#define VOCAB "{\"</s>\":0,\"<unk>\":1,\"a\":2,\"\\u2581b\":4,\"c\":3,\"<pad>\":5}"

static void begin(folder *f, const char *name) {
    *f = (folder){ 0 };
    temporary(f->path, name);
    mkdir(f->path, 0777);
}

static void make_marian(folder *f) {
    begin(f, "marian");
    add(f, "model.shared.weight", V, D);
    add(f, "final_logits_bias", 1, V);
    add_layer(f, "model.encoder.layers.0.", false);
    add_layer(f, "model.decoder.layers.0.", true);
    write_text(f, "config.json", "{" MARIAN "}");
    write_text(f, "vocab.json", VOCAB);
    write_text(f, "source.spm", "spm");
    write_text(f, "target.spm", "spm");
    save_as(f, "model.safetensors");
}

static void end(folder *f) {
    static const char *const files[] = { "config.json", "vocab.json", "source.spm", "target.spm",
                                         "generation_config.json", "tokenizer_config.json",
                                         "target_vocab.json", "model.safetensors", "one.safetensors",
                                         "two.safetensors", "model.safetensors.index.json",
                                         "sentencepiece.bpe.model", "pytorch_model.bin" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) write_text(f, files[i], NULL);
    for (size_t i = 0; i < f->n; i++) free(f->data[i]);
    assert_int_equal(rmdir(f->path), 0);
}

static pk_stored_tensor *tensor_of(folder *f, const char *name) {
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->name[i], name) == 0) return &f->tensor[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void open_folder(const folder *f, int type, pk_model_data *m) {
    if (pk_model_data_open(f->path, type, m) != PK_OK) fail_msg("%s", pk_last_error());
}

static void refuse(const folder *f, pk_status want, const char *says) {
    const int64_t   alive = pk_memory_alive();
    pk_model_data   m;
    const pk_status status = pk_model_data_open(f->path, -1, &m);
    if (status != want || !strstr(pk_last_error(), says))
        fail_msg("status %d, \"%s\" instead of \"%s\"", status, pk_last_error(), says);
    assert_non_null(strstr(pk_last_error(), f->path));
    assert_int_equal(pk_memory_alive(), alive);
}

/* rows first .. of a weight against a tensor of that name */
static void check(const pk_weight *w, int32_t first, int32_t rows, const char *name) {
    for (int32_t row = 0; row < rows; row++)
        for (int32_t col = 0; col < w->cols; col++)
            assert_true(pk_weight_get(w, first + row, col) ==
                        value_of(name, (size_t)(row * w->cols + col)));
}

/* ---- MarianMT ---- */

static void check_marian(const pk_model_data *m) {
    const pk_network *net = &m->network;
    check(&net->source_embed, 0, V, "model.shared.weight");
    assert_ptr_equal(net->output.data, net->source_embed.data);
    check(&net->output_bias, 0, 1, "final_logits_bias");
    const pk_encoder_layer *e = &net->encoder[0];
    check(&e->qkv.w, 0, D, "model.encoder.layers.0.self_attn.q_proj.weight");
    check(&e->qkv.w, D, D, "model.encoder.layers.0.self_attn.k_proj.weight");
    check(&e->qkv.w, 2 * D, D, "model.encoder.layers.0.self_attn.v_proj.weight");
    check(&e->up.w, 0, F, "model.encoder.layers.0.fc1.weight");
    check(&e->down.b, 0, 1, "model.encoder.layers.0.fc2.bias");
    check(&e->ffn_norm.gain, 0, 1, "model.encoder.layers.0.final_layer_norm.weight");
    const pk_decoder_layer *d = &net->decoder[0];
    check(&d->out.w, 0, D, "model.decoder.layers.0.self_attn.out_proj.weight");
    check(&d->cross_q.w, 0, D, "model.decoder.layers.0.encoder_attn.q_proj.weight");
    check(&d->cross_kv.w, 0, D, "model.decoder.layers.0.encoder_attn.k_proj.weight");
    check(&d->cross_kv.w, D, D, "model.decoder.layers.0.encoder_attn.v_proj.weight");
    check(&d->cross_out.b, 0, 1, "model.decoder.layers.0.encoder_attn.out_proj.bias");
    check(&d->cross_norm.bias, 0, 1, "model.decoder.layers.0.encoder_attn_layer_norm.bias");
    for (int i = 0; i < D; i++)                 /* a fused bias is q, k, v end to end */
        assert_true(pk_weight_get(&d->qkv.b, 0, D + i) ==
                    value_of("model.decoder.layers.0.self_attn.k_proj.bias", (size_t)i));
}

static void test_marian(void **state) {
    const int64_t alive = pk_memory_alive();
    folder        f;
    pk_model_data m;
    (void)state;
    make_marian(&f);
    open_folder(&f, -1, &m);
    const pk_config *c = &m.network.config;
    assert_int_equal(m.type, PK_F32);
    check_marian(&m);
    assert_true(c->family == PK_MARIAN && c->source_vocab == V && c->target_vocab == V);
    assert_true(c->act == PK_SWISH && c->pre_norm == 0 && c->embed_norm == 0 && c->final_norm == 0);
    assert_true(c->share_embeddings && c->tie_output && c->embed_scale == 2);
    assert_true(c->start == 5 && c->eos == 0 && c->pad == 5 && c->unk == 1 && c->beams == 3);
    assert_true(c->forced_eos == -1 && c->n_suppressed == 0 && c->max_output == 0);
    /* sinusoids: sin(p), sin(p / 100), cos(p), cos(p / 100) */
    for (int p = 0; p < POSITIONS; p++) {
        assert_true(pk_weight_get(&m.network.source_positions, p, 0) == (float)sin(p));
        assert_true(pk_weight_get(&m.network.source_positions, p, 1) == (float)sin(p / 100.0));
        assert_true(pk_weight_get(&m.network.target_positions, p, 2) == (float)cos(p));
        assert_true(pk_weight_get(&m.network.target_positions, p, 3) == (float)cos(p / 100.0));
    }
    assert_int_equal(m.target_spm.size, 0);
    assert_int_equal(m.source_tokens.size, 26);
    assert_memory_equal(m.source_tokens.data, "</s>\0<unk>\0a\0c\0\xe2\x96\x81" "b\0<pad>", 26);
    assert_non_null(strstr(m.provenance, "\"weights\":\"model.safetensors\""));
    assert_null(strstr(m.provenance, "/tmp"));
    pk_model_data_close(&m);
    end(&f);
    assert_int_equal(pk_memory_alive(), alive);
}

/* what is imported, saved and opened again is the same */
static void test_through_file(void **state) {
    folder        f;
    pk_model_data m;
    char          path[256];
    (void)state;
    make_marian(&f);
    open_folder(&f, -1, &m);
    assert_int_equal(pk_model_data_save(&m, temporary(path, "hf.pronk")), PK_OK);
    pk_model_data_close(&m);
    end(&f);
    assert_int_equal(pk_model_data_open(path, -1, &m), PK_OK);
    check_marian(&m);
    pk_model_data_close(&m);
    unlink(path);
}

/* stores every tensor in another type; the values survive, being exact */
static void restore_as(folder *f, pk_stored_type type) {
    for (size_t i = 0; i < f->n; i++) {
        const size_t n = f->tensor[i].bytes / 4;
        for (size_t k = 0; k < n; k++) {
            uint32_t bits;
            memcpy(&bits, &f->data[i][k], 4);
            const uint16_t half = type == PK_STORED_F16 ? pk_f32_to_f16(f->data[i][k])
                                                        : (uint16_t)(bits >> 16);
            memcpy((char *)f->data[i] + 2 * k, &half, 2);
        }
        f->tensor[i].type = type;
        f->tensor[i].bytes = n * 2;
    }
    save_as(f, "model.safetensors");
}

static void test_types(void **state) {
    static const struct {
        pk_stored_type stored;
        int            wanted;
        pk_dtype       got;
    } cases[] = {
        { PK_STORED_F32, -1, PK_F32 },     { PK_STORED_F32, PK_F16, PK_F16 },
        { PK_STORED_F16, -1, PK_F16 },     { PK_STORED_F16, PK_F32, PK_F16 },
        { PK_STORED_F16, PK_F16, PK_F16 }, { PK_STORED_BF16, -1, PK_F32 },
        { PK_STORED_BF16, PK_F32, PK_F32 },
    };
    folder        f;
    pk_model_data m;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_marian(&f);
        if (cases[i].stored != PK_STORED_F32) restore_as(&f, cases[i].stored);
        open_folder(&f, cases[i].wanted, &m);
        assert_int_equal(m.type, cases[i].got);
        assert_int_equal(m.network.encoder[0].up.w.type, cases[i].got);
        check_marian(&m);
        pk_model_data_close(&m);
        open_folder(&f, PK_I8, &m);
        assert_int_equal(m.network.output.type, PK_I8);
        const float want = value_of("model.shared.weight", 9);
        assert_true(fabsf(pk_weight_get(&m.network.output, 2, 1) - want) <= 0.5f / 127 * 1.3f);
        pk_model_data_close(&m);
        end(&f);
    }
}

static void test_generation(void **state) {
    folder        f;
    pk_model_data m;
    (void)state;
    make_marian(&f);
    write_text(&f, "generation_config.json",
               "{\"decoder_start_token_id\":3,\"eos_token_id\":[0],\"forced_eos_token_id\":0,"
               "\"forced_bos_token_id\":2,\"bad_words_ids\":[[5],[0],[5]],\"suppress_tokens\":[4],"
               "\"renormalize_logits\":true,\"length_penalty\":0.5,\"early_stopping\":\"never\","
               "\"no_repeat_ngram_size\":3,\"repetition_penalty\":1.5,\"max_length\":4}");
    write_text(&f, "tokenizer_config.json", "{\"source_lang\":\"en\",\"target_lang\":\"de\"}");
    open_folder(&f, -1, &m);
    const pk_config *c = &m.network.config;
    assert_true(c->start == 3 && c->forced_eos == 0 && c->forced_bos == 2 && c->renormalise == 1);
    assert_true(c->n_suppressed == 2 && c->suppressed[0] == 5 && c->suppressed[1] == 4);
    assert_true(c->length_penalty == 0.5f && c->early_stopping == 2 && c->no_repeat_ngram == 3);
    assert_true(c->repetition_penalty == 1.5f && c->max_output == 3);
    assert_int_equal(c->beams, 1);              /* config.json's does not count any more */
    assert_string_equal(c->source_language, "en");
    assert_string_equal(c->target_language, "de");
    pk_model_data_close(&m);
    end(&f);
}

static void test_config_refused(void **state) {
    static const struct {
        const char *config;
        pk_status   status;
        const char *says;
    } cases[] = {
        { "{" SIZES "}", PK_FORMAT, "model_type" },
        { "{\"model_type\":\"m2m_100\"," SIZES "}", PK_UNSUPPORTED, "m2m_100" },
        { "[]", PK_FORMAT, "object" },
        { "{\"model_type\":\"marian\",\"d_model\":NaN}", PK_FORMAT, "JSON" },
        { "{\"model_type\":\"marian\",\"activation_function\":\"gelu_new\"}", PK_UNSUPPORTED, "gelu_new" },
        { "{\"model_type\":\"marian\",\"d_model\":\"4\"}", PK_FORMAT, "d_model" },
        { "{\"model_type\":\"marian\",\"d_model\":99999999999}", PK_FORMAT, "d_model" },
        { "{\"model_type\":\"marian\",\"scale_embedding\":1}", PK_FORMAT, "scale_embedding" },
        { "{" MARIAN ",\"bad_words_ids\":[[1,2]]}", PK_UNSUPPORTED, "bad_words_ids" },
        { "{" MARIAN ",\"bad_words_ids\":[[6]]}", PK_FORMAT, "bad_words_ids" },
        { "{" MARIAN ",\"min_length\":5}", PK_UNSUPPORTED, "min_length" },
        { "{" MARIAN ",\"forced_eos_token_id\":[1,2]}", PK_UNSUPPORTED, "forced_eos_token_id" },
        { "{" MARIAN ",\"forced_eos_token_id\":6}", PK_FORMAT, "forced_eos" },
        { "{" MARIAN ",\"length_penalty\":\"x\"}", PK_FORMAT, "length_penalty" },
    };
    folder f;
    (void)state;
    make_marian(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(&f, "config.json", cases[i].config);
        refuse(&f, cases[i].status, cases[i].says);
    }
    write_text(&f, "config.json", "{" MARIAN ",\"min_length\":0,\"sequence_bias\":null}");
    pk_model_data m;
    open_folder(&f, -1, &m);
    pk_model_data_close(&m);
    write_text(&f, "config.json", NULL);
    refuse(&f, PK_IO, "config.json");
    end(&f);
}

static void test_tensors_refused(void **state) {
    folder f;
    (void)state;
    make_marian(&f);
    write_text(&f, "model.safetensors", NULL);
    refuse(&f, PK_IO, "neither model.safetensors nor pytorch_model.bin");
    write_text(&f, "pytorch_model.bin", "junk");
    refuse(&f, PK_FORMAT, "pytorch_model.bin: not a PyTorch checkpoint");
    write_text(&f, "model.safetensors", "junk");
    refuse(&f, PK_FORMAT, "model.safetensors: not a safetensors file");
    const char *name = "model.decoder.layers.0.fc2.weight";
    tensor_of(&f, name)->name = "other";
    save_as(&f, "model.safetensors");
    refuse(&f, PK_FORMAT, "tensor \"model.decoder.layers.0.fc2.weight\" is missing");
    tensor_of(&f, name)->name = name;
    tensor_of(&f, name)->dim[0] = F, tensor_of(&f, name)->dim[1] = D;
    save_as(&f, "model.safetensors");
    refuse(&f, PK_FORMAT, "(4, 6)");
    tensor_of(&f, name)->dim[0] = D, tensor_of(&f, name)->dim[1] = F;
    tensor_of(&f, name)->type = PK_STORED_I32;
    save_as(&f, "model.safetensors");
    refuse(&f, PK_UNSUPPORTED, "I32");
    tensor_of(&f, name)->type = PK_STORED_F32;
    ((float *)tensor_of(&f, name)->data)[23] = (float)NAN;
    save_as(&f, "model.safetensors");
    refuse(&f, PK_FORMAT, "fc2.weight\" has values that are not finite");
    ((float *)tensor_of(&f, name)->data)[23] = 0;
    ((float *)tensor_of(&f, "final_logits_bias")->data)[3] = -(float)INFINITY;
    save_as(&f, "model.safetensors");
    refuse(&f, PK_FORMAT, "final_logits_bias");
    ((float *)tensor_of(&f, "final_logits_bias")->data)[3] = 0;
    add(&f, "model.encoder.layer_norm.weight", 0, D);
    save_as(&f, "model.safetensors");
    refuse(&f, PK_UNSUPPORTED, "unexpected tensor \"model.encoder.layer_norm.weight\"");
    end(&f);
}

static void test_half_not_finite(void **state) {
    folder        f;
    pk_model_data m;
    (void)state;
    make_marian(&f);
    ((float *)tensor_of(&f, "model.shared.weight")->data)[7] = 1e6f;
    save_as(&f, "model.safetensors");
    assert_int_equal(pk_model_data_open(f.path, PK_F16, &m), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "in f16"));
    restore_as(&f, PK_STORED_F16);              /* infinity is in the file itself */
    refuse(&f, PK_FORMAT, "model.shared.weight\" has values that are not finite");
    end(&f);
}

static void test_vocab_refused(void **state) {
    static const struct {
        const char *vocab, *says;
    } cases[] = {
        { "{\"a\":0,\"b\":1,\"c\":2,\"d\":3,\"e\":4}", "5 tokens, the weights have 6" },
        { "{\"a\":0,\"b\":1,\"c\":2,\"d\":3,\"e\":4,\"f\":6}", "holes" },
        { "{\"a\":0,\"b\":1,\"c\":2,\"d\":3,\"e\":4,\"f\":-1}", "holes" },
        { "{\"a\":0,\"b\":1,\"c\":2,\"d\":3,\"e\":4,\"f\":\"5\"}", "holes" },
        { "{\"a\":0,\"b\":1,\"c\":2,\"d\":3,\"e\":4,\"f\":4}", "two tokens have the id 4" },
        { "{\"a\":0,\"b\":1,\"c\":2,\"d\":3,\"e\":4,\"e\":5}", "JSON" },
        { "{}", "0 tokens" },
    };
    folder f;
    (void)state;
    make_marian(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(&f, "vocab.json", cases[i].vocab);
        refuse(&f, PK_FORMAT, cases[i].says);
    }
    write_text(&f, "vocab.json", NULL);
    refuse(&f, PK_IO, "vocab.json");
    write_text(&f, "vocab.json", VOCAB);
    write_text(&f, "source.spm", NULL);
    refuse(&f, PK_IO, "source.spm");
    write_text(&f, "source.spm", "");
    refuse(&f, PK_FORMAT, "source.spm: empty");
    end(&f);
}

/* ---- Tables: tied, shared, apart, under whatever names they were stored ---- */

static void check_flags(const folder *f, int share, int tie) {
    pk_model_data m;
    open_folder(f, -1, &m);
    assert_int_equal(m.network.config.share_embeddings, share);
    assert_int_equal(m.network.config.tie_output, tie);
    pk_model_data_close(&m);
}

static void test_tables(void **state) {
    static const char own[] = "model.decoder.embed_tokens.weight";
    folder            f;
    pk_model_data     m;
    (void)state;
    make_marian(&f);
    tensor_of(&f, "model.shared.weight")->name = "lm_head.weight";           /* one name for all */
    save_as(&f, "model.safetensors");
    check_flags(&f, 1, 1);
    tensor_of(&f, "model.shared.weight")->name = "model.shared.weight";
    add(&f, own, V, D);                         /* the decoder's own table, different */
    save_as(&f, "model.safetensors");
    check_flags(&f, 0, 0);                      /* the output follows the shared one */
    open_folder(&f, -1, &m);
    check(&m.network.target_embed, 0, V, own);
    check(&m.network.output, 0, V, "model.shared.weight");
    pk_model_data_close(&m);
    memcpy(f.data[f.n - 1], f.data[0], V * D * sizeof(float));               /* stored twice */
    save_as(&f, "model.safetensors");
    check_flags(&f, 1, 1);
    write_text(&f, "config.json", "{" MARIAN ",\"tie_word_embeddings\":false}");
    refuse(&f, PK_FORMAT, "lm_head.weight");
    add(&f, "lm_head.weight", V, D);
    save_as(&f, "model.safetensors");
    check_flags(&f, 1, 0);
    end(&f);
}

static void test_separate_vocabularies(void **state) {
    folder        f;
    pk_model_data m;
    (void)state;
    make_marian(&f);
    tensor_of(&f, "model.shared.weight")->name = "model.encoder.embed_tokens.weight";
    add(&f, "model.decoder.embed_tokens.weight", 7, D);
    write_text(&f, "config.json",
               "{" MARIAN ",\"decoder_vocab_size\":7,\"share_encoder_decoder_embeddings\":false}");
    write_text(&f, "tokenizer_config.json", "{\"separate_vocabs\":true}");
    write_text(&f, "target_vocab.json",
               "{\"</s>\":0,\"<unk>\":1,\"x\":2,\"y\":3,\"z\":4,\"w\":5,\"<pad>\":6}");
    write_text(&f, "target.spm", "other spm");
    save_as(&f, "model.safetensors");
    refuse(&f, PK_FORMAT, "final_logits_bias");
    tensor_of(&f, "final_logits_bias")->name = "model.encoder.version";      /* a known leftover */
    save_as(&f, "model.safetensors");
    open_folder(&f, -1, &m);
    assert_int_equal(m.network.config.target_vocab, 7);
    assert_int_equal(m.network.config.share_embeddings, 0);
    assert_int_equal(m.network.config.tie_output, 1);
    check(&m.network.output, 0, 7, "model.decoder.embed_tokens.weight");
    assert_true(pk_weight_get(&m.network.output_bias, 0, 6) == 0);           /* absent: zeros */
    assert_int_equal(m.target_spm.size, 9);
    assert_int_equal(m.target_tokens.size, 25);
    pk_model_data_close(&m);
    write_text(&f, "tokenizer_config.json", "{\"separate_vocabs\":false}");
    refuse(&f, PK_FORMAT, "target vocabulary has 6 tokens, the weights have 7");
    end(&f);
}

static void test_stored_positions(void **state) {
    folder        f;
    pk_model_data m;
    (void)state;
    make_marian(&f);
    add(&f, "model.encoder.embed_positions.weight", POSITIONS, D);
    save_as(&f, "model.safetensors");
    open_folder(&f, -1, &m);
    check(&m.network.source_positions, 0, POSITIONS, "model.encoder.embed_positions.weight");
    assert_true(pk_weight_get(&m.network.target_positions, 1, 0) == (float)sin(1));
    pk_model_data_close(&m);
    end(&f);
}

static void test_shards(void **state) {
    const size_t  half = 9;
    folder        f, part;
    pk_model_data m;
    (void)state;
    make_marian(&f);
    part = f;
    part.n = half;
    save_as(&part, "one.safetensors");
    memcpy(part.tensor, f.tensor + half, (f.n - half) * sizeof *f.tensor);
    part.n = f.n - half;
    save_as(&part, "two.safetensors");
    write_text(&f, "model.safetensors", NULL);
    write_text(&f, "model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"two.safetensors\","
               "\"c\":\"one.safetensors\"}}");
    open_folder(&f, -1, &m);
    check_marian(&m);
    assert_non_null(strstr(m.provenance, "\"files\":2"));
    pk_model_data_close(&m);
    write_text(&f, "model.safetensors.index.json", "{\"weight_map\":{\"a\":\"../one.safetensors\"}}");
    refuse(&f, PK_FORMAT, "another folder");
    write_text(&f, "model.safetensors.index.json", "{\"weight_map\":{\"a\":1}}");
    refuse(&f, PK_FORMAT, "index");
    write_text(&f, "model.safetensors.index.json", "{}");
    refuse(&f, PK_FORMAT, "missing");
    end(&f);
}

/* ---- mBART-50 ---- */

/* a SentencePiece model as far as its pieces go: field 1 { field 1: text, field 2: score } */
static void write_pieces(const folder *f, const char *const *piece, size_t n) {
    pk_buffer b = { 0 };
    char      path[400];
    for (size_t i = 0; i < n; i++) {
        const char head[4] = { 0x0A, (char)(strlen(piece[i]) + 7), 0x0A, (char)strlen(piece[i]) };
        pk_buffer_add(&b, head, 4);
        pk_buffer_add_text(&b, piece[i]);
        pk_buffer_add(&b, "\x15\0\0\0\0", 5);
    }
    pk_buffer_add(&b, "\x12\x02\x20\x05\x28\x01\x31" "12345678", 15);   /* other fields, to be skipped */
    snprintf(path, sizeof path, "%s/sentencepiece.bpe.model", f->path);
    write_bytes(path, b.data, b.size);
    pk_buffer_free(&b);
}

static const char *const pieces[] = { "<unk>", "<s>", "</s>", "\xe2\x96\x81", "ab" };
enum { MBART_V = 5 + 1 + 52 + 1 };

static void make_mbart(folder *f) {
    begin(f, "mbart");
    add(f, "model.shared.weight", MBART_V, D);
    add(f, "model.encoder.embed_positions.weight", POSITIONS + 2, D);
    add(f, "model.decoder.embed_positions.weight", POSITIONS + 2, D);
    add_layer(f, "model.encoder.layers.0.", false);
    add_layer(f, "model.decoder.layers.0.", true);
    add_dense(f, "model.encoder.", "layernorm_embedding", D, 0);
    add_dense(f, "model.decoder.", "layernorm_embedding", D, 0);
    add_dense(f, "model.encoder.", "layer_norm", D, 0);
    add_dense(f, "model.decoder.", "layer_norm", D, 0);
    write_text(f, "config.json",
               "{\"model_type\":\"mbart\",\"vocab_size\":59,\"activation_function\":\"relu\","
               "\"decoder_start_token_id\":2,\"forced_eos_token_id\":2,\"early_stopping\":true," SIZES "}");
    write_text(f, "tokenizer_config.json", "{\"src_lang\":\"en_XX\",\"tgt_lang\":null}");
    write_pieces(f, pieces, 5);
    save_as(f, "model.safetensors");
}

static const char *token(const pk_model_data *m, int id) {
    const char *at = m->source_tokens.data;
    while (id-- > 0) at += strlen(at) + 1;
    return at;
}

static void test_mbart(void **state) {
    folder        f;
    pk_model_data m;
    (void)state;
    make_mbart(&f);
    open_folder(&f, -1, &m);
    const pk_config *c = &m.network.config;
    assert_true(c->family == PK_MBART && c->pre_norm && c->embed_norm && c->final_norm);
    assert_true(c->act == PK_RELU && c->embed_scale == 1 && c->early_stopping == 1);
    assert_true(c->start == 2 && c->eos == 2 && c->pad == 1 && c->unk == 3 && c->forced_eos == 2);
    assert_string_equal(c->source_language, "en_XX");
    assert_string_equal(c->target_language, "");
    check(&m.network.target_norm.gain, 0, 1, "model.decoder.layernorm_embedding.weight");
    check(&m.network.encoder_norm.bias, 0, 1, "model.encoder.layer_norm.bias");
    for (int i = 0; i < POSITIONS * D; i++)     /* two rows are never used */
        assert_true(pk_weight_get(&m.network.source_positions, i / D, i % D) ==
                    value_of("model.encoder.embed_positions.weight", (size_t)(i + 2 * D)));
    assert_string_equal(token(&m, 0), "<s>");
    assert_string_equal(token(&m, 3), "<unk>");
    assert_string_equal(token(&m, 4), "\xe2\x96\x81");
    assert_string_equal(token(&m, 5), "ab");
    assert_string_equal(token(&m, 6), "ar_AR");
    assert_string_equal(token(&m, 9), "en_XX");
    assert_string_equal(token(&m, 57), "sl_SI");
    assert_string_equal(token(&m, 58), "<mask>");
    pk_model_data_close(&m);
    end(&f);
}

static void test_mbart_refused(void **state) {
    static const char *const other[] = { "<unk>", "<s>", "<pad>", "a", "b" };
    folder                   f;
    (void)state;
    make_mbart(&f);
    write_pieces(&f, pieces, 4);
    refuse(&f, PK_FORMAT, "4 pieces and 52 languages");
    write_pieces(&f, other, 5);
    refuse(&f, PK_UNSUPPORTED, "piece 2 must be </s>");
    write_text(&f, "sentencepiece.bpe.model", "\x0A\x7F");
    refuse(&f, PK_FORMAT, "broken SentencePiece");
    write_text(&f, "sentencepiece.bpe.model", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
    refuse(&f, PK_FORMAT, "broken SentencePiece");
    write_text(&f, "sentencepiece.bpe.model", "\x0A\x02\x08\x01");
    refuse(&f, PK_FORMAT, "without a text");
    write_text(&f, "config.json",
               "{\"model_type\":\"mbart\",\"vocab_size\":32,\"decoder_start_token_id\":2," SIZES "}");
    write_pieces(&f, pieces, 5);
    refuse(&f, PK_UNSUPPORTED, "25 languages");
    write_text(&f, "config.json",
               "{\"model_type\":\"mbart\",\"vocab_size\":59,\"decoder_start_token_id\":2,"
               "\"bos_token_id\":null," SIZES "}");
    tensor_of(&f, "model.decoder.embed_positions.weight")->dim[0] = POSITIONS;
    tensor_of(&f, "model.decoder.embed_positions.weight")->bytes = POSITIONS * D * sizeof(float);
    save_as(&f, "model.safetensors");
    refuse(&f, PK_FORMAT, "model.decoder.embed_positions.weight");
    end(&f);
}

/* ---- Out of memory; real folders ---- */

static void test_allocations(void **state) {
    const int64_t alive = pk_memory_alive();
    folder        f;
    pk_status     status = PK_NO_MEMORY;
    (void)state;
    make_mbart(&f);
    for (int64_t n = 1; status != PK_OK; n++) {
        pk_model_data m;
        pk_memory_fail_after(n);
        status = pk_model_data_open(f.path, PK_I8, &m);
        pk_memory_fail_after(0);
        assert_true(status == PK_OK || status == PK_NO_MEMORY);
        pk_model_data_close(&m);
        assert_int_equal(pk_memory_alive(), alive);
    }
    end(&f);
}

static void test_real_model(void **state) {
    const char   *shared = getenv("PRONK_SHARED");
    char          path[400];
    pk_model_data m;
    (void)state;
    snprintf(path, sizeof path, "%s/models/en-de-base-hf", shared ? shared : "../shared");
    if (access(path, R_OK) != 0) skip();
    assert_int_equal(pk_model_data_open(path, -1, &m), PK_OK);
    assert_int_equal(m.type, PK_F16);
    assert_int_equal(m.network.config.target_vocab, 16001);
    assert_int_equal(m.network.config.suppressed[0], 16000);
    for (int i = 0; i < m.network.config.dim; i++)           /* pad starts the decoder: zeros */
        assert_true(pk_weight_get(&m.network.target_embed, 16000, i) == 0);
    pk_model_data_close(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marian),          cmocka_unit_test(test_through_file),
        cmocka_unit_test(test_types),           cmocka_unit_test(test_generation),
        cmocka_unit_test(test_config_refused),  cmocka_unit_test(test_tensors_refused),
        cmocka_unit_test(test_half_not_finite), cmocka_unit_test(test_vocab_refused),
        cmocka_unit_test(test_tables),          cmocka_unit_test(test_separate_vocabularies),
        cmocka_unit_test(test_stored_positions), cmocka_unit_test(test_shards),
        cmocka_unit_test(test_mbart),           cmocka_unit_test(test_mbart_refused),
        cmocka_unit_test(test_allocations),     cmocka_unit_test(test_real_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
