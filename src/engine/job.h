/* job.h - one sentence on its way through the decoder: tokens in, hypotheses out. */
#ifndef PK_ENGINE_JOB_H
#define PK_ENGINE_JOB_H
#include "base/ids.h"
#include "decode/strategy.h"
#include "model/config.h"

typedef struct pk_job_hypothesis {
    int32_t *token;    /* [n] end symbol included when it was met */
    float   *logp;     /* [n] */
    int32_t *looks_at; /* [n] source token each looked at most; or NULL */
    int32_t  n;
    float    score, log_prob;
} pk_job_hypothesis;

typedef struct pk_job {
    struct pk_queued  *call;           /* that it belongs to (queue.h) */
    size_t             text, sentence; /* which text of the call, which sentence of it */
    pk_ids             source;         /* language and end symbol included */
    pk_ids             prefix;         /* what the output must begin with */
    pk_ids             forced;         /* the whole output, when it is to be scored */
    pk_ids             draft;          /* a guess at the output */
    bool               capitals;       /* its text is to be written in capitals */
    int32_t            n_free_prefix;  /* tokens of the prefix that are no text (a language) */
    pk_job_hypothesis *hypothesis;     /* best first */
    int32_t            n_hypotheses;
    int32_t            n_begun; /* decodings */
    bool               again;   /* its first output looped (loops.h), and is kept here meanwhile: */
    pk_job_hypothesis *first;
    int32_t            n_first;
} pk_job;

void pk_job_free(pk_job *job);
/* Copies what a strategy found, best first, in reading order: a model that writes from right to
 * left has its tokens reversed; language and end symbol keep their positions. */
pk_status pk_job_finish(pk_job *job, const pk_hypothesis *found, int32_t n, const pk_config *c);
/* reverses a target where the model writes from right to left */
void pk_job_turn(const pk_config *c, int32_t *token, size_t n);
#endif
