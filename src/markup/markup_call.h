/* markup_call.h - one call of pk_translate with markup, terms or spans to protect. */
#ifndef PK_MARKUP_MARKUP_CALL_H
#define PK_MARKUP_MARKUP_CALL_H
#include "engine/translator.h"
#include "markup/protect.h"
#include "markup/unit.h"

typedef enum pk_format { PK_FORMAT_TEXT, PK_FORMAT_HTML, PK_FORMAT_SRT, PK_FORMAT_VTT } pk_format;

enum { PK_MOST_ATTEMPTS = PK_N_SCHEMES + 1 };
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
    size_t           n_schemes;
    pk_result       *attempt[PK_MOST_ATTEMPTS];
    size_t           n_attempts;
    size_t           n_first; /* sentences of the first attempt, for progress */
    pk_markup_counts counts;
} pk_markup_call;

/* the three steps */
pk_status pk_markup_call_read(pk_markup_call *k, const pk_text *text);
pk_status pk_markup_call_decode(pk_markup_call *k);
pk_status pk_markup_call_write(pk_markup_call *k, pk_result **out);
#endif
