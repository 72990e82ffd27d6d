/* split.h - a text as pieces: sentences to translate, and what stands between them.
 *
 * The pieces cover the text exactly, in order: put together again they are the text. Newlines,
 * blank lines, leading and trailing spaces are never part of a sentence, so they survive
 * translation. */
#ifndef PK_TEXT_SPLIT_H
#define PK_TEXT_SPLIT_H
#include <stdbool.h>

#include "base/memory.h"

typedef struct pk_piece {
    size_t begin, size; /* bytes of the text */
    bool   sentence;    /* true: to translate; false: to copy as it is */
    bool   continued;   /* goes on with the sentence before it, which was cut */
    bool   capitals;    /* was in capitals, and is read as small letters */
} pk_piece;

typedef struct pk_pieces {
    pk_piece *piece;
    size_t    n, room;
} pk_pieces;

typedef struct pk_splitter pk_splitter; /* one per thread */
/* language: ISO code such as "en", or NULL; chooses rules and abbreviations */
pk_status pk_splitter_open(const char *language, pk_splitter **out);
/* another of the same rules, for another thread; NULL gives NULL */
pk_status pk_splitter_copy(const pk_splitter *s, pk_splitter **out);
void      pk_splitter_close(pk_splitter *s);
/* The text must be valid UTF-8 (text/utf8.h repairs it). one_sentence: each line is one sentence.
 */
pk_status pk_split(pk_splitter *s, const char *text, size_t size, bool one_sentence,
                   pk_pieces *out);

/* Where to cut a sentence that is too long, so that the first part has at most `most` bytes: after
 * the last good boundary (clause punctuation, then space, then any character). Never 0 for size >
 * 0. */
size_t pk_split_point(const char *text, size_t size, size_t most);
void   pk_pieces_free(pk_pieces *p);
#endif
