/* libre_info.c - LibreTranslate's smaller endpoints: detection, languages, settings, health, and what is
 * not offered here. */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "detection.h"
#include "routes.h"
#include "state.h"

/* ---- POST /detect ---- */

/* q as texts; the caller frees; NULL: answered already */
static pk_text *read_texts(pk_exchange *x, size_t *n) {
    const json_t *q = pk_fields_get(&x->request.fields, "q");
    const bool    batch = json_is_array(q);
    *n = batch ? json_array_size(q) : json_string_length(q) > 0;
    if (!*n) return pk_exchange_fail(x, 400, "Invalid request: missing q parameter"), NULL;
    if (batch && !pk_access_check_batch(x, *n)) return NULL;
    pk_text *text = calloc(*n, sizeof *text);
    for (size_t i = 0; text && i < *n; i++) {
        const json_t *one = batch ? json_array_get(q, i) : q;
        const char   *data = json_string_value(one);
        text[i] = (pk_text){ data ? data : "", json_string_length(one) };
        if (pk_access_check_text(x, text[i].data, text[i].size)) continue;
        free(text);
        return NULL;
    }
    if (!text) pk_exchange_fail(x, 503, "out of memory");
    return text;
}

void pk_libre_detect(pk_exchange *x) {
    size_t   n, n_guesses = 0;
    pk_text *text = read_texts(x, &n);
    if (!text) return;
    pk_access_charge(x, n);
    pk_language_guess *guess = pk_detection_guess(x->server->models, text, n, false, &n_guesses);
    json_t            *list = guess ? json_array() : NULL;
    for (size_t i = 0; i < n_guesses; i++)
        json_array_append_new(list, json_pack("{sfss}", "confidence", guess[i].confidence,
                                              "language", pk_language_outside(guess[i].code)));
    free(guess);
    free(text);
    pk_exchange_answer(x, 200, list);
}

/* ---- GET /languages, /frontend/settings, /health ---- */

/* the language that names are asked for in: ?lang, or what the browser says; false: nothing was said, and it
 * is English */
static bool find_locale(pk_exchange *x, char locale[PK_CODE_ROOM]) {
    pk_fields query = { 0 };
    if (pk_fields_read(&query, NULL, x->request.query, NULL, 0) == PK_FIELDS_OK &&
        pk_fields_text(&query, "lang"))
        pk_language_accepted(pk_fields_text(&query, "lang"), locale);
    else
        pk_language_accepted(x->request.accept_language, locale);
    const bool said = x->request.accept_language || pk_fields_text(&query, "lang");
    pk_fields_free(&query);
    return said;
}

static json_t *name_of(const char *code, const char *locale) {
    char name[PK_NAME_ROOM];
    pk_language_name(code, locale, name);
    return json_string(name);
}

/* sorted by code */
static json_t *targets_of(const pk_languages *l, size_t from) {
    json_t *list = json_array();
    for (size_t to = 0; to < l->n; to++) {
        const char *code = pk_language_outside(l->code[to]);
        size_t      at = 0;
        if (!l->way[from * l->n + to]) continue;
        while (at < json_array_size(list) &&
               strcmp(json_string_value(json_array_get(list, at)), code) < 0)
            at++;
        json_array_insert_new(list, at, json_string(code));
    }
    return list;
}

void pk_libre_languages(pk_exchange *x) {
    pk_languages l;
    char         locale[PK_CODE_ROOM];
    json_t      *list = json_array();
    find_locale(x, locale);
    if (!pk_models_languages(x->server->models, &l)) {
        json_decref(list);
        return pk_exchange_fail(x, 503, "out of memory");
    }
    for (size_t i = 0; i < l.n; i++)
        json_array_append_new(list,
                              json_pack("{sssoso}", "code", pk_language_outside(l.code[i]), "name",
                                        name_of(l.code[i], locale), "targets", targets_of(&l, i)));
    pk_languages_free(&l);
    pk_exchange_answer(x, 200, list);
}

/* the language to translate into by default: the client's own where it is served, or the second */
static json_t *default_target(pk_exchange *x) {
    pk_languages l;
    char         locale[PK_CODE_ROOM];
    const bool   said = find_locale(x, locale);
    if (!pk_models_languages(x->server->models, &l)) return NULL;
    const int   own = said ? pk_languages_find(&l, locale) : -1;
    const char *code = own >= 0 ? l.code[own] : l.code[l.n > 1];
    json_t     *target = json_pack("{ssso}", "code", code, "name", name_of(code, locale));
    pk_languages_free(&l);
    return target;
}

void pk_libre_settings(pk_exchange *x) {
    const pk_settings *s = x->server->settings;
    pk_exchange_answer(x, 200,
                       json_pack("{sIsisbsbsbsbs[]s{s{ssss}so}}", "charLimit",
                                 (json_int_t)s->char_limit, "frontendTimeout", 500, "apiKeys",
                                 s->api_keys, "keyRequired", x->server->has_origin, "suggestions",
                                 0, "filesTranslation", 0, "supportedFilesFormat", "language",
                                 "source", "code", "auto", "name", "Auto Detect", "target",
                                 default_target(x)));
}

void pk_libre_health(pk_exchange *x) {
    pk_exchange_answer(x, 200, json_pack("{ss}", "status", "ok"));
}

/* ---- what is not offered ---- */

static const char no_files[] = "Files translation are disabled on this server.";
void              pk_libre_no_files(pk_exchange *x) { pk_exchange_fail(x, 403, no_files); }
void              pk_libre_no_download(pk_exchange *x) { pk_exchange_fail(x, 400, no_files); }

void pk_libre_no_suggestions(pk_exchange *x) {
    pk_exchange_fail(x, 403, "Suggestions are disabled on this server.");
}
