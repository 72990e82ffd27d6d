/* evaluate.c - pk_evaluate: all figures for one or more systems against one reference.
 *
 * Each line is decoded once per system and counted by both metrics; what stays of it is a row of
 * counts, and that only when there is to be a bootstrap. */
#include "metric/evaluate.h"

#include <math.h>
#include <string.h>

#include "base/option_struct.h"
#include "metric/bootstrap.h"

/* lists and tables used again for every line */
typedef struct workspace {
    pk_points      reference, hypothesis, spare;
    pk_ngram_table table;
    pk_word_lists  words;
} workspace;

enum { HEAD, TAIL, N_ENDS };

/* counts of a whole text; 64 bits, since they only add up */
typedef struct totals {
    int64_t count[PK_ROW_COUNTS];
    int64_t repeated;
    int64_t correct[N_ENDS][PK_BLEU_ORDERS], total[N_ENDS][PK_BLEU_ORDERS]; /* of lines' ends */
} totals;

pk_status pk_eval_settings_read(const pk_eval_options *opt, pk_eval_settings *out) {
    pk_eval_options given;
    PK_READ_OPTIONS(pk_eval_options, opt, &given);
    if (given.bootstrap < 0 || given.bootstrap > PK_MOST_RESAMPLES) {
        PK_FAIL(PK_ARGUMENT, "bootstrap: %d resamples; give 0 (none) to %d", given.bootstrap,
                PK_MOST_RESAMPLES);
    }
    if (given.head < 0 || given.tail < 0)
        PK_FAIL(PK_ARGUMENT, "head and tail are numbers of tokens, or 0 for none");
    *out = (pk_eval_settings){ .tokenizer_name = given.tokenize ? given.tokenize : "13a",
                               .lowercase = given.lowercase != 0,
                               .n_resamples = (size_t)given.bootstrap,
                               .end = { (size_t)given.head, (size_t)given.tail },
                               .seed = given.seed ? given.seed : PK_DEFAULT_EVAL_SEED };
    return pk_tokenizer_find(given.tokenize, &out->tokenizer);
}

static void workspace_free(workspace *w) {
    pk_points_free(&w->reference);
    pk_points_free(&w->hypothesis);
    pk_points_free(&w->spare);
    pk_ngram_free(&w->table);
    pk_ids_free(&w->words.reference);
    pk_ids_free(&w->words.hypothesis);
}

/* decodes a line; both metrics count the same code points */
static pk_status read_line(const pk_eval_settings *set, pk_text text, pk_points *line) {
    PK_TRY(pk_points_read(line, text));
    return set->lowercase ? pk_points_lower(line) : PK_OK;
}

/* for BLEU only: sacreBLEU strips the end of a line before it tokenizes */
static pk_status tokenize(const pk_eval_settings *set, pk_points *line, pk_points *spare) {
    pk_points_strip_end(line);
    return set->tokenizer(line, spare);
}

/* All counts of one line: BLEU's first, then chrF's. */
static pk_status count_line(const pk_eval_settings *set, workspace *w, pk_text reference,
                            pk_text hypothesis, int32_t count[PK_ROW_COUNTS], int32_t *repeated) {
    PK_TRY(read_line(set, reference, &w->reference));
    PK_TRY(read_line(set, hypothesis, &w->hypothesis));
    /* chrF first: tokenizing rewrites the lines */
    PK_TRY(
        pk_chrf_count(&w->reference, &w->hypothesis, &w->table, &w->words, count + PK_BLEU_COUNTS));
    PK_TRY(tokenize(set, &w->reference, &w->spare));
    PK_TRY(tokenize(set, &w->hypothesis, &w->spare));
    return pk_bleu_count(&w->reference, &w->hypothesis, &w->table, &w->words, count, repeated);
}

/* the line that was counted last, once more: its first and its last tokens alone */
static pk_status count_ends(const pk_eval_settings *set, workspace *w, totals *all) {
    for (int i = 0; i < N_ENDS; i++)
        if (set->end[i])
            PK_TRY(pk_bleu_count_end(&w->reference, &w->hypothesis, set->end[i], i == TAIL,
                                     &w->table, &w->words, all->correct[i], all->total[i]));
    return PK_OK;
}

/* row: [n_lines], or NULL when rows are not wanted */
static pk_status count_system(const pk_eval_settings *set, workspace *w, const pk_text *reference,
                              const pk_text *system, size_t n_lines, totals *all,
                              pk_count_row *row) {
    for (size_t i = 0; i < n_lines; i++) {
        int32_t count[PK_ROW_COUNTS], repeated;
        PK_TRY(count_line(set, w, reference[i], system[i], count, &repeated));
        for (int k = 0; k < PK_ROW_COUNTS; k++) {
            all->count[k] += count[k];
            if (row) row[i].count[k] = (float)count[k];
        }
        all->repeated += repeated;
        PK_TRY(count_ends(set, w, all));
    }
    return PK_OK;
}

static double percent(int64_t part, int64_t all) {
    return all ? 100.0 * (double)part / (double)all : 0.0;
}

