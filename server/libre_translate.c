/* libre_translate.c - POST /translate, with LibreTranslate's checks in LibreTranslate's order. */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "detection.h"
#include "glossaries.h"
#include "libre.h"
#include "live.h"
#include "plain_text.h"
#include "routes.h"
#include "state.h"
#include "translation.h"

static bool check_given(pk_exchange *x) {
    static const char *const needed[] = { "q", "source", "target" };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!pk_fields_is_missing(&x->request.fields, needed[i])) continue;
        pk_exchange_fail(x, 400, "Invalid request: missing %s parameter", needed[i]);
        return false;
    }
    return true;
}

/* a whole number, also as text; false: it is none */
static bool read_number(const json_t *value, int64_t *out) {
    char *end;
    *out = 0;
    if (!value) return true;
    if (json_is_boolean(value)) *out = json_is_true(value);
    if (json_is_integer(value)) *out = json_integer_value(value);
    if (json_is_real(value)) /* far more than any limit will do */
        *out = json_real_value(value) < 1e9 ? (int64_t)json_real_value(value) : 1000000000;
    if (!json_is_string(value)) return json_is_boolean(value) || json_is_number(value);
    const char *text = json_string_value(value);
    *out = strtoll(text, &end, 10);
    return end != text && !end[strspn(end, " \t\r\n")];
}

static bool read_alternatives(pk_exchange *x, int32_t *out) {
    const int64_t set = x->server->settings->alternatives_limit;
    const int64_t limit = set < 0 || set > PK_MOST_ALTERNATIVES ? PK_MOST_ALTERNATIVES : set;
    int64_t       n;
    if (!read_number(pk_fields_get(&x->request.fields, "alternatives"), &n)) {
        pk_exchange_fail(x, 400, "Invalid request: alternatives parameter is not a number");
        return false;
    }
    if (n > limit) {
        pk_exchange_fail(x, 400, "Invalid request: alternatives parameter must be <= %d",
                         (int)limit);
        return false;
    }
    *out = n < 0 ? 0 : (int32_t)n;
    return true;
}

/* forms have line ends of all kinds; limits count them as one character */
static bool unify_lines(pk_exchange *x, json_t *q) {
    if (x->request.fields.is_json) return true;
    const size_t n = json_string_length(q);
    char        *copy = malloc(n + 1);
    if (copy) memcpy(copy, json_string_value(q), n);
    const bool done = copy && !json_string_setn(q, copy, pk_text_unify_lines(copy, n));
    free(copy);
    if (!done) pk_exchange_fail(x, 503, "out of memory");
    return done;
}

/* the texts of q, which stay the request's */
static bool read_texts(pk_exchange *x, const json_t *q, pk_translation *t) {
    t->batch = json_is_array(q);
    t->n = t->batch ? json_array_size(q) : 1;
    t->text = calloc(t->n, sizeof *t->text);
    if (!t->text) return pk_exchange_fail(x, 503, "out of memory"), false;
    for (size_t i = 0; i < t->n; i++) {
        const json_t *one = t->batch ? json_array_get(q, i) : q;
        if (!json_is_string(one)) {
            pk_exchange_fail(x, 400,
                             "Invalid request: q parameter is not a string or an array of "
                             "strings");
            return false;
        }
        t->text[i] = (pk_text){ json_string_value(one), json_string_length(one) };
    }
    return true;
}

static bool check_sizes(pk_exchange *x, const pk_translation *t) {
    if (t->batch && !pk_access_check_batch(x, t->n)) return false;
    for (size_t i = 0; i < t->n; i++)
        if (!pk_access_check_text(x, t->text[i].data, t->text[i].size)) return false;
    pk_access_charge(x, t->n);
    return true;
}

static bool is_translatable(const pk_translation *t) {
    for (size_t i = 0; i < t->n; i++)
        if (pk_text_is_translatable(t->text[i].data, t->text[i].size)) return true;
    return false;
}

/* HTML, which is bounded: a tag of three bytes takes some hundred in memory; and terms */
static bool read_markup(pk_exchange *x, pk_translation *t, bool streams) {
    const char *format = pk_fields_text(&x->request.fields, "format");
    if (format && !strcmp(format, "html")) t->format = "html";
    if (!pk_translation_check_html(x) || !pk_glossaries_read(x)) return false;
    if (!streams || !t->terms) return true;
    pk_exchange_fail(x, 400, "Invalid request: no glossary in a stream");
    return false;
}

/* ---- languages ---- */

/* Portuguese and Chinese have two kinds each; a guess of one may be served by the other */
static void use_relative(const pk_languages *l, char code[PK_CODE_ROOM]) {
    static const char *const kin[][2] = {
        { "pt", "pb" }, { "pb", "pt" }, { "zh", "zt" }, { "zt", "zh" }
    };
    if (pk_languages_find(l, code) >= 0) return;
    for (size_t i = 0; i < sizeof kin / sizeof *kin; i++)
        if (!strcmp(code, kin[i][0]) && pk_languages_find(l, kin[i][1]) >= 0) {
            strcpy(code, kin[i][1]);
            return;
        }
}

