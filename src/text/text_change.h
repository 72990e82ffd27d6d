/* text_change.h - a sentence as people also write it: in capitals, without its full stop ...
 *
 * A training text listed a second time under a change, with a small weight, teaches a model what
 * corpora hardly have. The target changes only where its writer would change it too: a German
 * heading is not written In Title Case. */
#ifndef PK_TEXT_TEXT_CHANGE_H
#define PK_TEXT_TEXT_CHANGE_H
#include "base/buffer.h"
#include "base/status.h"

// clang-format off
#define PK_TEXT_CHANGES(X)                                                  \
    X(KEEP,  "keep",  "as it is")                                           \
    X(UPPER, "upper", "BOTH SIDES IN CAPITALS")                             \
    X(TITLE, "title", "Each Word of the Source With a Capital")             \
    X(LOWER, "lower", "the source in small letters")                        \
    X(BARE,  "bare",  "without the full stop at the end, on both sides")    \
    X(JOIN,  "join",  "two pairs that follow one another as one")
// clang-format on
typedef enum pk_text_change {
#define X(name, word, help) PK_TEXT_##name,
    PK_TEXT_CHANGES(X)
#undef X
        PK_N_TEXT_CHANGES
} pk_text_change;

const char *pk_text_change_word(pk_text_change change);
/* every change with what it does, for people */
void      pk_text_changes_help(pk_buffer *out);
pk_status pk_text_change_find(const char *word, pk_text_change *out);
/* Appends the changed line. side: 0 source, 1 target. Joining is done by who reads the lines. */
void pk_text_change_add(pk_text_change change, int side, const char *line, size_t size,
                        pk_buffer *out);
#endif
