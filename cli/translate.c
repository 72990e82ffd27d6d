/* translate.c - `pronk translate`: a line in, a line out.
 *
 * Reads a chunk of lines, translates it, writes it, and so on: memory is that of one chunk. Each
 * output line ends as its input line did, so the output has as many newlines as the input. HTML and
 * subtitles are one text: read whole, translated, written. */
#include <inttypes.h>
#include <string.h>

#include "lines.h"
#include "progress.h"

/* what is open while lines are translated */
typedef struct job {
    pk_cli        *c;
    pk_cli_models  models;
    pk_translator *translator;
    pk_glossary   *glossary;
    pk_line_reader input, prefix, draft;
    pk_line_writer output;
    pk_progress    progress;
} job;

/* where all are plain files, a wrong number of lines is reported before any work */
static int check_counts(job *j) {
    uint64_t n, beside;
    if (!pk_lines_count(&j->input, &n)) return 0;
    pk_line_reader *const readers[] = { &j->prefix, &j->draft };
    for (int i = 0; i < 2; i++)
        if (readers[i]->file >= 0 && pk_lines_count(readers[i], &beside) && beside != n)
            return pk_cli_fail(
                j->c, "%s has %" PRIu64 " line%s, the input %" PRIu64 ": they must be as many",
                readers[i]->name, beside, beside == 1 ? "" : "s", n);
    return 0;
}

/* what gives more than a text for a line, or takes more than a line for a text */
static int check_markup(const pk_cli *c) {
    const bool whole = c->text_format && strcmp(c->text_format, "text") != 0;
    if (!pk_cli_wants_markup(c)) return 0;
    if (c->prefix || c->draft || c->alignment)
        return pk_cli_usage(c, "--prefix, --draft and --alignment go only with plain text, without "
                               "--glossary and --protect");
    if (whole && (c->n_best || c->scores || c->word_scores))
        return pk_cli_usage(c, "--n-best and scores are for lines, not for --format %s",
                            c->text_format);
    return 0;
}

static pk_text whole_input(const pk_line_reader *r) { return (pk_text){ r->data, r->start }; }

static int open_glossary(job *j) {
    pk_line_reader lines = { .file = -1 };
    int            code = pk_lines_open(j->c, j->c->glossary, &lines);
    if (!code) code = pk_lines_take(j->c, &lines, SIZE_MAX);
    if (!code) {
        pk_status status = pk_glossary_open(whole_input(&lines), &j->glossary);
        if (status != PK_OK) code = pk_cli_fail_status(j->c, status);
    }
    pk_lines_close(&lines);
    return code;
}

/* the output comes last: it is not touched unless all else is in order */
static int open_all(job *j) {
    pk_cli *c = j->c;
    int     code = check_markup(c);
    if (!code) code = pk_lines_open(c, c->input, &j->input);
    if (!code && c->glossary) code = open_glossary(j);
    if (!code && c->prefix) code = pk_lines_open(c, c->prefix, &j->prefix);
    if (!code && c->draft) code = pk_lines_open(c, c->draft, &j->draft);
    if (!code) code = check_counts(j);
    if (!code) code = pk_cli_open_models(c, &j->models);
    if (!code) code = pk_cli_open_translator(c, &j->models, c->decode, &j->translator);
    if (!code) code = pk_writer_open(c, c->output, &j->output);
    return code;
}

static int close_all(job *j, int code) {
    code = pk_writer_close(j->c, &j->output, code);
    pk_translator_close(j->translator);
    pk_glossary_close(j->glossary);
    pk_cli_close_models(&j->models);
    pk_lines_close(&j->draft);
    pk_lines_close(&j->prefix);
    pk_lines_close(&j->input);
    return code;
}

/* Marian's form: " ||| WordScores= -0.1 -0.2 ..." */
static void write_word_scores(pk_line_writer *w, const pk_hypothesis_view *h) {
    pk_writer_print(w, " ||| WordScores=");
    for (int32_t i = 0; i < h->n_tokens && h->token_log_prob; i++)
        pk_writer_print(w, " %.6f", (double)h->token_log_prob[i]);
}

/* one hypothesis; in Marian's n-best form when asked for */
static void write_hypothesis(job *j, const pk_hypothesis_view *h, uint64_t number) {
    pk_line_writer *w = &j->output;
    if (j->c->n_best)
        pk_writer_print(w, "%" PRIu64 " ||| ", number);
    else if (j->c->scores)
        pk_writer_print(w, "%.6f ||| ", (double)h->score);
    pk_writer_add(w, h->text, h->text_size);
    if (j->c->alignment) {
        const char *pairs = h->alignment ? h->alignment : "";
        pk_writer_add(w, " ||| ", 5);
        pk_writer_add(w, pairs, strlen(pairs));
    }
    if (j->c->word_scores) write_word_scores(w, h);
    if (j->c->n_best)
        pk_writer_print(w, " ||| F0= %.6f ||| %.6f", (double)h->log_prob, (double)h->score);
}

