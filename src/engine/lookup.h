/* lookup.h - what a translator looks words up in: a lexicon, from a file or the model's own, and the
 * shortlists that it gives. */
#ifndef PK_ENGINE_LOOKUP_H
#define PK_ENGINE_LOOKUP_H
#include "engine/saved_lexicon.h"
#include "lexicon/shortlist.h"

typedef struct pk_lookup {
    const pk_lexicon *lexicon;           /* NULL: there is none */
    pk_saved_lexicon  saved;             /* of a file, or zeroed */
    pk_shortlist      shortlist, drafts; /* of the model and of its drafter; zeroed: none */
} pk_lookup;

/* path: what `pronk align --save` wrote, or NULL. by: what it is for. most_given: tokens of a source
 * and a prefix together, at most. */
typedef struct pk_lookup_request {
    const pk_model    *model;
    const char        *path;
    const pk_strategy *by;
    bool               shortlist, drafts; /* lists for the model, for its drafter */
    const pk_lexicon
           *of_drafter; /* what the drafter brings along, for drafts alone; may be empty */
    int32_t most_given;
} pk_lookup_request;
pk_status pk_lookup_open(const pk_lookup_request *q, pk_lookup *out);
void      pk_lookup_close(pk_lookup *l); /* accepts a zeroed one */
#endif
