/* characters.h - the characters of a text: what becomes of them, and which have pieces.
 *
 * One rule for all vocabularies that are trained here: white space becomes a space, control
 * characters go, everything else stays as it is. */
#ifndef PK_VOCAB_CHARACTERS_H
#define PK_VOCAB_CHARACTERS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

bool pk_characters_is_control(int32_t code_point); /* Unicode's Cc */
/* whether anything of a text is left that is no space */
bool pk_characters_any(const char *text, size_t size);

/* Appends that rule as SentencePiece's trainer reads it: "hex code point TAB hex code point" a
 * line, with nothing behind the TAB for what goes. */
void pk_characters_rules(pk_buffer *out);

typedef struct pk_characters {
    uint64_t *count; /* of each code point */
} pk_characters;

pk_status pk_characters_open(pk_characters *c);
void      pk_characters_close(pk_characters *c);
/* counts the characters that stay, spaces not among them */
void pk_characters_add(pk_characters *c, const char *text, size_t size);
/* Appends, each once, the characters of `wanted` and, most frequent first, as many of those that were counted as
 * make up the share `coverage` of them. */
pk_status pk_characters_pick(const pk_characters *c, double coverage, const char *wanted,
                             pk_buffer *out);
/* Fills in what was counted and how much of it the pieces cover; pieces: a NUL byte behind each. */
void pk_characters_report(const pk_characters *c, const char *pieces, size_t size,
                          pk_vocab_train_report *out);
#endif
