/* translator.h - what the room above the engine (markup/) knows of a translator. */
#ifndef PK_ENGINE_TRANSLATOR_H
#define PK_ENGINE_TRANSLATOR_H
#include "engine/document.h"

/* pk_translate for plain text: options of markup, terms and the like are not looked at */
pk_status pk_translator_serve(pk_translator *t, const pk_text *text, size_t n,
                              const pk_call_options *opt, pk_result **out);
/* its model, languages and way of splitting */
const pk_reader *pk_translator_reader(const pk_translator *t);
/* whether its results have links */
bool pk_translator_aligns(const pk_translator *t);

typedef struct pk_markup_counts { /* what the room above adds to pk_stats */
    uint64_t repaired;
    uint64_t looped, kept, lost;
} pk_markup_counts;
void pk_translator_count(pk_translator *t, const pk_markup_counts *more);
#endif
