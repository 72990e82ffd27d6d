/* sentence_cache.c - a table of lists, and one list of all entries by use.
 *
 * An entry is one block: a head, the key (source and prefix), then every hypothesis as its numbers
 * lie in a job. Invariant: `used` is the sum of the sizes of all entries and of the table. */
#include "engine/sentence_cache.h"

#include <pthread.h>
#include <string.h>

#include "base/hash.h"

typedef struct entry {
    struct entry *chain;         /* next of its bucket */
    struct entry *newer, *older; /* by use */
    uint64_t      hash;
    size_t        bytes;                      /* of the block */
    int32_t       n_source, n_prefix, n_free; /* tokens of the key */
    int32_t       n_hypotheses;
    int32_t       number[]; /* key, then hypotheses */
} entry;

struct pk_sentence_cache {
    pthread_mutex_t lock;
    size_t          most, used;
    entry         **bucket;
    size_t          n_buckets; /* a power of two */
    entry          *newest, *oldest;
};

enum { LEAST = 4096, USUAL = 1024 }; /* bytes: of a cache; of an entry with what it points to */

pk_status pk_sentence_cache_open(int64_t bytes, pk_sentence_cache **out) {
    pk_sentence_cache *c;
    *out = NULL;
    if (bytes < LEAST) PK_FAIL(PK_ARGUMENT, "cache_bytes must be 0 or %d and more", LEAST);
    PK_TRY(PK_TAKE(&c, 1));
    c->most = (size_t)bytes;
    c->n_buckets = 16;
    while (c->n_buckets * USUAL < c->most) c->n_buckets *= 2;
    c->used = c->n_buckets * sizeof *c->bucket;
    pk_status status = PK_TAKE(&c->bucket, c->n_buckets);
    if (status == PK_OK && pthread_mutex_init(&c->lock, NULL)) {
        pk_memory_give(c->bucket);
        status = pk_fail_with(PK_NO_MEMORY, "no memory for a lock");
    }
    if (status == PK_OK)
        *out = c;
    else
        pk_memory_give(c);
    return status;
}

void pk_sentence_cache_close(pk_sentence_cache *c) {
    if (!c) return;
    for (entry *e = c->newest, *next; e; e = next) {
        next = e->older;
        pk_memory_give(e);
    }
    pthread_mutex_destroy(&c->lock);
    pk_memory_give(c->bucket);
    pk_memory_give(c);
}

/* ---- keys ---- */

static uint64_t hash_of(const pk_job *job) {
    const uint64_t a = pk_hash(job->source.id, job->source.n * sizeof(int32_t));
    const uint64_t b = pk_hash(job->prefix.id, job->prefix.n * sizeof(int32_t));
    return pk_mix(a + pk_mix(b + (uint64_t)job->n_free_prefix));
}

static bool has_key(const entry *e, const pk_job *job) {
    const size_t s = job->source.n, p = job->prefix.n;
    return (size_t)e->n_source == s && (size_t)e->n_prefix == p &&
           e->n_free == job->n_free_prefix &&
           (s == 0 || memcmp(e->number, job->source.id, s * sizeof *e->number) == 0) &&
           (p == 0 || memcmp(e->number + s, job->prefix.id, p * sizeof *e->number) == 0);
}

static entry **bucket_of(pk_sentence_cache *c, uint64_t hash) {
    return &c->bucket[hash & (c->n_buckets - 1)];
}

static entry *look_up(pk_sentence_cache *c, const pk_job *job, uint64_t hash) {
    entry *e = *bucket_of(c, hash);
    while (e && !(e->hash == hash && has_key(e, job))) e = e->chain;
    return e;
}

/* ---- the list by use ---- */

