/* align_corpus.c - reads all pairs, then numbers words anew by their frequency.
 *
 * The two sides are read by two threads where they are two files, a block of lines at a time, and
 * are segmented by two threads in any case. Numbers depend on the text alone. */
#include "align/align_corpus.h"

#include <stdlib.h>
#include <string.h>

#include "align/align_threads.h"
#include "base/memory.h"

enum { BLOCK_LINES = 8192, FIRST_ROOM = 1 << 12 };

/* one language's tokens of all sentences read so far */
typedef struct side {
    pk_align_word_builder *words;
    uint32_t              *token;
    size_t                *first;
    size_t                 n_tokens, token_room, n, room;
    pk_buffer              text;              /* one file: the block's lines, with their sizes */
    size_t                *size, n_block, at; /* of each line of the block */
    bool                   ended;
} side;

typedef struct reading {
    const pk_align_corpus_request *q;
    pk_align_reader                reader;
    side                           side[2];
} reading;

/* ---- one sentence ---- */

/* appends one token; words get their numbers in order of appearance */
static pk_status add_word(void *user, const char *name, size_t size, size_t begin) {
    side *s = user;
    (void)begin;
    PK_TRY(PK_RESERVE(&s->token, s->n_tokens + 1, &s->token_room));
    PK_TRY(pk_align_word_builder_add(s->words, name, size, &s->token[s->n_tokens]));
    s->n_tokens++;
    return PK_OK;
}

/* segments a line; first[i + 1] is where sentence i ends */
static pk_status add_sentence(side *s, pk_spm *spm, pk_text text) {
    if (s->n == s->room) {
        const size_t room = s->room ? 2 * s->room : FIRST_ROOM;
        PK_TRY(PK_GROW(&s->first, room + 1));
        s->room = room;
    }
    PK_TRY(pk_align_segment(spm, text, add_word, s));
    s->first[++s->n] = s->n_tokens;
    return PK_OK;
}

/* ---- a block of lines ---- */

/* two files: one thread reads and segments a block of one side */
static pk_status read_side(void *context, size_t task, int32_t worker) {
    reading *r = context;
    side    *s = &r->side[task];
    (void)worker;
    for (size_t i = 0; i < BLOCK_LINES && !s->ended; i++) {
        pk_text line;
        PK_TRY(pk_align_reader_side(&r->reader, (int)task, &line));
        s->ended = !line.data;
        if (line.data) PK_TRY(add_sentence(s, r->q->spm[task], line));
    }
    return PK_OK;
}

/* one file: one thread segments the block of one side, which read_block() has split */
static pk_status segment_side(void *context, size_t task, int32_t worker) {
    reading *r = context;
    side    *s = &r->side[task];
    (void)worker;
    for (size_t i = 0, at = 0; i < s->n_block; at += s->size[i++])
        PK_TRY(add_sentence(s, r->q->spm[task], (pk_text){ s->text.data + at, s->size[i] }));
    return PK_OK;
}

/* One file holds both sides: one thread splits the lines, before two threads segment the sides. */
static pk_status read_block(reading *r) {
    pk_text pair[2];
    for (int i = 0; i < 2; i++) {
        r->side[i].n_block = 0;
        pk_buffer_clear(&r->side[i].text);
    }
    while (r->side[0].n_block < BLOCK_LINES) {
        PK_TRY(pk_align_reader_next(&r->reader, pair));
        r->side[0].ended = r->side[1].ended = !pair[0].data;
        if (!pair[0].data) break;
        for (int i = 0; i < 2; i++) {
            pk_buffer_add(&r->side[i].text, pair[i].data, pair[i].size);
            PK_TRY(pk_buffer_status(&r->side[i].text));
            r->side[i].size[r->side[i].n_block++] = pair[i].size;
        }
    }
    return PK_OK;
}

/* block by block, so that the caller gets its progress reports */
static pk_status read_all(reading *r) {
    const bool two = r->q->target != NULL;
    for (int i = 0; i < 2; i++) {
        PK_TRY(PK_TAKE(&r->side[i].first, 1));
        if (!two) PK_TRY(PK_TAKE(&r->side[i].size, BLOCK_LINES));
    }
    while (!r->side[0].ended || !r->side[1].ended) {
        if (!two) PK_TRY(read_block(r));
        PK_TRY(pk_align_parallel(r->q->threads, 2, two ? read_side : segment_side, r));
        if (r->q->progress) PK_TRY(r->q->progress(r->q->user, r->side[0].n));
    }
    return two ? pk_align_same_lines(r->reader.path, r->side[0].n, r->side[1].n) : PK_OK;
}

/* ---- all of it ---- */

/* Pairs that cannot be aligned lose their words on both sides; the others move up. */
static void drop_unusable(pk_align_corpus *c) {
    size_t at[2] = { 0, 0 }, begin[2] = { 0, 0 };
    for (size_t pair = 0; pair < c->n; pair++) {
        size_t n[2];
        for (int s = 0; s < 2; s++) n[s] = c->first[s][pair + 1] - begin[s];
        const bool empty = !n[0] || !n[1];
        const bool too_long = n[0] > PK_ALIGN_MOST_WORDS || n[1] > PK_ALIGN_MOST_WORDS;
        c->empty += empty;
        c->too_long += !empty && too_long;
        for (int s = 0; s < 2; s++) {
            const size_t kept = empty || too_long ? 0 : n[s];
            memmove(c->token[s] + at[s], c->token[s] + begin[s], kept * sizeof *c->token[s]);
            begin[s] = c->first[s][pair + 1];
            c->first[s][pair + 1] = at[s] += kept;
        }
    }
    for (int s = 0; s < 2; s++) c->n_tokens[s] = at[s];
}

