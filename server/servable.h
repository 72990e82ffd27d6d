/* servable.h - one model that is served; models.c keeps the list, servable.c opens and closes. */
#ifndef PK_SERVER_SERVABLE_H
#define PK_SERVER_SERVABLE_H
#include <sys/stat.h>

#include "models.h"

typedef struct pk_language_pair {
    char from[PK_CODE_ROOM], to[PK_CODE_ROOM];
} pk_language_pair;

typedef enum pk_servable_state {
    PK_SERVABLE_SHUT,
    PK_SERVABLE_OPENING,
    PK_SERVABLE_OPEN
} pk_servable_state;

struct pk_servable {
    char            *path;
    pk_language_pair pair;
    pk_language_pair own;    /* as the model itself, its name or the operator writes them */
    bool             chosen; /* by the operator */
    struct stat      file;
    /* all below under the lock of pk_models */
    int               held;    /* by exchanges */
    bool              retired; /* no longer in the list: freed when nobody holds it */
    int               users;   /* exchanges that use a translator now */
    double            used_at;
    pk_servable_state state;
    pk_exchange      *parked; /* wait until it is open */
    pk_model         *model;
    pk_translator    *translator[PK_N_DECODINGS];
    uint64_t          bytes; /* what opening it took last time; 0: not known yet */
};

struct pk_models {
    const pk_server_options *options;
    pk_work                 *work;
    pthread_mutex_t          lock;
    pk_servable            **servable;
    size_t                   n;
    pk_languages             languages; /* of those */
    uint64_t                 memory;    /* bound in bytes */
    pk_models_stats          past;      /* of translators that were closed */
};

/* the models of the folder, or the one that was named; the caller owns them. `n` 0: `error` */
pk_servable **pk_models_scan(const pk_server_options *o, size_t *n, char *error);
void          pk_servable_free(pk_servable *e);
/* both languages as the model itself writes them; false: it does not say */
bool pk_servable_ask_model(const pk_model *model, pk_language_pair *own);
/* closes model and translators; nobody uses them */
void pk_servable_shut(pk_models *m, pk_servable *e);
/* What a model takes was guessed, and grows while it is used: closes idle ones that were last used before this
 * time, as long as more memory is used than may be. */
void pk_servable_trim(pk_models *m, double before);
/* opens what is missing of a servable that is marked as opening; READY: with one user more; otherwise
   `error` says what failed. Not under the lock */
pk_use pk_servable_open(pk_models *m, pk_servable *e, pk_decoding d, char *error);
#endif
