/* length_range.h - which lengths an output may have, where they come from counts: the expected one and
 * its neighbours, as far as the model and the prefix allow. */
#ifndef PK_DECODE_LENGTH_RANGE_H
#define PK_DECODE_LENGTH_RANGE_H
#include "decode/strategy.h"

typedef struct pk_length_range {
    int32_t n_source;          /* without the end symbol */
    int32_t shortest, longest; /* of the output, the end symbol not counted */
} pk_length_range;

/* delta: so many tokens less or more than expected. The source has a lexicon. */
pk_length_range pk_length_range_of(const pk_source *src, int32_t delta);
#endif
