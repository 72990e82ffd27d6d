/* result.h - what a call returns: one entry per text, hypotheses best first. */
#ifndef PK_ENGINE_RESULT_H
#define PK_ENGINE_RESULT_H
#include "engine/document.h"
#include "engine/worker.h"

pk_status pk_result_open(size_t n, pk_result **out);
/* fills entry i from a finished document */
pk_status pk_result_set(pk_result *r, size_t i, const pk_document *d, const pk_model *m,
                        const pk_plan *plan);
/* adds a hypothesis to entry i, whose memory the result takes over, also where this fails */
pk_status pk_result_add(pk_result *r, size_t i, pk_rendering *h);
#endif
