/* deepl.c - DeepL's API, version 2, as far as its official clients need it for text.
 *
 * Codes are upper case there, and a target may have a region (EN-US). What cannot be done here
 * (styles, formality) is refused by name; what only advises (context, model_type,
 * split_sentences ...) is passed over. */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "detection.h"
#include "glossaries.h"
#include "plain_text.h"
#include "routes.h"
#include "state.h"
#include "translation.h"

/* "EN-US" -> "en"; "PT-BR" -> "pb" */
static void read_code(const char *text, char out[PK_CODE_ROOM]) {
    pk_language_code(text, out);
    out[strcspn(out, "-_")] = '\0';
}

static void upper(const char *code, char out[PK_CODE_ROOM]) {
    size_t n = 0;
    for (const char *c = pk_language_outside(code); *c && n + 1 < PK_CODE_ROOM; c++)
        out[n++] = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
    out[n] = '\0';
}

/* ---- POST /v2/translate ---- */

static bool check_refused(pk_exchange *x) {
    static const struct {
        const char *name, *harmless; /* the value that asks for nothing */
    } refused[] = {
        { "glossary_ids", "" },
        { "ignore_tags", "" },
        { "style_id", "" },
        { "custom_instructions", "" },
    };
    const char *formality = pk_fields_text(&x->request.fields, "formality");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const json_t *value = pk_fields_get(&x->request.fields, refused[i].name);
        if (!value || json_is_null(value)) continue;
        if (json_is_string(value) && !strcmp(json_string_value(value), refused[i].harmless))
            continue;
        pk_exchange_fail(x, 400, "Value for '%s' not supported.", refused[i].name);
        return false;
    }
    if (!formality || !strcmp(formality, "default") || !strncmp(formality, "prefer_", 7))
        return true;
    pk_exchange_fail(x, 400, "'formality' is not supported for given 'target_lang'.");
    return false;
}

static bool read_texts(pk_exchange *x, pk_translation *t) {
    const json_t *list = pk_fields_all(&x->request.fields, "text");
    const json_t *alone = list ? NULL : pk_fields_get(&x->request.fields, "text");
    t->n = list ? json_array_size(list) : json_is_string(alone);
    t->batch = true;
    if (!t->n) return pk_exchange_fail(x, 400, "Parameter 'text' not specified."), false;
    t->text = calloc(t->n, sizeof *t->text);
    if (!t->text) return pk_exchange_fail(x, 503, "out of memory"), false;
    for (size_t i = 0; i < t->n; i++) {
        const json_t *one = list ? json_array_get(list, i) : alone;
        if (!json_is_string(one))
            return pk_exchange_fail(x, 400, "Value for 'text' not supported."), false;
        t->text[i] = (pk_text){ json_string_value(one), json_string_length(one) };
        if (!pk_access_check_text(x, t->text[i].data, t->text[i].size)) return false;
    }
    if (!pk_access_check_batch(x, t->n)) return false;
    pk_access_charge(x, t->n);
    return true;
}

/* XML is read as HTML: tags that it does not know are inline, and empty ones hold nothing */
static bool read_markup(pk_exchange *x, pk_translation *t) {
    const json_t *value = pk_fields_get(&x->request.fields, "tag_handling");
    const char   *text = json_string_value(value);
    if (value && !json_is_null(value) && (!text || *text)) {
        if (!text || (strcmp(text, "html") && strcmp(text, "xml")))
            return pk_exchange_fail(x, 400, "Value for 'tag_handling' not supported."), false;
        t->format = "html";
    }
    return pk_translation_check_html(x) && pk_glossaries_read(x);
}

static bool guess_source(pk_exchange *x, pk_translation *t) {
    size_t             n;
    pk_language_guess *guess =
        pk_detection_guess(x->server->models, t->text, t->n, t->format != NULL, &n);
    if (!guess) return pk_exchange_fail(x, 503, "out of memory"), false;
    strcpy(t->from, guess[0].code);
    free(guess);
    return true;
}

static bool choose_languages(pk_exchange *x, pk_translation *t) {
    const char *source = pk_fields_text(&x->request.fields, "source_lang");
    const char *target = pk_fields_text(&x->request.fields, "target_lang");
    if (!target || !*target)
        return pk_exchange_fail(x, 400, "Parameter 'target_lang' not specified."), false;
    read_code(target, t->to);
    t->detected = !source || !*source;
    if (!t->detected)
        read_code(source, t->from);
    else if (!guess_source(x, t))
        return false;
    if (pk_translation_find_way(x)) return pk_translation_check_terms(x);
    pk_exchange_fail(x, 400, "Value for 'target_lang' not supported for source language '%s'.",
                     t->from);
    return false;
}

/* characters are counted for /v2/usage as they are answered */
static void render(pk_exchange *x) {
    const pk_translation *t = x->translation;
    json_t               *list = json_array();
    char                  source[PK_CODE_ROOM];
    size_t                all = 0;
    upper(t->from, source);
    for (size_t i = 0; i < t->n; i++) {
        const pk_text text = pk_translation_text(t, i);
        const size_t  billed = pk_text_characters(t->text[i].data, t->text[i].size);
        all += billed;
        json_array_append_new(list, json_pack("{sssosI}", "detected_source_language", source,
                                              "text", json_stringn(text.data, text.size),
                                              "billed_characters", (json_int_t)billed));
    }
    pk_quotas_add_characters(x->server->quotas, x->client, (int64_t)all);
    pk_exchange_answer(x, 200, json_pack("{so}", "translations", list));
}

void pk_deepl_translate(pk_exchange *x) {
    pk_translation *t = pk_translation_new(x);
    if (!t || !check_refused(x) || !read_texts(x, t) || !read_markup(x, t) ||
        !choose_languages(x, t))
        return;
    t->render = render;
    pk_translation_begin(x);
}

/* ---- GET /v2/languages, /v2/usage ---- */

static bool has_way(const pk_languages *l, size_t i, bool target) {
    for (size_t j = 0; j < l->n; j++)
        if (i != j && l->way[target ? j * l->n + i : i * l->n + j]) return true;
    return false;
}

void pk_deepl_languages(pk_exchange *x) {
    const char  *type = pk_fields_text(&x->request.fields, "type");
    const bool   target = type && !strcmp(type, "target");
    json_t      *list = json_array();
    pk_languages l = { 0 };
    char         code[PK_CODE_ROOM], name[PK_NAME_ROOM];
    if (!pk_models_languages(x->server->models, &l)) {
        json_decref(list);
        return pk_exchange_fail(x, 503, "out of memory");
    }
    for (size_t i = 0; i < l.n; i++) {
        if (!has_way(&l, i, target)) continue;
        upper(l.code[i], code);
        pk_language_name(l.code[i], "en", name);
        json_array_append_new(
            list, json_pack("{sssssb}", "language", code, "name", name, "supports_formality", 0));
    }
    pk_languages_free(&l);
    pk_exchange_answer(x, 200, list);
}

/* there is no quota here: the limit is one that nobody reaches */
void pk_deepl_usage(pk_exchange *x) {
    pk_exchange_answer(x, 200,
                       json_pack("{sIsI}", "character_count",
                                 (json_int_t)pk_quotas_characters(x->server->quotas, x->client),
                                 "character_limit", (json_int_t)1000000000000));
}
