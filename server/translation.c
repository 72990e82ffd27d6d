/* translation.c - the texts of a request on their way through one or two models. */
#include "translation.h"

#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "log.h"
#include "metrics.h"
#include "plain_text.h"
#include "state.h"
#include "stream.h"

enum { RETRY_BUSY = 1, RETRY_FULL = 5 }; /* seconds */

pk_translation *pk_translation_new(pk_exchange *x) {
    if (!x->translation) x->translation = calloc(1, sizeof *x->translation);
    if (!x->translation) pk_exchange_fail(x, 503, "out of memory");
    return x->translation;
}

static void leave(pk_exchange *x) {
    pk_translation *t = x->translation;
    if (t->in_use) pk_models_leave(x->server->models, t->leg[t->at]);
    t->in_use = false;
}

void pk_translation_free(pk_exchange *x) {
    pk_translation *t = x->translation;
    if (!t) return;
    leave(x);
    pk_result_free(t->result);
    for (size_t i = 0; i < t->n_legs; i++) pk_models_drop(x->server->models, t->leg[i]);
    pk_live_free(t->live);
    pk_glossary_close(t->own_terms);
    free(t->text);
    free(t);
    x->translation = NULL;
}

bool pk_translation_has_markup(const pk_translation *t) { return t->format || t->terms; }

bool pk_translation_check_html(pk_exchange *x) {
    enum { MOST = 2 << 20 };
    const pk_translation *t = x->translation;
    size_t                size = 0;
    for (size_t i = 0; i < t->n; i++) size += t->text[i].size;
    if (!t->format || size <= MOST) return true;
    pk_exchange_fail(x, 413, "Invalid request: html is for at most %d bytes", MOST);
    return false;
}

bool pk_translation_check_terms(pk_exchange *x) {
    if (!x->translation->terms || x->translation->n_legs < 2) return true;
    pk_exchange_fail(x, 400, "Invalid request: no glossary for a pair that goes through English");
    return false;
}

bool pk_translation_find_way(pk_exchange *x) {
    pk_translation *t = x->translation;
    if (!strcmp(t->from, t->to)) return true; /* nothing to do */
    t->n_legs = pk_models_find(x->server->models, t->from, t->to, t->leg);
    return t->n_legs > 0;
}

/* ---- the texts of a leg ---- */

static pk_text hypothesis(const pk_translation *t, size_t i, int32_t rank) {
    pk_hypothesis_view view;
    if (pk_result_hypothesis(t->result, i, rank, &view) != PK_OK) return (pk_text){ "", 0 };
    return (pk_text){ view.text, view.text_size };
}

pk_text pk_translation_text(const pk_translation *t, size_t i) {
    return t->result ? hypothesis(t, i, 0) : t->text[i];
}

static bool is_in(const json_t *list, pk_text text) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (json_string_length(one) == text.size &&
            !memcmp(json_string_value(one), text.data, text.size))
            return true;
    }
    return false;
}

/* those that say the same as another are left out, and empty ones */
json_t *pk_translation_alternatives(const pk_translation *t, size_t i) {
    json_t       *list = json_array();
    const pk_text best = pk_translation_text(t, i);
    const int32_t n = t->result ? pk_result_hypotheses(t->result, i) : 0;
    for (int32_t rank = 1; rank < n && rank <= t->alternatives; rank++) {
        const pk_text one = hypothesis(t, i, rank);
        if (!one.size || (one.size == best.size && !memcmp(one.data, best.data, one.size)))
            continue;
        if (!is_in(list, one)) json_array_append_new(list, json_stringn(one.data, one.size));
    }
    return list;
}

/* ---- the actions ---- */

/* An answer is there: the exchange goes back to the HTTP thread. What it held is given back before: to close a
 * model that was replaced meanwhile takes time. A stream that is not over goes on with its translation. */
static void finish(pk_exchange *x) {
    if (x->stream && !x->stream->over && x->answer.status == 200)
        leave(x);
    else
        pk_translation_free(x);
    pk_state_resume(x);
}

static void fail_status(pk_exchange *x, pk_status status) {
    if (status == PK_BUSY || status == PK_LATE) x->answer.retry_after = RETRY_BUSY;
    switch (status) {
    case PK_BUSY: pk_exchange_fail(x, 429, "Slowdown: too much is waiting already"); break;
    case PK_LATE: pk_exchange_fail(x, 503, "Cannot translate text: it took too long"); break;
    case PK_CANCELLED: pk_exchange_fail(x, 503, "Cannot translate text: cancelled"); break;
    default:
        pk_log("%s", pk_last_error());
        pk_exchange_fail(x, 500, "Cannot translate text: %s", pk_status_text(status));
    }
}

/* calls of one client take turns together */
static uint64_t client_number(const char *client) { return pk_text_hash(client) | 1; }

