/* translator.h - what the room above the engine (markup/) knows of a translator.
 *
 * A plain call is texts in, a result out, once through the engine. pk_call, which callers have, is
 * one of them for plain text, and several for text with markup. */
#ifndef PK_ENGINE_TRANSLATOR_H
#define PK_ENGINE_TRANSLATOR_H
#include "engine/document.h"
#include "engine/errands.h"

typedef struct pk_plain_call pk_plain_call;
typedef struct pk_plain_request {
    const pk_text  *text, *target; /* target: to be scored; NULL: to be translated */
    size_t          n;
    pk_call_options o;     /* those of markup, terms and spans are not looked at */
    bool            part;  /* of a call with markup, which counts its texts itself */
    bool            again; /* and not the first: it is not refused, nor counted */
    bool            waits; /* the caller does nothing else until the end, and may serve it itself */
} pk_plain_request;

/* Reads and queues; the texts must stay until the end. *out is set before `done` is called. */
pk_status pk_plain_call_begin(pk_translator *t, const pk_plain_request *r, pk_plain_call **out);
void      pk_plain_call_cancel(pk_plain_call *c);
/* sentences that are done, of those that there are */
void pk_plain_call_count(pk_plain_call *c, size_t *done, size_t *all);
/* waits for its end and calls progress meanwhile, which may cancel it; from the caller's thread */
void pk_plain_call_wait(pk_plain_call *c);
/* as pk_call_end, but does not call progress */
pk_status pk_plain_call_end(pk_plain_call *c, pk_result **out);

/* PK_BUSY: a call would be refused, so that its texts need not be read */
pk_status pk_translator_check_room(pk_translator *t);
/* its model, languages and way of splitting */
const pk_reader *pk_translator_reader(const pk_translator *t);
/* whether its results have links */
bool pk_translator_aligns(const pk_translator *t);
/* who goes on with calls between two plain ones; started */
pk_status pk_translator_errands(pk_translator *t, pk_errands **out);

typedef struct pk_markup_counts { /* what the room above adds to pk_stats */
    uint64_t texts, repaired;
    uint64_t kept, lost;
} pk_markup_counts;
void pk_translator_count(pk_translator *t, const pk_markup_counts *more);
#endif
