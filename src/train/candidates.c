/* candidates.c - word alignment of the training's pieces, and counts over its links.
 *
 * The alignment is `pronk align`'s forward one, learned here or read from a file that it saved. The
 * text is gone through twice: to learn, and to link and count. Pieces are known to the alignment by
 * their names, so both ways are one. */
#include "train/candidates.h"

#include <string.h>

#include "align/align_model.h"
#include "align/align_train.h"
#include "base/memory.h"
#include "lexicon/lexicon_count.h"
#include "model/model_data.h"

enum { ITERATIONS = 5, REPORT_EVERY = 4096 /* pairs */ };

typedef struct counting {
    pk_trainer        *t;
    pk_loader         *text;
    pk_align_model     model;  /* what links pieces: read from a file, or learned from */
    pk_align_corpus    corpus; /* this */
    pk_align_gatherer  words;
    pk_ids             side[2];   /* of one pair, with its tags */
    uint32_t          *word[2];   /* [vocabulary] number of each piece in the alignment */
    uint32_t          *number[2]; /* of one pair: those numbers */
    size_t             number_room[2], pairs;
    pk_align_scratch   scratch;
    pk_lexicon_counter counter;
} counting;

static void free_counting(counting *c) {
    for (int side = 0; side < 2; side++) {
        pk_ids_free(&c->side[side]);
        pk_memory_give(c->word[side]);
        pk_memory_give(c->number[side]);
    }
    pk_align_model_close(&c->model);
    pk_align_corpus_free(&c->corpus);
    pk_align_gatherer_free(&c->words);
    pk_align_scratch_free(&c->scratch);
    pk_lexicon_counter_close(&c->counter);
}

static pk_status report(const counting *c, const char *what, double share) {
    const pk_trainer *t = c->t;
    if (t->opt.progress && t->opt.progress(t->opt.user, what, share))
        PK_FAIL(PK_CANCELLED, "cancelled by the caller");
    return PK_OK;
}

/* ---- pairs ---- */

/* the ids of one side, its tag before them, as the model gets them */
static pk_status take_side(pk_ids *out, int32_t tag, const int32_t *id, int32_t n) {
    out->n = 0;
    if (tag >= 0) PK_TRY(pk_ids_add(out, tag));
    for (int32_t i = 0; i < n; i++) PK_TRY(pk_ids_add(out, id[i]));
    return PK_OK;
}

/* tags are part of a sentence as the trainer sees it, and so of the counts */
static pk_status do_batch(counting *c, const pk_batch *b, pk_status (*each)(counting *c)) {
    const pk_lesson_maker *m = &c->t->maker;
    for (int32_t i = 0; i < b->n; i++) {
        const int32_t s = b->source_first[i], t = b->target_first[i];
        PK_TRY(take_side(&c->side[0], m->source_tag, b->source + s, b->source_first[i + 1] - s));
        PK_TRY(take_side(&c->side[1], m->target_tag, b->target + t, b->target_first[i + 1] - t));
        PK_TRY(each(c));
    }
    return PK_OK;
}

/* calls `each` for every pair of the text, which is in c->side then */
static pk_status for_each_pair(counting *c, pk_status (*each)(counting *c)) {
    pk_batch  b;
    pk_status status;
    PK_TRY(pk_loader_seek(c->text, 0));
    while ((status = pk_loader_next(c->text, &b)) == PK_OK) PK_TRY(do_batch(c, &b, each));
    return status == PK_CANCELLED ? PK_OK : status; /* that is the end of the text */
}

static const char *name_of(const counting *c, int side, int32_t id) {
    return side ? pk_vocab_target_token(c->t->vocab, id) : pk_vocab_source_token(c->t->vocab, id);
}

/* ---- the alignment ---- */

static pk_status have_trained(void *user, double share, size_t bytes) {
    (void)bytes;
    return report(user, "aligning the text for candidates", share);
}

static pk_status gather(counting *c) {
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < c->side[side].n; i++) {
            const char *name = name_of(c, side, c->side[side].id[i]);
            PK_TRY(pk_align_gather_word(&c->words, side, name, strlen(name)));
        }
    return pk_align_gather_pair(&c->words);
}

/* Without a saved alignment the text itself is aligned, in one direction: which target pieces a
 * source piece becomes is all that is counted. */
static pk_status learn(counting *c) {
    const pk_align_training forward = { .corpus = &c->corpus,
                                        .iterations = ITERATIONS,
                                        .threads = c->t->threads,
                                        .progress = have_trained,
                                        .user = c };
    PK_TRY(for_each_pair(c, gather));
    PK_TRY(pk_align_gather_end(&c->words, c->t->threads, &c->corpus));
    PK_TRY(pk_align_train(&forward, &c->model.table[PK_ALIGN_FORWARD]));
    for (int side = 0; side < 2; side++)
        c->model.words[side] = pk_align_word_builder_words(&c->corpus.words[side]);
    c->model.has[PK_ALIGN_FORWARD] = true;
    return PK_OK;
}

