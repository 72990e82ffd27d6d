/* vocab_train.c - text files become a SentencePiece model: pk_vocab_train().
 *
 * Where there are more lines than wanted, a first reading counts them and a second picks just so
 * many, every line with the same chance (Knuth's algorithm S): only the picked lines are ever
 * in memory. Lines that are not UTF-8 are passed over, and those without characters: given no others,
 * libsentencepiece ends the program. Invariant: which lines are picked depends on the text,
 * max_lines and the seed alone. A vocabulary that is extended (spm_extend.c) gets pieces for the
 * characters of those lines, and learns no others. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_id.h"
#include "base/file_writer.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/option_struct.h"
#include "base/text_reader.h"
#include "text/utf8.h"
#include "vocab/characters.h"
#include "vocab/spm.h"
#include "vocab/spm_extend.h"
#include "vocab/spm_train.h"

enum { REPORT_EVERY = 10000 };

typedef struct lines {
    const pk_vocab_train_options *o;
    size_t                        file; /* being read */
    pk_text_reader               *reader;
    size_t                        done, all; /* good lines read, and in all (0: not counted) */
    size_t                        picked, wanted;
    pk_characters                 characters; /* of the picked lines */
} lines;

/* back to the first line of the first file */
static void rewind_lines(lines *l) {
    pk_text_reader_close(l->reader);
    l->reader = NULL;
    l->file = l->done = l->picked = 0;
}

/* calls the caller's progress function, which may cancel */
static pk_status report(const lines *l) {
    if (l->o->progress && l->o->progress(l->o->user, l->done, l->all) != 0)
        PK_FAIL(PK_CANCELLED, "cancelled while reading %s", l->o->inputs[l->file]);
    return PK_OK;
}

/* the next good line of all files; NULL behind the last */
static pk_status next_line(lines *l, const char **line, size_t *size) {
    *line = NULL;
    while (l->file < l->o->n_inputs) {
        if (!l->reader) PK_TRY(pk_text_reader_open(l->o->inputs[l->file], &l->reader));
        PK_TRY(pk_text_reader_next(l->reader, line, size));
        if (*line && pk_utf8_valid(*line, *size) && pk_characters_any(*line, *size)) {
            if (++l->done % REPORT_EVERY == 0) PK_TRY(report(l));
            return PK_OK;
        }
        if (*line) continue;
        pk_text_reader_close(l->reader);
        l->reader = NULL;
        l->file++;
    }
    return PK_OK;
}

/* the next line that is picked: line i with the chance of (still wanted) / (still to come) */
static pk_status next_picked(void *user, const char **line, size_t *size) {
    lines *l = user;
    for (;;) {
        *line = NULL;
        if (l->picked == l->wanted) return PK_OK;
        PK_TRY(next_line(l, line, size));
        if (!*line) return PK_OK;
        const uint64_t dice = pk_mix(l->o->seed + (uint64_t)l->done * PK_GOLDEN) >> 32;
        const size_t   left = l->all + 1 - l->done; /* this one among them */
        if (l->all <= l->wanted || (dice * left >> 32) < l->wanted - l->picked) break;
    }
    l->picked++;
    pk_characters_add(&l->characters, *line, *size);
    return PK_OK;
}

/* the first reading: how many good lines there are */
static pk_status count_lines(lines *l) {
    const char *line;
    size_t      size;
    do PK_TRY(next_line(l, &line, &size));
    while (line);
    const size_t all = l->done;
    rewind_lines(l);
    l->all = all;
    if (all == 0)
        PK_FAIL(PK_FORMAT, "%s%s: no text", l->o->inputs[0], l->o->n_inputs > 1 ? " ..." : "");
    return PK_OK;
}

/* what the model that was just made covers */
static pk_status report_coverage(const lines *l, const pk_buffer *model) {
    pk_spm   *spm;
    pk_buffer pieces = { 0 };
    if (!l->o->report) return PK_OK;
    PK_TRY(pk_spm_open(model->data, model->size, &spm));
    const pk_status status = pk_spm_pieces(spm, &pieces);
    *l->o->report = (pk_vocab_train_report){ .lines = l->picked };
    for (size_t i = 0; i < pieces.size; i++) l->o->report->pieces += pieces.data[i] == '\0';
    if (status == PK_OK)
        pk_characters_report(&l->characters, pieces.data, pieces.size, l->o->report);
    pk_spm_close(spm);
    pk_buffer_free(&pieces);
    return status;
}

/* the old model with what it lacks of the picked lines' characters */
static pk_status extend(lines *l, const pk_spm_train_options *settings, pk_buffer *model) {
    pk_buffer   characters = { 0 };
    const char *line;
    size_t      size;
    pk_status   status;
    do status = next_picked(l, &line, &size);
    while (status == PK_OK && line);
    if (status == PK_OK)
        status = pk_characters_pick(&l->characters, l->o->coverage, l->o->characters, &characters);
    if (status == PK_OK)
        status = pk_spm_extend(
            &(pk_spm_extend_options){ .model = l->o->extend,
                                      .size = l->o->extend_size,
                                      .characters = characters.size ? characters.data : "",
                                      .byte_fallback = settings->byte_fallback,
                                      .rules = settings->rules,
                                      .rules_size = settings->rules_size },
            model);
    pk_buffer_free(&characters);
    return status;
}

