/* distill.c - sequence-level distillation: a corpus as teachers translate it (Kim and Rush 2016).
 *
 * Line i of the output is the translation of line i of the source, taken as one sentence: a chunk
 * is read, translated and written, and so on, so memory is that of one chunk, and a file that was
 * left half written can be gone on with. What cannot be translated gives an empty line, so that
 * lines stay aligned, and is counted. A student would learn the unknown token as if it were text:
 * lines with one are counted and decoded again, with that token banned. */
#include <string.h>
#include <sys/stat.h>

#include "base/file_id.h"
#include "base/memory.h"
#include "base/option_struct.h"
#include "base/text_reader.h"
#include "distill/line_output.h"
#include "metric/closest.h"
#include "text/utf8.h"

enum { CHUNK_LINES = 8192, CHUNK_BYTES = 4 << 20 };

typedef struct chunk { /* lines of one file */
    pk_text_reader *reader;
    pk_buffer       bytes;
    pk_text        *line;
    size_t          n, room;
} chunk;

typedef struct distilling {
    const pk_model       *model;
    pk_distill_options    o;
    pk_translator_options how;                 /* as given, with what distilling needs */
    pk_translator        *translator, *strict; /* strict: never unknown; opened when it is needed */
    const char           *source_path;
    chunk                 source, reference;
    pk_line_output        output;
    pk_buffer             text;              /* of a chunk, to be written */
    pk_buffer             strict_decode;     /* the strategy with unk=ban */
    pk_text              *again;             /* lines of the chunk that had an unknown token ... */
    size_t               *again_at, n_again; /* ... and which they are */
    pk_closest            closest;
    pk_distill_report     report;
} distilling;

/* ---- reading ---- */

/* copies a line; its pointer is set later, since the buffer may still move */
static pk_status add_line(chunk *c, const char *line, size_t size) {
    PK_TRY(PK_RESERVE(&c->line, c->n + 1, &c->room));
    c->line[c->n++] = (pk_text){ NULL, size };
    pk_buffer_add(&c->bytes, line, size);
    return pk_buffer_status(&c->bytes);
}

/* the next `most` lines, fewer where they are long; pointers are set when the bytes move no more */
static pk_status read_chunk(chunk *c, size_t most, size_t bytes) {
    const char *line;
    size_t      size, at = 0;
    c->n = 0;
    pk_buffer_clear(&c->bytes);
    while (c->n < most && c->bytes.size < bytes) {
        PK_TRY(pk_text_reader_next(c->reader, &line, &size));
        if (!line) break;
        PK_TRY(add_line(c, line, size));
    }
    for (size_t i = 0; i < c->n; i++) {
        c->line[i].data = c->bytes.data + at;
        at += c->line[i].size;
    }
    return PK_OK;
}

static void close_chunk(chunk *c) {
    pk_text_reader_close(c->reader);
    pk_buffer_free(&c->bytes);
    pk_memory_give(c->line);
}

/* passes over n lines, or fewer at the end of the file */
static pk_status skip(pk_text_reader *r, uint64_t n, uint64_t *skipped) {
    const char *line;
    size_t      size;
    for (*skipped = 0; *skipped < n; ++*skipped) {
        PK_TRY(pk_text_reader_next(r, &line, &size));
        if (!line) break;
    }
    return PK_OK;
}

/* lines of a file; 0 for pipes and the like, which can be read only once */
static pk_status count_lines(const char *path, uint64_t *lines) {
    struct stat     about;
    pk_text_reader *r;
    *lines = 0;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) return PK_OK;
    PK_TRY(pk_text_reader_open(path, &r));
    const pk_status status = skip(r, UINT64_MAX, lines);
    pk_text_reader_close(r);
    return status;
}

/* ---- opening ---- */

