/* import_ct2.h - within model/: a CTranslate2 model while it is being imported.
 *
 * import_ct2.c is a folder of one, import_argos.c a package with one inside; both go through
 * import_ct2_model.c. import_ct2_config.c reads what the network is, import_ct2_names.c knows older
 * names, import_ct2_vocab.c reads the vocabulary, import_ct2_weights.c the tensors. */
#ifndef PK_MODEL_IMPORT_CT2_H
#define PK_MODEL_IMPORT_CT2_H
#include "checkpoint/ct2.h"
#include "checkpoint/json.h"
#include "model/model_data.h"
#include "model/package.h"

enum { PK_CT2_SOURCE, PK_CT2_TARGET, PK_CT2_OUTPUT, PK_CT2_TABLES };
enum { PK_CT2_NAME = 192, PK_CT2_WORD = 64 };

typedef struct pk_ct2_model {
    const pk_package       *package;
    const char             *folder; /* of model.bin inside the package: "" or "model/" */
    pk_package_file         binary; /* model.bin */
    pk_ct2_header           header;
    pk_stored               stored;
    bool                   *used;                 /* per tensor */
    json_t                 *config;               /* config.json, or NULL */
    const pk_stored_tensor *table[PK_CT2_TABLES]; /* (V, D): embeddings and output */
} pk_ct2_model;

/* all of a model but its SentencePiece models, which the caller has read into out before */
pk_status pk_ct2_import(const pk_package *package, const char *folder, int type,
                        pk_model_data *out);
/* a SentencePiece model's file as it is, kept until the model data is closed */
pk_status pk_ct2_read_spm(const pk_package *package, const char *name, pk_model_data *m,
                          pk_blob *out);

/* NULL when there is no such tensor; else flags it as used */
const pk_stored_tensor *pk_ct2_find(pk_ct2_model *m, const char *name);
/* names of revision 1 become those of today */
pk_status pk_ct2_rename(pk_ct2_model *m);
/* the network, from the tensors that are there; also which of them are tables */
pk_status pk_ct2_read_config(pk_ct2_model *m, pk_config *out);
/* the token lists of out, and the tokens with a meaning in its configuration */
pk_status pk_ct2_read_vocab(pk_ct2_model *m, pk_model_data *out);
/* the id of a token, or -1 */
int32_t pk_ct2_find_token(pk_blob tokens, const char *wanted);
/* all weights of out->network in out->type, once its configuration is whole */
pk_status pk_ct2_read_weights(pk_ct2_model *m, pk_model_data *out);

/* Settings of the model: of config.json, or before version 6 of variables. What is absent has its
 * default; a word that does not fit, or a value of another kind, is an error that names it. */
pk_status pk_ct2_get_word(pk_ct2_model *m, const char *key, const char *normal,
                          char out[PK_CT2_WORD]);
pk_status pk_ct2_get_flag(pk_ct2_model *m, const char *key, const char *older, bool normal,
                          bool *out);
#endif