/* scores of a whole text from its counts */
static void score_totals(const totals *all, pk_eval_scores *out) {
    double sum[PK_ROW_COUNTS];
    for (int k = 0; k < PK_ROW_COUNTS; k++) sum[k] = (double)all->count[k];
    const pk_bleu bleu = pk_bleu_score(sum, false);
    const int64_t n_tokens = all->count[PK_BLEU_HYPOTHESIS];
    *out = (pk_eval_scores){
        .bleu = bleu.score,
        .brevity_penalty = bleu.brevity_penalty,
        .ratio = bleu.ratio,
        .hypothesis_length = n_tokens,
        .reference_length = all->count[PK_BLEU_REFERENCE],
        .chrf2 = pk_chrf_score(sum + PK_BLEU_COUNTS, PK_CHRF_CHARS, false),
        .chrf2pp = pk_chrf_score(sum + PK_BLEU_COUNTS, PK_CHRF_ORDERS, false),
        .repetition = percent(all->repeated, n_tokens),
    };
    memcpy(out->precision, bleu.precision, sizeof out->precision);
    for (int n = 0; n < PK_BLEU_ORDERS; n++) {
        out->head_precision[n] = percent(all->correct[HEAD][n], all->total[HEAD][n]);
        out->tail_precision[n] = percent(all->correct[TAIL][n], all->total[TAIL][n]);
    }
}

/* The first system has nothing to be compared with: its p is 1. p-values come before all intervals,
 * which sort the scores they are made from. */
static pk_status add_bootstrap(pk_bootstrap *b, pk_eval_scores *out) {
    PK_TRY(pk_bootstrap_resample(b));
    out[0].p_bleu = out[0].p_chrf2 = out[0].p_chrf2pp = 1.0;
    for (size_t s = 1; s < b->n_systems; s++) {
        PK_TRY(pk_bootstrap_p_value(b, s, PK_METRIC_BLEU, fabs(out[0].bleu - out[s].bleu),
                                    &out[s].p_bleu));
        PK_TRY(pk_bootstrap_p_value(b, s, PK_METRIC_CHRF2, fabs(out[0].chrf2 - out[s].chrf2),
                                    &out[s].p_chrf2));
        PK_TRY(pk_bootstrap_p_value(b, s, PK_METRIC_CHRF2PP, fabs(out[0].chrf2pp - out[s].chrf2pp),
                                    &out[s].p_chrf2pp));
    }
    for (size_t s = 0; s < b->n_systems; s++) {
        pk_eval_scores *o = &out[s];
        pk_bootstrap_interval(b, s, PK_METRIC_BLEU, &o->bleu_mean, &o->bleu_interval);
        pk_bootstrap_interval(b, s, PK_METRIC_CHRF2, &o->chrf2_mean, &o->chrf2_interval);
        pk_bootstrap_interval(b, s, PK_METRIC_CHRF2PP, &o->chrf2pp_mean, &o->chrf2pp_interval);
    }
    return PK_OK;
}

/* a NULL text is fine where it is empty */
static pk_status check_texts(const pk_text *text, size_t n) {
    if (!text) PK_FAIL(PK_ARGUMENT, "the lines of a system are NULL");
    for (size_t i = 0; i < n; i++)
        if (!text[i].data && text[i].size)
            PK_FAIL(PK_ARGUMENT, "line %zu has %zu bytes, but its data is NULL", i + 1,
                    text[i].size);
    return PK_OK;
}

pk_status pk_evaluate(const pk_text *reference, const pk_text *const *systems, size_t n_systems,
                      size_t n_lines, const pk_eval_options *opt, pk_eval_scores *out) {
    pk_eval_settings set;
    PK_TRY(pk_eval_settings_read(opt, &set));
    PK_NEED(reference);
    PK_NEED(systems);
    PK_NEED(out);
    if (n_systems == 0) PK_FAIL(PK_ARGUMENT, "nothing to evaluate: give at least one system");
    if (n_lines == 0) PK_FAIL(PK_ARGUMENT, "nothing to evaluate: the reference has no lines");
    PK_TRY(check_texts(reference, n_lines));
    for (size_t s = 0; s < n_systems; s++) PK_TRY(check_texts(systems[s], n_lines));

    workspace     w = { 0 };
    pk_count_row *row = NULL;
    pk_bootstrap  b = { 0 };
    pk_status     status;
    memset(out, 0, n_systems * sizeof *out);
    if (set.n_resamples) PK_GOTO(PK_TAKE(&row, n_systems * n_lines));
    for (size_t s = 0; s < n_systems; s++) {
        totals all = { { 0 }, 0 };
        PK_GOTO(count_system(&set, &w, reference, systems[s], n_lines, &all,
                             row ? row + s * n_lines : NULL));
        score_totals(&all, &out[s]);
    }
    b = (pk_bootstrap){ row, n_systems, n_lines, set.n_resamples, set.seed, NULL };
    status = set.n_resamples ? add_bootstrap(&b, out) : PK_OK;
done:
    pk_bootstrap_free(&b);
    pk_memory_give(row);
    workspace_free(&w);
    return status;
}
