/* model_data.h - within model/: memory that a pk_model_data owns, and matrices put into it. */
#ifndef PK_MODEL_MODEL_DATA_H
#define PK_MODEL_MODEL_DATA_H
#include "model/model_file.h"

/* bytes that live until the model data is closed */
pk_status pk_model_data_take(pk_model_data *m, size_t bytes, void **out);
/* A SentencePiece model's file as it is, kept until the model data is closed. Its size is looked at
 * first: an empty one, or one far larger than any real one, is refused unread. */
enum { PK_MOST_SPM_BYTES = 64 << 20 };
pk_status pk_model_data_read_spm(pk_model_data *m, const char *path, pk_blob *out);
/* a copy of bytes, kept as long */
pk_status pk_model_data_copy(pk_model_data *m, const void *data, size_t size, pk_blob *out);
/* an empty matrix in panels of the type, or a plain one: takes data and, for I8, scale */
pk_status pk_model_data_take_matrix(pk_model_data *m, int32_t rows, int32_t cols, pk_dtype type,
                                    pk_weight *out, void **data, float **scale);
pk_status pk_model_data_take_plain(pk_model_data *m, int32_t rows, int32_t cols, pk_weight *out,
                                   float **data);
/* where an imported model came from: names and sizes only, nothing of this machine */
typedef struct pk_provenance {
    const char *path, *format; /* of path the last name alone is kept */
    const char *weights, *date;
    size_t      files, bytes; /* of weights */
} pk_provenance;
pk_status pk_model_data_set_provenance(pk_model_data *m, const pk_provenance *from);
/* Matrices of another type; -1: as they are. What gains nothing is not done, see model_file.h; an
 * I8 model cannot become another. */
pk_status pk_model_data_convert(pk_model_data *m, int type);
/* whether n values are finite, and still are in this type (F16 ends at 65504) */
bool pk_values_fit(const float *value, size_t n, pk_dtype type);
/* fails with the name when a weight is not finite; reads all of it (of I8 only the scales) */
pk_status pk_weight_check_finite(const pk_weight *w, const char *name);
/* how many tokens the list holds; -1 when it is broken (does not end with a NUL) */
int64_t pk_token_count(pk_blob tokens);
/* text tokens of both sides, without those of tasks, and a hash of their names */
typedef struct pk_text_tokens {
    int32_t  source, target;
    uint64_t fingerprint;
} pk_text_tokens;
pk_text_tokens pk_model_data_text(const pk_model_data *m);
/* model_lexicon.c: finds the candidates in lexicon_bytes, where there are any, and checks that they
 * are of this vocabulary */
pk_status pk_model_data_read_lexicon(pk_model_data *m);
/* the vocabulary against the configuration */
pk_status pk_model_data_check_vocab(const pk_model_data *m);
#endif
