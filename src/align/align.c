/* align.c - pk_align(): pairs of sentences in, links out; by a model that is learned from these
 * pairs or was saved before. Read this first: it is the whole of `pronk align`. */
#include <string.h>
#include <unistd.h>

#include "align/align_output.h"
#include "align/align_train.h"
#include "base/file_id.h"
#include "base/file_writer.h"
#include "base/memory.h"
#include "base/option_struct.h"

enum { ITERATIONS = 5, MOST_ITERATIONS = 1000, MOST_THREADS = 1024, TABLE_BLOCK = 1 << 20 };

/* one call of pk_align() */
typedef struct job {
    pk_align_options o;
    pk_align_report  report;
    pk_align_model   model;
    pk_align_corpus  corpus; /* what was trained on */
    const char      *what;   /* what is being done, for the progress report */
} job;

/* calls the caller's progress function, which may cancel; share: 0 to 1, negative: not known */
static pk_status report(void *user, double share) {
    job *j = user;
    if (j->o.progress && j->o.progress(j->o.user, j->what, share, &j->report) != 0)
        PK_FAIL(PK_CANCELLED, "cancelled by the caller");
    return PK_OK;
}

/* ---- training ---- */

/* progress of reading */
static pk_status have_read(void *user, uint64_t pairs) {
    ((job *)user)->report.pairs = pairs;
    return report(user, -1);
}

/* progress of training; memory is reported at its highest */
static pk_status have_trained(void *user, double share, size_t bytes) {
    job *j = user;
    if (bytes > j->report.memory) j->report.memory = bytes;
    return report(user, share);
}

/* the whole text into memory: every iteration goes through all of it */
static pk_status read_corpus(job *j) {
    const pk_align_corpus_request q = {
        j->o.source,  j->o.target, { j->model.spm[0], pk_align_model_spm(&j->model, 1) },
        j->o.threads, have_read,   j
    };
    j->what = "reading";
    PK_TRY(pk_align_corpus_read(&q, &j->corpus));
    for (int side = 0; side < 2; side++) {
        j->model.words[side] = pk_align_word_builder_words(&j->corpus.words[side]);
        j->report.words[side] = j->corpus.n_tokens[side];
        j->report.vocabulary[side] = j->model.words[side].n;
    }
    if (!j->corpus.n_tokens[0])
        PK_FAIL(PK_FORMAT, "%s: no pair has words on both sides: there is nothing to learn from",
                j->o.source);
    return PK_OK;
}

/* forward: the source side is given, the target side is generated */
static pk_status train_direction(job *j, int direction) {
    const pk_align_training t = { &j->corpus,      direction == PK_ALIGN_FORWARD ? 0 : 1,
                                  j->o.iterations, j->o.threads,
                                  have_trained,    j };
    j->what = direction == PK_ALIGN_FORWARD ? "training, forward" : "training, reverse";
    PK_TRY(pk_align_train(&t, &j->model.table[direction]));
    j->model.has[direction] = true;
    return PK_OK;
}

/* a copy, since the saved model contains it */
static pk_status take_spm(job *j, int side, const void *data, size_t size) {
    char *copy = NULL;
    PK_TRY(pk_memory_copy_text(data, size, &copy));
    j->model.own_spm_data[side] = copy;
    j->model.spm_data[side] = copy;
    j->model.spm_size[side] = size;
    return pk_spm_open(copy, size, &j->model.spm[side]);
}

static pk_status read_vocab(job *j) {
    pk_file_map file;
    PK_TRY(pk_file_map_open(j->o.vocab, &file));
    const pk_status status = take_spm(j, 0, file.data, file.size);
    pk_file_map_close(&file);
    if (status == PK_FORMAT) pk_fail_context("%s", j->o.vocab);
    return status;
}

/* the pieces of a model: of each side, or of both where it has one SentencePiece model */
static pk_status open_vocab(job *j) {
    const void *data[2];
    size_t      size[2];
    if (j->o.vocab) return read_vocab(j);
    if (!j->o.model) return PK_OK;
    for (int side = 0; side < 2; side++)
        PK_TRY(pk_model_sentencepiece(j->o.model, side, &data[side], &size[side]));
    PK_TRY(take_spm(j, 0, data[0], size[0]));
    if (size[1] == size[0] && memcmp(data[1], data[0], size[0]) == 0) return PK_OK;
    return take_spm(j, 1, data[1], size[1]);
}

/* both directions where links will be symmetrised, else one */
static pk_status train(job *j) {
    PK_TRY(open_vocab(j));
    PK_TRY(read_corpus(j));
    if (j->o.symmetrise) PK_TRY(pk_align_method_find(j->o.symmetrise, &j->model.method));
    for (int d = 0; d < 2; d++)
        if (j->o.symmetrise || d == (j->o.reverse ? PK_ALIGN_REVERSE : PK_ALIGN_FORWARD))
            PK_TRY(train_direction(j, d));
    /* for drafts of models with the same pieces */
    if (!j->o.save || !j->model.spm[0] || !j->model.has[PK_ALIGN_FORWARD]) return PK_OK;
    return pk_align_successors_count(&j->corpus, 1, &j->model.next);
}

/* ---- what is written ---- */

/* null's row comes before the first word's */
static void print_row(const job *j, int direction, uint32_t row, pk_buffer *text) {
    const pk_align_table *t = &j->model.table[direction];
    const pk_align_words *given = &j->model.words[direction],
                         *generated = &j->model.words[!direction];
    if (row == 0) pk_align_table_print_null(t, generated, text);
    pk_align_table_print_row(t, row, given, generated, text);
}

