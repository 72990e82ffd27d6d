/* model.c - opening, describing and converting models. */
#include "engine/model.h"

#include "base/memory.h"
#include "base/option_struct.h"
#include "engine/saved_lexicon.h"
#include "model/drafter.h"
#include "model/model_data.h"

/* weights are changed only for f32 and i8; the 16-bit types are a matter of the device */
static int type_to_open(int asked) { return asked == PK_F16 || asked == PK_BF16 ? -1 : asked; }

/* MarianMT reads a language from a tag before the source; mBART has a token of its own for it, and
 * OpenNMT nothing. A list that does not fit the weights would name wrong tokens, so it is refused. */
static pk_status open_vocab(pk_model *m) {
    const pk_model_data *d = &m->data;
    const pk_config     *c = &d->network.config;
    const pk_vocab_data  data = {
         .source_spm = d->source_spm.data,
         .source_spm_size = d->source_spm.size,
         .target_spm = d->target_spm.data,
         .target_spm_size = d->target_spm.size,
         .source_tokens = d->source_tokens.data,
         .source_tokens_size = d->source_tokens.size,
         .target_tokens = d->target_tokens.data,
         .target_tokens_size = d->target_tokens.size,
         .unk = c->unk,
         .eos = c->eos,
         .no_tags = c->family != PK_MARIAN || c->bare_source,
    };
    PK_TRY(pk_vocab_open(&data, &m->vocab));
    const int32_t source = pk_vocab_source_size(m->vocab), target = pk_vocab_target_size(m->vocab);
    if (source != c->source_vocab || target != c->target_vocab)
        PK_FAIL(PK_FORMAT, "the vocabulary (%d and %d tokens) does not fit the weights (%d and %d)",
                source, target, c->source_vocab, c->target_vocab);
    return PK_OK;
}

pk_status pk_model_open(const char *path, const pk_model_options *opt, pk_model **out) {
    pk_model        *m;
    pk_model_options o;
    int              type;
    PK_NEED(out);
    *out = NULL;
    PK_READ_OPTIONS(pk_model_options, opt, &o);
    if (!path || !*path) PK_FAIL(PK_ARGUMENT, "no model given");
    PK_TRY(pk_dtype_parse(o.type, false, &type));
    PK_TRY(PK_TAKE(&m, 1));
    m->asked_type = type;
    pk_status status = pk_memory_copy_text(path, strlen(path), &m->path);
    if (status == PK_OK) status = pk_model_data_open(path, type_to_open(type), &m->data);
    /* a drafter that shares its model's encoder shares its vocabulary too */
    if (status == PK_OK && !m->data.network.config.shares_encoder) status = open_vocab(m);
    if (status == PK_OK) status = pk_model_check_file(m);
    if (status != PK_OK) {
        pk_fail_context("%s", path);
        pk_model_close(m);
        return status;
    }
    *out = m;
    return PK_OK;
}

void pk_model_close(pk_model *m) {
    if (!m) return;
    pk_vocab_close(m->vocab);
    pk_model_data_close(&m->data);
    pk_memory_give(m->path);
    pk_memory_give(m);
}

pk_status pk_model_check_file(const pk_model *m) {
    const pk_status status = pk_model_data_check_file(&m->data);
    if (status != PK_OK) pk_fail_context("%s", m->path);
    return status;
}

int32_t pk_model_reads(const pk_model *m, uint64_t device, uint64_t inode) {
    return m && pk_file_ids_have(&m->data.files, (pk_file_id){ device, inode });
}

/* a drafter's file gets what it needs of a saved lexicon */
static pk_status add_lexicon(pk_model_data *drafter, const pk_model *m, const char *path) {
    pk_saved_lexicon saved;
    pk_buffer        small = { 0 };
    if (!pk_config_can(&drafter->network.config, "gad"))
        PK_FAIL(PK_ARGUMENT, "only a drafter (task gad) gets a lexicon");
    PK_TRY(pk_saved_lexicon_open(m, path, &saved));
    pk_status status = pk_lexicon_write_small(&saved.lexicon, &small);
    if (status == PK_OK) status = pk_buffer_status(&small);
    if (status == PK_OK)
        status = pk_model_data_copy(drafter, small.data, small.size, &drafter->lexicon_bytes);
    if (status == PK_OK) status = pk_model_data_read_lexicon(drafter);
    pk_buffer_free(&small);
    pk_saved_lexicon_close(&saved);
    if (status != PK_OK || !drafter->network.config.shares_encoder) return status;
    pk_joined joined; /* is it this model's? */
    PK_TRY(pk_drafter_join(&m->data, drafter, &joined));
    pk_joined_close(&joined);
    return PK_OK;
}

