/* import_hf.h - within model/: a Hugging Face folder while it is being imported.
 *
 * import_hf.c goes through the folder; import_hf_config.c reads its configuration,
 * import_hf_generation.c how it wants to be decoded, import_hf_vocab.c its vocabulary,
 * import_hf_weights.c its tensors. */
#ifndef PK_MODEL_IMPORT_HF_H
#define PK_MODEL_IMPORT_HF_H
#include "checkpoint/json.h"
#include "model/model_data.h"

enum { PK_HF_MAX_SHARDS = 64, PK_HF_PATH = 4096 };
enum { PK_HF_SOURCE, PK_HF_TARGET, PK_HF_OUTPUT, PK_HF_TABLES };

typedef struct pk_hf_folder {
    const char             *path;
    pk_file_ids            *files;                   /* those that were read */
    json_t                 *config;                  /* config.json */
    json_t                 *generation;              /* generation_config.json, or NULL */
    json_t                 *tokenizer;               /* tokenizer_config.json, or NULL */
    int32_t                 share, tie;              /* what config.json says of the tables */
    int32_t                 separate_vocabs;         /* what tokenizer_config.json says */
    pk_stored               shard[PK_HF_MAX_SHARDS]; /* the checkpoint, mapped */
    bool                   *used[PK_HF_MAX_SHARDS];  /* per tensor of a shard */
    size_t                  n_shards, weight_bytes;
    char                    weight_file[64], weight_date[16]; /* of the first, for the provenance */
    const pk_stored_tensor *table[PK_HF_TABLES];              /* (V, D): embeddings and output */
} pk_hf_folder;

/* "folder/name"; fails when too long */
pk_status pk_hf_path(const pk_hf_folder *f, const char *name, char path[PK_HF_PATH]);
/* the same of a file that is about to be read */
pk_status pk_hf_file(const pk_hf_folder *f, const char *name, char path[PK_HF_PATH]);
bool      pk_hf_has(const pk_hf_folder *f, const char *name);
/* NULL when the checkpoint has no such tensor; else flags it as used */
const pk_stored_tensor *pk_hf_find(pk_hf_folder *f, const char *name);

/* Values of a JSON object. A key that is absent or null has its default; one of another kind, or
 * below the lowest, is an error that names it. */
pk_status pk_hf_get_int(const json_t *object, const char *key, int32_t normal, int32_t lowest,
                        int32_t *out);
pk_status pk_hf_get_bool(const json_t *object, const char *key, bool normal, int32_t *out);

/* all of the JSON files; also share, tie and separate_vocabs of the folder */
pk_status pk_hf_read_config(pk_hf_folder *f, pk_config *out);
pk_status pk_hf_read_generation(const pk_hf_folder *f, pk_config *c);
/* the blobs of out; also out->network.config.unk */
pk_status pk_hf_read_vocab(const pk_hf_folder *f, pk_model_data *out);
/* which tensors are the embeddings and the output; sets share_embeddings and tie_output */
pk_status pk_hf_find_tables(pk_hf_folder *f, pk_config *c);
/* all weights of out->network in out->type, once its configuration is whole */
pk_status pk_hf_read_weights(pk_hf_folder *f, pk_model_data *out);
#endif
