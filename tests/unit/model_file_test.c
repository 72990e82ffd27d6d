/* model_file_test.c - .pronk files: what is saved comes back, mapped; what does not fit is refused.
 */
#include "model/model_file.h"

#include "checkpoint_help.h"
#include "lexicon/lexicon_count.h"
#include "model/model_data.h"
#include "tensor/panel.h"

/* ---- A small model made in memory ---- */

static const char provenance[] = "{\"source\":\"test \\\"x\\\"\"}";

static pk_config small_config(void) {
    pk_config c;
    pk_config_defaults(&c);
    c.source_vocab = 5;
    c.target_vocab = 7;
    c.dim = 6;
    c.encoder_layers = 1;
    c.decoder_layers = 2;
    c.encoder_heads = 2;
    c.decoder_heads = 3;
    c.encoder_ffn = 18;
    c.decoder_ffn = 9;
    c.act = PK_RELU;
    c.embed_norm = 1;
    c.final_norm = 1;
    c.share_embeddings = 0;
    c.tie_output = 0;
    c.max_source = 4;
    c.max_target = 3;
    return c;
}

/* any value, but the same one each time; exact in 16 bits */
static float value_of(const char *name, int32_t row, int32_t col) {
    const int n = (int)strlen(name) * 5 + row * 7 + col * 3;
    return (float)(n % 61 - 30) / 16;
}

typedef struct filling {
    pk_model_data *m;
    pk_dtype       type;
} filling;

static pk_status fill_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    filling *f = user;
    float   *plain, *scale, row_values[64];
    void    *data;
    if (!spec->matrix) {
        PK_TRY(pk_model_data_take_plain(f->m, spec->rows, spec->cols, w, &plain));
        for (int32_t i = 0; i < spec->rows * spec->cols; i++)
            plain[i] = value_of(spec->name, i / spec->cols, i % spec->cols);
        return PK_OK;
    }
    PK_TRY(pk_model_data_take_matrix(f->m, spec->rows, spec->cols, f->type, w, &data, &scale));
    for (int32_t row = 0; row < spec->rows; row++) {
        for (int32_t col = 0; col < spec->cols; col++)
            row_values[col] = value_of(spec->name, row, col);
        pk_panel_pack(data, scale, spec->cols, f->type, row, 1, row_values);
    }
    return PK_OK;
}

static void make_model(pk_dtype type, pk_model_data *m) {
    filling f = { m, type };
    *m = (pk_model_data){ .type = type };
    m->network.config = small_config();
    assert_int_equal(pk_network_init(&m->network), PK_OK);
    assert_int_equal(pk_network_walk(&m->network, fill_weight, &f), PK_OK);
    pk_network_share(&m->network);
    m->source_spm = (pk_blob){ "spm of the source", 17 };
    m->target_spm = (pk_blob){ "spm of the target", 17 };
    m->source_tokens = (pk_blob){ "</s>\0<unk>\0a\0b\0<pad>", 21 };
    m->target_tokens = (pk_blob){ "</s>\0<unk>\0c\0d\0e\0f\0<pad>", 25 };
    assert_int_equal(pk_memory_copy_text(provenance, strlen(provenance), &m->provenance), PK_OK);
}

static pk_status check_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    const filling *f = user;
    assert_int_equal(w->rows, spec->rows);
    assert_int_equal(w->cols, spec->cols);
    assert_int_equal(w->plain, !spec->matrix);
    assert_int_equal(w->type, spec->matrix ? f->type : PK_F32);
    assert_int_equal((uintptr_t)w->data % 64, 0);
    for (int32_t row = 0; row < spec->rows; row++)
        for (int32_t col = 0; col < spec->cols; col++) {
            const float want = value_of(spec->name, row, col), got = pk_weight_get(w, row, col);
            const float room = spec->matrix && f->type == PK_I8 ? 30.0f / 16 / 127 * 0.51f : 0;
            assert_true(got >= want - room && got <= want + room);
        }
    return PK_OK;
}

static void check_model(pk_model_data *m, pk_dtype type) {
    filling f = { m, type };
    assert_int_equal(m->type, type);
    assert_int_equal(pk_network_walk(&m->network, check_weight, &f), PK_OK);
    assert_int_equal(m->source_spm.size, 17);
    assert_memory_equal(m->target_spm.data, "spm of the target", 17);
    assert_memory_equal(m->target_tokens.data, "</s>\0<unk>\0c\0d\0e\0f\0<pad>", 25);
    assert_string_equal(m->provenance, provenance);
}

static void save_small(pk_dtype type, char path[256]) {
    pk_model_data m;
    make_model(type, &m);
    temporary(path, "model.pronk");
    if (pk_model_data_save(&m, path) != PK_OK) fail_msg("%s", pk_last_error());
    pk_model_data_close(&m);
}

