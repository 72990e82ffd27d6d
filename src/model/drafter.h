/* drafter.h - drafters that share their model's encoder, tables and vocabulary.
 *
 * Such a file holds the drafter's own layers, the embeddings and names of its own tokens (a mask),
 * and the fingerprint of its model. It is cut off a whole network when it is written, and joined to
 * the model's weights when a translator opens. */
#ifndef PK_MODEL_DRAFTER_H
#define PK_MODEL_DRAFTER_H
#include "model/model_file.h"

/* What a model is known by: a hash of its vocabulary and of all vectors of its network, which no
 * conversion to another number type changes. */
enum { PK_FINGERPRINT = 17 };
void pk_fingerprint(const pk_model_data *m, char out[PK_FINGERPRINT]);

/* `m` was trained with the encoder and tables of a model with n_tokens target tokens, whose
 * fingerprint is `verifier`: what is the model's is left out of it. */
pk_status pk_drafter_cut(pk_model_data *m, int32_t n_tokens, const char *verifier);

typedef struct pk_joined { /* a drafter with what it takes from its model */
    pk_network net;        /* borrows from both */
    void      *table;      /* target embeddings: the model's, and the drafter's own behind them */
    float     *scale;
} pk_joined;
/* both outlive the result; PK_UNSUPPORTED: the drafter was made for another model */
pk_status pk_drafter_join(const pk_model_data *model, const pk_model_data *drafter, pk_joined *out);
void      pk_joined_close(pk_joined *j);
#endif
