/* model_language.c - from "en" and "de" to the tokens by which a model knows languages.
 *
 * MarianMT, and models trained with data.to: those for several targets read a tag such as ">>de<<"
 * before the source; models for one pair have no tags. mBART-50: the source begins with its language's token, the output with its
 * own. */
#include <stdio.h>
#include <string.h>

#include "engine/model.h"

/* ">>de<<" */
static bool is_tag(const char *name) {
    const size_t n = strlen(name);
    return n > 4 && strncmp(name, ">>", 2) == 0 && strcmp(name + n - 2, "<<") == 0;
}

/* "de_DE", "gu_IN" */
static bool is_code(const char *name) {
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz");
    return n >= 2 && n <= 3 && name[n] == '_' && strlen(name) == n + 3 && name[n + 1] >= 'A' &&
           name[n + 1] <= 'Z';
}

/* what --from and --to take: "de, fr, ro", from tags or from codes */
static void list_languages(const pk_vocab *v, bool tags, pk_buffer *out) {
    const int32_t n = tags ? pk_vocab_source_size(v) : pk_vocab_target_size(v);
    for (int32_t i = 0; i < n; i++) {
        const char *name = tags ? pk_vocab_source_token(v, i) : pk_vocab_target_token(v, i);
        if (tags ? !is_tag(name) : !is_code(name)) continue;
        const int size = tags ? (int)strlen(name) - 4 : (int)strcspn(name, "_");
        pk_buffer_print(out, "%s%.*s", out->size ? ", " : "", size, tags ? name + 2 : name);
    }
}

/* an error that lists the languages there are */
static pk_status refuse(const pk_model *m, bool tags, const char *why, const char *language) {
    pk_buffer known = { 0 };
    list_languages(m->vocab, tags, &known);
    const pk_status status = pk_fail_with(PK_ARGUMENT, "%s%s; it knows: %s", why, language,
                                          known.data ? known.data : "none");
    pk_buffer_free(&known);
    return status;
}

static bool has_tags(const pk_vocab *v) {
    for (int32_t i = 0; i < pk_vocab_source_size(v); i++)
        if (is_tag(pk_vocab_source_token(v, i))) return true;
    return false;
}

/* the token of a tag; -1: none */
static int32_t find_tag(const pk_model *m, const char *language) {
    char tag[32];
    snprintf(tag, sizeof tag, ">>%s<<", language);
    return pk_vocab_find_source(m->vocab, tag);
}

/* Was the model taught this language by a tag of its own (data.to)? Such a model translates between
 * its languages, and into the one of its configuration where nothing is said. */
static bool is_taught(const pk_model *m, const char *language) {
    return find_tag(m, language) >= pk_config_text(&m->data.network.config);
}

/* a tag for the target where the model has tags; otherwise names may only confirm the pair */
static pk_status choose_marian(const pk_model *m, const char *from, const char *to,
                               pk_language *out) {
    const pk_config *c = &m->data.network.config;
    if (from && c->source_language[0] && strcmp(from, c->source_language) != 0 &&
        !is_taught(m, from))
        PK_FAIL(PK_ARGUMENT, "this model translates from '%s', not from '%s'", c->source_language,
                from);
    if (!to && is_taught(m, c->target_language)) to = c->target_language;
    if (!to) return PK_OK;
    out->source_token = find_tag(m, to);
    if (out->source_token >= 0) return PK_OK;
    if (has_tags(m->vocab)) return refuse(m, true, "this model does not translate into ", to);
    if (c->target_language[0] && strcmp(to, c->target_language) != 0)
        PK_FAIL(PK_ARGUMENT, "this model translates into '%s', not into '%s'", c->target_language,
                to);
    return PK_OK;
}

/* "de" or "de_DE" -> the token "de_DE"; -1: none */
static int32_t find_code(const pk_vocab *v, const char *code) {
    const size_t n = strlen(code);
    if (n > 3) return pk_vocab_find_target(v, code); /* "de" alone may be an ordinary piece */
    for (int32_t i = pk_vocab_target_size(v) - 1; i >= 0; i--) {
        const char *name = pk_vocab_target_token(v, i);
        if (strncmp(name, code, n) == 0 && name[n] == '_' && strlen(name) == n + 3) return i;
    }
    return -1;
}

/* both languages are needed; the model file or the user names them */
static pk_status choose_mbart(const pk_model *m, const char *from, const char *to,
                              pk_language *out) {
    const pk_config *c = &m->data.network.config;
    if (!from && c->source_language[0]) from = c->source_language;
    if (!to && c->target_language[0]) to = c->target_language;
    if (!from || (!to && c->forced_bos < 0))
        return refuse(m, false, "say with --from and --to which languages are meant", "");
    out->source_token = find_code(m->vocab, from);
    out->target_token = to ? find_code(m->vocab, to) : c->forced_bos;
    if (out->source_token < 0) return refuse(m, false, "this model does not know ", from);
    if (out->target_token < 0) return refuse(m, false, "this model does not know ", to);
    return PK_OK;
}

/* "de_DE" -> "de" */
static void set_code(const char *name, char code[16]) {
    snprintf(code, 16, "%.*s", (int)strcspn(name, "_-"), name);
}

pk_status pk_language_choose(const pk_model *m, const char *from, const char *to,
                             pk_language *out) {
    const pk_config *c = &m->data.network.config;
    *out = (pk_language){ .source_token = -1, .target_token = c->forced_bos };
    if (from && !*from) from = NULL;
    if (to && !*to) to = NULL;
    PK_TRY(c->family == PK_MBART ? choose_mbart(m, from, to, out)
                                 : choose_marian(m, from, to, out));
    /* a model of two languages that translates into its source language does so from the other */
    if (!from && to && is_taught(m, to) && strcmp(to, c->source_language) == 0)
        from = c->target_language;
    set_code(from ? from : c->source_language, out->source_code);
    set_code(to ? to : c->target_language, out->target_code);
    return PK_OK;
}
