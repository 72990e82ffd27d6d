/* align_words.h - the words of one language: name -> number by hash, number -> name by position.
 *
 * A list is read through pk_align_words, whether its arrays were built here or lie in a mapped
 * file. Names are bytes; nothing about them needs to be UTF-8. */
#ifndef PK_ALIGN_WORDS_H
#define PK_ALIGN_WORDS_H
#include <stdint.h>

#include "base/buffer.h"

#define PK_ALIGN_NO_WORD UINT32_MAX

typedef struct pk_align_words {
    const char     *bytes; /* names end to end */
    const uint32_t *start; /* of each name [n + 1] */
    const uint32_t *slot;  /* numbers by hash, open addressing; PK_ALIGN_NO_WORD: free [mask + 1] */
    uint32_t        n, mask;
} pk_align_words;

uint32_t pk_align_words_find(const pk_align_words *w, const char *name, size_t size);
pk_text  pk_align_words_name(const pk_align_words *w, uint32_t word);

typedef struct pk_align_word_builder {
    pk_buffer bytes;
    uint32_t *start, *slot;
    size_t    n, room, n_slots;
} pk_align_word_builder;

/* the word's number: the one it has, or the next */
pk_status pk_align_word_builder_add(pk_align_word_builder *b, const char *name, size_t size,
                                    uint32_t *word);
/* valid until the next word is added */
pk_align_words pk_align_word_builder_words(const pk_align_word_builder *b);
void           pk_align_word_builder_free(pk_align_word_builder *b);
#endif
