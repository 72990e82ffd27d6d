/* rendering.c - writing: finished jobs -> text, tokens, scores and word alignments. */
#include <assert.h>
#include <string.h>

#include "engine/document.h"
#include "engine/linker.h"
#include "engine/links.h"
#include "engine/unknowns.h"
#include "text/capitals.h"

#define WORD_SYMBOL "\xE2\x96\x81" /* U+2581 begins a word in SentencePiece's pieces */

/* mBART-50's list begins with <s> <pad> </s> and ends with 52 languages and <mask> */
enum { MBART_HEAD = 3, MBART_TAIL = 53 };

/* tokens that are no text */
static bool is_special(const pk_config *c, int32_t token) {
    if (token == c->eos || token == c->pad || token < 0) return true;
    return c->family == PK_MBART && (token < MBART_HEAD || token >= pk_config_text(c) - MBART_TAIL);
}

/* the hypothesis of this rank; the last one when there are fewer */
static const pk_job_hypothesis *at_rank(const pk_job *job, int32_t rank) {
    if (job->n_hypotheses == 0) return NULL;
    return &job->hypothesis[rank < job->n_hypotheses ? rank : job->n_hypotheses - 1];
}

typedef struct plain { /* the tokens of a hypothesis that are text */
    pk_ids  id, at;    /* at: where each stands in the hypothesis */
    size_t *end;       /* [id.n] behind its text in the rendering */
} plain;

/* unknowns: replaced from their sentence, where that has data */
static pk_status collect(const pk_model *m, const pk_job *job, const pk_job_hypothesis *h,
                         pk_unknowns *unknowns, plain *out) {
    for (int32_t i = job->n_free_prefix; i < h->n; i++) {
        if (is_special(&m->data.network.config, h->token[i])) continue;
        PK_TRY(pk_ids_add(&out->id, h->token[i]));
        PK_TRY(pk_ids_add(&out->at, i));
        if (unknowns->sentence.data) PK_TRY(pk_unknowns_add(unknowns, h, i));
    }
    return PK_TAKE(&out->end, out->id.n);
}

/* sentence: what was translated, where unknown tokens are to be replaced from it; or no data */
static pk_status add_text(const pk_model *m, const pk_job *job, const pk_job_hypothesis *h,
                          pk_text sentence, plain *tokens, pk_buffer *out) {
    const size_t begin = out->size;
    pk_unknowns  unknowns = { .model = m, .job = job, .sentence = sentence };
    pk_status    status = collect(m, job, h, &unknowns, tokens);
    if (status == PK_OK)
        status = pk_vocab_decode_with(m->vocab, tokens->id.id, tokens->id.n, unknowns.instead.id,
                                      unknowns.names.data, out, tokens->end);
    if (status == PK_OK && job->capitals) pk_capitals_write(out->data + begin, out->size - begin);
    pk_unknowns_free(&unknowns);
    return status;
}

/* the names of its tokens, with spaces between them */
static void add_names(const pk_model *m, const pk_job *job, const pk_job_hypothesis *h,
                      pk_buffer *out) {
    for (int32_t i = job->n_free_prefix; i < h->n; i++) {
        if (is_special(&m->data.network.config, h->token[i])) continue;
        const char *name = pk_vocab_target_token(m->vocab, h->token[i]);
        if (out->size) pk_buffer_add(out, " ", 1);
        pk_buffer_add(out, name, strlen(name));
    }
}

/* tokens and their log-probabilities, special ones too */
static pk_status add_tokens(const pk_job_hypothesis *h, int32_t unk, pk_rendering *out) {
    const size_t had = out->token.n;
    for (int32_t i = 0; i < h->n; i++) {
        PK_TRY(pk_ids_add(&out->token, h->token[i]));
        out->n_unknown += h->token[i] == unk;
    }
    PK_TRY(PK_GROW(&out->logp, out->token.n));
    if (h->n) memcpy(out->logp + had, h->logp, (size_t)h->n * sizeof *h->logp);
    return PK_OK;
}

/* ---- word alignments ---- */

typedef struct words {
    int32_t source, target;
} words; /* words before this sentence */

static bool begins_word(const char *piece, bool first) {
    return first || strncmp(piece, WORD_SYMBOL, strlen(WORD_SYMBOL)) == 0;
}

