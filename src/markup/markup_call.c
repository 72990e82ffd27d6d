/* markup_call.c - a call with markup, terms or spans to protect. Read this first:
 *
 *   read    (call_read.c) each text becomes passages, their spans to protect are found, and their
 *           sentences
 *   decode  (attempts.c) the engine translates the sentences as plain text; those that lost a span
 *           are tried again
 *   write   (call_write.c) words, tags and spans are put together */
#include "markup/markup_call.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

static const char *const formats[] = { "text", "html", "srt", "vtt", NULL };

static pk_status find_format(const char *name, pk_format *out) {
    *out = PK_FORMAT_TEXT;
    if (!name || !*name) return PK_OK;
    for (int i = 0; formats[i]; i++)
        if (!strcmp(name, formats[i])) {
            *out = (pk_format)i;
            return PK_OK;
        }
    PK_FAIL(PK_ARGUMENT, "no format '%.40s'; there are: %s, %s, %s, %s", name, formats[0],
            formats[1], formats[2], formats[3]);
}

pk_status pk_markup_call_wanted(const pk_call_options *o, bool *out) {
    pk_format format;
    PK_TRY(find_format(o->format, &format));
    *out = format != PK_FORMAT_TEXT || o->glossary || o->n_protect || o->protect_usual;
    return PK_OK;
}

static pk_status check(const pk_markup_call *k) {
    if (!pk_translator_aligns(k->t))
        PK_FAIL(PK_ARGUMENT, "formats, glossaries and spans to protect need a translator that was "
                             "opened with alignment = 1");
    if (k->o.prefix || k->o.draft || k->o.trace || k->o.tokens)
        PK_FAIL(PK_ARGUMENT, "a prefix, a draft, a trace or tokens go only with plain text, "
                             "without glossary and spans to protect");
    return PK_OK;
}

static void free_call(pk_markup_call *k) {
    pk_attempts_free(k);
    for (size_t i = 0; k->markup && i < k->n; i++) pk_markup_free(&k->markup[i]);
    for (size_t i = 0; k->repaired && i < k->n; i++) pk_buffer_free(&k->repaired[i]);
    pk_memory_give(k->markup);
    pk_memory_give(k->repaired);
    pk_memory_give(k->units.unit);
    pk_memory_give(k->passage);
    pk_patterns_close(k->patterns);
    pk_splitter_close(k->splitter);
    pthread_cond_destroy(&k->news);
    pthread_mutex_destroy(&k->lock);
    pk_memory_give(k);
}

static void init_lock(pk_markup_call *k) {
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->news, &steady);
    pthread_condattr_destroy(&steady);
}

static pk_status begin(pk_markup_call *k, const pk_text *text) {
    PK_TRY(find_format(k->o.format, &k->format));
    PK_TRY(check(k));
    PK_TRY(pk_translator_check_room(k->t));
    PK_TRY(pk_markup_call_read(k, text));
    return pk_attempts_begin(k);
}

pk_status pk_markup_call_begin(pk_translator *t, const pk_text *text, size_t n,
                               const pk_call_options *o, pk_markup_call **out) {
    pk_markup_call *k;
    *out = NULL;
    PK_TRY(PK_TAKE(&k, 1));
    k->t = t;
    k->n = n;
    k->o = *o;
    k->deadline = o->deadline > 0 ? pk_clock_now() + o->deadline : 0;
    init_lock(k);
    *out = k;
    const pk_status status = begin(k, text);
    if (status != PK_OK) {
        *out = NULL;
        free_call(k);
    }
    return status;
}

pk_status pk_markup_call_end(pk_markup_call *k, pk_result **out) {
    pk_status status = pk_attempts_await(k);
    if (status == PK_OK) status = pk_markup_call_write(k, out);
    if (status == PK_OK) {
        pk_translator_count(k->t, &k->counts);
    } else {
        pk_result_free(*out);
        *out = NULL;
    }
    free_call(k);
    return status;
}
