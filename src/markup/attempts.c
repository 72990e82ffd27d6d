/* attempts.c - sentences through the engine, until their kept spans came through.
 *
 * First all of them; then those that lost a span, with the next scheme of placeholders. The first
 * attempt is begun by who submits the call, the others by errands. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "markup/markup_call.h"

static const double look_every = 0.1; /* seconds between two calls of progress */

/* ---- one attempt ---- */

static bool is_wanted(const pk_unit *u) { return !u->copied && (!u->result || u->lost > 0); }

static pk_status make_attempt(pk_markup_call *k, int32_t scheme) {
    pk_attempt *a = &k->attempt;
    size_t      n = 0;
    for (size_t i = 0; i < k->units.n; i++) n += is_wanted(&k->units.unit[i]);
    PK_TRY(PK_TAKE(&a->mask, n));
    PK_TRY(PK_TAKE(&a->text, n));
    PK_TRY(PK_TAKE(&a->unit, n));
    for (size_t i = 0; i < k->units.n; i++) {
        const pk_unit *u = &k->units.unit[i];
        if (!is_wanted(u)) continue;
        pk_mask *m = &a->mask[a->n];
        a->unit[a->n++] = i;
        PK_TRY(pk_mask_make(k->passage[i], u->begin, u->size, scheme, m));
        a->text[a->n - 1] = (pk_text){ m->text.data, m->text.size };
    }
    return PK_OK;
}

static void free_attempt(pk_attempt *a) {
    for (size_t i = 0; i < a->n; i++) pk_mask_free(&a->mask[i]);
    pk_memory_give(a->mask);
    pk_memory_give(a->text);
    pk_memory_give(a->unit);
    *a = (pk_attempt){ 0 };
}

/* keeps an attempt that is better than what there was */
static void judge(pk_markup_call *k, size_t i, const pk_result *result) {
    const pk_mask     *m = &k->attempt.mask[i];
    pk_unit           *u = &k->units.unit[k->attempt.unit[i]];
    pk_hypothesis_view h;
    if (pk_result_hypothesis(result, i, 0, &h) != PK_OK) return;
    const size_t lost = pk_mask_lost(m, h.text, h.text_size);
    if (u->result && lost >= u->lost) return;
    u->scheme = m->scheme;
    u->result = result;
    u->at = i;
    u->lost = lost;
}

/* ---- from one to the next ---- */

/* while the first attempt is read, in the thread that submits */
static int report_reading(void *user, size_t done, size_t all) {
    const pk_markup_call *k = user;
    return k->o.progress(k->o.user, done, all);
}

/* from a thread of the engine: only passes on */
static void attempt_ended(void *user) {
    pk_markup_call *k = user;
    pk_errands_add(k->errands, &k->errand);
}

/* the lock is held: nobody cancels what is not there yet */
static pk_status begin_plain(pk_markup_call *k) {
    const bool       first = k->n_results == 0;
    pk_plain_request r = {
        .text = k->attempt.text,
        .n = k->attempt.n,
        .part = true,
        .again = !first,
        .o = { .client = k->o.client, .deadline = k->o.deadline, .done = attempt_ended, .user = k }
    };
    if (k->cancelled) PK_FAIL(PK_CANCELLED, "cancelled by the caller");
    if (first && k->o.progress) r.o.progress = report_reading;
    if (k->deadline > 0) /* a plain call that is late from the beginning ends as any other does */
        r.o.deadline = fmax(k->deadline - pk_clock_now(), DBL_MIN);
    return pk_plain_call_begin(k->t, &r, &k->plain);
}

/* the next attempt that has any sentences; *over: there is none */
static pk_status begin_next(pk_markup_call *k, bool *over) {
    *over = false;
    while (k->next_scheme < k->n_schemes) {
        PK_TRY(make_attempt(k, k->scheme[k->next_scheme++]));
        if (k->attempt.n) {
            pthread_mutex_lock(&k->lock);
            const pk_status status = begin_plain(k);
            pthread_mutex_unlock(&k->lock);
            return status;
        }
        free_attempt(&k->attempt);
    }
    *over = true;
    return PK_OK;
}

