/* model_file.h - a model as data: network, vocabulary and provenance, from whatever importer.h
 * knows. Weights are views into the mapping, or blocks of our own after a conversion. */
#ifndef PK_MODEL_MODEL_FILE_H
#define PK_MODEL_MODEL_FILE_H
#include <stdbool.h>
#include <string.h>

#include "base/file_id.h"
#include "checkpoint/stored.h"
#include "lexicon/lexicon.h"
#include "model/network.h"

typedef struct pk_blob {
    const void *data;
    size_t      size;
} pk_blob;

/* a list of names, say, that goes on where the first ends, if it does not end there too */
static inline bool pk_blob_begins_with(pk_blob all, pk_blob first) {
    return all.size >= first.size &&
           (first.size == 0 || memcmp(all.data, first.data, first.size) == 0);
}

typedef struct pk_model_data {
    pk_network  network;
    pk_dtype    type;                         /* of the matrices */
    pk_blob     source_spm, target_spm;       /* target: size 0 when the same as the source */
    pk_blob     source_tokens, target_tokens; /* NUL-terminated names, see vocab/vocab.h */
    pk_blob     lexicon_bytes;                /* candidates of a lattice; size 0: it has none */
    pk_lexicon  lexicon;                      /* views of these; all zeros: it has none */
    char       *provenance;                   /* JSON object: where it came from */
    pk_stored   stored;                       /* what is mapped */
    void      **block;                        /* what was taken instead of mapped */
    size_t      n_blocks, block_room;
    char        verifier[20]; /* in training: fingerprint of the model whose encoder it shares */
    int32_t     n_shared;     /*   and how many target tokens that has */
    pk_file_ids files;        /* that it was read from: no output may be one of them */
} pk_model_data;

/* type: PK_F32, PK_F16 or PK_I8 converts the matrices to that; -1 leaves them as stored. F16 counts
 * as F32 wherever nothing is lost: asking for F32 of an F16 file keeps it, arithmetic is F32
 * anyway. */
pk_status pk_model_data_open(const char *path, int type, pk_model_data *out);
void      pk_model_data_close(pk_model_data *m);
/* PK_IO where the file that is mapped was written to since it was opened */
pk_status pk_model_data_check_file(const pk_model_data *m);
/* writes a .pronk file */
pk_status pk_model_data_save(const pk_model_data *m, const char *path);

/* what a training writes into its output folder, and how its checkpoints name their format */
#define PK_TRAINED_MODEL     "model.pronk"
#define PK_TRAINING_LOG      "log.jsonl"
#define PK_CHECKPOINT_FORMAT "pronk-checkpoint"
#endif