typedef struct frequency {
    uint64_t count;
    uint32_t word;
} frequency;

/* of equally frequent words the one that appeared first */
static int more_frequent(const void *a, const void *b) {
    const frequency *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->word < y->word ? -1 : x->word > y->word;
}

/* the words in their new order; renumber: old number -> new */
static pk_status reorder(pk_align_word_builder *words, const frequency *order, uint32_t *renumber) {
    pk_align_word_builder ordered = { 0 };
    const pk_align_words  old = pk_align_word_builder_words(words);
    pk_status             status = PK_OK;
    for (size_t i = 0; i < words->n && order[i].count && status == PK_OK; i++) {
        const pk_text name = pk_align_words_name(&old, order[i].word);
        status =
            pk_align_word_builder_add(&ordered, name.data, name.size, &renumber[order[i].word]);
    }
    pk_align_word_builder_free(status == PK_OK ? words : &ordered);
    if (status == PK_OK) *words = ordered;
    return status;
}

/* one side: counts its words, sorts them, and replaces the numbers in the text */
static pk_status number_by_frequency(void *context, size_t s, int32_t worker) {
    pk_align_corpus *c = context;
    const size_t     n = c->words[s].n;
    frequency       *order = NULL;
    uint32_t        *renumber = NULL;
    pk_status        status = PK_TAKE(&order, n);
    (void)worker;
    if (status == PK_OK) status = PK_TAKE(&renumber, n);
    if (status == PK_OK) {
        for (size_t i = 0; i < n; i++) order[i].word = (uint32_t)i;
        for (size_t i = 0; i < c->n_tokens[s]; i++) order[c->token[s][i]].count++;
        qsort(order, n, sizeof *order, more_frequent);
        status = reorder(&c->words[s], order, renumber);
    }
    for (size_t i = 0; i < c->n_tokens[s] && status == PK_OK; i++)
        c->token[s][i] = renumber[c->token[s][i]];
    pk_memory_give(order);
    pk_memory_give(renumber);
    return status;
}

pk_status pk_align_corpus_read(const pk_align_corpus_request *q, pk_align_corpus *out) {
    reading r = { .q = q };
    *out = (pk_align_corpus){ 0 };
    for (int i = 0; i < 2; i++) r.side[i].words = &out->words[i];
    pk_status status = pk_align_reader_open(q->source, q->target, &r.reader);
    if (status == PK_OK) status = read_all(&r);
    pk_align_reader_close(&r.reader);
    for (int i = 0; i < 2; i++) {
        out->token[i] = r.side[i].token;
        out->first[i] = r.side[i].first;
        pk_buffer_free(&r.side[i].text);
        pk_memory_give(r.side[i].size);
    }
    if (status == PK_OK) {
        out->n = r.side[0].n;
        drop_unusable(out);
        status = pk_align_parallel(q->threads, 2, number_by_frequency, out);
    }
    if (status != PK_OK) pk_align_corpus_free(out);
    return status;
}

/* ---- words that the caller has ---- */

pk_status pk_align_gather_word(pk_align_gatherer *g, int of, const char *name, size_t size) {
    pk_align_corpus *c = &g->corpus;
    PK_TRY(PK_RESERVE(&c->token[of], c->n_tokens[of] + 1, &g->token_room[of]));
    PK_TRY(pk_align_word_builder_add(&c->words[of], name, size, &c->token[of][c->n_tokens[of]]));
    c->n_tokens[of]++;
    return PK_OK;
}

pk_status pk_align_gather_pair(pk_align_gatherer *g) {
    pk_align_corpus *c = &g->corpus;
    for (int of = 0; of < 2; of++) {
        PK_TRY(PK_RESERVE(&c->first[of], c->n + 2, &g->first_room[of]));
        c->first[of][0] = 0;
        c->first[of][c->n + 1] = c->n_tokens[of];
    }
    c->n++;
    return PK_OK;
}

pk_status pk_align_gather_end(pk_align_gatherer *g, int32_t threads, pk_align_corpus *out) {
    *out = (pk_align_corpus){ 0 };
    if (!g->corpus.n) PK_FAIL(PK_FORMAT, "there are no pairs to align");
    drop_unusable(&g->corpus);
    PK_TRY(pk_align_parallel(threads, 2, number_by_frequency, &g->corpus));
    *out = g->corpus;
    *g = (pk_align_gatherer){ 0 };
    return PK_OK;
}

void pk_align_gatherer_free(pk_align_gatherer *g) {
    pk_align_corpus_free(&g->corpus);
    *g = (pk_align_gatherer){ 0 };
}

void pk_align_corpus_free(pk_align_corpus *c) {
    for (int i = 0; i < 2; i++) {
        pk_align_word_builder_free(&c->words[i]);
        pk_memory_give(c->token[i]);
        pk_memory_give(c->first[i]);
    }
    *c = (pk_align_corpus){ 0 };
}

size_t pk_align_corpus_bytes(const pk_align_corpus *c) {
    size_t bytes = 0;
    for (int i = 0; i < 2; i++)
        bytes += c->n_tokens[i] * sizeof(uint32_t) + c->n * sizeof(size_t) +
                 c->words[i].bytes.room +
                 (c->words[i].room + c->words[i].n_slots) * sizeof(uint32_t);
    return bytes;
}
