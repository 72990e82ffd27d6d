/* sentence_cache.h - finished sentences, to be found again by their tokens.
 *
 * A sentence's result depends on its tokens and the translator's options alone, so what is found is
 * what would have been decoded, bit for bit. The least recently used ones go when memory is full.
 * Any number of threads may use it. */
#ifndef PK_ENGINE_SENTENCE_CACHE_H
#define PK_ENGINE_SENTENCE_CACHE_H
#include "engine/job.h"

typedef struct pk_sentence_cache pk_sentence_cache;

/* bytes: all memory that it takes, 4096 at least */
pk_status pk_sentence_cache_open(int64_t bytes, pk_sentence_cache **out);
void      pk_sentence_cache_close(pk_sentence_cache *c);
/* fills in the job's hypotheses where its source and prefix are known; *found says whether */
pk_status pk_sentence_cache_find(pk_sentence_cache *c, pk_job *job, bool *found);
/* keeps a finished job's hypotheses; one that is too large, or for which there is no memory, is not
 * kept */
void pk_sentence_cache_add(pk_sentence_cache *c, const pk_job *job);
#endif
