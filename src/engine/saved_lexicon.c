/* saved_lexicon.c - from names to numbers: rows of the alignment's table become rows of a lexicon,
 * each with its most probable tokens. */
#include "engine/saved_lexicon.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lexicon/shortlist.h"
#include "model/model_data.h"

enum { EACH = PK_SHORTLIST_EACH }; /* tokens kept of a row */

void pk_saved_lexicon_close(pk_saved_lexicon *s) {
    void *const blocks[] = { s->word[0],   s->word[1],     s->token[0],   s->token[1],
                             s->row_first, s->entry_first, s->next_first, s->distance,
                             s->entry,     s->next,        s->share,      s->no_links };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    pk_align_model_close(&s->align);
    *s = (pk_saved_lexicon){ 0 };
}

/* ---- names ---- */

static const char *name_of(const pk_vocab *v, int side, int32_t id) {
    return side ? pk_vocab_target_token(v, id) : pk_vocab_source_token(v, id);
}

/* both ways between tokens and words of one side; returns how many tokens have a word */
static pk_status match_names(pk_saved_lexicon *s, const pk_vocab *v, int side, int32_t n,
                             uint32_t *matched) {
    const pk_align_words *words = &s->align.words[side];
    PK_TRY(PK_TAKE(&s->word[side], (size_t)n));
    PK_TRY(PK_TAKE(&s->token[side], words->n));
    *matched = 0;
    for (uint32_t i = 0; i < words->n; i++) s->token[side][i] = -1;
    for (int32_t id = 0; id < n; id++) {
        const char    *name = name_of(v, side, id);
        const uint32_t word = pk_align_words_find(words, name, strlen(name));
        s->word[side][id] = word;
        if (word == PK_ALIGN_NO_WORD || s->token[side][word] >= 0) continue;
        s->token[side][word] = id;
        ++*matched;
    }
    return PK_OK;
}

/* Pieces that the model does not know as such are few where it was made with the model's own. */
static pk_status match_all(pk_saved_lexicon *s, const pk_model *m, const char *path) {
    const pk_lexicon *l = &s->lexicon;
    const int32_t     n[2] = { l->source_vocab, l->target_vocab };
    bool              fits = s->align.spm[0] != NULL;
    for (int side = 0; side < 2; side++) {
        uint32_t matched;
        PK_TRY(match_names(s, m->vocab, side, n[side], &matched));
        fits = fits && matched >= s->align.words[side].n - s->align.words[side].n / 8;
    }
    if (!s->align.has[PK_ALIGN_FORWARD])
        PK_FAIL(PK_ARGUMENT, "%s has no forward direction: make it without -r", path);
    if (!fits)
        PK_FAIL(PK_ARGUMENT,
                "%s is not of the pieces of %s: make it with `pronk align -m MODEL --save FILE`",
                path, m->path);
    return PK_OK;
}

/* ---- rows ---- */

