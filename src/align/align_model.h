/* align_model.h - words of both languages and the tables of one or both directions: all that is
 * needed to align a pair. Read-only once made or opened, so threads share it; each has a
 * pk_align_worker of its own. */
#ifndef PK_ALIGN_MODEL_H
#define PK_ALIGN_MODEL_H
#include "align/align_links.h"
#include "align/align_successors.h"
#include "align/align_symmetrise.h"
#include "align/align_table.h"
#include "base/file_map.h"
#include "vocab/spm.h"

enum { PK_ALIGN_FORWARD, PK_ALIGN_REVERSE }; /* given: the source side, the target side */

typedef struct pk_align_model {
    pk_align_words  words[2]; /* source, target */
    pk_align_table  table[2]; /* forward, reverse */
    bool            has[2];   /* which directions there are */
    pk_align_method method;   /* how they are made one by default */
    /* SentencePiece models of both sides; no second one: the first serves both. None: words */
    const void         *spm_data[2];
    size_t              spm_size[2];
    pk_spm             *spm[2];
    pk_align_successors next;            /* of target pieces; no rows: they were not counted */
    pk_file_map         map;             /* of the file it was read from, if any */
    void               *own_spm_data[2]; /* memory to be given back, if any */
} pk_align_model;
void pk_align_model_close(pk_align_model *m);
/* what cuts the sentences of a side; NULL: words */
static inline pk_spm *pk_align_model_spm(const pk_align_model *m, int side) {
    return side && m->spm[1] ? m->spm[1] : m->spm[0];
}

/* A saved model: whole or not there, opened by mapping it. */
pk_status pk_align_model_save(const pk_align_model *m, const char *path);
pk_status pk_align_model_open(const char *path, pk_align_model *out);
/* the same from bytes that stay where they are; 8-byte aligned */
pk_status pk_align_model_read(const void *data, size_t size, pk_align_model *out);

/* PK_IO where the file that is mapped was written to since it was opened */
pk_status pk_align_model_check_file(const pk_align_model *m);

/* how to align: symmetrised by a method, or in one direction */
typedef struct pk_align_use {
    pk_align_method method;
    int             direction;
} pk_align_use;
/* method NULL: as the model was made. PK_ARGUMENT where the model lacks a direction. */
pk_status pk_align_model_use(const pk_align_model *m, const char *method, bool reverse,
                             pk_align_use *out);

typedef struct pk_align_worker {
    pk_align_scratch     scratch;
    pk_align_symmetriser symmetriser;
    pk_align_links       direction[2], links; /* of the last pair */
    uint32_t            *token[2];            /* of a pair given as text */
    size_t               n[2], room[2];
    uint64_t             pairs, empty, too_long, n_links, n_words[2];
    double               log_prob[2]; /* natural; forward, reverse */
    pk_buffer            text;
} pk_align_worker;
void pk_align_worker_free(pk_align_worker *w);

/* Links of a pair of n[0] and n[1] words, to w->links; none where either is empty. */
pk_status pk_align_pair(const pk_align_model *m, pk_align_use use, const uint32_t *const token[2],
                        const uint32_t n[2], pk_align_worker *w);
/* the same for a pair of texts; counts it in w */
pk_status pk_align_text_pair(const pk_align_model *m, pk_align_use use, const pk_text pair[2],
                             pk_align_worker *w);
#endif
