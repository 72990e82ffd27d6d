/* mask.h - a stretch of a passage as the model sees it: kept spans are placeholders that it copies.
 *
 * A placeholder is a prefix and a number: %1, X2 ... Which prefix a model copies best depends on
 * what it was trained on, so there are several schemes; one that a sentence has not come through
 * with is followed by the next. */
#ifndef PK_MARKUP_MASK_H
#define PK_MARKUP_MASK_H
#include "markup/passage.h"
#include "vocab/vocab.h"

enum { PK_N_SCHEMES = 4 };

typedef struct pk_mask {
    pk_buffer text;
    pk_kept  *kept; /* [n] the placeholders: bytes of the masked text */
    size_t    n;
    size_t    begin; /* of the stretch in the passage's text */
    size_t    first; /* index of its first kept span */
    int32_t   scheme;
    uint32_t  start; /* number of the first placeholder */
} pk_mask;

/* scheme -1: every span is a mere letter, to look for sentences */
pk_status pk_mask_make(const pk_passage *p, size_t begin, size_t size, int32_t scheme,
                       pk_mask *out);
void      pk_mask_free(pk_mask *m);
/* the byte of the passage's text that a byte of the masked text comes from; inside a placeholder:
 * where its span begins, or for `behind` where it ends */
size_t pk_mask_origin(const pk_mask *m, const pk_passage *p, size_t byte, bool behind);

/* one placeholder found in a text */
typedef struct pk_found {
    size_t  begin, size;
    int32_t kept; /* index in the passage */
} pk_found;
/* the next one at or behind *at, which is moved behind it; false: there is none */
bool pk_mask_find(const pk_mask *m, const char *text, size_t size, size_t *at, pk_found *out);

/* the schemes that the vocabulary has pieces for, best first; at least one */
pk_status pk_mask_schemes(const pk_vocab *v, int32_t unk, int32_t *scheme, size_t *n);
#endif
