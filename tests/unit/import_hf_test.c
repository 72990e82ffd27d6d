/* import_hf_test.c - MarianMT folders, made here tensor by tensor: what becomes of each, and what
 * is said when one does not fit. */
#include "hf_folder_help.h"

#define MARIAN                                                                                     \
    "\"model_type\":\"marian\",\"vocab_size\":6,\"activation_function\":\"swish\","                \
    "\"scale_embedding\":true,\"eos_token_id\":0,\"pad_token_id\":5,\"decoder_start_token_id\":5," \
    "\"num_beams\":3," SIZES
#define VOCAB "{\"</s>\":0,\"<unk>\":1,\"a\":2,\"\\u2581b\":4,\"c\":3,\"<pad>\":5}"

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
    for (int i = 0; i < D; i++) /* a fused bias is q, k, v end to end */
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
    assert_memory_equal(m.source_tokens.data,
                        "</s>\0<unk>\0a\0c\0\xe2\x96\x81"
                        "b\0<pad>",
                        26);
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
            const uint16_t half =
                type == PK_STORED_F16 ? pk_f32_to_f16(f->data[i][k]) : (uint16_t)(bits >> 16);
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
        { PK_STORED_F32, -1, PK_F32 },      { PK_STORED_F32, PK_F16, PK_F16 },
        { PK_STORED_F16, -1, PK_F16 },      { PK_STORED_F16, PK_F32, PK_F16 },
        { PK_STORED_F16, PK_F16, PK_F16 },  { PK_STORED_BF16, -1, PK_F32 },
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
    assert_int_equal(c->beams, 1); /* config.json's does not count any more */
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
        { "{\"model_type\":\"marian\",\"activation_function\":\"gelu_new\"}", PK_UNSUPPORTED,
          "gelu_new" },
        { "{\"model_type\":\"marian\",\"d_model\":\"4\"}", PK_FORMAT, "d_model" },
        { "{\"model_type\":\"marian\",\"d_model\":99999999999}", PK_FORMAT, "d_model" },
        { "{\"model_type\":\"marian\",\"scale_embedding\":1}", PK_FORMAT, "scale_embedding" },
        { "{" MARIAN ",\"bad_words_ids\":[[1,2]]}", PK_UNSUPPORTED, "bad_words_ids" },
        { "{" MARIAN ",\"bad_words_ids\":[[6]]}", PK_FORMAT, "bad_words_ids" },
        { "{" MARIAN ",\"min_length\":5}", PK_UNSUPPORTED, "min_length" },
        { "{" MARIAN ",\"forced_eos_token_id\":[1,2]}", PK_UNSUPPORTED, "forced_eos_token_id" },
        { "{" MARIAN ",\"forced_eos_token_id\":6}", PK_FORMAT, "forced_eos" },
        { "{" MARIAN ",\"length_penalty\":\"x\"}", PK_FORMAT, "length_penalty" },
        { "{\"model_type\":\"marian\",\"activation_function\":7}", PK_FORMAT,
          "activation_function" },
        { "{\"model_type\":\"marian\",\"activation_function\":null}", PK_FORMAT,
          "activation_function" },
        { "{\"model_type\":\"marian\",\"d_model\":null}", PK_FORMAT, "d_model" },
        { "{\"model_type\":\"marian\",\"encoder_layers\":0}", PK_FORMAT, "encoder_layers" },
        { "{" MARIAN ",\"tie_word_embeddings\":\"no\"}", PK_FORMAT, "tie_word_embeddings" },
        { "{" MARIAN ",\"share_encoder_decoder_embeddings\":0}", PK_FORMAT, "share_encoder" },
    };
    folder f;
    (void)state;
    make_marian(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(&f, "config.json", cases[i].config);
        refuse(&f, cases[i].status, cases[i].says);
    }
    write_text(&f, "config.json", "{" MARIAN "}");
    write_text(&f, "tokenizer_config.json", "{\"separate_vocabs\":1}");
    refuse(&f, PK_FORMAT, "separate_vocabs");
    write_text(&f, "config.json", NULL);
    refuse(&f, PK_IO, "config.json");
    end(&f);
}

