/* translation.h - the texts of a request on their way through one or two models.
 *
 * A handler fills in what it wants and begins; `render` is called when all is there, by a worker, and
 * answers. Failures are answered here. */
#ifndef PK_SERVER_TRANSLATION_H
#define PK_SERVER_TRANSLATION_H
#include "models.h"

typedef struct pk_translation {
    pk_text           *text; /* owned, what they point to is not: the fields of the request */
    size_t             n;
    bool               batch;              /* an array was asked for, of whatever size */
    char               from[PK_CODE_ROOM]; /* of models */
    char               to[PK_CODE_ROOM];
    bool               detected; /* the source language is a guess, of this confidence (0 to 100) */
    double             confidence;
    bool               untranslatable; /* texts come back as they are */
    int32_t            alternatives;
    const char        *format;    /* "html"; NULL: plain text */
    const pk_glossary *terms;     /* to use; NULL: none */
    pk_glossary       *own_terms; /* of the request; NULL: the operator's, or none */
    struct pk_tiling  *live;      /* sentence by sentence; NULL: as texts */
    void (*render)(pk_exchange *x);
    /* its own */
    pk_servable *leg[2];
    size_t       n_legs, at; /* at: the one that is being done */
    pk_decoding  decoding;   /* of that */
    bool         in_use;     /* its translator is */
    pk_result   *result;     /* of the last one that is done; NULL: texts stay as they are */
} pk_translation;

/* a translation for the exchange to be filled in; NULL: no memory, which is answered */
pk_translation *pk_translation_new(pk_exchange *x);
void            pk_translation_free(pk_exchange *x);
/* whether texts have markup, or terms to use: without drafts, links and traces then */
bool pk_translation_has_markup(const pk_translation *t);
/* Refuses HTML that is too much, and terms on a way through English: they would be translated once more.
   false: answered */
bool pk_translation_check_html(pk_exchange *x);
bool pk_translation_check_terms(pk_exchange *x);
/* finds the way; false: there is none, and nothing is answered. */
bool pk_translation_find_way(pk_exchange *x);
void pk_translation_begin(pk_exchange *x); /* the next action of the exchange is now its own */
void pk_translation_again(pk_exchange *x); /* the same with other texts, from the first leg on */
/* for render: text i, and alternatives to it, best first; borrowed */
pk_text pk_translation_text(const pk_translation *t, size_t i);
json_t *pk_translation_alternatives(const pk_translation *t, size_t i); /* an array; the caller's */
#endif
