/* markup_call.h - one call with markup, terms or spans to protect: read, attempts, write.
 *
 * It is read by who submits it and written by who ends it. In between attempts follow each other,
 * and nobody waits: each is a plain call, whose end is an errand (engine/errands.h) that begins the
 * next one or ends the call. Only `lock`ed fields are touched by several threads at once. */
#ifndef PK_MARKUP_MARKUP_CALL_H
#define PK_MARKUP_MARKUP_CALL_H
#include "engine/queue.h"
#include "engine/translator.h"
#include "markup/protect.h"
#include "markup/unit.h"

typedef enum pk_format { PK_FORMAT_TEXT, PK_FORMAT_HTML, PK_FORMAT_SRT, PK_FORMAT_VTT } pk_format;

typedef struct pk_attempt { /* sentences on their way through the engine */
    pk_mask *mask;
    pk_text *text;
    size_t  *unit;
    size_t   n;
} pk_attempt;

typedef struct pk_markup_call {
    pk_translator   *t;
    pk_call_options  o;
    pk_format        format;
    size_t           n;
    pk_buffer       *repaired; /* [n] where the bytes were not UTF-8 */
    pk_markup       *markup;   /* [n] */
    pk_units         units;
    pk_passage     **passage; /* of each unit */
    pk_patterns     *patterns;
    pk_splitter     *splitter;
    int32_t          scheme[PK_N_SCHEMES];
    size_t           n_schemes, next_scheme;
    pk_attempt       attempt;              /* that is under way */
    pk_result       *result[PK_N_SCHEMES]; /* of those that are over: units point into them */
    size_t           n_results;
    double           deadline; /* by the clock; 0: none */
    pk_markup_counts counts;
    pk_errands      *errands;
    pk_errand        errand;

    pthread_mutex_t lock;
    pthread_cond_t  news;    /* it has ended */
    pk_plain_call  *plain;   /* the attempt's; NULL: none now */
    size_t          n_first; /* sentences of the first attempt, for progress */
    bool            cancelled, ended;
    pk_status       status;
    char            error[PK_ERROR_SIZE];
} pk_markup_call;

/* whether the options ask for more than plain text; the format must be one that there is */
pk_status pk_markup_call_wanted(const pk_call_options *o, bool *out);
/* Reads the texts, which must stay, and begins. *out is set before `done` is called. */
pk_status pk_markup_call_begin(pk_translator *t, const pk_text *text, size_t n,
                               const pk_call_options *o, pk_markup_call **out);
void      pk_markup_call_cancel(pk_markup_call *k);
/* waits for its end, gives the result and frees it */
pk_status pk_markup_call_end(pk_markup_call *k, pk_result **out);

/* its parts */
pk_status pk_markup_call_read(pk_markup_call *k, const pk_text *text);
pk_status pk_attempts_begin(pk_markup_call *k);
pk_status pk_attempts_await(pk_markup_call *k);
void      pk_attempts_free(pk_markup_call *k);
pk_status pk_markup_call_write(pk_markup_call *k, pk_result **out);
#endif