/* reported before any work: files whose numbers of lines differ */
static pk_status check_counts(distilling *d) {
    uint64_t beside = 0;
    PK_TRY(count_lines(d->source_path, &d->report.all));
    if (!d->o.reference) return PK_OK;
    PK_TRY(count_lines(d->o.reference, &beside));
    if (beside && d->report.all && beside != d->report.all)
        PK_FAIL(PK_FORMAT, "%s has %llu line%s and %s has %llu: there must be one for each",
                d->o.reference, (unsigned long long)beside, beside == 1 ? "" : "s", d->source_path,
                (unsigned long long)d->report.all);
    return PK_OK;
}

/* PK_ARGUMENT where the output is one of the files that are read */
static pk_status check_output(const distilling *d, const pk_model *m, const char *target) {
    const pk_model *const *more = d->how.ensemble;
    pk_file_ids            inputs = { 0 };
    pk_file_id             id;
    if (!pk_file_id_of(target, &id)) return PK_OK;
    bool read = pk_model_reads(m, id.device, id.inode);
    for (size_t i = 0; i < d->how.n_ensemble; i++)
        read |= pk_model_reads(more[i], id.device, id.inode);
    if (read) PK_FAIL(PK_ARGUMENT, "%s is also a model: write to another file", target);
    pk_status status = pk_file_ids_add(&inputs, d->source_path);
    if (status == PK_OK && d->o.reference) status = pk_file_ids_add(&inputs, d->o.reference);
    if (status == PK_OK) status = pk_file_ids_refuse(&inputs, target);
    pk_file_ids_free(&inputs);
    return status;
}

/* skips the input lines whose translations are in the output already */
static pk_status skip_done(distilling *d, chunk *c, const char *path) {
    uint64_t skipped;
    PK_TRY(skip(c->reader, d->output.lines, &skipped));
    if (skipped < d->output.lines)
        PK_FAIL(
            PK_FORMAT,
            "%s has %llu line%s, more than the %llu of %s: it is not the beginning of this work",
            d->output.path, (unsigned long long)d->output.lines, d->output.lines == 1 ? "" : "s",
            (unsigned long long)skipped, path);
    return PK_OK;
}

/* each line is one sentence, and what is too long is left out, whatever the caller says */
static pk_status choose_how(distilling *d) {
    PK_READ_OPTIONS(pk_translator_options, d->o.translator, &d->how);
    d->how.size = sizeof d->how;
    d->how.one_sentence = d->how.skip_long = 1;
    if (!d->o.reference) d->how.n_best = 1;
    return PK_OK;
}

/* the given way to decode, with the unknown token banned */
static pk_status choose_strict(distilling *d) {
    const char *decode = d->how.decode && *d->how.decode ? d->how.decode : "greedy";
    const char *unk = strstr(decode, "unk=");
    if (unk && strncmp(unk, "unk=ban", strlen("unk=ban")) != 0)
        PK_FAIL(PK_ARGUMENT, "distill never writes the unknown token: leave unk out of '%s'",
                decode);
    pk_buffer_add_text(&d->strict_decode, decode);
    if (!unk) pk_buffer_add_text(&d->strict_decode, strchr(decode, ':') ? ",unk=ban" : ":unk=ban");
    return pk_buffer_status(&d->strict_decode);
}

/* the output is changed last, when all else is open */
static pk_status open_all(distilling *d, const char *target) {
    if (d->o.reference && d->how.n_best < 2)
        PK_FAIL(PK_ARGUMENT, "a reference chooses among several hypotheses: ask for 2 or more");
    PK_TRY(choose_strict(d));
    PK_TRY(check_output(d, d->model, target));
    PK_TRY(check_counts(d));
    PK_TRY(pk_translator_open(d->model, &d->how, &d->translator));
    PK_TRY(pk_text_reader_open(d->source_path, &d->source.reader));
    if (d->o.reference) PK_TRY(pk_text_reader_open(d->o.reference, &d->reference.reader));
    PK_TRY(pk_line_output_open(&d->output, target, d->o.resume));
    PK_TRY(skip_done(d, &d->source, d->source_path));
    if (d->o.reference) PK_TRY(skip_done(d, &d->reference, d->o.reference));
    PK_TRY(pk_line_output_begin(&d->output));
    d->report.lines = d->report.resumed = d->output.lines;
    return PK_OK;
}