static bool guess_source(pk_exchange *x, pk_translation *t, const pk_languages *l) {
    size_t             n;
    pk_language_guess *guess =
        pk_detection_guess(x->server->models, t->text, t->n, t->format != NULL, &n);
    if (!guess) return pk_exchange_fail(x, 503, "out of memory"), false;
    strcpy(t->from, guess[0].code);
    t->confidence = guess[0].confidence;
    free(guess);
    use_relative(l, t->from);
    return true;
}

/* any value that is no text is none of the codes that we have */
static void read_code(const pk_exchange *x, const char *name, char out[PK_CODE_ROOM]) {
    char *text = pk_fields_quote(&x->request.fields, name);
    pk_language_code(text ? text : "", out);
    free(text);
}

static bool check_language(pk_exchange *x, const pk_languages *l, const char *code,
                           const char *said) {
    if (pk_languages_find(l, code) >= 0) return true;
    pk_exchange_fail(x, 400, "%s is not supported", said);
    return false;
}

static bool choose_languages(pk_exchange *x, pk_translation *t, const pk_languages *l) {
    char source[PK_CODE_ROOM];
    read_code(x, "source", source);
    read_code(x, "target", t->to);
    t->untranslatable = !is_translatable(t);
    t->detected = !strcmp(source, "auto");
    if (t->untranslatable)
        strcpy(t->from, "en");
    else if (!t->detected)
        strcpy(t->from, source);
    else if (!guess_source(x, t, l))
        return false;
    return check_language(x, l, t->from, source) && check_language(x, l, t->to, t->to);
}

/* the one place that says which formats there are */
static bool check_format(pk_exchange *x, bool streams) {
    const char *format = pk_fields_text(&x->request.fields, "format");
    if (pk_fields_is_missing(&x->request.fields, "format")) return true;
    if (format && !strcmp(format, "text")) return true;
    if (x->translation->format && !streams) return true;
    char *quoted = pk_fields_quote(&x->request.fields, "format");
    pk_exchange_fail(x, 400, "%s format is not supported", quoted ? quoted : "this");
    free(quoted);
    return false;
}

static bool check_way(pk_exchange *x, const pk_translation *t) {
    char to[PK_NAME_ROOM], from[PK_NAME_ROOM];
    if (pk_translation_find_way(x)) return pk_translation_check_terms(x);
    pk_language_name(t->to, "en", to);
    pk_language_name(t->from, "en", from);
    pk_exchange_fail(x, 400, "%s (%s) is not available as a target language from %s (%s)", to,
                     t->to, from, t->from);
    return false;
}

/* ---- the answer ---- */

static json_t *text_of(const pk_translation *t, size_t i) {
    const pk_text text = pk_translation_text(t, i);
    return json_stringn(text.data, text.size);
}

/* one value, or an array of as many as there are texts */
static json_t *one_or_all(const pk_translation *t,
                          json_t *(*make)(const pk_translation *, size_t)) {
    if (!t->batch) return make(t, 0);
    json_t      *list = json_array();
    const size_t n = t->live ? t->live->n : t->n;
    for (size_t i = 0; i < n; i++) json_array_append_new(list, make(t, i));
    return list;
}

json_t *pk_libre_language(const pk_translation *t) {
    return json_pack("{sfss}", "confidence", t->confidence, "language",
                     pk_language_outside(t->from));
}

static json_t *language_of(const pk_translation *t, size_t i) {
    (void)i; /* of all texts together */
    return pk_libre_language(t);
}

static void render(pk_exchange *x) {
    const pk_translation *t = x->translation;
    json_t               *answer = json_object();
    bool                  right = t->live ? pk_live_add(t, answer)
                                          : !json_object_set_new(answer, "translatedText", one_or_all(t, text_of));
    if (right && t->detected)
        right = !json_object_set_new(answer, "detectedLanguage", one_or_all(t, language_of));
    if (right && t->alternatives)
        right = !json_object_set_new(answer, "alternatives",
                                     one_or_all(t, pk_translation_alternatives));
    if (!right) {
        json_decref(answer);
        answer = NULL;
    }
    pk_exchange_answer(x, 200, answer);
}

bool pk_libre_read(pk_exchange *x, bool streams) {
    pk_languages    l = { 0 };
    json_t         *q = pk_fields_get(&x->request.fields, "q");
    pk_translation *t = pk_translation_new(x);
    bool            right = t && check_given(x) && read_alternatives(x, &t->alternatives) &&
                 unify_lines(x, q) && read_texts(x, q, t) && check_sizes(x, t) &&
                 read_markup(x, t, streams) && pk_live_read(x, streams);
    if (right && !pk_models_languages(x->server->models, &l))
        right = (pk_exchange_fail(x, 503, "out of memory"), false);
    right = right && choose_languages(x, t, &l) && check_format(x, streams) && check_way(x, t);
    pk_languages_free(&l);
    return right;
}

void pk_libre_translate(pk_exchange *x) {
    if (!pk_libre_read(x, false)) return;
    x->translation->render = render;
    pk_translation_begin(x);
    pk_live_cut(x);
}
