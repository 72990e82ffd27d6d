/* corpus_cache.h - one parallel corpus, filtered and encoded, in a file that is mapped.
 *
 * The file's name and its footer hold a key: a hash of the text files' paths, sizes and times, the
 * vocabulary, and the settings of the filter. A file that does not fit or is damaged is made again.
 * Pairs lie one behind the other, source before target, so that drawing one touches one page. */
#ifndef PK_DATA_CORPUS_CACHE_H
#define PK_DATA_CORPUS_CACHE_H
#include "base/file_map.h"
#include "data/filter.h"
#include "text/text_change.h"
#include "vocab/vocab.h"

typedef struct pk_corpus_request {
    const char     *source, *target; /* text files */
    const char     *cache;           /* folder; made if need be */
    const char     *source_language, *target_language;
    pk_text_change  change; /* of both texts, as they are read */
    const char     *to;     /* a tag for this language stands before each source; NULL: none */
    const pk_vocab *vocab;
    pk_filter       filter;
    bool            keep_text; /* texts, not ids: they will be segmented anew each time */
    int32_t         threads;
    int (*progress)(void *user, const char *file, size_t lines); /* may be NULL */
    void *user;
} pk_corpus_request;

typedef enum pk_corpus_kind { PK_CORPUS_IDS16, PK_CORPUS_IDS32, PK_CORPUS_TEXT } pk_corpus_kind;
enum { PK_LONGEST_SENTENCE = UINT16_MAX }; /* tokens: the highest max_length */

typedef struct pk_corpus {
    pk_file_map      map;
    char            *path;
    pk_corpus_kind   kind;
    size_t           n;      /* pairs */
    const void      *data;   /* ids or bytes, end to end */
    const uint64_t  *first;  /* (2 n + 1) source of pair i at 2 i, its target at 2 i + 1 */
    const uint16_t  *length; /* (2 n) tokens of the best segmentation; only with texts */
    int32_t          size[2];
    pk_filter_counts counts;
} pk_corpus;

/* opens the cache, after making it where there is none that fits */
pk_status pk_corpus_open(const pk_corpus_request *q, pk_corpus *out);
void      pk_corpus_close(pk_corpus *c); /* accepts a zeroed one */

/* side 0: source, 1: target */
static inline int32_t pk_corpus_length(const pk_corpus *c, size_t pair, int side) {
    const size_t i = 2 * pair + (size_t)side;
    return c->length ? c->length[i] : (int32_t)(c->first[i + 1] - c->first[i]);
}
/* writes pk_corpus_length() ids; not for texts */
pk_status pk_corpus_ids(const pk_corpus *c, size_t pair, int side, int32_t *out);
pk_text   pk_corpus_text(const pk_corpus *c, size_t pair, int side); /* for texts */

/* what stands at the end of a cache file; corpus_encode.c writes it */
typedef struct pk_corpus_footer {
    char             magic[8];
    uint64_t         version, key, kind, n, data_bytes;
    uint64_t         size[2]; /* of the vocabulary, source and target */
    pk_filter_counts counts;
    uint64_t         checksum; /* of everything above */
} pk_corpus_footer;
extern const char pk_corpus_magic[8];
enum { PK_CORPUS_VERSION = 1 }; /* also of what the filters do */
uint64_t pk_corpus_checksum(const pk_corpus_footer *f);
/* reads, filters and encodes the request's files into a cache file */
pk_status pk_corpus_encode(const pk_corpus_request *q, uint64_t key, const char *path);
#endif
