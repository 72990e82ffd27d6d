/* align_words.c - open addressing with linear probing, at most half full.
 *
 * Invariant: the table has a free slot, so every search ends. */
#include "align/align_words.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

enum { FIRST_ROOM = 256 };

pk_text pk_align_words_name(const pk_align_words *w, uint32_t word) {
    return (pk_text){ w->bytes + w->start[word], w->start[word + 1] - w->start[word] };
}

/* the slot where the name is, or where it would go */
static uint32_t slot_of(const pk_align_words *w, const char *name, size_t size) {
    uint32_t at = (uint32_t)pk_hash(name, size) & w->mask;
    for (;; at = (at + 1) & w->mask) {
        if (w->slot[at] == PK_ALIGN_NO_WORD) return at;
        const pk_text there = pk_align_words_name(w, w->slot[at]);
        if (there.size == size && !memcmp(there.data, name, size)) return at;
    }
}

uint32_t pk_align_words_find(const pk_align_words *w, const char *name, size_t size) {
    return w->n ? w->slot[slot_of(w, name, size)] : PK_ALIGN_NO_WORD;
}

pk_align_words pk_align_word_builder_words(const pk_align_word_builder *b) {
    return (pk_align_words){ b->bytes.data, b->start, b->slot, (uint32_t)b->n,
                             (uint32_t)(b->n_slots - 1) };
}

/* twice the room; the hash table is made anew. 0xFF bytes are PK_ALIGN_NO_WORD: all slots free */
static pk_status grow(pk_align_word_builder *b) {
    const size_t room = b->room ? 2 * b->room : FIRST_ROOM;
    uint32_t    *slot;
    if (room > UINT32_MAX / 4) PK_FAIL(PK_FORMAT, "more than %zu different words", b->n);
    PK_TRY(PK_GROW(&b->start, room + 1));
    PK_TRY(PK_TAKE(&slot, 2 * room));
    pk_memory_give(b->slot);
    b->slot = slot;
    b->room = room;
    b->n_slots = 2 * room;
    memset(slot, 0xFF, 2 * room * sizeof *slot);
    const pk_align_words words = pk_align_word_builder_words(b);
    for (uint32_t i = 0; i < words.n; i++) {
        const pk_text name = pk_align_words_name(&words, i);
        slot[slot_of(&words, name.data, name.size)] = i;
    }
    return PK_OK;
}

pk_status pk_align_word_builder_add(pk_align_word_builder *b, const char *name, size_t size,
                                    uint32_t *word) {
    if (b->n == b->room) PK_TRY(grow(b));
    const pk_align_words words = pk_align_word_builder_words(b);
    const uint32_t       at = slot_of(&words, name, size);
    *word = b->slot[at];
    if (*word != PK_ALIGN_NO_WORD) return PK_OK;
    if (b->bytes.size + size > UINT32_MAX)
        PK_FAIL(PK_FORMAT, "the different words take more than 4 GiB");
    pk_buffer_add(&b->bytes, name, size);
    PK_TRY(pk_buffer_status(&b->bytes));
    *word = b->slot[at] = (uint32_t)b->n++;
    b->start[b->n] = (uint32_t)b->bytes.size;
    return PK_OK;
}

void pk_align_word_builder_free(pk_align_word_builder *b) {
    pk_buffer_free(&b->bytes);
    pk_memory_give(b->start);
    pk_memory_give(b->slot);
    *b = (pk_align_word_builder){ 0 };
}