/* both directions go into one file, with an empty line between them */
static pk_status write_table(job *j) {
    pk_file_writer file;
    pk_buffer      text = { 0 };
    PK_TRY(pk_file_writer_open(j->o.table, &file));
    pk_status status = PK_OK;
    for (int d = 0; d < 2; d++) {
        if (d == 1 && j->model.has[0] && j->model.has[1]) pk_buffer_add(&text, "\n", 1);
        for (uint32_t row = 0; j->model.has[d] && row < j->model.table[d].n_given; row++) {
            print_row(j, d, row, &text);
            if (text.size < TABLE_BLOCK && row + 1 < j->model.table[d].n_given) continue;
            if (status == PK_OK) status = pk_buffer_status(&text);
            if (status == PK_OK) pk_file_writer_add(&file, text.data, text.size);
            pk_buffer_clear(&text);
        }
    }
    pk_buffer_free(&text);
    if (status == PK_OK) status = pk_file_writer_finish(&file);
    pk_file_writer_abandon(&file);
    return status;
}

static pk_status have_aligned(void *user, double share, const pk_align_report *counts) {
    (void)counts;
    return report(user, share);
}

/* counts start at zero: they are those of the links that are written */
static pk_status write_links(job *j) {
    pk_align_output o = { .model = &j->model,
                          .threads = j->o.threads,
                          .write = j->o.write,
                          .progress = have_aligned,
                          .user = j->o.user,
                          .progress_user = j,
                          .report = &j->report };
    PK_TRY(pk_align_model_use(&j->model, j->o.symmetrise, j->o.reverse != 0, &o.use));
    j->what = "aligning";
    j->report.pairs = 0;
    j->report.words[0] = j->report.words[1] = 0;
    for (int d = 0; d < 2; d++)
        if (o.use.method != PK_ALIGN_ONE_WAY || d == o.use.direction)
            j->report.tension[d] = j->model.table[d].tension;
    return j->o.load ? pk_align_output_files(&o, j->o.source, j->o.target)
                     : pk_align_output_corpus(&o, &j->corpus);
}

/* ---- all of it ---- */

/* options that do not fit each other; fills in the defaults */
static pk_status check(job *j) {
    pk_align_options *o = &j->o;
    pk_align_method   method;
    if (!o->source || !*o->source) PK_FAIL(PK_ARGUMENT, "nothing to align: give source");
    if (o->reverse && o->symmetrise)
        PK_FAIL(PK_ARGUMENT, "reverse is one direction, symmetrise needs both: give one of them");
    if (o->symmetrise) PK_TRY(pk_align_method_find(o->symmetrise, &method));
    if (o->load && o->vocab)
        PK_FAIL(PK_ARGUMENT, "a saved model has its own vocabulary: leave out vocab");
    if (o->model && (o->load || o->vocab))
        PK_FAIL(PK_ARGUMENT, "pieces are a model's or a vocabulary's: leave out %s",
                o->vocab ? "vocab" : "model");
    if (o->load && o->save) PK_FAIL(PK_ARGUMENT, "the model is saved already: leave out save");
    if (o->iterations < 0 || o->iterations > MOST_ITERATIONS)
        PK_FAIL(PK_ARGUMENT, "%d iterations: give 1 to %d", o->iterations, MOST_ITERATIONS);
    if (o->threads < 0 || o->threads > MOST_THREADS)
        PK_FAIL(PK_ARGUMENT, "%d threads: give 1 to %d", o->threads, MOST_THREADS);
    if (o->iterations == 0) o->iterations = ITERATIONS;
    const long cores = o->threads ? o->threads : sysconf(_SC_NPROCESSORS_ONLN);
    o->threads = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (int32_t)cores;
    return PK_OK;
}

/* PK_ARGUMENT where a file that is written is one that is read, or is written twice */
static pk_status check_outputs(const job *j) {
    const char *const read[] = { j->o.source, j->o.target, j->o.vocab, j->o.load };
    pk_file_ids       inputs = { 0 };
    pk_status         status = PK_OK;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (status == PK_OK && read[i]) status = pk_file_ids_add(&inputs, read[i]);
    if (status == PK_OK && j->o.save) status = pk_file_ids_refuse(&inputs, j->o.save);
    if (status == PK_OK && j->o.table) status = pk_file_ids_refuse(&inputs, j->o.table);
    pk_file_ids_free(&inputs);
    PK_TRY(status);
    if (j->o.save && j->o.table && pk_file_same(j->o.save, j->o.table))
        PK_FAIL(PK_ARGUMENT, "%s is also another output: write to another file", j->o.table);
    return PK_OK;
}

/* learn or open a model, save it, write its table, write the links */
static pk_status do_all(job *j) {
    PK_TRY(check(j));
    PK_TRY(check_outputs(j));
    if (j->o.load)
        PK_TRY(pk_align_model_open(j->o.load, &j->model));
    else
        PK_TRY(train(j));
    if (j->o.save) PK_TRY(pk_align_model_save(&j->model, j->o.save));
    if (j->o.table) PK_TRY(write_table(j));
    PK_TRY(write_links(j));
    return pk_align_model_check_file(&j->model);
}

pk_status pk_align(const pk_align_options *opt, pk_align_report *out) {
    job j = { .what = "" };
    if (out) *out = (pk_align_report){ 0 };
    PK_NEED(opt);
    PK_READ_OPTIONS(pk_align_options, opt, &j.o);
    const pk_status status = do_all(&j);
    pk_align_model_close(&j.model);
    pk_align_corpus_free(&j.corpus);
    if (out) *out = j.report;
    return status;
}
