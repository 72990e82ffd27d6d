/* document.c - reading: bytes -> pieces -> jobs. Writing is in rendering.c. */
#include "engine/document.h"

#include <string.h>

#include "text/utf8.h"

/* what the model expects around a sentence's own tokens */
static pk_status begin_job(pk_job *job, const pk_reader *r) {
    const bool tag = r->language.source_token >= 0;
    if (tag) PK_TRY(pk_ids_add(&job->source, r->language.source_token));
    if (r->language.target_token < 0) return PK_OK;
    job->n_free_prefix = 1;
    return pk_ids_add(&job->prefix, r->language.target_token);
}

static pk_status end_job(pk_job *job, const pk_reader *r) {
    return pk_ids_add(&job->source, r->model->data.network.config.eos);
}

static pk_status add_piece(pk_pieces *p, pk_piece piece) {
    if (p->n == p->room) {
        const size_t room = p->room ? 2 * p->room : 16;
        PK_TRY(PK_GROW(&p->piece, room));
        p->room = room;
    }
    p->piece[p->n++] = piece;
    return PK_OK;
}

/* Longest text whose tokens are looked at in one go when cutting: long enough to hold max_source
 * tokens of ordinary text, short enough that cutting a huge line stays linear. */
static size_t window(const pk_reader *r, size_t size) {
    const size_t most = (size_t)r->max_source * 16;
    return size < most ? size : most;
}

/* Bytes of the longest good start of the text that fits max_source tokens. */
static pk_status fitting_start(const pk_reader *r, const char *text, size_t size, size_t *bytes) {
    const size_t most = (size_t)r->max_source - 2; /* language and end symbol */
    size_t       cut = pk_split_point(text, size, window(r, size));
    if (window(r, size) == size) cut = size;
    pk_ids    id = { 0 }, begin = { 0 };
    pk_status status = PK_OK;
    for (;;) {
        id.n = begin.n = 0;
        status = pk_vocab_encode_source(r->model->vocab, text, cut, &id, &begin);
        if (status != PK_OK || id.n <= most || cut <= 1) break;
        const size_t over = (size_t)begin.id[most]; /* where the first token too many begins */
        cut = pk_split_point(text, cut, over && over < cut ? over : cut / 2);
    }
    *bytes = cut;
    pk_ids_free(&id);
    pk_ids_free(&begin);
    return status;
}

/* bytes up to the last character that is not white space */
static size_t content_size(const char *text, size_t size) {
    size_t  content = 0;
    int32_t code;
    for (size_t at = 0; at < size;) {
        at += pk_utf8_next(text + at, size - at, &code);
        if (!pk_utf8_is_space(code)) content = at;
    }
    return content;
}

/* adds one sentence piece to `out`, cut where it is too long; space at a cut is copied, not
 * translated */
static pk_status add_sentence(pk_document *d, const pk_reader *r, pk_piece p, pk_pieces *out) {
    for (bool first = true; p.size; first = false) {
        size_t bytes;
        PK_TRY(fitting_start(r, d->text + p.begin, p.size, &bytes));
        if (first && bytes < p.size) d->n_wrapped++;
        const size_t content = content_size(d->text + p.begin, bytes);
        if (content) PK_TRY(add_piece(out, (pk_piece){ p.begin, content, true }));
        if (content < bytes)
            PK_TRY(add_piece(out, (pk_piece){ p.begin + content, bytes - content, false }));
        p.begin += bytes;
        p.size -= bytes;
    }
    return PK_OK;
}

static pk_status cut_long_sentences(pk_document *d, const pk_reader *r) {
    pk_pieces cut = { 0 };
    pk_status status = PK_OK;
    for (size_t i = 0; i < d->pieces.n && status == PK_OK; i++) {
        const pk_piece p = d->pieces.piece[i];
        /* a token is at least one byte: short sentences need no counting */
        const bool short_enough = p.size + 2 <= (size_t)r->max_source;
        status = !p.sentence || short_enough ? add_piece(&cut, p) : add_sentence(d, r, p, &cut);
    }
    pk_pieces_free(status == PK_OK ? &d->pieces : &cut);
    if (status == PK_OK) d->pieces = cut;
    return status;
}

static pk_status make_jobs(pk_document *d, const pk_reader *r) {
    size_t n = 0;
    for (size_t i = 0; i < d->pieces.n; i++) n += d->pieces.piece[i].sentence;
    PK_TRY(PK_TAKE(&d->job, n));
    for (size_t i = 0; i < d->pieces.n; i++) {
        const pk_piece *p = &d->pieces.piece[i];
        if (!p->sentence) continue;
        pk_job *job = &d->job[d->n_jobs++];
        PK_TRY(begin_job(job, r));
        PK_TRY(pk_vocab_encode_source(r->model->vocab, d->text + p->begin, p->size, &job->source,
                                      NULL));
        PK_TRY(end_job(job, r));
    }
    return PK_OK;
}

