/* align_text.h - pairs of sentences as text: from two files, or from one of `source ||| target`.
 *
 * A pair is given as two texts; a segmenter cuts each into words, as white space separates them,
 * or into SentencePiece pieces. */
#ifndef PK_ALIGN_TEXT_H
#define PK_ALIGN_TEXT_H
#include "base/text_reader.h"
#include "vocab/spm.h"

enum { PK_ALIGN_MOST_WORDS = 10000 }; /* of a sentence: time grows with the product of both sides */

typedef struct pk_align_reader {
    const char     *path[2]; /* borrowed; the second NULL: one file holds both sides */
    pk_text_reader *reader[2];
    uint64_t        lines;
} pk_align_reader;

pk_status pk_align_reader_open(const char *source, const char *target, pk_align_reader *out);
void      pk_align_reader_close(pk_align_reader *r);
/* One side of the next pair of two files; data NULL behind the last. The sides are independent of
 * each other and may be read by two threads. */
pk_status pk_align_reader_side(pk_align_reader *r, int side, pk_text *line);
/* Both sides of the next pair; data NULL behind the last. Valid until the next call. */
pk_status pk_align_reader_next(pk_align_reader *r, pk_text pair[2]);
/* both files have so many lines, or the error says how many each has */
pk_status pk_align_same_lines(const char *const path[2], uint64_t source, uint64_t target);
/* the same, read beforehand; pipes and the like, which can be read only once, pass */
pk_status pk_align_check_lines(const char *const path[2]);

/* spm NULL: words */
pk_status pk_align_segment(pk_spm *spm, pk_text text, pk_spm_visit visit, void *user);
#endif