/* from a thread of the translator: only passes on */
static void ended(void *user) {
    pk_exchange *x = user;
    pk_work_push(x->server->work, x);
}

/* the texts that the next leg begins with; NULL: no memory */
static pk_text *input(const pk_translation *t) {
    pk_text *text = malloc((t->n + 1) * sizeof *text);
    for (size_t i = 0; text && i < t->n; i++) text[i] = pk_translation_text(t, i);
    return text;
}

static void record(void *user, const pk_trace_pass *pass) {
    const pk_exchange *x = user;
    pk_live_record(x->translation->live, pass);
}

/* After a call was taken the exchange may be in another thread's hands at once: nothing of it is
 * touched then, but for the lock, which that thread takes before it does anything. */
static void submit(pk_exchange *x, pk_translator *translator) {
    pk_translation       *t = x->translation;
    const bool            live = t->live && t->at + 1 == t->n_legs;
    pk_text              *text = input(t), *draft = live ? pk_live_drafts(t->live, t->n) : NULL;
    const pk_call_options options = { .size = sizeof options,
                                      .client = client_number(x->client),
                                      .deadline = (double)x->server->settings->timeout,
                                      .draft = draft,
                                      .trace = live && t->live->trace ? record : NULL,
                                      .format = t->format,
                                      .glossary = t->terms,
                                      .done = ended,
                                      .user = x };
    pk_status             status = text && (draft || !live) ? PK_OK : PK_NO_MEMORY;
    pthread_mutex_lock(&x->lock);
    if (x->gone) status = PK_CANCELLED;
    if (status == PK_OK) status = pk_submit(translator, text, t->n, &options, &x->call);
    if (status != PK_OK) x->call = NULL;
    pthread_mutex_unlock(&x->lock);
    free(text);
    free(draft);
    if (status == PK_OK) return;
    fail_status(x, status);
    finish(x);
}

static pk_decoding decoding(const pk_translation *t) {
    const pk_decoding usual = pk_translation_has_markup(t) ? PK_DECODING_MARKUP : PK_DECODING_PLAIN;
    if (t->at + 1 < t->n_legs) return usual;
    if (t->live) return PK_DECODING_LIVE;
    if (!t->alternatives) return usual;
    return t->alternatives < PK_BEAM ? PK_DECODING_BEAM : PK_DECODING_WIDE;
}

/* begins the leg that is next; again and again, if its model is only being opened */
static void begin_leg(pk_exchange *x) {
    pk_translator  *translator = NULL;
    pk_translation *t = x->translation;
    switch (pk_models_use(x->server->models, t->leg[t->at], decoding(t), x, &translator)) {
    case PK_USE_READY: t->in_use = true; return submit(x, translator);
    case PK_USE_WAIT: return;
    case PK_USE_FULL:
        x->answer.retry_after = RETRY_FULL;
        pk_exchange_fail(x, 503, "Cannot translate text: the server is out of memory for now");
        return finish(x);
    case PK_USE_FAILED:
        pk_exchange_fail(x, 500, "Cannot translate text: the model cannot be opened");
        return finish(x);
    }
}

/* takes the result of the call that has ended; its texts are needed until the next leg has read them */
static pk_status end_call(pk_exchange *x) {
    pk_result      *result = NULL;
    pk_translation *t = x->translation;
    pthread_mutex_lock(&x->lock);
    pk_call *call = x->call;
    x->call = NULL;
    pthread_mutex_unlock(&x->lock);
    pk_status status = pk_call_end(call, &result);
    if (status == PK_OK && t->live && t->at + 1 == t->n_legs &&
        !pk_live_keep(t->live, result, pk_models_model(t->leg[t->at])))
        status = PK_NO_MEMORY;
    leave(x);
    pk_result_free(t->result);
    t->result = result;
    t->at++;
    return status;
}

static void go_on(pk_exchange *x) {
    pk_translation *t = x->translation;
    if (t->at < t->n_legs) return begin_leg(x);
    t->render(x);
    finish(x);
}

/* a call has ended, or the model of the next one has been opened */
static void advance(pk_exchange *x) {
    pthread_mutex_lock(&x->lock);
    const bool called = x->call != NULL;
    pthread_mutex_unlock(&x->lock);
    const pk_status status = called ? end_call(x) : PK_OK;
    if (status == PK_OK) return go_on(x);
    fail_status(x, status);
    finish(x);
}

void pk_translation_begin(pk_exchange *x) {
    pk_translation *t = x->translation;
    size_t          characters = 0;
    for (size_t i = 0; i < t->n; i++) characters += t->text[i].size;
    pk_metrics_add_text(x->server->metrics, t->n, characters);
    pk_translation_again(x);
}

void pk_translation_again(pk_exchange *x) {
    pk_translation *t = x->translation;
    pk_result_free(t->result);
    t->result = NULL;
    t->at = t->untranslatable ? t->n_legs : 0;
    x->action = advance;
}