/* n-best lists put a newline between hypotheses also where the input line has none */
static int write_line(job *j, const pk_result *result, size_t i, uint64_t number) {
    int32_t     n = pk_result_hypotheses(result, i);
    const char *ending = j->input.ending[i];
    if (n < 1 || !j->c->n_best) n = 1;
    for (int32_t rank = 0; rank < n; rank++) {
        pk_hypothesis_view h = { .text = "" };
        pk_status          status = pk_result_hypothesis(result, i, rank, &h);
        if (status != PK_OK) return pk_cli_fail_status(j->c, status);
        write_hypothesis(j, &h, number);
        pk_writer_print(&j->output, "%s", rank + 1 < n && !*ending ? "\n" : ending);
    }
    return 0;
}

/* flushed at the end of each chunk, as another program may be waiting for it */
static int write_chunk(job *j, const pk_result *result) {
    uint64_t first = j->input.lines - j->input.n;
    for (size_t i = 0; i < j->input.n; i++) {
        int code = write_line(j, result, i, first + i);
        if (!code && j->output.size > 1 << 16) code = pk_writer_flush(j->c, &j->output);
        if (code) return code;
    }
    return pk_writer_flush(j->c, &j->output);
}

/* as many lines beside the input as it has: fewer, or any left over, is a mistake worth stopping
 * for */
static int read_beside(job *j, const char *path, pk_line_reader *beside) {
    if (!path) return 0;
    int code = pk_lines_take(j->c, beside, j->input.n ? j->input.n : 1);
    if (!code && beside->n != j->input.n)
        code = pk_cli_fail(j->c, "%s has %s lines than the input: it must have one for each",
                           beside->name, beside->n < j->input.n ? "fewer" : "more");
    return code;
}

static pk_call_options call_options(job *j) {
    const pk_cli *c = j->c;
    return (pk_call_options){ .size = sizeof(pk_call_options),
                              .progress = pk_progress_report,
                              .user = &j->progress,
                              .tokens = c->tokens,
                              .format = c->text_format,
                              .glossary = j->glossary,
                              .protect = c->protect.item,
                              .n_protect = c->protect.n,
                              .protect_usual = c->protect_usual };
}

/* one call of the library; number: of the chunk's first line, for messages */
static int translate_chunk(job *j) {
    pk_result      *result = NULL;
    pk_call_options options = call_options(j);
    options.prefix = j->c->prefix ? j->prefix.line : NULL;
    options.draft = j->c->draft ? j->draft.line : NULL;
    options.number = (size_t)(j->input.lines - j->input.n) + 1;
    pk_status status = pk_translate(j->translator, j->input.line, j->input.n, &options, &result);
    int       code = status == PK_OK ? write_chunk(j, result) : pk_cli_fail_status(j->c, status);
    pk_result_free(result);
    return code;
}

/* chunk by chunk; prefixes and drafts are read in step with the input */
static int translate_all(job *j) {
    int code = 0;
    pk_progress_begin(&j->progress, j->c, &j->input);
    while (!code) {
        code = pk_lines_next(j->c, &j->input);
        if (!code) code = read_beside(j, j->c->prefix, &j->prefix);
        if (!code) code = read_beside(j, j->c->draft, &j->draft);
        if (code || j->input.n == 0) break;
        code = translate_chunk(j);
        pk_progress_chunk_done(&j->progress);
    }
    pk_progress_end(&j->progress);
    return code;
}

/* all of the input is one text */
static int translate_document(job *j) {
    pk_result      *result = NULL;
    pk_call_options options = call_options(j);
    int             code = pk_lines_take(j->c, &j->input, SIZE_MAX);
    if (code) return code;
    const pk_text text = whole_input(&j->input);
    pk_progress_begin(&j->progress, j->c, &j->input);
    pk_status          status = pk_translate(j->translator, &text, 1, &options, &result);
    pk_hypothesis_view h = { .text = "" };
    if (status == PK_OK) status = pk_result_hypothesis(result, 0, 0, &h);
    pk_progress_end(&j->progress);
    if (status == PK_OK)
        pk_writer_add(&j->output, h.text, h.text_size);
    else
        code = pk_cli_fail_status(j->c, status);
    pk_result_free(result);
    return code;
}

int pk_cli_translate(pk_cli *c) {
    const bool whole = c->text_format && strcmp(c->text_format, "text") != 0;
    job j = { .c = c, .input.file = -1, .prefix.file = -1, .draft.file = -1, .output.file = -1 };
    int code = open_all(&j);
    if (!code) code = whole ? translate_document(&j) : translate_all(&j);
    if (j.translator) pk_cli_warn_stats(c, j.translator);
    return close_all(&j, code);
}