/* a saved alignment must be of the same pieces, from source to target */
static pk_status read_saved(counting *c, const char *path) {
    const pk_model_data *start = &c->t->start;
    PK_TRY(pk_align_model_open(path, &c->model));
    const pk_align_model *m = &c->model;
    const bool same = m->spm[0] && !m->spm[1] && m->spm_size[0] == start->source_spm.size &&
                      memcmp(m->spm_data[0], start->source_spm.data, m->spm_size[0]) == 0;
    if (!m->has[PK_ALIGN_FORWARD])
        PK_FAIL(PK_ARGUMENT, "%s has no forward direction: make it without -r", path);
    if (!same || start->target_spm.size)
        PK_FAIL(PK_ARGUMENT,
                "%s is not of the pieces of this training's vocabulary: make it with `pronk align "
                "--vocab %s`, or leave data.alignment out",
                path, c->t->recipe.vocab);
    return PK_OK;
}

/* the alignment's number of every piece */
static pk_status number_pieces(counting *c) {
    const int32_t n[2] = { pk_vocab_source_size(c->t->vocab), pk_vocab_target_size(c->t->vocab) };
    for (int side = 0; side < 2; side++) {
        PK_TRY(PK_TAKE(&c->word[side], (size_t)n[side]));
        for (int32_t id = 0; id < n[side]; id++) {
            const char *name = name_of(c, side, id);
            c->word[side][id] = pk_align_words_find(&c->model.words[side], name, strlen(name));
        }
    }
    return PK_OK;
}

/* ---- counts ---- */

/* links one pair, and counts it */
static pk_status link_pair(counting *c) {
    double log_prob = 0;
    for (int side = 0; side < 2; side++) {
        const pk_ids *ids = &c->side[side];
        if (!ids->n) return PK_OK;
        PK_TRY(PK_RESERVE(&c->number[side], ids->n, &c->number_room[side]));
        for (size_t i = 0; i < ids->n; i++) c->number[side][i] = c->word[side][ids->id[i]];
    }
    PK_TRY(pk_align_best(&c->model.table[PK_ALIGN_FORWARD], c->number[0], (uint32_t)c->side[0].n,
                         c->number[1], (uint32_t)c->side[1].n, &c->scratch, &log_prob));
    if (++c->pairs % REPORT_EVERY == 0) PK_TRY(report(c, "counting candidates", -1));
    return pk_lexicon_count(&c->counter, c->side[0].id, (int32_t)c->side[0].n, c->side[1].id,
                            (int32_t)c->side[1].n, c->scratch.link);
}

/* the table becomes part of the model that is trained, and is written with it */
static pk_status keep(counting *c, const pk_buffer *bytes) {
    pk_model_data *start = &c->t->start;
    PK_TRY(pk_model_data_copy(start, bytes->data, bytes->size, &start->lexicon_bytes));
    PK_TRY(pk_model_data_read_lexicon(start));
    const pk_lexicon *l = &start->lexicon;
    const uint32_t    rows = l->row_first[l->source_vocab + 1];
    const uint32_t    beside = l->beside_first[l->source_vocab];
    pk_buffer_print(&c->t->text,
                    "candidates: %u of %u source pieces and distances, %u of %u source pieces and "
                    "neighbours, %zu pairs\n",
                    l->entry_first[rows], rows, l->beside_entry_first[beside], beside, c->pairs);
    return PK_OK;
}

static pk_status count_all(counting *c) {
    const pk_text_tokens text = pk_model_data_text(&c->t->start);
    const char          *saved = c->t->recipe.alignment;
    pk_buffer            bytes = { 0 };
    PK_TRY(*saved ? read_saved(c, saved) : learn(c));
    PK_TRY(number_pieces(c));
    PK_TRY(pk_lexicon_counter_open(text.source, text.target, &c->counter));
    PK_TRY(for_each_pair(c, link_pair));
    pk_status status = pk_lexicon_make(&c->counter, text.fingerprint, &bytes);
    if (status == PK_OK) status = keep(c, &bytes);
    pk_buffer_free(&bytes);
    return status;
}

pk_status pk_trainer_count_candidates(pk_trainer *t, pk_loader *text) {
    counting *c;
    PK_TRY(PK_TAKE(&c, 1));
    c->t = t;
    c->text = text;
    const pk_status status = count_all(c);
    free_counting(c);
    pk_memory_give(c);
    return status;
}
