/* call_read.c - texts of a call with markup: passages, their spans to protect, their sentences. */
#include "markup/html.h"
#include "markup/kept_spans.h"
#include "markup/markup_call.h"
#include "markup/subtitles.h"
#include "text/utf8.h"

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
    k->counts.texts = k->n;
    for (size_t i = 0; i < k->n; i++) {
        const pk_status status = read_one(k, i, text[i]);
        if (status != PK_OK && (k->o.number || k->n > 1))
            pk_fail_context("text %zu", (k->o.number ? k->o.number : 1) + i);
        PK_TRY(status);
    }
    return find_passages(k);
}