pk_status pk_model_convert(const char *from, const char *to, const pk_convert_options *opt) {
    pk_model_data      data;
    pk_convert_options o;
    int                type;
    PK_READ_OPTIONS(pk_convert_options, opt, &o);
    if (!from || !to) PK_FAIL(PK_ARGUMENT, "convert needs a model and a file to write");
    PK_TRY(pk_dtype_parse(o.type, true, &type));
    if (!o.lexicon != !o.model)
        PK_FAIL(PK_ARGUMENT, "a lexicon and the model whose drafter gets it go together");
    PK_TRY(pk_model_data_open(from, type, &data));
    pk_status status = o.lexicon ? pk_file_ids_add(&data.files, o.lexicon) : PK_OK;
    if (status == PK_OK) status = pk_file_ids_refuse(&data.files, to);
    if (status == PK_OK && o.lexicon) status = pk_file_ids_refuse(&o.model->data.files, to);
    if (status == PK_OK && o.lexicon) status = add_lexicon(&data, o.model, o.lexicon);
    if (status == PK_OK) status = pk_model_data_save(&data, to);
    pk_model_data_close(&data);
    return status;
}

typedef struct sums {
    uint64_t parameters, bytes;
} sums;

static pk_status add_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    sums          *s = user;
    const uint64_t each = pk_dtype_bytes(w->type);
    s->parameters += (uint64_t)spec->rows * (uint64_t)spec->cols;
    s->bytes += (uint64_t)spec->rows * (uint64_t)spec->cols * each;
    return PK_OK;
}

/* what the model can look up, where it can */
static void describe_lexicon(const pk_lexicon *l, pk_buffer *json) {
    if (!l->source_vocab) return;
    const uint32_t rows = l->row_first[l->source_vocab + 1];
    const uint32_t beside = l->beside_first ? l->beside_first[l->source_vocab] : 0;
    pk_buffer_print(json,
                    ", \"candidates\": {\"rows\": %u, \"entries\": %u, \"rows_by_neighbours\": %u, "
                    "\"longest_source\": %d, \"length\": \"%.4f x source + %.4f\"}",
                    rows, l->entry_first[rows], beside, l->longest, l->slope, l->intercept);
}

pk_status pk_model_describe(const pk_model *m, char **json) {
    PK_NEED(json);
    *json = NULL;
    PK_NEED(m);
    const pk_config *c = &m->data.network.config;
    pk_network       net = m->data.network; /* walk() takes a network it may change */
    sums             s = { 0 };
    pk_buffer        b = { 0 };
    pk_network_walk(&net, add_weight, &s);
    pk_buffer_print(
        &b,
        "{\"type\": \"%s\", \"family\": \"%s\", \"activation\": \"%s\", \"parameters\": %llu, "
        "\"weight_bytes\": %llu, ",
        pk_dtype_name(m->data.type), pk_family_name((pk_family)c->family),
        pk_act_name((pk_act)c->act), (unsigned long long)s.parameters, (unsigned long long)s.bytes);
    pk_status status = pk_model_describe_tasks(m, &b);
    describe_lexicon(&m->data.lexicon, &b);
    pk_buffer_add_text(&b, ", \"config\": ");
    pk_config_write(c, &b);
    pk_buffer_print(&b, ", \"provenance\": %s}", m->data.provenance ? m->data.provenance : "{}");
    if (status == PK_OK) status = pk_buffer_take(&b, json, NULL);
    pk_buffer_free(&b);
    return status;
}

/* a drafter that shares its model's vocabulary knows the names of its own tokens alone */
const char *pk_model_target_token(const pk_model *m, int32_t id) {
    if (!m) return "?";
    if (m->vocab) return pk_vocab_target_token(m->vocab, id);
    const pk_config *c = &m->data.network.config;
    const char      *at = m->data.target_tokens.data;
    if (id < c->first_own || id >= c->target_vocab) return "?";
    for (int32_t i = c->first_own; i < id; i++) at += strlen(at) + 1;
    return at;
}

const char *pk_model_source_token(const pk_model *m, int32_t id) {
    return m && m->vocab ? pk_vocab_source_token(m->vocab, id) : "?";
}

pk_status pk_model_sentencepiece(const pk_model *m, int32_t target, const void **data,
                                 size_t *size) {
    PK_NEED(m);
    PK_NEED(data);
    PK_NEED(size);
    const pk_blob own = target ? m->data.target_spm : m->data.source_spm;
    const pk_blob spm = own.size ? own : m->data.source_spm;
    *data = spm.data;
    *size = spm.size;
    if (!spm.size) PK_FAIL(PK_UNSUPPORTED, "%s has no SentencePiece model of its own", m->path);
    return PK_OK;
}
