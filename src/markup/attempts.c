/* attempts.c - sentences through the engine, until their kept spans came through.
 *
 * First all of them; then those that lost a span, with the next scheme of placeholders; then those
 * that loop, by the other translator. Results stay until the end: units point into them. */
#include "markup/loops.h"
#include "markup/markup_call.h"

typedef struct batch {
    pk_mask *mask;
    pk_text *text;
    size_t  *unit;
    size_t   n;
} batch;

/* progress of the first attempt is the call's; later ones only ask whether to go on */
static int report(void *user, size_t done, size_t all) {
    pk_markup_call *k = user;
    if (!k->o.progress) return 0;
    if (k->n_attempts == 0) k->n_first = all;
    return k->n_attempts == 0 ? k->o.progress(k->o.user, done, all)
                              : k->o.progress(k->o.user, k->n_first, k->n_first);
}

static bool is_wanted(const pk_unit *u, bool loops) {
    if (u->copied) return false;
    return loops ? u->looped : !u->result || u->lost > 0;
}

static pk_status make_batch(const pk_markup_call *k, int32_t scheme, bool loops, batch *b) {
    size_t n = 0;
    for (size_t i = 0; i < k->units.n; i++) n += is_wanted(&k->units.unit[i], loops);
    PK_TRY(PK_TAKE(&b->mask, n));
    PK_TRY(PK_TAKE(&b->text, n));
    PK_TRY(PK_TAKE(&b->unit, n));
    for (size_t i = 0; i < k->units.n; i++) {
        const pk_unit *u = &k->units.unit[i];
        if (!is_wanted(u, loops)) continue;
        pk_mask *m = &b->mask[b->n];
        b->unit[b->n++] = i;
        PK_TRY(pk_mask_make(k->passage[i], u->begin, u->size, loops ? u->scheme : scheme, m));
        b->text[b->n - 1] = (pk_text){ m->text.data, m->text.size };
    }
    return PK_OK;
}

static void free_batch(batch *b) {
    for (size_t i = 0; i < b->n; i++) pk_mask_free(&b->mask[i]);
    pk_memory_give(b->mask);
    pk_memory_give(b->text);
    pk_memory_give(b->unit);
}

/* keeps an attempt that is better than what there was */
static void judge(pk_markup_call *k, const batch *b, size_t i, const pk_result *result,
                  bool loops) {
    pk_unit           *u = &k->units.unit[b->unit[i]];
    const int32_t      eos = pk_translator_reader(k->t)->model->data.network.config.eos;
    pk_hypothesis_view h;
    if (pk_result_hypothesis(result, i, 0, &h) != PK_OK) return;
    const size_t lost = pk_mask_lost(&b->mask[i], h.text, h.text_size);
    const bool   looped = k->o.again && pk_loops(h.token, h.n_tokens, eos, b->text[i]);
    if (loops) {
        k->counts.looped++;
        if (looped || lost > u->lost) return;
    } else if (u->result && lost >= u->lost) {
        return;
    }
    *u = (pk_unit){ .begin = u->begin,
                    .size = u->size,
                    .scheme = b->mask[i].scheme,
                    .result = result,
                    .at = i,
                    .lost = lost,
                    .looped = looped };
}

static pk_status attempt(pk_markup_call *k, pk_translator *by, int32_t scheme, bool loops) {
    batch           b = { 0 };
    pk_result      *result = NULL;
    pk_call_options o = { .size = sizeof o,
                          .progress = report,
                          .user = k,
                          .client = k->o.client,
                          .deadline = k->o.deadline };
    pk_status       status;
    PK_GOTO(make_batch(k, scheme, loops, &b));
    if (!b.n) goto done;
    PK_GOTO(pk_translator_serve(by, b.text, b.n, &o, &result));
    for (size_t i = 0; i < b.n; i++) judge(k, &b, i, result, loops);
    k->attempt[k->n_attempts++] = result;
done:
    free_batch(&b);
    return status;
}

pk_status pk_markup_call_decode(pk_markup_call *k) {
    for (size_t i = 0; i < k->n_schemes; i++) PK_TRY(attempt(k, k->t, k->scheme[i], false));
    if (k->o.again) PK_TRY(attempt(k, k->o.again, 0, true));
    for (size_t i = 0; i < k->units.n; i++) k->counts.lost += k->units.unit[i].lost;
    return PK_OK;
}
