/* markup_call.c - pk_translate. Read this first:
 *
 *   read    each text becomes passages, their spans to protect are found, and their sentences
 *   decode  (attempts.c) the engine translates the sentences as plain text; those that lost a span
 *           are tried again
 *   write   (call_write.c) words, tags and spans are put together
 *
 * A call without markup, terms or spans goes to the engine as it is. */
#include "markup/markup_call.h"

#include <string.h>

#include "base/option_struct.h"
#include "markup/html.h"
#include "markup/kept_spans.h"
#include "markup/subtitles.h"
#include "text/utf8.h"

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

/* ---- read ---- */

/* plain text is one passage without tags */
static pk_status read_plain(pk_text text, pk_markup *out) {
    pk_passage *p;
    PK_TRY(pk_markup_add(out, &p));
    p->raw = text;
    p->lines = true;
    return text.size ? pk_passage_add_text(p, text, text) : PK_OK;
}

static pk_status read_format(pk_format format, pk_text text, pk_markup *out) {
    switch (format) {
    case PK_FORMAT_HTML: return pk_html_read(text, out);
    case PK_FORMAT_SRT: return pk_subtitles_read(text, false, out);
    case PK_FORMAT_VTT: return pk_subtitles_read(text, true, out);
    default: return read_plain(text, out);
    }
}

static pk_status protect(const pk_markup_call *k, pk_passage *p) {
    pk_byte_ranges ranges = { 0 };
    pk_status      status = pk_patterns_find(k->patterns, p->text.data, p->text.size, &ranges);
    if (status == PK_OK) status = pk_protect_usual(p->text.data, p->text.size, &ranges);
    pk_byte_ranges_tidy(&ranges);
    if (status == PK_OK) status = pk_passage_keep(p, &ranges);
    pk_byte_ranges_free(&ranges);
    return status;
}

static pk_status read_one(pk_markup_call *k, size_t i, pk_text text) {
    const bool one_sentence = pk_translator_reader(k->t)->one_sentence;
    if (!text.data && text.size)
        PK_FAIL(PK_ARGUMENT, "the text has %zu bytes, but its data is NULL", text.size);
    if (!text.data) text.data = "";
    if (!pk_utf8_valid(text.data, text.size)) {
        pk_utf8_repair(text.data, text.size, &k->repaired[i]);
        PK_TRY(pk_buffer_status(&k->repaired[i]));
        text = (pk_text){ k->repaired[i].data, k->repaired[i].size };
        k->counts.repaired++;
    }
    PK_TRY(read_format(k->format, text, &k->markup[i]));
    for (size_t j = 0; j < k->markup[i].n; j++) {
        pk_passage *p = &k->markup[i].passage[j];
        PK_TRY(protect(k, p));
        p->first_unit = k->units.n;
        PK_TRY(pk_units_split(&k->units, p, k->splitter, one_sentence));
        p->n_units = k->units.n - p->first_unit;
        k->counts.kept += p->n_kept;
    }
    return PK_OK;
}

/* which passage each unit belongs to; passages no longer move */
static pk_status find_passages(pk_markup_call *k) {
    PK_TRY(PK_TAKE(&k->passage, k->units.n));
    for (size_t i = 0; i < k->n; i++)
        for (size_t j = 0; j < k->markup[i].n; j++) {
            pk_passage *p = &k->markup[i].passage[j];
            for (size_t u = 0; u < p->n_units; u++) k->passage[p->first_unit + u] = p;
        }
    return PK_OK;
}

pk_status pk_markup_call_read(pk_markup_call *k, const pk_text *text) {
    const pk_reader *r = pk_translator_reader(k->t);
    PK_TRY(pk_patterns_open(k->o.protect, k->o.n_protect, &k->patterns));
    PK_TRY(pk_splitter_open(r->language.source_code, &k->splitter));
    PK_TRY(pk_mask_schemes(r->model->vocab, r->model->data.network.config.unk, k->scheme,
                           &k->n_schemes));
    PK_TRY(PK_TAKE(&k->repaired, k->n));
    PK_TRY(PK_TAKE(&k->markup, k->n));
    for (size_t i = 0; i < k->n; i++) {
        const pk_status status = read_one(k, i, text[i]);
        if (status != PK_OK && (k->o.number || k->n > 1))
            pk_fail_context("text %zu", (k->o.number ? k->o.number : 1) + i);
        PK_TRY(status);
    }
    return find_passages(k);
}

/* ---- the call ---- */

static pk_status check(const pk_markup_call *k) {
    if (!pk_translator_aligns(k->t))
        PK_FAIL(PK_ARGUMENT, "formats, glossaries and spans to protect need a translator that was "
                             "opened with alignment = 1");
    if (k->o.prefix || k->o.draft || k->o.trace)
        PK_FAIL(PK_ARGUMENT, "a prefix, a draft or a trace goes only with plain text, without "
                             "glossary and spans to protect");
    return PK_OK;
}

static void free_call(pk_markup_call *k) {
    for (size_t i = 0; k->markup && i < k->n; i++) pk_markup_free(&k->markup[i]);
    for (size_t i = 0; k->repaired && i < k->n; i++) pk_buffer_free(&k->repaired[i]);
    for (size_t i = 0; i < k->n_attempts; i++) pk_result_free(k->attempt[i]);
    pk_memory_give(k->markup);
    pk_memory_give(k->repaired);
    pk_memory_give(k->units.unit);
    pk_memory_give(k->passage);
    pk_patterns_close(k->patterns);
    pk_splitter_close(k->splitter);
}

static pk_status serve(pk_markup_call *k, const pk_text *text, pk_result **out) {
    PK_TRY(check(k));
    PK_TRY(pk_markup_call_read(k, text));
    PK_TRY(pk_markup_call_decode(k));
    return pk_markup_call_write(k, out);
}

pk_status pk_translate(pk_translator *t, const pk_text *text, size_t n, const pk_call_options *opt,
                       pk_result **out) {
    pk_markup_call k = { .t = t, .n = n };
    PK_NEED(out);
    *out = NULL;
    PK_NEED(t);
    if (n) PK_NEED(text);
    PK_READ_OPTIONS(pk_call_options, opt, &k.o);
    PK_TRY(find_format(k.o.format, &k.format));
    if (k.format == PK_FORMAT_TEXT && !k.o.glossary && !k.o.n_protect && !k.o.protect_usual &&
        !k.o.again)
        return pk_translator_serve(t, text, n, opt, out);
    const pk_status status = serve(&k, text, out);
    if (status == PK_OK) pk_translator_count(t, &k.counts);
    free_call(&k);
    if (status != PK_OK) {
        pk_result_free(*out);
        *out = NULL;
    }
    return status;
}
