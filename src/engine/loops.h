/* loops.h - notices an output that repeats itself or does not end, and has it decoded once more.
 *
 * A sentence is decoded again by the plan's `again`, in the same worker. What that gives is kept
 * unless it loops too or says nothing; then the first output stays. */
#ifndef PK_ENGINE_LOOPS_H
#define PK_ENGINE_LOOPS_H
#include "engine/job.h"

typedef struct pk_output_end { /* how an output may end */
    int32_t eos, most;         /* most: tokens after which it is cut off; a caller may set less */
    bool    forced;            /* the end symbol then comes in any case */
} pk_output_end;
/* Whether a stretch of up to 16 tokens comes four times in a row or more often, and eight tokens at
 * least repeat; not where the source repeats itself too. Or the output runs to its maximum. */
bool pk_loops(const int32_t *token, int32_t n, pk_output_end end, const pk_ids *source);
/* looks at a job that was just finished: is it to be decoded again? Then its output is put aside, and the caller says
 * so (job->again) when the strategy of the first decoding is done with. */
struct pk_plan;
bool pk_loops_retry(pk_job *job, const struct pk_plan *plan, pk_output_end end, pk_stats *stats);
#endif