/* ---- Round trips and conversions ---- */

static void test_round_trip(void **state) {
    const int64_t alive = pk_memory_alive();
    char          path[256];
    (void)state;
    for (int type = PK_F32; type <= PK_I8; type++) {
        pk_model_data m;
        save_small((pk_dtype)type, path);
        if (pk_model_data_open(path, -1, &m) != PK_OK) fail_msg("%s", pk_last_error());
        assert_int_equal(m.n_blocks, 0); /* nothing was copied */
        check_model(&m, (pk_dtype)type);
        pk_model_data_close(&m);
    }
    unlink(path);
    assert_int_equal(pk_memory_alive(), alive);
}

static void test_conversions(void **state) {
    static const struct {
        pk_dtype  stored;
        int       wanted;
        pk_status status;
        pk_dtype  got;
    } cases[] = {
        { PK_F32, PK_F32, PK_OK, PK_F32 },         { PK_F32, PK_F16, PK_OK, PK_F16 },
        { PK_F32, PK_I8, PK_OK, PK_I8 },           { PK_F16, PK_F32, PK_OK, PK_F16 },
        { PK_F16, PK_I8, PK_OK, PK_I8 },           { PK_I8, PK_I8, PK_OK, PK_I8 },
        { PK_I8, PK_F32, PK_UNSUPPORTED, PK_F32 }, { PK_I8, PK_F16, PK_UNSUPPORTED, PK_F32 },
        { PK_F32, 3, PK_ARGUMENT, PK_F32 },        { PK_F32, -2, PK_ARGUMENT, PK_F32 },
    };
    const int64_t alive = pk_memory_alive();
    char          path[256];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pk_model_data m;
        save_small(cases[i].stored, path);
        assert_int_equal(pk_model_data_open(path, cases[i].wanted, &m), cases[i].status);
        if (cases[i].status == PK_OK) check_model(&m, cases[i].got);
        pk_model_data_close(&m);
    }
    unlink(path);
    assert_int_equal(pk_memory_alive(), alive);
}

/* values beyond 65504 do not fit f16 */
static void test_conversion_overflow(void **state) {
    char          path[256];
    pk_model_data m;
    (void)state;
    make_model(PK_F32, &m);
    ((float *)m.network.decoder[1].up.w.data)[0] = 1e6f;
    assert_int_equal(pk_model_data_save(&m, temporary(path, "model.pronk")), PK_OK);
    pk_model_data_close(&m);
    assert_int_equal(pk_model_data_open(path, PK_F16, &m), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "decoder.1.up.w"));
    assert_int_equal(pk_model_data_open(path, PK_F32, &m), PK_OK);
    pk_model_data_close(&m);
    unlink(path);
}

/* ---- Candidates, which a file may have besides ---- */

/* a pair whose tokens are each other's translations, for the text tokens of some model */
static void count_candidates(pk_text_tokens text, pk_buffer *bytes) {
    pk_lexicon_counter c;
    assert_int_equal(pk_lexicon_counter_open(text.source, text.target, &c), PK_OK);
    assert_int_equal(
        pk_lexicon_count(&c, (int32_t[]){ 2, 3 }, 2, (int32_t[]){ 4, 5 }, 2, (uint32_t[]){ 1, 2 }),
        PK_OK);
    assert_int_equal(pk_lexicon_make(&c, text.fingerprint, bytes), PK_OK);
    pk_lexicon_counter_close(&c);
}

/* tokens: target tokens of the file that has the candidates; they were counted with make_model()'s */
static pk_status open_with_candidates(const char *tokens, size_t size, pk_model_data *out) {
    char          path[256];
    pk_model_data m;
    pk_buffer     bytes = { 0 };
    make_model(PK_F32, &m);
    count_candidates(pk_model_data_text(&m), &bytes);
    m.lexicon_bytes = (pk_blob){ bytes.data, bytes.size };
    m.target_tokens = (pk_blob){ tokens, size };
    assert_int_equal(pk_model_data_save(&m, temporary(path, "model.pronk")), PK_OK);
    pk_model_data_close(&m);
    pk_buffer_free(&bytes);
    const pk_status status = pk_model_data_open(path, PK_I8, out); /* they go along */
    unlink(path);
    return status;
}

