/* score.c - `pronk score`: the log-probability of given translations, one a line.
 *
 * Both files are read before the first figure is printed, so that files which do not belong
 * together give an error and not figures for the wrong lines. */
#include <inttypes.h>
#include <string.h>

#include "lines.h"
#include "progress.h"

typedef struct job {
    pk_cli        *c;
    pk_cli_models  models;
    pk_translator *translator;
    pk_line_reader source, target;
    pk_line_writer output;
} job;

/* both files whole; they must have as many lines */
static int read_all(job *j) {
    pk_cli *c = j->c;
    if ((!c->input || !strcmp(c->input, "-")) && !strcmp(c->reference, "-"))
        return pk_cli_usage(c, "source and translations cannot both be standard input");
    int code = pk_lines_open(c, c->input, &j->source);
    if (!code) code = pk_lines_open(c, c->reference, &j->target);
    if (!code) code = pk_lines_take(c, &j->source, SIZE_MAX);
    if (!code) code = pk_lines_take(c, &j->target, SIZE_MAX);
    if (!code && j->source.n != j->target.n)
        code = pk_cli_fail(c, "%s has %zu line%s and %s has %zu: there must be one for each",
                           j->source.name, j->source.n, j->source.n == 1 ? "" : "s", j->target.name,
                           j->target.n);
    return code;
}

/* a line for each pair: its log-probability, and those of its tokens if asked for */
static int write_scores(job *j, const pk_result *result) {
    for (size_t i = 0; i < pk_result_count(result); i++) {
        pk_hypothesis_view h = { .text = "" };
        pk_status          status = pk_result_hypothesis(result, i, 0, &h);
        if (status != PK_OK) return pk_cli_fail_status(j->c, status);
        pk_writer_print(&j->output, "%.6f", (double)h.log_prob);
        if (j->c->word_scores) pk_writer_print(&j->output, " ||| WordScores=");
        for (int32_t t = 0; j->c->word_scores && t < h.n_tokens && h.token_log_prob; t++)
            pk_writer_print(&j->output, " %.6f", (double)h.token_log_prob[t]);
        pk_writer_add(&j->output, "\n", 1);
    }
    return pk_writer_flush(j->c, &j->output);
}

/* in chunks, so that the results of one chunk only are in memory */
static int score_all(job *j) {
    for (size_t at = 0; at < j->source.n; at += PK_CHUNK_LINES) {
        size_t     left = j->source.n - at, n = left < PK_CHUNK_LINES ? left : PK_CHUNK_LINES;
        pk_result *result = NULL;
        pk_status  status = pk_score(j->translator, j->source.line + at, j->target.line + at, n,
                                     PK_OPTIONS(pk_call_options, .number = at + 1), &result);
        int code = status == PK_OK ? write_scores(j, result) : pk_cli_fail_status(j->c, status);
        pk_result_free(result);
        if (code) return code;
    }
    return 0;
}

int pk_cli_score(pk_cli *c) {
    job j = { .c = c, .source.file = -1, .target.file = -1, .output.file = -1 };
    c->no_split = c->scores = true; /* a pair of lines is a pair of sentences */
    int code = read_all(&j);
    if (!code) code = pk_cli_open_models(c, &j.models);
    if (!code) code = pk_cli_open_translator(c, &j.models, NULL, &j.translator);
    if (!code) code = pk_writer_open(c, c->output, &j.output);
    if (!code) code = score_all(&j);
    code = pk_writer_close(c, &j.output, code);
    if (j.translator) pk_cli_warn_stats(c, j.translator);
    pk_translator_close(j.translator);
    pk_cli_close_models(&j.models);
    pk_lines_close(&j.source);
    pk_lines_close(&j.target);
    return code;
}
