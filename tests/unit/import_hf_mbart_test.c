/* import_hf_mbart_test.c - mBART-50 folders: pre-norm, learned positions, ids made from the pieces.
 */
#include "hf_folder_help.h"

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
    pk_buffer_add(&b,
                  "\x12\x02\x20\x05\x28\x01\x31"
                  "12345678",
                  15); /* other fields, to be skipped */
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
    write_text(
        f, "config.json",
        "{\"model_type\":\"mbart\",\"vocab_size\":59,\"activation_function\":\"relu\","
        "\"decoder_start_token_id\":2,\"forced_eos_token_id\":2,\"early_stopping\":true," SIZES
        "}");
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
    for (int i = 0; i < POSITIONS * D; i++) /* two rows are never used */
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
               "{\"model_type\":\"mbart\",\"vocab_size\":32,\"decoder_start_token_id\":2," SIZES
               "}");
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

/* fails each allocation of an import in turn */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mbart),
        cmocka_unit_test(test_mbart_refused),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