static pk_status close_all(distilling *d, pk_status status) {
    pk_translator_close(d->translator);
    pk_translator_close(d->strict);
    pk_buffer_free(&d->strict_decode);
    pk_memory_give(d->again);
    pk_memory_give(d->again_at);
    close_chunk(&d->source);
    close_chunk(&d->reference);
    pk_buffer_free(&d->text);
    pk_closest_free(&d->closest);
    return pk_line_output_close(&d->output, status);
}

/* ---- writing ---- */

/* nothing but white space */
static bool is_blank(pk_text t) {
    int32_t code;
    for (size_t at = 0; at < t.size;) {
        at += pk_utf8_next(t.data + at, t.size - at, &code);
        if (!pk_utf8_is_space(code)) return false;
    }
    return true;
}

/* one line: no space at its ends, and nothing inside that would end it */
static void add_clean(pk_buffer *out, pk_text t) {
    while (t.size && (unsigned char)t.data[0] <= ' ') t.data++, t.size--;
    while (t.size && (unsigned char)t.data[t.size - 1] <= ' ') t.size--;
    for (size_t i = 0; i < t.size; i++) {
        const char c = t.data[i];
        pk_buffer_add(out, c == '\n' || c == '\r' || c == 0 ? " " : &c, 1);
    }
}

/* the best hypothesis, or of several the one most like the reference; the better ranked of equals
 */
static pk_status choose(distilling *d, const pk_result *r, size_t i, size_t line, pk_text *out) {
    pk_hypothesis_view h;
    double             most = -1, score;
    PK_TRY(pk_result_hypothesis(r, i, 0, &h));
    *out = (pk_text){ h.text, h.text_size };
    if (!d->o.reference || is_blank(d->reference.line[line])) return PK_OK;
    PK_TRY(pk_closest_begin(&d->closest, d->reference.line[line]));
    for (int32_t rank = 0; rank < pk_result_hypotheses(r, i); rank++) {
        PK_TRY(pk_result_hypothesis(r, i, rank, &h));
        PK_TRY(pk_closest_score(&d->closest, (pk_text){ h.text, h.text_size }, &score));
        if (score <= most) continue;
        most = score;
        *out = (pk_text){ h.text, h.text_size };
    }
    return PK_OK;
}

/* again: the lines that were decoded a second time, in their order */
static pk_status write_chunk(distilling *d, const pk_result *r, const pk_result *again) {
    pk_buffer_clear(&d->text);
    for (size_t i = 0, k = 0; i < d->source.n; i++) {
        const bool   empty = is_blank(d->source.line[i]);
        const bool   second = k < d->n_again && d->again_at[k] == i;
        const size_t had = d->text.size;
        pk_text      best = { "", 0 };
        if (!empty) PK_TRY(choose(d, second ? again : r, second ? k : i, i, &best));
        k += second;
        add_clean(&d->text, best);
        d->report.empty += empty;
        d->report.untranslated += !empty && d->text.size == had;
        pk_buffer_add(&d->text, "\n", 1);
    }
    return pk_line_output_add(&d->output, &d->text);
}

/* ---- unknown tokens ---- */

/* whether any hypothesis of line i has an unknown token */
static bool has_unknown(const pk_result *r, size_t i) {
    for (int32_t rank = 0; rank < pk_result_hypotheses(r, i); rank++)
        if (pk_result_unknowns(r, i, rank)) return true;
    return false;
}

/* lists the lines of the chunk that must be decoded again */
static pk_status find_unknown(distilling *d, const pk_result *r) {
    d->n_again = 0;
    for (size_t i = 0; i < d->source.n; i++) {
        if (!has_unknown(r, i)) continue;
        if (d->n_again == 0) {
            PK_TRY(PK_GROW(&d->again, d->source.n));
            PK_TRY(PK_GROW(&d->again_at, d->source.n));
        }
        d->again[d->n_again] = d->source.line[i];
        d->again_at[d->n_again++] = i;
    }
    d->report.unknown += d->n_again;
    return PK_OK;
}

