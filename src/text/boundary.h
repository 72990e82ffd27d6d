/* boundary.h - decides whether a boundary that ICU found is really the end of a sentence. */
#ifndef PK_TEXT_BOUNDARY_H
#define PK_TEXT_BOUNDARY_H
#include <stdint.h>

#include "text/language.h"

/* A position where ICU would cut. The text before `begin` belongs to earlier sentences. */
typedef struct pk_boundary {
    const char *text;
    size_t      begin; /* of the sentence */
    size_t      next;  /* in: ICU's boundary; out: where the next one begins */
    size_t      limit; /* of the text */
    size_t      end;   /* out: of the sentence, white space left out */
} pk_boundary;

/* Sets end and next; false when the sentence goes on. */
bool pk_boundary_check(pk_boundary *b, const pk_language_rules *language);

/* skips white space from `at` on; for back: before `at`, towards the beginning */
size_t pk_skip_space(const char *text, size_t at, size_t limit);
size_t pk_skip_space_back(const char *text, size_t begin, size_t at);
/* the code point that ends at `at` > begin; returns where it begins */
size_t pk_before(const char *text, size_t begin, size_t at, int32_t *code_point);
#endif
