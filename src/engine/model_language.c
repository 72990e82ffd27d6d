/* model_language.c - from "en" and "de" to the tokens by which a model knows languages.
 *
 * MarianMT: models for several targets read a tag such as ">>de<<" before the source; models for
 * one pair have no tags. mBART-50: the source begins with its language's token, the output with its
 * own. */
#include <stdio.h>
#include <string.h>

#include "engine/model.h"

static bool has_tags(const pk_vocab *v) {
    for (int32_t i = 0; i < pk_vocab_source_size(v); i++) {
        const char  *name = pk_vocab_source_token(v, i);
        const size_t n = strlen(name);
        if (n > 4 && strncmp(name, ">>", 2) == 0 && strcmp(name + n - 2, "<<") == 0) return true;
    }
    return false;
}

static pk_status choose_marian(const pk_model *m, const char *from, const char *to,
                               pk_language *out) {
    const pk_config *c = &m->data.network.config;
    char             tag[32];
    if (from && c->source_language[0] && strcmp(from, c->source_language) != 0)
        PK_FAIL(PK_ARGUMENT, "this model translates from '%s', not from '%s'", c->source_language,
                from);
    if (!to) return PK_OK;
    snprintf(tag, sizeof tag, ">>%s<<", to);
    out->source_token = pk_vocab_find_source(m->vocab, tag);
    if (out->source_token >= 0) return PK_OK;
    if (has_tags(m->vocab))
        PK_FAIL(PK_ARGUMENT, "this model has no target language '%s' (no token %s)", to, tag);
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

static pk_status choose_mbart(const pk_model *m, const char *from, const char *to,
                              pk_language *out) {
    const pk_config *c = &m->data.network.config;
    if (!from && c->source_language[0]) from = c->source_language;
    if (!to && c->target_language[0]) to = c->target_language;
    if (!from || (!to && c->forced_bos < 0))
        PK_FAIL(PK_ARGUMENT, "this model knows many languages: say which with --from and --to");
    out->source_token = find_code(m->vocab, from);
    out->target_token = to ? find_code(m->vocab, to) : c->forced_bos;
    if (out->source_token < 0)
        PK_FAIL(PK_ARGUMENT, "this model does not know the language '%s'", from);
    if (out->target_token < 0)
        PK_FAIL(PK_ARGUMENT, "this model does not know the language '%s'", to);
    return PK_OK;
}

pk_status pk_language_choose(const pk_model *m, const char *from, const char *to,
                             pk_language *out) {
    const pk_config *c = &m->data.network.config;
    *out = (pk_language){ .source_token = -1, .target_token = c->forced_bos };
    if (from && !*from) from = NULL;
    if (to && !*to) to = NULL;
    PK_TRY(c->family == PK_MBART ? choose_mbart(m, from, to, out)
                                 : choose_marian(m, from, to, out));
    const char *code = from ? from : c->source_language;
    snprintf(out->source_code, sizeof out->source_code, "%.*s", (int)strcspn(code, "_-"), code);
    return PK_OK;
}
