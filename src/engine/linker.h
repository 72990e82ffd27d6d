/* linker.h - links between the pieces of a sentence and those of its translation, by an alignment that
 * was saved: instead of the model's attention. */
#ifndef PK_ENGINE_LINKER_H
#define PK_ENGINE_LINKER_H
#include <pthread.h>

#include "engine/saved_lexicon.h"

typedef struct pk_linker {
    const pk_saved_lexicon *saved;
    pk_align_use            use; /* as it was made: one way, or symmetrised */
    pk_align_worker         worker;
    uint32_t               *word[2]; /* of one pair */
    size_t                  room[2];
    pthread_mutex_t         lock; /* calls end in many threads: held from a link to its last use */
} pk_linker;

pk_status pk_linker_open(const pk_saved_lexicon *saved, pk_linker *out);
void      pk_linker_close(pk_linker *l); /* accepts a zeroed one */
/* Tokens of the model on both sides, without end symbols or languages; the links are the linker's
 * until the next call. The caller holds the lock. */
pk_status pk_linker_link(pk_linker *l, const pk_ids *source, const pk_ids *target,
                         const pk_align_links **out);
#endif
