/* average.h - the mean of several models. */
#ifndef PK_MODEL_AVERAGE_H
#define PK_MODEL_AVERAGE_H
#include "model/model_file.h"

/* Writes a model whose weights are the means of those of n open models; name: of each, for messages
 * and provenance. Configuration and vocabulary must be the same in all, but the first vocabulary
 * may have more behind what another has. Weights may lie in panels
 * of any type, or plain. type: of the matrices that are written. */
pk_status pk_model_data_average(const pk_model_data *model, const char *const *name, size_t n,
                                pk_dtype type, const char *to);
#endif
