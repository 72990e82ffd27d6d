/* filter.h - which sentence pairs are good enough to learn from, and why the others are not.
 *
 * A pair is judged as text, then by its lengths in tokens, then against those seen before; the
 * first reason found is the one that counts. */
#ifndef PK_DATA_FILTER_H
#define PK_DATA_FILTER_H
#include "base/buffer.h"
#include "data/language_check.h"

/* every verdict but the first is a reason to leave a pair out */
#define PK_FILTER_VERDICT_MAP(X)                   \
    X(KEPT, "kept")                                \
    X(INVALID, "not valid UTF-8")                  \
    X(EMPTY, "one side is empty")                  \
    X(SCRIPT, "written in another script")         \
    X(LANGUAGE, "stop words of another language")  \
    X(LENGTH, "too long")                          \
    X(RATIO, "one side far longer than the other") \
    X(DUPLICATE, "seen before")
#define PK_FILTER_VERDICT_ENUM(name, text) PK_PAIR_##name,
typedef enum pk_filter_verdict {
    PK_FILTER_VERDICT_MAP(PK_FILTER_VERDICT_ENUM) PK_N_FILTER_VERDICTS
} pk_filter_verdict;

const char *pk_filter_verdict_text(pk_filter_verdict v);

typedef struct pk_filter {
    int32_t            max_length; /* tokens of a side */
    double             max_ratio;  /* in pairs with a side of more than 10 tokens; below 1: any */
    bool               drop_duplicates;
    pk_language_check *source, *target; /* NULL: not checked */
} pk_filter;

pk_filter_verdict pk_filter_text(const pk_filter *f, pk_text source, pk_text target);
pk_filter_verdict pk_filter_lengths(const pk_filter *f, size_t n_source, size_t n_target);

/* Pairs seen before, as 64-bit hashes: of 3 million different pairs two are taken for one with a
 * probability of one in four million. */
typedef struct pk_seen {
    uint64_t *hash; /* 0: free [mask + 1] */
    size_t    mask, n;
} pk_seen;
uint64_t  pk_pair_hash(pk_text source, pk_text target); /* never 0 */
pk_status pk_seen_add(pk_seen *s, uint64_t hash, bool *before);
void      pk_seen_free(pk_seen *s);

/* how many pairs met each verdict, and tokens of those kept */
typedef struct pk_filter_counts {
    uint64_t n[PK_N_FILTER_VERDICTS];
    uint64_t source_tokens, target_tokens;
} pk_filter_counts;
uint64_t pk_filter_read(const pk_filter_counts *c); /* pairs in all */
/* lines for people: read, kept, and left out for which reason */
void pk_filter_report(const pk_filter_counts *c, const char *name, pk_buffer *out);
#endif