static void take_out(pk_sentence_cache *c, entry *e) {
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void put_first(pk_sentence_cache *c, entry *e) {
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static void remove_oldest(pk_sentence_cache *c) {
    entry  *e = c->oldest;
    entry **at = bucket_of(c, e->hash);
    while (*at != e) at = &(*at)->chain;
    *at = e->chain;
    take_out(c, e);
    c->used -= e->bytes;
    pk_memory_give(e);
}

/* ---- hypotheses as numbers: n, has looks_at, score, log_prob, then tokens, logps, looks_at ---- */

enum { HEAD = 4 };

static size_t numbers_of(const pk_job_hypothesis *h) {
    return HEAD + (size_t)h->n * (h->looks_at ? 3 : 2);
}

static int32_t *put(int32_t *at, const void *from, int32_t n) {
    if (n) memcpy(at, from, (size_t)n * sizeof *at);
    return at + n;
}

static int32_t *put_hypothesis(int32_t *at, const pk_job_hypothesis *h) {
    const int32_t looks = h->looks_at != NULL;
    at = put(at, &h->n, 1);
    at = put(at, &looks, 1);
    at = put(at, &h->score, 1);
    at = put(at, &h->log_prob, 1);
    at = put(at, h->token, h->n);
    at = put(at, h->logp, h->n);
    return looks ? put(at, h->looks_at, h->n) : at;
}

static pk_status get_list(void **out, const int32_t *from, int32_t n) {
    PK_TRY(pk_memory_take((size_t)n, sizeof *from, out));
    if (n) memcpy(*out, from, (size_t)n * sizeof *from);
    return PK_OK;
}

static pk_status get_hypothesis(const int32_t **at, pk_job_hypothesis *h) {
    const int32_t *from = *at, n = from[0], looks = from[1];
    h->n = n;
    memcpy(&h->score, &from[2], sizeof h->score);
    memcpy(&h->log_prob, &from[3], sizeof h->log_prob);
    from += HEAD;
    *at = from + n * (looks ? 3 : 2);
    PK_TRY(get_list((void **)&h->token, from, n));
    PK_TRY(get_list((void **)&h->logp, from + n, n));
    return looks ? get_list((void **)&h->looks_at, from + 2 * n, n) : PK_OK;
}

/* ---- in and out ---- */

static pk_status get_all(const entry *e, pk_job *job) {
    const int32_t *at = e->number + e->n_source + e->n_prefix;
    PK_TRY(PK_TAKE(&job->hypothesis, (size_t)e->n_hypotheses));
    for (int32_t i = 0; i < e->n_hypotheses; i++) {
        job->n_hypotheses = i + 1; /* so that a half-kept one is given back too */
        PK_TRY(get_hypothesis(&at, &job->hypothesis[i]));
    }
    return PK_OK;
}

pk_status pk_sentence_cache_find(pk_sentence_cache *c, pk_job *job, bool *found) {
    const uint64_t hash = hash_of(job);
    pk_status      status = PK_OK;
    pthread_mutex_lock(&c->lock);
    entry *e = look_up(c, job, hash);
    *found = e != NULL;
    if (e) {
        take_out(c, e);
        put_first(c, e);
        status = get_all(e, job);
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

static entry *make_entry(const pk_job *job, uint64_t hash) {
    size_t numbers = job->source.n + job->prefix.n;
    void  *block;
    for (int32_t i = 0; i < job->n_hypotheses; i++) numbers += numbers_of(&job->hypothesis[i]);
    const size_t bytes = sizeof(entry) + numbers * sizeof(int32_t);
    if (pk_memory_take(1, bytes, &block) != PK_OK) return NULL;
    entry *e = block;
    *e = (entry){ .hash = hash,
                  .bytes = bytes,
                  .n_source = (int32_t)job->source.n,
                  .n_prefix = (int32_t)job->prefix.n,
                  .n_free = job->n_free_prefix,
                  .n_hypotheses = job->n_hypotheses };
    int32_t *at = put(e->number, job->source.id, e->n_source);
    at = put(at, job->prefix.id, e->n_prefix);
    for (int32_t i = 0; i < job->n_hypotheses; i++) at = put_hypothesis(at, &job->hypothesis[i]);
    return e;
}

void pk_sentence_cache_add(pk_sentence_cache *c, const pk_job *job) {
    const uint64_t hash = hash_of(job);
    entry         *e = make_entry(job, hash);
    if (!e) return;
    pthread_mutex_lock(&c->lock);
    const bool fits = c->n_buckets * sizeof *c->bucket + e->bytes <= c->most;
    if (!fits || look_up(c, job, hash)) {
        pk_memory_give(e);
    } else {
        while (c->used + e->bytes > c->most) remove_oldest(c);
        e->chain = *bucket_of(c, hash);
        *bucket_of(c, hash) = e;
        put_first(c, e);
        c->used += e->bytes;
    }
    pthread_mutex_unlock(&c->lock);
}
