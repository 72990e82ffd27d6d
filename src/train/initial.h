/* initial.h - weights of a network that has learned nothing yet. */
#ifndef PK_TRAIN_INITIAL_H
#define PK_TRAIN_INITIAL_H
#include "train/parameters.h"

/* Fills one weight, (rows, cols). Each number is a function of seed, name and index alone. */
void pk_initial_weights(const pk_parameter *one, const pk_config *c, uint64_t seed, float *out);
#endif