/* word[i] of each of a job's source tokens, counted from 0; -1 for language and end symbol */
static int32_t count_source_words(const pk_model *m, const pk_job *job, int32_t has_tag,
                                  int32_t *word) {
    const int32_t eos = m->data.network.config.eos;
    int32_t       n = 0;
    for (size_t i = 0; i < job->source.n; i++) {
        const bool end = i + 1 == job->source.n && job->source.id[i] == eos;
        const bool control = i < (size_t)has_tag || end;
        word[i] = -1;
        if (control) continue;
        n += begins_word(pk_vocab_source_token(m->vocab, job->source.id[i]), n == 0);
        word[i] = n - 1;
    }
    return n;
}

/* Links "source-target" of words (Pharaoh format), from the most attended source token of each
 * target token. A link is written once, however many pieces of the two words give it. */
static void add_links(const pk_model *m, const pk_job *job, const pk_job_hypothesis *h,
                      const int32_t *word, words *at, pk_buffer *out) {
    const pk_config *c = &m->data.network.config;
    int32_t          n = 0, first_of_word = 0;
    for (int32_t i = job->n_free_prefix; i < h->n; i++) {
        if (is_special(c, h->token[i])) continue;
        if (begins_word(pk_vocab_target_token(m->vocab, h->token[i]), n == 0)) {
            n++;
            first_of_word = i;
        }
        assert((size_t)h->looks_at[i] < job->source.n);
        const int32_t source = word[h->looks_at[i]];
        bool          seen = source < 0;
        for (int32_t j = first_of_word; j < i; j++) seen |= word[h->looks_at[j]] == source;
        if (!seen)
            pk_buffer_print(out, "%s%d-%d", out->size ? " " : "", at->source + source,
                            at->target + n - 1);
    }
    at->target += n;
}

typedef struct linking { /* pieces of a sentence and its translation, and the words they are in */
    pk_ids source, target, source_word, target_word;
} linking;

static void free_linking(linking *k) {
    pk_ids_free(&k->source);
    pk_ids_free(&k->target);
    pk_ids_free(&k->source_word);
    pk_ids_free(&k->target_word);
}

static pk_status gather_pieces(const pk_model *m, const pk_job *job, const pk_job_hypothesis *h,
                               const int32_t *word, linking *k, int32_t *n_target) {
    *n_target = 0;
    for (size_t i = 0; i < job->source.n; i++) {
        if (word[i] < 0) continue;
        PK_TRY(pk_ids_add(&k->source, job->source.id[i]));
        PK_TRY(pk_ids_add(&k->source_word, word[i]));
    }
    for (int32_t i = job->n_free_prefix; i < h->n; i++) {
        if (is_special(&m->data.network.config, h->token[i])) continue;
        *n_target += begins_word(pk_vocab_target_token(m->vocab, h->token[i]), *n_target == 0);
        PK_TRY(pk_ids_add(&k->target, h->token[i]));
        PK_TRY(pk_ids_add(&k->target_word, *n_target - 1));
    }
    return PK_OK;
}

/* the same link of two words, by other pieces, came before */
static bool is_double(const linking *k, const pk_align_links *links, size_t i) {
    const pk_align_link *a = &links->link[i];
    for (size_t j = 0; j < i; j++) {
        const pk_align_link *b = &links->link[j];
        if (k->source_word.id[a->source] == k->source_word.id[b->source] &&
            k->target_word.id[a->target] == k->target_word.id[b->target])
            return true;
    }
    return false;
}

/* links of words, from those of their pieces, which another model found */
static pk_status add_found(const pk_model *m, const pk_job *job, const pk_job_hypothesis *h,
                           const int32_t *word, pk_linker *linker, words *at, pk_buffer *out) {
    linking               k = { 0 };
    const pk_align_links *links = NULL;
    int32_t               n = 0;
    pk_status             status = gather_pieces(m, job, h, word, &k, &n);
    pthread_mutex_lock(&linker->lock);
    if (status == PK_OK) status = pk_linker_link(linker, &k.source, &k.target, &links);
    for (size_t i = 0; status == PK_OK && i < links->n; i++)
        if (!is_double(&k, links, i))
            pk_buffer_print(out, "%s%d-%d", out->size ? " " : "",
                            at->source + k.source_word.id[links->link[i].source],
                            at->target + k.target_word.id[links->link[i].target]);
    pthread_mutex_unlock(&linker->lock);
    at->target += n;
    free_linking(&k);
    return status;
}