static void test_candidates(void **state) {
    const int64_t        alive = pk_memory_alive();
    pk_model_data        m;
    pk_lexicon_finder    f;
    pk_lexicon_candidate best;
    (void)state;
    if (open_with_candidates("</s>\0<unk>\0c\0d\0e\0f\0<pad>", 25, &m))
        fail_msg("%s", pk_last_error());
    check_model(&m, PK_I8);
    const pk_lexicon_query q = { .lexicon = &m.lexicon, .source = (int32_t[]){ 2, 3 }, .n = 2 };
    assert_int_equal(pk_lexicon_finder_open(&q, 2, &f), PK_OK);
    assert_int_equal(pk_lexicon_find(&f, 1, 1, &best), 1);
    assert_int_equal(best.token, 5);
    pk_lexicon_finder_close(&f);
    pk_model_data_close(&m);
    assert_int_equal(open_with_candidates("</s>\0<unk>\0c\0d\0e\0g\0<pad>", 25, &m), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "candidates are for another vocabulary"));
    assert_int_equal(pk_memory_alive(), alive);
}

/* ---- Files that do not fit ---- */

/* saves the tensors of a file again, after a change to the list or to the metadata */
typedef struct changed_file {
    pk_stored        s;
    pk_stored_tensor tensor[256];
    size_t           n;
    char             metadata[4096];
} changed_file;

static changed_file *open_changed(pk_dtype type) {
    changed_file *c = calloc(1, sizeof *c);
    char          path[256];
    save_small(type, path);
    assert_int_equal(pk_safetensors_open(path, &c->s), PK_OK);
    assert_true(c->s.n < 256);
    memcpy(c->tensor, c->s.tensor, c->s.n * sizeof *c->tensor);
    c->n = c->s.n;
    snprintf(c->metadata, sizeof c->metadata, "%s", c->s.metadata);
    return c;
}

