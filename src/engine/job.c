/* job.c - keeping what a strategy found after its state is gone. */
#include "engine/job.h"

#include <assert.h>
#include <string.h>

static void free_hypotheses(pk_job_hypothesis *h, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        pk_memory_give(h[i].token);
        pk_memory_give(h[i].logp);
        pk_memory_give(h[i].looks_at);
    }
    pk_memory_give(h);
}

void pk_job_free(pk_job *job) {
    free_hypotheses(job->hypothesis, job->n_hypotheses);
    free_hypotheses(job->first, job->n_first);
    pk_ids_free(&job->source);
    pk_ids_free(&job->prefix);
    pk_ids_free(&job->forced);
    pk_ids_free(&job->draft);
    *job = (pk_job){ 0 };
}

/* the source token that gets most attention; the end symbol only when there is nothing else */
static int32_t most_attended(const float *attention, int32_t n_source) {
    int32_t best = 0;
    for (int32_t i = 1; i < n_source - 1; i++)
        if (attention[i] > attention[best]) best = i;
    return best;
}

/* copies one hypothesis; of the attention only the most attended token is kept */
static pk_status keep(pk_job_hypothesis *h, const pk_hypothesis *found, int32_t n_source) {
    const size_t n = (size_t)found->n;
    PK_TRY(PK_TAKE(&h->token, n));
    PK_TRY(PK_TAKE(&h->logp, n));
    h->n = found->n;
    h->score = found->score;
    if (n) memcpy(h->token, found->token, n * sizeof *h->token);
    for (size_t i = 0; i < n && found->logp; i++) h->log_prob += (h->logp[i] = found->logp[i]);
    if (!found->attention) return PK_OK;
    PK_TRY(PK_TAKE(&h->looks_at, n));
    for (size_t i = 0; i < n; i++)
        h->looks_at[i] = most_attended(found->attention + i * (size_t)n_source, n_source);
    return PK_OK;
}

void pk_job_turn(const pk_config *c, int32_t *token, size_t n) {
    for (size_t i = 0; c->right_to_left && i < n / 2; i++) {
        const int32_t other = token[n - 1 - i];
        token[n - 1 - i] = token[i];
        token[i] = other;
    }
}

static void turn_scores(float *x, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        const float other = x[n - 1 - i];
        x[n - 1 - i] = x[i];
        x[i] = other;
    }
}

/* into reading order: all but the language in front and the end symbol behind */
static void turn(pk_job_hypothesis *h, const pk_config *c, int32_t n_free_prefix) {
    if (!c->right_to_left || h->n <= n_free_prefix) return;
    const bool   ended = h->token[h->n - 1] == c->eos;
    const size_t first = (size_t)n_free_prefix, n = (size_t)h->n - first - ended;
    pk_job_turn(c, h->token + first, n);
    turn_scores(h->logp + first, n);
    if (h->looks_at) pk_job_turn(c, h->looks_at + first, n);
}

pk_status pk_job_finish(pk_job *job, const pk_hypothesis *found, int32_t n, const pk_config *c) {
    assert(!job->hypothesis); /* a job is finished once */
    PK_TRY(PK_TAKE(&job->hypothesis, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        job->n_hypotheses = i + 1; /* so that a half-kept one is given back too */
        PK_TRY(keep(&job->hypothesis[i], &found[i], (int32_t)job->source.n));
        turn(&job->hypothesis[i], c, job->n_free_prefix);
    }
    return PK_OK;
}
