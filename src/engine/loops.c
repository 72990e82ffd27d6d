/* loops.c - repetition of a period: a run of tokens each of which equals the one p before it. */
#include "engine/loops.h"

#include "engine/worker.h"

enum { LONGEST_PERIOD = 16, TIMES = 3, LEAST = 8, SOURCE_TIMES = 2, SOURCE_LEAST = 3 };

/* how many tokens around i, and i itself, equal the one p before them */
static int32_t run_around(const int32_t *token, int32_t n, int32_t p, int32_t i) {
    int32_t first = i, end = i;
    while (first > p && token[first - 1] == token[first - 1 - p]) first--;
    while (end < n && token[end] == token[end - p]) end++;
    return end - first;
}

/* Only every `enough`-th token is looked at: a run that is long enough has one of them. */
static bool repeats(const int32_t *token, int32_t n, int32_t times, int32_t least) {
    for (int32_t p = 1; p <= LONGEST_PERIOD && p < n; p++) {
        const int32_t enough = times * p > least ? times * p : least;
        for (int32_t i = p + enough - 1; i < n; i += enough)
            if (token[i] == token[i - p] && run_around(token, n, p, i) >= enough) return true;
    }
    return false;
}

bool pk_loops(const int32_t *token, int32_t n, pk_output_end end, const pk_ids *source) {
    if (n < 1) return false;
    if (n >= end.most && (end.forced || token[n - 1] != end.eos)) return true;
    return repeats(token, n - 1, TIMES, LEAST) &&
           !repeats(source->id, (int32_t)source->n, SOURCE_TIMES, SOURCE_LEAST);
}

/* what was kept aside becomes the job's output again, or what is its output now goes */
static void swap_outputs(pk_job *job) {
    pk_job_hypothesis *const hypothesis = job->hypothesis;
    const int32_t            n = job->n_hypotheses;
    job->hypothesis = job->first;
    job->n_hypotheses = job->n_first;
    job->first = hypothesis;
    job->n_first = n;
}

bool pk_loops_retry(pk_job *job, const pk_plan *plan, pk_output_end end, pk_stats *stats) {
    const pk_job_hypothesis *h = job->n_hypotheses ? job->hypothesis : NULL;
    if (job->forced.n || !h) return false;
    const bool looped = pk_loops(h->token, h->n, end, &job->source);
    if (job->again) {
        const bool better = !looped && h->n > job->n_free_prefix + 1; /* more than the end symbol */
        if (!better) swap_outputs(job);
        stats->mended += better;
        return false;
    }
    stats->looped += looped;
    if (!looped || !plan->again) return false;
    swap_outputs(job);
    return true;
}