/* the more probable first, then the lower id */
static int by_prob(const void *a, const void *b) {
    const pk_lexicon_candidate *x = a, *y = b;
    if (x->prob != y->prob) return x->prob > y->prob ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* keeps the EACH best of n candidates, in order */
static uint32_t keep_best(pk_lexicon_candidate *all, uint32_t n, pk_lexicon_candidate *out) {
    qsort(all, n, sizeof *all, by_prob);
    if (n > EACH) n = EACH;
    memcpy(out, all, n * sizeof *all);
    return n;
}

/* the row of one source token, or null's where it is behind the last; returns how many entries */
static uint32_t fill_row(const pk_saved_lexicon *s, int32_t source, pk_lexicon_candidate *room,
                         pk_lexicon_candidate *out) {
    const pk_align_table *t = &s->align.table[PK_ALIGN_FORWARD];
    const bool            null = source == s->lexicon.source_vocab;
    const uint32_t        word = null ? 0 : s->word[0][source];
    uint32_t              n = 0;
    if (word == PK_ALIGN_NO_WORD || (!null && s->token[0][word] != source)) return 0;
    const uint64_t first = null ? 0 : t->row[word], end = null ? t->n_generated : t->row[word + 1];
    for (uint64_t i = first; i < end; i++) {
        const uint32_t to = null ? (uint32_t)i : t->word[i];
        const float    prob = null ? t->null[i] : t->prob[i];
        if (to >= t->n_generated || s->token[1][to] < 0 || !(prob > PK_ALIGN_FLOOR)) continue;
        if (n < t->n_generated) room[n++] = (pk_lexicon_candidate){ s->token[1][to], prob };
    }
    return keep_best(room, n, out);
}

/* a row of all distances for each source token that has translations */
static pk_status fill_rows(pk_saved_lexicon *s, pk_lexicon_candidate *room) {
    const size_t n = (size_t)s->lexicon.source_vocab;
    uint32_t     rows = 0, entries = 0;
    PK_TRY(PK_TAKE(&s->row_first, n + 2));
    PK_TRY(PK_TAKE(&s->distance, n + 1));
    PK_TRY(PK_TAKE(&s->entry_first, n + 2));
    PK_TRY(PK_TAKE(&s->entry, (n + 1) * EACH));
    PK_TRY(PK_TAKE(&s->no_links, 2));
    for (size_t x = 0; x <= n; x++) {
        const uint32_t more = fill_row(s, (int32_t)x, room, s->entry + entries);
        entries += more;
        if (more) s->distance[rows++] = PK_LEXICON_ANY, s->entry_first[rows] = entries;
        s->row_first[x + 1] = rows;
    }
    return PK_OK;
}

/* a file may hold any numbers */
static bool is_share(float x) { return x > 1e-12f && x <= 1; }

/* what follows each target token; words that the model does not have are left out */
static pk_status fill_next(pk_saved_lexicon *s, int32_t eos) {
    const pk_align_successors *next = &s->align.next;
    const size_t               n = (size_t)s->lexicon.target_vocab;
    uint32_t                   entries = 0;
    PK_TRY(PK_TAKE(&s->next_first, n + 2));
    PK_TRY(PK_TAKE(&s->next, next->first[next->n + 1] + (size_t)1));
    PK_TRY(PK_TAKE(&s->share, n));
    for (size_t y = 0; y <= n; y++) {
        const uint32_t word = y < n ? s->word[1][y] : next->n;
        const bool known = word != PK_ALIGN_NO_WORD && (y == n || s->token[1][word] == (int32_t)y);
        for (uint32_t i = known ? next->first[word] : 0; known && i < next->first[word + 1]; i++) {
            const uint32_t to = next->word[i];
            const int32_t  token = to == next->n ? eos : s->token[1][to];
            if (token >= 0 && is_share(next->prob[i]))
                s->next[entries++] = (pk_lexicon_candidate){ token, next->prob[i] };
        }
        s->next_first[y + 1] = entries;
        if (known && y < n && is_share(next->share[word])) s->share[y] = next->share[word];
    }
    if (is_share(next->share[next->n])) s->share[eos] = next->share[next->n];
    return PK_OK;
}

static void point(pk_saved_lexicon *s) {
    pk_lexicon *l = &s->lexicon;
    l->slope = 1;
    l->row_first = s->row_first;
    l->distance = s->distance;
    l->entry_first = s->entry_first;
    l->entry = s->entry;
    l->length_first = l->link_first = s->no_links;
    l->next_first = s->next_first;
    l->next = s->next;
    l->share = s->share;
}

static pk_status read_all(pk_saved_lexicon *s, const pk_model *m, const char *path) {
    pk_lexicon_candidate *room;
    PK_TRY(pk_align_model_open(path, &s->align));
    PK_TRY(match_all(s, m, path));
    PK_TRY(PK_TAKE(&room, s->align.words[1].n));
    pk_status status = fill_rows(s, room);
    pk_memory_give(room);
    if (status == PK_OK && s->align.next.n) status = fill_next(s, m->data.network.config.eos);
    if (status == PK_OK) point(s);
    return status;
}

pk_status pk_saved_lexicon_open(const pk_model *m, const char *path, pk_saved_lexicon *out) {
    const pk_text_tokens text = pk_model_data_text(&m->data);
    *out = (pk_saved_lexicon){ .lexicon = { .source_vocab = text.source,
                                            .target_vocab = text.target,
                                            .fingerprint = text.fingerprint } };
    const pk_status status = read_all(out, m, path);
    if (status != PK_OK) pk_saved_lexicon_close(out);
    return status;
}
