/* loops.h - notices an output that repeats itself or does not end, and has it decoded once more.
 *
 * A sentence is decoded again by the plan's `again`, in the same worker. What that gives is kept
 * unless it loops too or says nothing; then the first output stays. */
#ifndef PK_ENGINE_LOOPS_H
#define PK_ENGINE_LOOPS_H
#include "engine/job.h"

/* Whether a stretch of up to 16 tokens comes four times in a row or more often, and eight tokens at
 * least repeat; not where the source repeats itself too. Or the output does not end. */
bool pk_loops(const int32_t *token, int32_t n, int32_t eos, const pk_ids *source);
/* Looks at a job that was just finished: is it to be decoded again? most: tokens after which the
 * model must end; 0: it ends by itself. */
struct pk_plan;
bool pk_loops_retry(pk_job *job, const struct pk_plan *plan, int32_t eos, int32_t most,
                    pk_stats *stats);
#endif