/* each key by itself, in config.json and in generation_config.json: values that make no sense, and
 * ways of generating that Pronk does not have */
static void test_generation_refused(void **state) {
    static const struct {
        const char *key, *value;
        pk_status   status;
    } cases[] = {
        { "bad_words_ids", "true", PK_FORMAT },
        { "bad_words_ids", "[[true]]", PK_FORMAT },
        { "bad_words_ids", "[5]", PK_UNSUPPORTED },
        { "suppress_tokens", "{\"4\":1}", PK_FORMAT },
        { "max_length", "-1", PK_FORMAT },
        { "max_length", "1", PK_FORMAT },
        { "max_length", "20.5", PK_FORMAT },
        { "max_new_tokens", "0", PK_FORMAT },
        { "num_beams", "0", PK_FORMAT },
        { "num_beams", "\"4\"", PK_FORMAT },
        { "no_repeat_ngram_size", "-2", PK_FORMAT },
        { "repetition_penalty", "0", PK_FORMAT },
        { "early_stopping", "\"always\"", PK_FORMAT },
        { "early_stopping", "3", PK_FORMAT },
        { "renormalize_logits", "\"yes\"", PK_FORMAT },
        { "num_beam_groups", "2", PK_UNSUPPORTED },
        { "num_beam_groups", "true", PK_UNSUPPORTED },
        { "diversity_penalty", "0.5", PK_UNSUPPORTED },
        { "penalty_alpha", "0.6", PK_UNSUPPORTED },
        { "constraints", "[[1]]", PK_UNSUPPORTED },
        { "force_words_ids", "[[[1]]]", PK_UNSUPPORTED },
        { "do_sample", "true", PK_UNSUPPORTED },
        { "do_sample", "1", PK_UNSUPPORTED },
        { "min_length", "5", PK_UNSUPPORTED },
        { "min_new_tokens", "5", PK_UNSUPPORTED },
        { "begin_suppress_tokens", "[2]", PK_UNSUPPORTED },
        { "forced_decoder_ids", "[[1,2]]", PK_UNSUPPORTED },
        { "sequence_bias", "[[[1],2.0]]", PK_UNSUPPORTED },
        { "guidance_scale", "1.5", PK_UNSUPPORTED },
        { "max_time", "3", PK_UNSUPPORTED },
        { "stop_strings", "\"x\"", PK_UNSUPPORTED },
        { "watermarking_config", "{\"bias\":2}", PK_UNSUPPORTED },
        { "dola_layers", "\"high\"", PK_UNSUPPORTED },
    };
    char   text[800];
    folder f;
    (void)state;
    make_marian(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "{" MARIAN ",\"%s\":%s}", cases[i].key, cases[i].value);
        if (strcmp(cases[i].key, "num_beams") != 0) { /* that one is there already */
            write_text(&f, "config.json", text);
            refuse(&f, cases[i].status, cases[i].key);
        }
        write_text(&f, "config.json", "{" MARIAN "}");
        snprintf(text, sizeof text, "{\"%s\":%s}", cases[i].key, cases[i].value);
        write_text(&f, "generation_config.json", text);
        refuse(&f, cases[i].status, cases[i].key);
        write_text(&f, "generation_config.json", NULL);
    }
    end(&f);
}

