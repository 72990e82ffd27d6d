/* call_write.c - results of a call with markup: a text for each hypothesis. */
#include <string.h>

#include "engine/result.h"
#include "markup/markup_call.h"
#include "markup/place.h"
#include "markup/subtitles.h"
#include "markup/tagged_write.h"

typedef struct writer {
    const pk_markup_call *k;
    const pk_markup      *m;
    int32_t               rank;
    pk_subtitle_lines     lines;
    pk_rendering          out;
    double                weighted; /* scores by tokens */
    size_t                n_units;  /* that were translated */
} writer;

static pk_hypothesis_view view_of(const pk_unit *u, int32_t rank) {
    pk_hypothesis_view h = { .text = "" };
    const int32_t      n = pk_result_hypotheses(u->result, u->at);
    if (pk_result_hypothesis(u->result, u->at, rank < n ? rank : n - 1, &h) != PK_OK)
        return (pk_hypothesis_view){ .text = "" };
    return h;
}

/* tokens and scores of a unit go on where those of the one before end */
static pk_status add_tokens(writer *w, const pk_unit *u) {
    pk_rendering *out = &w->out;
    if (!u->result) return PK_OK;
    const pk_hypothesis_view h = view_of(u, w->rank);
    const size_t             had = out->token.n;
    for (int32_t i = 0; i < h.n_tokens; i++) PK_TRY(pk_ids_add(&out->token, h.token[i]));
    PK_TRY(PK_GROW(&out->logp, out->token.n));
    if (h.n_tokens)
        memcpy(out->logp + had, h.token_log_prob, (size_t)h.n_tokens * sizeof *out->logp);
    out->n_unknown += pk_result_unknowns(u->result, u->at, w->rank);
    out->log_prob += h.log_prob;
    w->weighted += (double)h.score * h.n_tokens;
    out->score = w->n_units++ == 0 ? h.score : (float)(w->weighted / (double)out->token.n);
    return PK_OK;
}

/* the words of a passage, and which unit each belongs to */
static pk_status cut_source(const pk_passage *p, const pk_unit *unit, pk_word_list *out) {
    size_t u = 0;
    PK_TRY(pk_word_list_cut(out, p->text.data, p->text.size, 0, p->kept, p->n_kept, 0));
    for (size_t i = 0; i < out->n; i++) {
        while (u + 1 < p->n_units && out->word[i].begin >= unit[u + 1].begin) u++;
        out->word[i].unit = (int32_t)u;
        if (out->word[i].kept >= 0) out->word[i].text = p->kept[out->word[i].kept].bytes;
    }
    return PK_OK;
}

static pk_status make_target(writer *w, const pk_passage *p, const pk_word_list *source,
                             pk_word_list *target) {
    const pk_unit  *unit = w->k->units.unit + p->first_unit;
    pk_term_matches terms = { 0 };
    pk_unit_world   world = { p, source, &terms };
    pk_status       status = pk_glossary_match(w->k->o.glossary, source, &terms);
    for (size_t i = 0; i < p->n_units && status == PK_OK; i++) {
        status = pk_unit_words(&unit[i], (int32_t)i, w->rank, &world, target);
        if (status == PK_OK) status = add_tokens(w, &unit[i]);
    }
    target->tail = source->tail;
    pk_memory_give(terms.match);
    return status;
}

static pk_status write_passage(writer *w, pk_passage *p) {
    const pk_format format = w->k->format;
    pk_word_list    source = { 0 }, target = { 0 };
    pk_status       status;
    pk_buffer_add(&w->out.text, p->before.data, p->before.size);
    PK_GOTO(cut_source(p, w->k->units.unit + p->first_unit, &source));
    PK_GOTO(make_target(w, p, &source, &target));
    if (format == PK_FORMAT_SRT || format == PK_FORMAT_VTT)
        pk_subtitles_share(p, w->lines, &target);
    PK_GOTO(pk_place_tags(p, &source, &target));
    PK_GOTO(pk_passage_write(p, &target, format == PK_FORMAT_HTML || format == PK_FORMAT_VTT,
                             &w->out.text));
done:
    pk_word_list_free(&source);
    pk_word_list_free(&target);
    return status;
}

/* as many as the sentence with the most */
static int32_t ranks(const pk_markup_call *k, const pk_markup *m) {
    int32_t most = 1;
    for (size_t j = 0; j < m->n; j++)
        for (size_t u = 0; u < m->passage[j].n_units; u++) {
            const pk_unit *unit = &k->units.unit[m->passage[j].first_unit + u];
            const int32_t  n = unit->result ? pk_result_hypotheses(unit->result, unit->at) : 0;
            if (n > most) most = n;
        }
    return most;
}

static pk_status write_rank(writer *w) {
    pk_markup *m = (pk_markup *)w->m;
    pk_buffer_add(&w->out.text, "", 0);
    for (size_t j = 0; j < m->n; j++) PK_TRY(write_passage(w, &m->passage[j]));
    pk_buffer_add(&w->out.text, m->after.data, m->after.size);
    return pk_buffer_status(&w->out.text);
}

pk_status pk_markup_call_write(pk_markup_call *k, pk_result **out) {
    PK_TRY(pk_result_open(k->n, out));
    for (size_t i = 0; i < k->n; i++) {
        const int32_t n = ranks(k, &k->markup[i]);
        for (int32_t rank = 0; rank < n; rank++) {
            writer w = { .k = k, .m = &k->markup[i], .rank = rank };
            w.lines = pk_subtitles_lines(w.m);
            const pk_status status = write_rank(&w);
            if (status != PK_OK) pk_rendering_free(&w.out);
            PK_TRY(status);
            PK_TRY(pk_result_add(*out, i, &w.out));
        }
    }
    return PK_OK;
}
