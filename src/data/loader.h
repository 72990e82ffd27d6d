/* loader.h - parallel text as a stream of batches, in an order fixed by the seed.
 *
 * Text is read, filtered and encoded once, into a cache on disk that is mapped afterwards. Each
 * epoch draws pairs by the corpora's weights, shuffles them, and cuts batches of similar lengths
 * by token budget. A thread prepares batches ahead. Batch number i (counted over all epochs) is a
 * function of the recipe alone: resuming is a seek, and ranks take turns by number. */
#ifndef PK_DATA_LOADER_H
#define PK_DATA_LOADER_H
#include "base/buffer.h"
#include "data/batch.h"
#include "text/text_change.h"
#include "vocab/vocab.h"

typedef struct pk_corpus_files {
    const char *source, *target;
    double weight; /* share of it that an epoch sees; each epoch goes on where the last stopped */
    pk_text_change change;
    const char    *to; /* language whose tag stands before each source; NULL: none */
} pk_corpus_files;

typedef struct pk_loader_options {
    const pk_corpus_files *corpus;
    size_t                 n_corpora;
    const char            *cache;                             /* folder; made if need be */
    const char            *source_language, *target_language; /* "": unknown */
    int32_t                max_length;      /* tokens of a side, end symbol not counted */
    double                 max_ratio;       /* below 1: any */
    bool                   drop_duplicates; /* within a corpus */
    bool                   check_language;
    float                  sampling; /* 0: none; else the alpha of pk_vocab_sample_source() */
    int32_t  batch_tokens;           /* most of each side, an end symbol a sentence counted in */
    uint64_t seed;
    uint64_t first, step; /* batches first, first + step, first + 2 step ... are given;
                             step 0 counts as 1 */
    int32_t  threads;     /* for encoding and sampling; at least 1 */
    bool     in_order;    /* no shuffling, one epoch of every pair, whatever the weights, then
                             PK_CANCELLED: validation */
    /* called now and then while encoding: lines done, and the file; may be NULL. != 0 cancels */
    int (*progress)(void *user, const char *file, size_t lines);
    void *user;
} pk_loader_options;

typedef struct pk_loader pk_loader;
pk_status pk_loader_open(const pk_loader_options *o, const pk_vocab *vocab, pk_loader **out);
void      pk_loader_close(pk_loader *l); /* accepts NULL */
/* the next batch; valid until the next call */
pk_status pk_loader_next(pk_loader *l, pk_batch *out);
/* the next batch will be number `first + count * step` */
pk_status pk_loader_seek(pk_loader *l, uint64_t count);
/* epochs finished before the next batch, as a fraction: 2.25 is a quarter into the third */
double pk_loader_epoch(const pk_loader *l);
/* the largest batch there can be: rows of each side, end symbols included; for planning memory */
void pk_loader_most(const pk_loader *l, int32_t *source_rows, int32_t *target_rows,
                    int32_t *sentences);
/* what was read, kept, and left out for which reason, corpus by corpus: lines for people */
const char *pk_loader_report(const pk_loader *l);
#endif