/* values that change nothing, as older versions of transformers wrote them all into config.json */
static void test_neutral_generation(void **state) {
    static const char neutral[] =
        "\"do_sample\":false,\"num_beam_groups\":1,\"diversity_penalty\":0.0,\"penalty_alpha\":"
        "null,"
        "\"constraints\":null,\"force_words_ids\":null,\"min_length\":0,\"min_new_tokens\":null,"
        "\"encoder_no_repeat_ngram_size\":0,\"encoder_repetition_penalty\":1.0,"
        "\"begin_suppress_tokens\":[],\"sequence_bias\":null,\"guidance_scale\":1,"
        "\"temperature\":0.7,\"top_k\":50,\"top_p\":0.9,\"typical_p\":1.0,\"max_time\":null,"
        "\"bad_words_ids\":[],\"suppress_tokens\":null,\"early_stopping\":false,"
        "\"num_return_sequences\":1,\"use_cache\":true,\"max_new_tokens\":null";
    char          text[2000];
    folder        f;
    pk_model_data m;
    (void)state;
    make_marian(&f);
    snprintf(text, sizeof text, "{" MARIAN ",%s}", neutral);
    write_text(&f, "config.json", text);
    open_folder(&f, -1, &m);
    assert_int_equal(m.network.config.beams, 3);
    pk_model_data_close(&m);
    snprintf(text, sizeof text, "{%s,\"num_beams\":null}", neutral);
    write_text(&f, "generation_config.json", text);
    open_folder(&f, -1, &m);
    assert_int_equal(m.network.config.beams, 1);
    pk_model_data_close(&m);
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
    restore_as(&f, PK_STORED_F16); /* infinity is in the file itself */
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
    char path[400];
    snprintf(path, sizeof path, "%s/source.spm", f.path);
    assert_int_equal(truncate(path, (64 << 20) + 1), 0); /* holes: no byte of it is on disk */
    refuse(&f, PK_FORMAT, "source.spm: 67108865 bytes");
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
    tensor_of(&f, "model.shared.weight")->name = "lm_head.weight"; /* one name for all */
    save_as(&f, "model.safetensors");
    check_flags(&f, 1, 1);
    tensor_of(&f, "model.shared.weight")->name = "model.shared.weight";
    add(&f, own, V, D); /* the decoder's own table, different */
    save_as(&f, "model.safetensors");
    check_flags(&f, 0, 0); /* the output follows the shared one */
    open_folder(&f, -1, &m);
    check(&m.network.target_embed, 0, V, own);
    check(&m.network.output, 0, V, "model.shared.weight");
    pk_model_data_close(&m);
    memcpy(f.data[f.n - 1], f.data[0], V * D * sizeof(float)); /* stored twice */
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
    tensor_of(&f, "final_logits_bias")->name = "model.encoder.version"; /* a known leftover */
    save_as(&f, "model.safetensors");
    open_folder(&f, -1, &m);
    assert_int_equal(m.network.config.target_vocab, 7);
    assert_int_equal(m.network.config.share_embeddings, 0);
    assert_int_equal(m.network.config.tie_output, 1);
    check(&m.network.output, 0, 7, "model.decoder.embed_tokens.weight");
    assert_true(pk_weight_get(&m.network.output_bias, 0, 6) == 0); /* absent: zeros */
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
    write_text(&f, "model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"../one.safetensors\"}}");
    refuse(&f, PK_FORMAT, "another folder");
    write_text(&f, "model.safetensors.index.json", "{\"weight_map\":{\"a\":1}}");
    refuse(&f, PK_FORMAT, "index");
    write_text(&f, "model.safetensors.index.json", "{}");
    refuse(&f, PK_FORMAT, "missing");
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
    for (int i = 0; i < m.network.config.dim; i++) /* pad starts the decoder: zeros */
        assert_true(pk_weight_get(&m.network.target_embed, 16000, i) == 0);
    pk_model_data_close(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marian),
        cmocka_unit_test(test_through_file),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_config_refused),
        cmocka_unit_test(test_generation_refused),
        cmocka_unit_test(test_neutral_generation),
        cmocka_unit_test(test_tensors_refused),
        cmocka_unit_test(test_half_not_finite),
        cmocka_unit_test(test_vocab_refused),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_separate_vocabularies),
        cmocka_unit_test(test_stored_positions),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_real_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