/* word links of one sentence; `at` counts the words of the sentences before it */
static pk_status add_alignment(const pk_model *m, const pk_job *job, const pk_job_hypothesis *h,
                               pk_linker *linker, words *at, pk_buffer *out) {
    int32_t      *word;
    pk_status     status = PK_OK;
    const int32_t has_tag = m->data.network.config.family == PK_MBART;
    if (!h->looks_at && !linker) return PK_OK;
    PK_TRY(PK_TAKE(&word, job->source.n));
    const int32_t n = count_source_words(m, job, has_tag, word);
    if (linker)
        status = add_found(m, job, h, word, linker, at, out);
    else
        add_links(m, job, h, word, at, out);
    at->source += n;
    pk_memory_give(word);
    return status == PK_OK ? pk_buffer_status(out) : status;
}

/* ---- the whole ---- */

typedef struct how { /* what is asked for besides the text */
    int32_t    rank;
    bool       alignment, replace_unknowns;
    pk_linker *linker; /* finds links instead of attention; or NULL */
} how;

/* one sentence: its text, tokens, and where asked for its links */
static pk_status add_sentence(const pk_document *d, const pk_model *m, const pk_piece *p,
                              const pk_job *job, const how *asked, words *at, pk_rendering *out) {
    const pk_job_hypothesis *h = at_rank(job, asked->rank);
    const pk_text sentence = { asked->replace_unknowns ? d->text + p->begin : NULL, p->size };
    plain         tokens = { 0 };
    pk_linked     l = { m, job, h, d->text, *p, .begin = out->text.size };
    pk_status     status;
    if (d->as_tokens)
        add_names(m, job, h, &out->text);
    else
        PK_GOTO(add_text(m, job, h, sentence, &tokens, &out->text));
    PK_GOTO(add_tokens(h, m->data.network.config.unk, out));
    if (!asked->alignment) goto done;
    l.token = tokens.at.id, l.n = tokens.at.n, l.end = tokens.end;
    PK_GOTO(add_alignment(m, job, h, asked->linker, at, &out->alignment));
    PK_GOTO(pk_links_add(&l, out));
done:
    pk_ids_free(&tokens.id);
    pk_ids_free(&tokens.at);
    pk_memory_give(tokens.end);
    return status;
}

pk_status pk_document_render(const pk_document *d, const pk_model *m, int32_t rank, bool alignment,
                             pk_linker *linker, bool replace_unknowns, pk_rendering *out) {
    size_t  job = 0;
    double  weighted = 0;
    int64_t tokens = 0;
    words   at = { 0 };
    how     asked = { rank, alignment, replace_unknowns, linker };
    *out = (pk_rendering){ 0 };
    pk_buffer_add(&out->text, "", 0);
    for (size_t i = 0; i < d->pieces.n; i++) {
        const pk_piece *p = &d->pieces.piece[i];
        if (!p->sentence) {
            pk_buffer_add(&out->text, d->text + p->begin, p->size);
            continue;
        }
        assert(job < d->n_jobs); /* one for each sentence piece */
        const pk_job            *j = &d->job[job++];
        const pk_job_hypothesis *h = at_rank(j, rank);
        if (!h) continue;
        PK_TRY(add_sentence(d, m, p, j, &asked, &at, out));
        out->log_prob += h->log_prob;
        weighted += (double)h->score * h->n;
        tokens += h->n;
    }
    /* one sentence: its own score; several: their mean, each token counting the same */
    out->score = d->n_jobs == 1 && at_rank(&d->job[0], rank) ? at_rank(&d->job[0], rank)->score
                 : tokens                                    ? (float)(weighted / (double)tokens)
                                                             : 0;
    return pk_buffer_status(&out->text);
}

void pk_rendering_free(pk_rendering *r) {
    pk_buffer_free(&r->text);
    pk_buffer_free(&r->alignment);
    pk_ids_free(&r->token);
    pk_memory_give(r->logp);
    pk_memory_give(r->link);
    *r = (pk_rendering){ 0 };
}
