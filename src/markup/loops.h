/* loops.h - notices an output that repeats itself. */
#ifndef PK_MARKUP_LOOPS_H
#define PK_MARKUP_LOOPS_H
#include <stdbool.h>

#include "pronk.h"

/* Whether a stretch of up to 16 tokens comes four times in a row or more often, and eight tokens at
 * least repeat; not where the source repeats itself too. Or the output does not end. */
bool pk_loops(const int32_t *token, int32_t n, int32_t eos, pk_text source);
#endif
