/* config.c - a configuration as JSON and its checks, all from the one list PK_CONFIG_MAP.
 *
 * Reading is strict: a key that is missing or unknown fails, so that a file written by a later
 * version with a convention this one does not know is refused instead of mistranslating. */
#include "model/config.h"

#include <math.h>
#include <string.h>

#include "checkpoint/json.h"
#include "tensor/panel.h"

/* far beyond any real model, and small enough that no product of two overflows 64 bits */
enum { MAX_DIM = 1 << 16, MAX_VOCAB = 1 << 24, MAX_LAYERS = 256, MAX_POSITIONS = 1 << 20 };

const char *pk_family_name(pk_family family) {
    static const char *const words[] = { PK_FAMILY_MAP(PK_CHOICE_WORD) };
    return (size_t)family < PK_N_FAMILIES ? words[family] : "?";
}

void pk_config_defaults(pk_config *c) {
    *c = (pk_config){ 0 };
#define DEFAULT(kind, field, normal) c->field = (PK_CONFIG_##kind)(normal);
    PK_CONFIG_MAP(DEFAULT)
#undef DEFAULT
}

const char *pk_config_tasks(const pk_config *c) { return *c->tasks ? c->tasks : "at"; }

/* a task in one direction ends in -lr or -rl: whether it is backwards is a field of its own */
bool pk_config_can(const pk_config *c, const char *task) {
    const size_t n = strlen(task);
    for (const char *at = pk_config_tasks(c); *at;) {
        const size_t word = strcspn(at, " "), name = strcspn(at, ": ");
        const bool   directed =
            name == n + 3 && (memcmp(at + n, "-rl", 3) == 0 || memcmp(at + n, "-lr", 3) == 0);
        if ((name == n || directed) && memcmp(at, task, n) == 0) return true;
        at += word + strspn(at + word, " ");
    }
    return false;
}

/* ---- Checks ---- */

typedef struct range {
    const char *name;
    int32_t     value, lowest, highest;
} range;

static pk_status check_ranges(const range *r, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (r[i].value < r[i].lowest || r[i].value > r[i].highest)
            PK_FAIL(PK_FORMAT, "configuration: %s is %d, must be %d to %d", r[i].name, r[i].value,
                    r[i].lowest, r[i].highest);
    return PK_OK;
}