/* those lines with the unknown token banned; *out NULL where there are none */
static pk_status translate_again(distilling *d, const pk_result *r, pk_result **out) {
    *out = NULL;
    PK_TRY(find_unknown(d, r));
    if (d->n_again == 0) return PK_OK;
    if (!d->strict) {
        pk_translator_options how = d->how;
        how.decode = d->strict_decode.data;
        PK_TRY(pk_translator_open(d->model, &how, &d->strict));
    }
    return pk_translate(d->strict, d->again, d->n_again, NULL, out);
}

/* ---- the loop ---- */

/* lines of finished chunks, and an estimate for the present one */
static int report_progress(void *user, size_t done, size_t of) {
    distilling       *d = user;
    pk_distill_report so_far = d->report;
    if (of) so_far.lines += (uint64_t)((double)d->source.n * (double)done / (double)of);
    return d->o.progress ? d->o.progress(d->o.user, &so_far) : 0;
}

/* The translator counts over all chunks. Lines that were too long also came out empty: they are
 * counted as too long only. */
static void count_chunk(distilling *d) {
    pk_stats stats;
    pk_translator_stats(d->translator, &stats);
    d->report.lines += d->source.n;
    d->report.untranslated -= stats.skipped - d->report.too_long;
    d->report.too_long = stats.skipped;
    d->report.repaired = stats.repaired;
    d->report.source_tokens = stats.source_tokens;
    d->report.target_tokens = stats.target_tokens;
}

/* translate, repeat the lines with unknowns, write, count */
static pk_status translate_chunk(distilling *d) {
    const pk_call_options call = { .size = sizeof call, .progress = report_progress, .user = d };
    pk_result            *result, *again = NULL;
    PK_TRY(pk_translate(d->translator, d->source.line, d->source.n, &call, &result));
    pk_status status = translate_again(d, result, &again);
    if (status == PK_OK) status = write_chunk(d, result, again);
    pk_result_free(result);
    pk_result_free(again);
    if (status == PK_OK) count_chunk(d);
    return status;
}

static pk_status translate_all(distilling *d) {
    /* sentences are sorted by length within a chunk: it should be many batches */
    const size_t most = d->how.batch > CHUNK_LINES / 8 ? (size_t)d->how.batch * 8 : CHUNK_LINES;
    for (;;) {
        PK_TRY(read_chunk(&d->source, most, CHUNK_BYTES));
        if (d->o.reference) PK_TRY(read_chunk(&d->reference, d->source.n, SIZE_MAX));
        if (d->o.reference && d->reference.n < d->source.n)
            PK_FAIL(PK_FORMAT, "%s ends at line %llu: there must be one for each line of %s",
                    d->o.reference, (unsigned long long)(d->report.lines + d->reference.n),
                    d->source_path);
        if (d->source.n == 0) return PK_OK;
        PK_TRY(translate_chunk(d));
        if (report_progress(d, 0, 0)) PK_FAIL(PK_CANCELLED, "cancelled by the caller");
    }
}

pk_status pk_distill(const pk_model *m, const char *source, const char *target,
                     const pk_distill_options *opt, pk_distill_report *out) {
    distilling d = { .model = m, .source_path = source, .output.file = -1 };
    if (out) *out = (pk_distill_report){ 0 };
    if (!m || !source || !target) PK_FAIL(PK_ARGUMENT, "distill needs a model and two files");
    PK_READ_OPTIONS(pk_distill_options, opt, &d.o);
    PK_TRY(choose_how(&d));
    pk_status status = open_all(&d, target);
    if (status == PK_OK) status = translate_all(&d);
    status = close_all(&d, status);
    if (out) *out = d.report;
    return status;
}