pk_status pk_document_read(pk_document *d, const pk_reader *r, pk_text text) {
    *d = (pk_document){ .text = text.data, .size = text.size };
    if (!pk_utf8_valid(text.data, text.size)) {
        pk_utf8_repair(text.data, text.size, &d->repaired);
        PK_TRY(pk_buffer_status(&d->repaired));
        d->text = d->repaired.data;
        d->size = d->repaired.size;
    }
    PK_TRY(pk_split(r->splitter, d->text, d->size, r->one_sentence, &d->pieces));
    PK_TRY(cut_long_sentences(d, r));
    d->skipped = r->skip_long && d->n_wrapped;
    if (d->skipped) d->pieces.n = 0;
    return make_jobs(d, r);
}

pk_status pk_document_set_prefix(pk_document *d, const pk_reader *r, pk_text prefix) {
    const pk_config *c = &r->model->data.network.config;
    if (prefix.size == 0 || d->n_jobs == 0) return PK_OK;
    if (c->right_to_left)
        PK_FAIL(PK_UNSUPPORTED, "this model writes from right to left: it cannot be given the "
                                "beginning of its output");
    pk_job *job = &d->job[0];
    PK_TRY(pk_vocab_encode_target(r->model->vocab, prefix.data, prefix.size, &job->prefix));
    if ((int64_t)job->prefix.n > c->max_target - 1)
        PK_FAIL(PK_ARGUMENT, "a prefix of %zu tokens, but the model's output has at most %d",
                job->prefix.n, c->max_target);
    return PK_OK;
}

static pk_status add_draft(pk_job *job, const pk_reader *r, const char *text, size_t size) {
    PK_TRY(pk_vocab_encode_target(r->model->vocab, text, size, &job->draft));
    pk_job_turn(&r->model->data.network.config, job->draft.id, job->draft.n);
    return PK_OK;
}

pk_status pk_document_set_draft(pk_document *d, const pk_reader *r, pk_text draft) {
    pk_buffer repaired = { 0 };
    pk_pieces pieces = { 0 };
    size_t    n = 0, job = 0;
    pk_utf8_repair(draft.data, draft.size, &repaired);
    pk_status status = pk_buffer_status(&repaired);
    if (status == PK_OK)
        status = pk_split(r->splitter, repaired.data, repaired.size, r->one_sentence, &pieces);
    for (size_t i = 0; status == PK_OK && i < pieces.n; i++) n += pieces.piece[i].sentence;
    for (size_t i = 0; status == PK_OK && n && n != d->n_jobs && i < d->n_jobs; i++)
        status = add_draft(&d->job[i], r, repaired.data, repaired.size);
    for (size_t i = 0; status == PK_OK && n == d->n_jobs && i < pieces.n; i++) {
        const pk_piece *p = &pieces.piece[i];
        if (p->sentence) status = add_draft(&d->job[job++], r, repaired.data + p->begin, p->size);
    }
    pk_pieces_free(&pieces);
    pk_buffer_free(&repaired);
    return status;
}

pk_status pk_document_set_forced(pk_document *d, const pk_reader *r, pk_text target) {
    const pk_config *c = &r->model->data.network.config;
    if (d->n_jobs == 0) return PK_OK;
    pk_job *job = &d->job[0];
    if (d->n_jobs > 1)
        PK_FAIL(PK_ARGUMENT, "a source of more than %d tokens or one line cannot be scored",
                r->max_source);
    if (r->language.target_token >= 0) PK_TRY(pk_ids_add(&job->forced, r->language.target_token));
    const size_t first = job->forced.n;
    PK_TRY(pk_vocab_encode_target(r->model->vocab, target.data, target.size, &job->forced));
    if (job->forced.n > first) /* the list may not be there yet */
        pk_job_turn(c, job->forced.id + first, job->forced.n - first);
    PK_TRY(pk_ids_add(&job->forced, c->eos));
    if ((int64_t)job->forced.n > c->max_target)
        PK_FAIL(PK_ARGUMENT, "a target of %zu tokens, but the model's output has at most %d",
                job->forced.n, c->max_target);
    return PK_OK;
}

void pk_document_free(pk_document *d) {
    for (size_t i = 0; i < d->n_jobs; i++) pk_job_free(&d->job[i]);
    pk_memory_give(d->job);
    pk_pieces_free(&d->pieces);
    pk_buffer_free(&d->repaired);
    *d = (pk_document){ 0 };
}
