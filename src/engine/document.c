/* document.c - reading: bytes -> pieces -> jobs. Writing is in rendering.c. */
#include "engine/document.h"

#include <string.h>

#include "text/capitals.h"
#include "text/utf8.h"

/* what the model expects before a sentence's own tokens: languages; end_job adds what comes
 * behind */
static pk_status begin_job(pk_job *job, const pk_reader *r) {
    const bool tag = r->language.source_token >= 0;
    if (tag) PK_TRY(pk_ids_add(&job->source, r->language.source_token));
    if (r->language.target_token < 0) return PK_OK;
    job->n_free_prefix = 1;
    return pk_ids_add(&job->prefix, r->language.target_token);
}

/* a source of no tokens at all cannot be encoded: it gets the end symbol from any model */
static pk_status end_job(pk_job *job, const pk_reader *r) {
    const pk_config *c = &r->model->data.network.config;
    if (c->bare_source && job->source.n) return PK_OK;
    return pk_ids_add(&job->source, c->eos);
}

static pk_status add_piece(pk_pieces *p, pk_piece piece) {
    PK_TRY(PK_RESERVE(&p->piece, p->n + 1, &p->room));
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

/* bytes of white space that the text begins with */
static size_t space_size(const char *text, size_t size) {
    int32_t code;
    for (size_t at = 0, n; at < size; at += n) {
        n = pk_utf8_next(text + at, size - at, &code);
        if (!pk_utf8_is_space(code)) return at;
    }
    return size;
}

/* adds one sentence piece to `out`, cut where it is too long; space at a cut is copied, not
 * translated */
static pk_status add_sentence(pk_document *d, const pk_reader *r, pk_piece p, pk_pieces *out) {
    for (bool first = true; p.size; first = false) {
        size_t       bytes;
        const size_t space = space_size(d->text + p.begin, p.size);
        if (space) PK_TRY(add_piece(out, (pk_piece){ p.begin, space, false }));
        p.begin += space;
        p.size -= space;
        if (p.size == 0) break;
        PK_TRY(fitting_start(r, d->text + p.begin, p.size, &bytes));
        if (r->alive) PK_TRY(r->alive(r->user));
        if (first && bytes < p.size) d->n_wrapped++;
        const size_t content = content_size(d->text + p.begin, bytes);
        if (content)
            PK_TRY(add_piece(out, (pk_piece){ p.begin, content, true, !first, p.capitals }));
        if (content < bytes)
            PK_TRY(add_piece(out, (pk_piece){ p.begin + content, bytes - content, false, !first }));
        p.begin += bytes;
        p.size -= bytes;
    }
    return PK_OK;
}

/* every sentence piece fits the model afterwards */
static pk_status cut_long_sentences(pk_document *d, const pk_reader *r) {
    pk_pieces cut = { 0 };
    pk_status status = PK_OK;
    for (size_t i = 0; i < d->pieces.n && status == PK_OK; i++) {
        const pk_piece p = d->pieces.piece[i];
        /* a token is at least one byte: short sentences need no counting. The three: language, end
         * symbol, and the space before the first word, which can be a token by itself. */
        const bool short_enough = p.size + 3 <= (size_t)r->max_source;
        status = !p.sentence || short_enough ? add_piece(&cut, p) : add_sentence(d, r, p, &cut);
    }
    pk_pieces_free(status == PK_OK ? &d->pieces : &cut);
    if (status == PK_OK) d->pieces = cut;
    return status;
}

/* ---- names of tokens instead of text ---- */

typedef int32_t finder(const pk_vocab *v, const char *name);

/* the ids of names with spaces between them; a name that is not in the list is unknown */
static pk_status find_names(const pk_reader *r, finder *find, const char *text, size_t size,
                            pk_ids *out) {
    const int32_t unk = r->model->data.network.config.unk;
    pk_buffer     name = { 0 };
    pk_status     status = PK_OK;
    for (size_t at = 0, n; at < size && status == PK_OK; at += n + 1) {
        const char *space = memchr(text + at, ' ', size - at);
        n = space ? (size_t)(space - text) - at : size - at;
        if (n == 0) continue;
        name.size = 0;
        pk_buffer_add(&name, text + at, n);
        status = pk_buffer_status(&name);
        const int32_t id = status == PK_OK ? find(r->model->vocab, name.data) : -1;
        if (status == PK_OK) status = pk_ids_add(out, id < 0 ? unk : id);
    }
    pk_buffer_free(&name);
    return status;
}

static pk_status encode_source(const pk_reader *r, const char *text, size_t size, pk_ids *out) {
    return r->tokens ? find_names(r, pk_vocab_find_source, text, size, out)
                     : pk_vocab_encode_source(r->model->vocab, text, size, out, NULL);
}

static pk_status encode_target(const pk_reader *r, const char *text, size_t size, pk_ids *out) {
    return r->tokens ? find_names(r, pk_vocab_find_target, text, size, out)
                     : pk_vocab_encode_target(r->model->vocab, text, size, out);
}

/* ---- capitals ---- */

/* language: the text's own */
static void fold(const char *language, char *text, size_t size) {
    pk_capitals_fold(text, size, strcmp(language, "en") == 0);
}

/* Sentences in capitals are replaced in a copy of the text by the same in small letters, of the same length: positions
 * are those of the text. What translates them is put in capitals when it is written. */
static pk_status fold_sentences(pk_document *d, const pk_reader *r) {
    for (size_t i = 0; i < d->pieces.n; i++) {
        pk_piece *p = &d->pieces.piece[i];
        if (!p->sentence || !pk_capitals_are(d->text + p->begin, p->size)) continue;
        if (!d->folded.size) pk_buffer_add(&d->folded, d->text, d->size);
        PK_TRY(pk_buffer_status(&d->folded));
        fold(r->language.source_code, d->folded.data + p->begin, p->size);
        p->capitals = true;
        d->text = d->folded.data;
    }
    return PK_OK;
}

/* a prefix or a draft of one sentence, which is in capitals where the sentence is */
static pk_status encode_beside(const pk_job *job, const pk_reader *r, const char *text, size_t size,
                               pk_ids *out) {
    if (!job->capitals || !pk_capitals_are(text, size)) return encode_target(r, text, size, out);
    pk_buffer small = { 0 };
    pk_buffer_add(&small, text, size);
    pk_status status = pk_buffer_status(&small);
    if (status == PK_OK) fold(r->language.target_code, small.data, small.size);
    if (status == PK_OK) status = encode_target(r, small.data, small.size, out);
    pk_buffer_free(&small);
    return status;
}

/* one job per sentence piece: its tokens, between what the model expects around them */
static pk_status make_jobs(pk_document *d, const pk_reader *r) {
    size_t n = 0;
    for (size_t i = 0; i < d->pieces.n; i++) n += d->pieces.piece[i].sentence;
    PK_TRY(PK_TAKE(&d->job, n));
    for (size_t i = 0; i < d->pieces.n; i++) {
        const pk_piece *p = &d->pieces.piece[i];
        if (!p->sentence) continue;
        pk_job *job = &d->job[d->n_jobs++];
        job->capitals = p->capitals;
        PK_TRY(begin_job(job, r));
        PK_TRY(encode_source(r, d->text + p->begin, p->size, &job->source));
        PK_TRY(end_job(job, r));
    }
    return PK_OK;
}

/* all of the text is one sentence, whatever is in it */
static pk_status read_tokens(pk_document *d, const pk_reader *r) {
    d->as_tokens = true;
    if (content_size(d->text, d->size) == 0) return PK_OK;
    PK_TRY(add_piece(&d->pieces, (pk_piece){ 0, d->size, true }));
    PK_TRY(make_jobs(d, r));
    if (d->job[0].source.n <= (size_t)r->max_source) return PK_OK;
    if (!r->skip_long)
        PK_FAIL(PK_ARGUMENT, "a text of %zu tokens, but the model reads at most %d at a time",
                d->job[0].source.n, r->max_source);
    d->skipped = true;
    pk_job_free(&d->job[0]);
    d->n_jobs = d->pieces.n = 0;
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
    if (r->tokens) return read_tokens(d, r);
    PK_TRY(pk_split(r->splitter, d->text, d->size, r->one_sentence, &d->pieces));
    if (r->capitals) PK_TRY(fold_sentences(d, r));
    PK_TRY(cut_long_sentences(d, r));
    d->skipped = r->skip_long && d->n_wrapped;
    if (d->skipped) d->pieces.n = 0;
    return make_jobs(d, r);
}

/* ---- texts given with a text: the beginning of its translation, or a draft of it ---- */

typedef struct beside {
    pk_buffer text; /* repaired */
    pk_pieces pieces;
    size_t    n; /* sentences */
} beside;

/* a sentence that was cut counts once */
static size_t count_sentences(const pk_pieces *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += p->piece[i].sentence && !p->piece[i].continued;
    return n;
}

/* the given text is in the target language, so it is split by that language's rules */
static pk_status read_beside(const pk_reader *r, pk_text text, beside *out) {
    pk_splitter *splitter = r->target_splitter ? r->target_splitter : r->splitter;
    pk_utf8_repair(text.data, text.size, &out->text);
    PK_TRY(pk_buffer_status(&out->text));
    if (r->tokens && out->text.size)
        PK_TRY(add_piece(&out->pieces, (pk_piece){ 0, out->text.size, true }));
    else
        PK_TRY(pk_split(splitter, out->text.data, out->text.size, r->one_sentence, &out->pieces));
    out->n = count_sentences(&out->pieces);
    return PK_OK;
}

static void free_beside(beside *b) {
    pk_pieces_free(&b->pieces);
    pk_buffer_free(&b->text);
}

/* the next sentence at or after piece *at; NULL: there are no more */
static const pk_piece *next_sentence(const pk_pieces *p, size_t *at) {
    while (*at < p->n && !p->piece[*at].sentence) ++*at;
    return *at < p->n ? &p->piece[(*at)++] : NULL;
}

/* the prefix of one sentence as tokens, behind the language */
static pk_status add_prefix(pk_job *job, const pk_reader *r, const char *text, size_t size) {
    const pk_config *c = &r->model->data.network.config;
    PK_TRY(encode_beside(job, r, text, size, &job->prefix));
    if ((int64_t)job->prefix.n > c->max_target - 1)
        PK_FAIL(PK_ARGUMENT, "a prefix of %zu tokens, but the model's output has at most %d",
                job->prefix.n, c->max_target);
    return PK_OK;
}

/* sentence i of the prefix goes to sentence i of the text; parts of a cut sentence get none but the
 * first */
static pk_status match_prefix(pk_document *d, const pk_reader *r, const beside *b) {
    const size_t n = count_sentences(&d->pieces);
    size_t       job = 0, at = 0;
    if (n == 1) return add_prefix(&d->job[0], r, b->text.data, b->text.size);
    if (b->n > n)
        PK_FAIL(PK_ARGUMENT, "the prefix has %zu sentence%s and the text %zu: it cannot have more",
                b->n, b->n == 1 ? "" : "s", n);
    for (size_t i = 0; i < d->pieces.n; i++) {
        const pk_piece *p = &d->pieces.piece[i];
        if (!p->sentence) continue;
        const pk_piece *its = p->continued ? NULL : next_sentence(&b->pieces, &at);
        if (its) PK_TRY(add_prefix(&d->job[job], r, b->text.data + its->begin, its->size));
        job++;
    }
    return PK_OK;
}

pk_status pk_document_set_prefix(pk_document *d, const pk_reader *r, pk_text prefix) {
    beside b = { 0 };
    if (prefix.size == 0 || d->skipped) return PK_OK;
    if (r->model->data.network.config.right_to_left)
        PK_FAIL(PK_UNSUPPORTED, "this model writes from right to left: it cannot be given the "
                                "beginning of its output");
    pk_status status = read_beside(r, prefix, &b);
    if (status == PK_OK) status = match_prefix(d, r, &b);
    free_beside(&b);
    return status;
}

static pk_status add_draft(pk_job *job, const pk_reader *r, const char *text, size_t size) {
    PK_TRY(encode_beside(job, r, text, size, &job->draft));
    pk_job_turn(&r->model->data.network.config, job->draft.id, job->draft.n);
    return PK_OK;
}

pk_status pk_document_set_draft(pk_document *d, const pk_reader *r, pk_text draft) {
    beside    b = { 0 };
    size_t    at = 0;
    pk_status status = read_beside(r, draft, &b);
    for (size_t i = 0; status == PK_OK && b.n && i < d->n_jobs; i++) {
        const pk_piece *its = b.n == d->n_jobs ? next_sentence(&b.pieces, &at) : NULL;
        status = its ? add_draft(&d->job[i], r, b.text.data + its->begin, its->size)
                     : add_draft(&d->job[i], r, b.text.data, b.text.size);
    }
    free_beside(&b);
    return status;
}

/* language, target tokens in the order in which the model writes, end symbol */
pk_status pk_document_set_forced(pk_document *d, const pk_reader *r, pk_text target) {
    const pk_config *c = &r->model->data.network.config;
    if (d->n_jobs == 0) return PK_OK;
    pk_job *job = &d->job[0];
    if (d->n_jobs > 1)
        PK_FAIL(PK_ARGUMENT, "a source of more than %d tokens or one line cannot be scored",
                r->max_source);
    if (r->language.target_token >= 0) PK_TRY(pk_ids_add(&job->forced, r->language.target_token));
    const size_t first = job->forced.n;
    PK_TRY(encode_target(r, target.data, target.size, &job->forced));
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
    pk_buffer_free(&d->folded);
    *d = (pk_document){ 0 };
}