static pk_status train(lines *l, const pk_spm_train_options *settings) {
    pk_buffer      model = { 0 };
    pk_file_writer file;
    PK_TRY(count_lines(l));
    PK_TRY(pk_characters_open(&l->characters));
    l->wanted = l->o->max_lines < 0 ? SIZE_MAX : (size_t)l->o->max_lines;
    /* opened first: a path that cannot be written to fails now, not after minutes of work */
    PK_TRY(pk_file_writer_open(l->o->output, &file));
    pk_status status = l->o->extend ? extend(l, settings, &model) : pk_spm_train(settings, &model);
    if (status == PK_OK) status = report_coverage(l, &model);
    if (status == PK_OK) {
        pk_file_writer_add(&file, model.data, model.size);
        status = pk_file_writer_finish(&file);
    }
    pk_file_writer_abandon(&file);
    pk_buffer_free(&model);
    return status;
}

/* the model must not overwrite one of the texts */
static pk_status check_output(const pk_vocab_train_options *o) {
    pk_file_ids inputs = { 0 };
    pk_status   status = PK_OK;
    for (size_t i = 0; status == PK_OK && i < o->n_inputs; i++)
        status = pk_file_ids_add(&inputs, o->inputs[i]);
    if (status == PK_OK) status = pk_file_ids_refuse(&inputs, o->output);
    pk_file_ids_free(&inputs);
    return status;
}

static pk_status check_options(const pk_vocab_train_options *o) {
    if (o->n_inputs == 0) PK_FAIL(PK_ARGUMENT, "no text to learn a vocabulary from: give inputs");
    for (size_t i = 0; i < o->n_inputs; i++) { /* they are read twice */
        struct stat info;
        if (!o->inputs || !o->inputs[i]) PK_FAIL(PK_ARGUMENT, "input %zu is NULL", i + 1);
        if (stat(o->inputs[i], &info) != 0) PK_FAIL(PK_IO, "%s: %s", o->inputs[i], strerror(errno));
        if (!S_ISREG(info.st_mode)) PK_FAIL(PK_IO, "%s: not a regular file", o->inputs[i]);
    }
    if (!o->output || !o->output[0]) PK_FAIL(PK_ARGUMENT, "say where the vocabulary goes: output");
    PK_TRY(check_output(o));
    if (o->extend && o->vocab_size)
        PK_FAIL(PK_ARGUMENT,
                "a vocabulary that is extended has as many pieces as it needs: leave its size out");
    if (!o->extend && (o->vocab_size < PK_LEAST_VOCAB || o->vocab_size > PK_MOST_VOCAB))
        PK_FAIL(PK_ARGUMENT, "a vocabulary of %d pieces: give %d to %d", o->vocab_size,
                PK_LEAST_VOCAB, PK_MOST_VOCAB);
    if (strcmp(o->type, "unigram") != 0 && strcmp(o->type, "bpe") != 0)
        PK_FAIL(PK_ARGUMENT, "no vocabulary type \"%s\": give unigram or bpe", o->type);
    if (o->byte_fallback && o->no_byte_fallback)
        PK_FAIL(PK_ARGUMENT, "byte_fallback and no_byte_fallback: give one of them");
    if (!pk_utf8_valid(o->characters, strlen(o->characters)))
        PK_FAIL(PK_ARGUMENT, "characters that get a piece: they are not UTF-8");
    if (!(o->coverage >= PK_LEAST_COVERAGE && o->coverage <= 1))
        PK_FAIL(PK_ARGUMENT, "character coverage %g: give %g to 1", o->coverage, PK_LEAST_COVERAGE);
    if (o->max_lines < -1)
        PK_FAIL(PK_ARGUMENT, "learn from %lld lines: give a number, or -1 for all",
                (long long)o->max_lines);
    if (o->threads < 1 || o->threads > PK_MOST_THREADS)
        PK_FAIL(PK_ARGUMENT, "%d threads: give 1 to %d", o->threads, PK_MOST_THREADS);
    return PK_OK;
}

pk_status pk_vocab_train(const pk_vocab_train_options *given) {
    pk_vocab_train_options o;
    PK_NEED(given);
    PK_READ_OPTIONS(pk_vocab_train_options, given, &o);
    if (o.vocab_size == 0 && !o.extend) o.vocab_size = PK_DEFAULT_VOCAB;
    if (!o.type) o.type = "unigram";
    if (!o.characters) o.characters = "";
    if (o.coverage == 0) o.coverage = PK_DEFAULT_COVERAGE;
    if (o.max_lines == 0) o.max_lines = PK_DEFAULT_VOCAB_LINES;
    if (o.threads == 0) o.threads = PK_DEFAULT_VOCAB_THREADS;
    PK_TRY(check_options(&o));
    pk_buffer rules = { 0 };
    lines     l = { .o = &o };
    pk_characters_rules(&rules);
    const pk_spm_train_options settings = { .type = o.type,
                                            .size = o.vocab_size,
                                            .threads = o.threads,
                                            .coverage = o.coverage,
                                            .byte_fallback = !o.no_byte_fallback,
                                            .characters = o.characters,
                                            .rules = rules.data,
                                            .rules_size = rules.size,
                                            .next = next_picked,
                                            .user = &l };
    pk_status                  status = pk_buffer_status(&rules);
    if (status == PK_OK) status = train(&l, &settings);
    pk_text_reader_close(l.reader);
    pk_characters_close(&l.characters);
    pk_buffer_free(&rules);
    return status;
}