#define RANGE(field, lowest, highest) \
    { #field, c->field, lowest, highest }

/* what decides how large the weights are */
static pk_status check_sizes(const pk_config *c) {
    const range r[] = {
        RANGE(family, 0, PK_N_FAMILIES - 1),
        RANGE(source_vocab, 1, MAX_VOCAB),
        RANGE(target_vocab, 1, MAX_VOCAB),
        RANGE(dim, 1, MAX_DIM),
        RANGE(encoder_layers, 1, MAX_LAYERS),
        RANGE(decoder_layers, 1, MAX_LAYERS),
        RANGE(encoder_heads, 1, MAX_DIM),
        RANGE(decoder_heads, 1, MAX_DIM),
        RANGE(encoder_ffn, 1, MAX_DIM),
        RANGE(decoder_ffn, 1, MAX_DIM),
        RANGE(act, 0, PK_N_ACTS - 1),
        RANGE(pre_norm, 0, 1),
        RANGE(embed_norm, 0, 1),
        RANGE(final_norm, 0, 1),
        RANGE(share_embeddings, 0, 1),
        RANGE(tie_output, 0, 1),
        RANGE(max_source, 1, MAX_POSITIONS),
        RANGE(max_target, 1, MAX_POSITIONS),
    };
    return check_ranges(r, sizeof r / sizeof *r);
}

/* tokens with a meaning, and what the checkpoint recommends for decoding */
static pk_status check_conventions(const pk_config *c) {
    const int32_t last = c->target_vocab - 1;
    /* the end symbol closes source and target alike */
    const int32_t text = c->n_text > 0 && c->n_text <= last ? c->n_text : c->target_vocab;
    const int32_t last_both = c->source_vocab < text ? c->source_vocab - 1 : text - 1;
    const range   r[] = {
          RANGE(start, -1, last),
          RANGE(eos, 0, last_both),
          RANGE(unk, -1, c->source_vocab - 1),
          RANGE(pad, -1, MAX_VOCAB),
          RANGE(forced_bos, -1, last),
          RANGE(forced_eos, -1, last),
          RANGE(renormalise, 0, 1),
          RANGE(beams, 1, 1024),
          RANGE(early_stopping, 0, 2),
          RANGE(no_repeat_ngram, 0, MAX_POSITIONS),
          RANGE(max_output, 0, MAX_POSITIONS),
          RANGE(n_suppressed, 0, PK_MAX_SUPPRESSED),
          RANGE(right_to_left, 0, 1),
          RANGE(n_text, 0, c->target_vocab),
          RANGE(bare_source, 0, 1),
          RANGE(capitals, 0, 1),
          RANGE(n_groups, 0, PK_MOST_GROUPS),
          RANGE(shares_encoder, 0, 1),
          RANGE(first_own, c->shares_encoder, c->shares_encoder ? c->target_vocab : 0),
    };
    PK_TRY(check_ranges(r, sizeof r / sizeof *r));
    for (int32_t i = 0; i < c->n_suppressed; i++)
        if (c->suppressed[i] < 0 || c->suppressed[i] > last)
            PK_FAIL(PK_FORMAT, "configuration: suppressed token %d is not in the vocabulary",
                    c->suppressed[i]);
    return PK_OK;
}

/* Groups lie behind the text and begin with a panel, so that one can be multiplied by itself. The
 * rows that a drafter brings along (from first_own on) are inputs alone: no group may lie there. */
static pk_status check_groups(const pk_config *c) {
    for (int32_t i = 0; i < c->n_groups; i++) {
        const pk_token_group *g = &c->group[i];
        if (!*g->name || !memchr(g->name, 0, sizeof g->name))
            PK_FAIL(PK_FORMAT, "configuration: a group of tokens without a name");
        if (g->first < pk_config_text(c) || g->first % PK_PANEL || g->count < 1 ||
            g->count > c->target_vocab - g->first)
            PK_FAIL(PK_FORMAT, "configuration: group %s has tokens %d to %d, which is not possible",
                    g->name, g->first, g->first + g->count - 1);
        if (c->shares_encoder && g->first + g->count > c->first_own)
            PK_FAIL(PK_FORMAT, "configuration: first_own is %d, but group %s lies behind it",
                    c->first_own, g->name);
    }
    return PK_OK;
}

static pk_status check_float(const char *name, float value, float lowest, float highest) {
    if (!(value >= lowest && value <= highest)) /* also false for NaN */
        PK_FAIL(PK_FORMAT, "configuration: %s is %g, must be %g to %g", name, (double)value,
                (double)lowest, (double)highest);
    return PK_OK;
}

pk_status pk_config_check(const pk_config *c) {
    PK_TRY(check_sizes(c));
    PK_TRY(check_conventions(c));
    PK_TRY(check_groups(c));
    PK_TRY(check_float("embed_scale", c->embed_scale, 1e-6f, 1e6f));
    PK_TRY(check_float("epsilon", c->epsilon, 1e-12f, 1));
    PK_TRY(check_float("length_penalty", c->length_penalty, -100, 100));
    PK_TRY(check_float("repetition_penalty", c->repetition_penalty, 1e-3f, 1e3f));
    if (c->dim % c->encoder_heads || c->dim % c->decoder_heads)
        PK_FAIL(PK_FORMAT, "configuration: %d or %d heads do not divide the width %d",
                c->encoder_heads, c->decoder_heads, c->dim);
    if (c->share_embeddings && c->source_vocab != c->target_vocab)
        PK_FAIL(PK_FORMAT, "configuration: one table cannot serve vocabularies of %d and %d tokens",
                c->source_vocab, c->target_vocab);
    if (!memchr(c->source_language, 0, sizeof c->source_language) ||
        !memchr(c->target_language, 0, sizeof c->target_language))
        PK_FAIL(PK_FORMAT, "configuration: a language code without an end");
    if (!memchr(c->tasks, 0, sizeof c->tasks))
        PK_FAIL(PK_FORMAT, "configuration: tasks without an end");
    if (!memchr(c->verifier, 0, sizeof c->verifier) || !*c->verifier != !c->shares_encoder)
        PK_FAIL(PK_FORMAT, "configuration: shares_encoder and verifier do not go together");
    return PK_OK;
}

/* ---- JSON out ---- */

static void write_INT(pk_buffer *out, const char *name, int32_t value) {
    pk_buffer_print(out, "\"%s\":%d,", name, value);
}

static void write_FLOAT(pk_buffer *out, const char *name, float value) {
    pk_buffer_print(out, "\"%s\":", name);
    pk_json_add_float(out, value);
    pk_buffer_add_text(out, ",");
}

/* not said where it says nothing new: earlier versions can still read the file then */
static void write_LATER(pk_buffer *out, const char *name, int32_t value) {
    if (value) write_INT(out, name, value);
}

/* one that came later */
static void write_text(pk_buffer *json, const char *name, const char *text) {
    if (!*text) return;
    pk_buffer_print(json, ",\"%s\":", name);
    pk_json_add_string(json, text);
}

/* left out where a model has none, so that files of plain models stay as they were */
static void write_tasks(const pk_config *c, pk_buffer *json) {
    if (c->n_groups) pk_buffer_add_text(json, ",\"groups\":[");
    for (int32_t i = 0; i < c->n_groups; i++) {
        const pk_token_group *g = &c->group[i];
        pk_buffer_add_text(json, i ? ",{\"name\":" : "{\"name\":");
        pk_json_add_string(json, g->name);
        pk_buffer_print(json, ",\"first\":%d,\"count\":%d}", g->first, g->count);
    }
    if (c->n_groups) pk_buffer_add_text(json, "]");
    write_text(json, "tasks", c->tasks);
    write_text(json, "verifier", c->verifier);
}

void pk_config_write(const pk_config *c, pk_buffer *json) {
    pk_buffer_add_text(json, "{");
#define WRITE(kind, field, normal) write_##kind(json, #field, c->field);
    PK_CONFIG_MAP(WRITE)
#undef WRITE
    pk_buffer_add_text(json, "\"suppressed\":[");
    for (int32_t i = 0; i < c->n_suppressed; i++)
        pk_buffer_print(json, "%s%d", i ? "," : "", c->suppressed[i]);
    pk_buffer_add_text(json, "],\"source_language\":");
    pk_json_add_string(json, c->source_language);
    pk_buffer_add_text(json, ",\"target_language\":");
    pk_json_add_string(json, c->target_language);
    write_tasks(c, json);
    pk_buffer_add_text(json, "}");
}

void pk_config_write_text(pk_buffer *json, const char *text) { pk_json_add_string(json, text); }

/* ---- JSON in ---- */

/* one reader per kind of field, named after it, for the macro below */
static pk_status read_INT(const json_t *value, const char *name, int32_t *out) {
    if (!json_is_integer(value))
        PK_FAIL(PK_FORMAT, "configuration: %s is missing or not an integer", name);
    const json_int_t n = json_integer_value(value);
    if (n < INT32_MIN || n > INT32_MAX) PK_FAIL(PK_FORMAT, "configuration: %s is too large", name);
    *out = (int32_t)n;
    return PK_OK;
}

static pk_status read_LATER(const json_t *value, const char *name, int32_t *out) {
    return value ? read_INT(value, name, out) : PK_OK;
}

static pk_status read_FLOAT(const json_t *value, const char *name, float *out) {
    const double number = json_number_value(value);
    if (!json_is_number(value) || !(fabs(number) <= 1e30))
        PK_FAIL(PK_FORMAT, "configuration: %s is missing or not a number", name);
    *out = (float)number;
    return PK_OK;
}

static pk_status read_text(const json_t *object, const char *name, char *out, size_t room) {
    const char *text = json_string_value(json_object_get(object, name));
    if (!text || strlen(text) >= room)
        PK_FAIL(PK_FORMAT, "configuration: %s is missing or too long", name);
    memcpy(out, text, strlen(text) + 1);
    return PK_OK;
}

static pk_status read_suppressed(const json_t *list, pk_config *c) {
    const size_t n = json_array_size(list);
    if (!json_is_array(list) || n > PK_MAX_SUPPRESSED)
        PK_FAIL(PK_FORMAT, "configuration: suppressed is missing or longer than %d",
                PK_MAX_SUPPRESSED);
    for (size_t i = 0; i < n; i++)
        PK_TRY(read_INT(json_array_get(list, i), "suppressed", &c->suppressed[i]));
    c->n_suppressed = (int32_t)n;
    return PK_OK;
}

static pk_status read_group(const json_t *object, pk_token_group *g) {
    if (json_object_size(object) != 3)
        PK_FAIL(PK_FORMAT, "configuration: a group has a name, first and count");
    PK_TRY(read_text(object, "name", g->name, sizeof g->name));
    PK_TRY(read_INT(json_object_get(object, "first"), "first", &g->first));
    return read_INT(json_object_get(object, "count"), "count", &g->count);
}

/* one that came later: files may lack it */
static pk_status read_later(const json_t *object, const char *name, char *out, size_t room,
                            size_t *n_fields) {
    if (!json_object_get(object, name)) return PK_OK;
    ++*n_fields;
    return read_text(object, name, out, room);
}

/* what came later: files may lack it */
static pk_status read_tasks(const json_t *object, pk_config *c, size_t *n_fields) {
    const json_t *groups = json_object_get(object, "groups");
    const size_t  n = json_array_size(groups);
    if (groups && (!json_is_array(groups) || n > PK_MOST_GROUPS))
        PK_FAIL(PK_FORMAT, "configuration: groups is no list, or longer than %d", PK_MOST_GROUPS);
    for (size_t i = 0; i < n; i++) PK_TRY(read_group(json_array_get(groups, i), &c->group[i]));
    c->n_groups = (int32_t)n;
    *n_fields += groups != NULL;
    PK_TRY(read_later(object, "tasks", c->tasks, sizeof c->tasks, n_fields));
    return read_later(object, "verifier", c->verifier, sizeof c->verifier, n_fields);
}

/* Every field of the list must be there, those that came later excepted, and nothing else. */
static pk_status read_object(const json_t *object, pk_config *c) {
    size_t n_fields = 3; /* suppressed and the two languages */
#define READ(kind, field, normal)                                            \
    PK_TRY(read_##kind(json_object_get(object, #field), #field, &c->field)); \
    n_fields += json_object_get(object, #field) != NULL;
    PK_CONFIG_MAP(READ)
#undef READ
    PK_TRY(read_suppressed(json_object_get(object, "suppressed"), c));
    PK_TRY(read_text(object, "source_language", c->source_language, sizeof c->source_language));
    PK_TRY(read_text(object, "target_language", c->target_language, sizeof c->target_language));
    PK_TRY(read_tasks(object, c, &n_fields));
    if (json_object_size(object) != n_fields)
        PK_FAIL(PK_FORMAT, "configuration: unknown keys; the file needs a newer version");
    return pk_config_check(c);
}

pk_status pk_config_read(const char *json, size_t size, pk_config *out) {
    json_t *object;
    pk_config_defaults(out);
    PK_TRY(pk_json_parse(json, size, "configuration", &object));
    const pk_status status = read_object(object, out);
    json_decref(object);
    return status;
}
