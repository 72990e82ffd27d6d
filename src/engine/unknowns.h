/* unknowns.h - the source's own words in place of unknown tokens, for one hypothesis.
 *
 * An unknown token carries no text. The piece of the source with the most attention is put there
 * instead: mostly it is a name, a number or a sign, which is right as it is. */
#ifndef PK_ENGINE_UNKNOWNS_H
#define PK_ENGINE_UNKNOWNS_H
#include "engine/job.h"
#include "engine/model.h"

typedef struct pk_unknowns {
    const pk_model *model;
    const pk_job   *job;
    pk_text         sentence; /* the job's text */
    pk_ids          piece;    /* its tokens, once there was an unknown */
    pk_ids          begin;    /* the byte at which each begins */
    pk_ids          instead;  /* for each token added: where in names its text is; -1: itself */
    pk_buffer       names;    /* texts, a NUL byte behind each */
} pk_unknowns;

/* adds token i of the hypothesis, which must have its attention (looks_at) */
pk_status pk_unknowns_add(pk_unknowns *u, const pk_job_hypothesis *h, int32_t i);
void      pk_unknowns_free(pk_unknowns *u);
#endif
