/* models.h - the models that are served: which pairs there are, and opening them when they are needed.
 *
 * A servable is one model with its translators. It is opened on first use, closed when nobody has used
 * it for a while or memory is needed for another, and opened again. A rescan (SIGHUP) replaces servables
 * whose files changed; who holds an old one finishes with it. */
#ifndef PK_SERVER_MODELS_H
#define PK_SERVER_MODELS_H
#include "exchange.h"
#include "language.h"
#include "server.h"
#include "work.h"

typedef struct pk_models   pk_models;
typedef struct pk_servable pk_servable;

typedef enum pk_decoding {                     /* the translators of a servable */
                           PK_DECODING_PLAIN,  /* as the operator chose */
                           PK_DECODING_LIVE,   /* the same output, from a draft, with alignment */
                           PK_DECODING_MARKUP, /* as PLAIN, with alignment: for tags and terms */
                           PK_DECODING_BEAM,   /* for alternatives: up to 3; with alignment */
                           PK_DECODING_WIDE,   /* up to 15 */
                           PK_N_DECODINGS
} pk_decoding;
enum { PK_BEAM = 4, PK_WIDE_BEAM = 16, PK_MOST_ALTERNATIVES = PK_WIDE_BEAM - 1 };

/* warn: for each file that is left out; quiet otherwise. NULL: `error` says why */
pk_models *pk_models_open(const pk_server_options *o, pk_work *work, char *error);
void       pk_models_close(pk_models *m); /* nobody may hold a servable */
/* looks again what there is; where that fails everything stays as it was */
bool pk_models_rescan(pk_models *m, char *error);

/* 1: leg[0] translates from `from` into `to`; 2: both legs do, through English; 0: there is no way.
   What is given is held until it is dropped */
size_t pk_models_find(pk_models *m, const char *from, const char *to, pk_servable *leg[2]);
void   pk_models_drop(pk_models *m, pk_servable *e);

typedef enum pk_use {
    PK_USE_READY,
    PK_USE_WAIT,   /* somebody is opening it: x is pushed to the workers when that is done */
    PK_USE_FULL,   /* no memory for it now */
    PK_USE_FAILED, /* it cannot be opened */
} pk_use;
/* a translator of the servable, opened if need be, which takes its time; READY: until it is left */
pk_use          pk_models_use(pk_models *m, pk_servable *e, pk_decoding d, pk_exchange *x,
                              pk_translator **out);
void            pk_models_leave(pk_models *m, pk_servable *e);
const pk_model *pk_models_model(const pk_servable *e); /* of one that is in use */
/* closes what has been idle for too long */
void pk_models_tick(pk_models *m);

typedef struct pk_languages { /* a snapshot; English first, then by name */
    char (*code)[PK_CODE_ROOM];
    size_t n;
    bool  *way; /* n x n: from, to */
} pk_languages;
bool pk_models_languages(pk_models *m, pk_languages *out); /* false: no memory */
void pk_languages_free(pk_languages *l);
/* index of a code; -1: none */
int pk_languages_find(const pk_languages *l, const char *code);

typedef struct pk_models_stats {
    size_t   known, open;
    uint64_t sentences, source_tokens, target_tokens, looped, mended;
} pk_models_stats;
void pk_models_count(pk_models *m, pk_models_stats *out);
#endif
