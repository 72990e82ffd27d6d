/* links.h - which bytes of the source each piece of the output looked at most, for one sentence. */
#ifndef PK_ENGINE_LINKS_H
#define PK_ENGINE_LINKS_H
#include "engine/document.h"

typedef struct pk_linked { /* a sentence and one of its hypotheses, as rendered */
    const pk_model          *model;
    const pk_job            *job;
    const pk_job_hypothesis *hypothesis;
    const char              *text; /* of the whole document */
    pk_piece                 piece;
    const int32_t           *token; /* [n] which tokens of the hypothesis became text */
    size_t                   n;
    size_t                   begin; /* where its text begins in the rendering */
    const size_t            *end;   /* [n] behind the text of each */
} pk_linked;

/* adds a link for each of the n tokens that has any text; nothing without attention */
pk_status pk_links_add(const pk_linked *l, pk_rendering *out);
#endif