static pk_status end_plain(pk_markup_call *k) {
    pk_result *result = NULL;
    size_t     done, all;
    pthread_mutex_lock(&k->lock);
    pk_plain_call *plain = k->plain;
    k->plain = NULL;
    pk_plain_call_count(plain, &done, &all);
    if (k->n_results == 0) k->n_first = all;
    pthread_mutex_unlock(&k->lock);
    PK_TRY(pk_plain_call_end(plain, &result));
    k->result[k->n_results++] = result;
    for (size_t i = 0; i < k->attempt.n; i++) judge(k, i, result);
    free_attempt(&k->attempt);
    return PK_OK;
}

/* Who is called back may end the call at once: so it has ended only behind that, and is not touched
 * any more. */
static void finish(pk_markup_call *k, pk_status status) {
    k->status = status;
    if (status != PK_OK) snprintf(k->error, sizeof k->error, "%s", pk_last_error());
    if (k->o.done) k->o.done(k->o.user);
    pthread_mutex_lock(&k->lock);
    k->ended = true;
    pthread_cond_broadcast(&k->news);
    pthread_mutex_unlock(&k->lock);
}

static void go_on(void *user) {
    pk_markup_call *k = user;
    bool            over = false;
    pk_status       status = end_plain(k);
    if (status == PK_OK) status = begin_next(k, &over);
    if (status != PK_OK || over) finish(k, status);
}

pk_status pk_attempts_begin(pk_markup_call *k) {
    bool over;
    k->errand = (pk_errand){ .run = go_on, .user = k };
    PK_TRY(pk_translator_errands(k->t, &k->errands));
    PK_TRY(begin_next(k, &over));
    if (over) finish(k, PK_OK);
    return PK_OK;
}

/* ---- the end ---- */

void pk_markup_call_cancel(pk_markup_call *k) {
    pthread_mutex_lock(&k->lock);
    k->cancelled = true;
    if (k->plain) pk_plain_call_cancel(k->plain);
    pthread_mutex_unlock(&k->lock);
}

/* waits a moment, or to the end where nobody wants to hear of progress */
static bool has_ended(pk_markup_call *k) {
    const double          at = pk_clock_now() + look_every;
    const struct timespec until = { (time_t)floor(at), (long)((at - floor(at)) * 1e9) };
    int                   late = 0;
    pthread_mutex_lock(&k->lock);
    while (!k->ended && !late)
        late = k->o.progress ? pthread_cond_timedwait(&k->news, &k->lock, &until)
                             : pthread_cond_wait(&k->news, &k->lock);
    const bool ended = k->ended;
    pthread_mutex_unlock(&k->lock);
    return ended;
}

/* of the first attempt: the others only ask whether to go on */
static bool is_cancelled_by_progress(pk_markup_call *k) {
    size_t done, all;
    pthread_mutex_lock(&k->lock);
    done = all = k->n_first;
    if (k->plain && k->n_first == 0) pk_plain_call_count(k->plain, &done, &all);
    pthread_mutex_unlock(&k->lock);
    return k->o.progress(k->o.user, done, all) != 0;
}

pk_status pk_attempts_await(pk_markup_call *k) {
    bool cancelled = false;
    do {
        if (cancelled || !k->o.progress) continue;
        cancelled = is_cancelled_by_progress(k);
        if (cancelled) pk_markup_call_cancel(k);
    } while (!has_ended(k));
    if (cancelled) PK_FAIL(PK_CANCELLED, "cancelled by the caller");
    if (k->status != PK_OK) PK_FAIL(k->status, "%s", k->error);
    if (k->o.progress) k->o.progress(k->o.user, k->n_first, k->n_first);
    for (size_t i = 0; i < k->units.n; i++) k->counts.lost += k->units.unit[i].lost;
    return PK_OK;
}

void pk_attempts_free(pk_markup_call *k) {
    free_attempt(&k->attempt);
    for (size_t i = 0; i < k->n_results; i++) pk_result_free(k->result[i]);
}