static pk_stored_tensor *tensor_of(changed_file *c, const char *name) {
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->tensor[i].name, name) == 0) return &c->tensor[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void shorten(pk_stored_tensor *t, int64_t n) {
    t->bytes = (size_t)n;
    t->dim[0] = n;
}

static void replace_text(char *text, const char *from, const char *to) {
    char *at = strstr(text, from);
    char  rest[4096];
    assert_non_null(at);
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    sprintf(at, "%s%s", to, rest);
}

static void expect_refused(changed_file *c, pk_status want, const char *says) {
    char          path[256];
    pk_model_data m;
    temporary(path, "changed.pronk");
    assert_int_equal(pk_safetensors_write(path, c->metadata, c->tensor, c->n), PK_OK);
    const int64_t   alive = pk_memory_alive();
    const pk_status status = pk_model_data_open(path, -1, &m);
    if (status != want || !strstr(pk_last_error(), says))
        fail_msg("status %d, \"%s\" instead of \"%s\"", status, pk_last_error(), says);
    assert_non_null(strstr(pk_last_error(), path));
    assert_int_equal(pk_memory_alive(), alive);
    unlink(path);
    pk_stored_close(&c->s);
    free(c);
}

static void test_tensors_refused(void **state) {
    changed_file *c = open_changed(PK_F32);
    (void)state;
    tensor_of(c, "encoder.0.qkv.w")->name = "encoder.0.other";
    expect_refused(c, PK_FORMAT, "\"encoder.0.qkv.w\" is missing");
    c = open_changed(PK_F32);
    c->tensor[c->n] = *tensor_of(c, "output_bias");
    c->tensor[c->n++].name = "stranger";
    expect_refused(c, PK_FORMAT, "1 tensors do not belong");
    c = open_changed(PK_F32);
    tensor_of(c, "output_bias")->dim[0] = 7, tensor_of(c, "output_bias")->dim[1] = 1;
    expect_refused(c, PK_FORMAT, "output_bias");
    c = open_changed(PK_F32);
    tensor_of(c, "decoder.1.up.w")->type = PK_STORED_I32;
    expect_refused(c, PK_FORMAT, "decoder.1.up.w");
    c = open_changed(PK_I8);
    tensor_of(c, "decoder.1.up.w.scale")->type = PK_STORED_I32;
    expect_refused(c, PK_FORMAT, "decoder.1.up.w.scale");
    c = open_changed(PK_F32);
    tensor_of(c, "vocab.source.spm")->type = PK_STORED_I8;
    expect_refused(c, PK_FORMAT, "vocab.source.spm");
}

static void test_vocabulary_refused(void **state) {
    changed_file *c = open_changed(PK_F32);
    (void)state;
    shorten(tensor_of(c, "vocab.target.tokens"), 17);
    expect_refused(c, PK_FORMAT, "target vocabulary");
    c = open_changed(PK_F32);
    shorten(tensor_of(c, "vocab.source.tokens"), 20);
    expect_refused(c, PK_FORMAT, "source vocabulary");
    c = open_changed(PK_F32);
    tensor_of(c, "vocab.source.spm")->name = "padding.99"; /* not a tensor any more */
    expect_refused(c, PK_FORMAT, "no SentencePiece model");
}

static void test_metadata_refused(void **state) {
    static const struct {
        const char *from, *to;
        pk_status   status;
        const char *says;
    } cases[] = {
        { "\"pronk\"", "\"pt\"", PK_FORMAT, "not a Pronk model" },
        { "\"version\":\"1\"", "\"version\":\"2\"", PK_UNSUPPORTED, "version 2" },
        { "\"version\":\"1\"", "\"v\":\"1\"", PK_UNSUPPORTED, "version ?" },
        { "\"type\":\"f32\"", "\"type\":\"f8\"", PK_FORMAT, "unknown type" },
        { "\"type\":\"f32\"", "\"type\":\"i8\"", PK_FORMAT, "source_embed" },
        { "\"config\"", "\"konfig\"", PK_FORMAT, "no configuration" },
        { "\"provenance\"", "\"province\"", PK_FORMAT, "no configuration" },
        { "dim\\\":6", "dim\\\":7", PK_FORMAT, "heads" },
        { "encoder_layers\\\":1", "encoder_layers\\\":2", PK_FORMAT, "encoder.1.qkv.w" },
        { "encoder_layers\\\":1", "encoder_layers\\\":-1", PK_FORMAT, "encoder_layers" },
        { "tie_output\\\":0", "tie_output\\\":1", PK_FORMAT, "do not belong" },
        { "max_target\\\":3", "max_target\\\":1048576", PK_FORMAT, "target_positions" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        changed_file *c = open_changed(PK_F32);
        replace_text(c->metadata, cases[i].from, cases[i].to);
        expect_refused(c, cases[i].status, cases[i].says);
    }
}

static void test_other_files(void **state) {
    char          path[256];
    pk_model_data m;
    (void)state;
    assert_int_equal(pk_model_data_open("/nowhere/at/all", -1, &m), PK_IO);
    temporary(path, "other.pronk");
    write_bytes(path, "\2\0\0\0\0\0\0\0{}", 10);
    assert_int_equal(pk_model_data_open(path, -1, &m), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "convert its folder"));
    unlink(path);
    assert_int_equal(pk_model_data_open("/tmp", -1, &m), PK_IO); /* a folder, no model */
    pk_model_data_close(&m);
}

/* ---- Cut, changed, out of memory ---- */

static pk_status open_bytes(const unsigned char *data, size_t size, pk_stored *out) {
    char          path[256];
    pk_model_data m;
    *out = (pk_stored){ 0 };
    write_bytes(temporary(path, "bytes.pronk"), data, size);
    const pk_status status = pk_model_data_open(path, -1, &m);
    pk_model_data_close(&m);
    unlink(path);
    return status;
}

static void test_hostile_bytes(void **state) {
    char path[256];
    (void)state;
    save_small(PK_I8, path);
    pk_buffer    file = read_bytes(path);
    const size_t header =
        8 + (unsigned char)file.data[0] + 256 * (size_t)(unsigned char)file.data[1];
    unlink(path);
    for (size_t size = 0; size < file.size; size += 61)
        assert_int_not_equal(read_copy(open_bytes, file.data, size), PK_OK);
    for (size_t at = 0; at < header; at += 5) {
        file.data[at] ^= 1;
        read_copy(open_bytes, file.data, file.size);
        file.data[at] ^= 1;
    }
    try_allocations(open_bytes, &file);
    pk_buffer_free(&file);
}

static void test_allocations(void **state) {
    const int64_t alive = pk_memory_alive();
    char          path[256], copy[256];
    pk_model_data m;
    pk_status     status = PK_NO_MEMORY;
    (void)state;
    save_small(PK_F32, path);
    for (int64_t n = 1; status != PK_OK; n++) {
        pk_memory_fail_after(n);
        status = pk_model_data_open(path, PK_I8, &m); /* opens and converts */
        pk_memory_fail_after(0);
        assert_true(status == PK_OK || status == PK_NO_MEMORY);
        if (status != PK_OK) assert_int_equal(pk_memory_alive(), alive);
    }
    const int64_t open = pk_memory_alive();
    temporary(copy, "copy.pronk");
    status = PK_NO_MEMORY;
    for (int64_t n = 1; status != PK_OK; n++) {
        pk_memory_fail_after(n);
        status = pk_model_data_save(&m, copy);
        pk_memory_fail_after(0);
        assert_true(status == PK_OK || status == PK_NO_MEMORY);
        assert_int_equal(pk_memory_alive(), open);
        assert_int_equal(access(copy, F_OK), status == PK_OK ? 0 : -1);
    }
    pk_model_data_close(&m);
    assert_int_equal(pk_memory_alive(), alive);
    assert_int_equal(pk_model_data_save(&m, "/nowhere/at/all"), PK_IO);
    unlink(path);
    unlink(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),          cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_conversion_overflow), cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_tensors_refused),     cmocka_unit_test(test_vocabulary_refused),
        cmocka_unit_test(test_metadata_refused),    cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_hostile_bytes),       cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
