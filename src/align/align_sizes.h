/* align_sizes.h - the lengths of a corpus's pairs, and what the prior on positions is for them.
 *
 * A corpus has far fewer pairs of lengths than pairs, so normalisers are computed once for each. */
#ifndef PK_ALIGN_SIZES_H
#define PK_ALIGN_SIZES_H
#include "align/align_corpus.h"
#include "align/align_diagonal.h"

typedef struct pk_align_sizes {
    pk_align_size  *size;      /* each once, sorted */
    size_t          n, *start; /* of each: its first scale [n + 1] */
    uint32_t       *of_pair;
    float          *scale;  /* (1 - p_null) / normaliser, by size and generated position */
    uint8_t        *occurs; /* of each length */
    pk_align_curves curves;
    double          tension;
} pk_align_sizes;

/* given: the side that is given */
pk_status pk_align_sizes_open(const pk_align_corpus *c, int given, pk_align_sizes *out);
void      pk_align_sizes_close(pk_align_sizes *s);
/* fills curves and scales for a tension */
pk_status pk_align_sizes_set(pk_align_sizes *s, double tension, int32_t threads);

static inline const float *pk_align_sizes_scale(const pk_align_sizes *s, size_t pair) {
    return s->scale + s->start[s->of_pair[pair]];
}
#endif
