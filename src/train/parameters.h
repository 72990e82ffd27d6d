/* parameters.h - the weights of a network that learns: on the device, end to end.
 *
 * All weights lie in one block in the order of pk_network_walk(), those that learn first and what
 * is frozen (by name, or sinusoidal positions) behind them; tables are filled up to whole 64 rows
 * with zeros, so that matrix products are aligned. Beside it lie as many floats of master weights
 * (the same memory where the backend computes in F32), and for those that learn gradients, Adam's
 * two moments and, if asked for, a moving average. */
#ifndef PK_TRAIN_PARAMETERS_H
#define PK_TRAIN_PARAMETERS_H
#include "model/model_file.h"
#include "tensor/tape.h"

typedef struct pk_parameters_options {
    const char *const *freeze; /* name patterns, * matches anything */
    size_t             n_freeze;
    bool               learn_positions, learn_output_bias;
    bool               drafter; /* only what a drafter's file holds learns: see model/drafter.h */
    bool               average; /* keep a moving average */
    uint64_t           seed;    /* of the first weights */
} pk_parameters_options;

typedef struct pk_parameter { /* one weight and where it lies */
    char    name[64];
    int32_t rows, cols; /* as the network says; the block has room for room_rows */
    int32_t room_rows;
    size_t  first; /* in the block */
    pk_role role;
    bool    learned;
    size_t  frozen; /* of one that learns: numbers at its beginning that stay as they are */
} pk_parameter;

typedef struct pk_range { /* numbers of the block that are updated */
    size_t first, n;
} pk_range;

/* in the list of names: rows of text tokens stay, those of a task's own tokens learn */
#define PK_FREEZE_TEXT "text_tokens"

typedef struct pk_parameters {
    const pk_backend *on;
    pk_network        net; /* weights: plain, of the backend's type, on the device */
    pk_parameter     *list;
    size_t            n_list;
    size_t            n, n_all;               /* floats that learn; all */
    void             *weights;                /* (n_all) of the backend's type */
    float            *master;                 /* (n_all) */
    float            *grad, *m, *v, *average; /* (n); average may be NULL */
    pk_gradients      learned;                /* for the tape */
    pk_range          range[8];               /* what an update changes, of the first n */
    size_t            n_ranges;
} pk_parameters;

/* a network of this configuration with fresh weights: matrices Xavier-uniform (queries, keys and
 * values with gain 1/sqrt 2), tables normal with deviation dim^-1/2, the pad's row zero, gains 1,
 * biases 0, positions sinusoidal (also where they are learned from there) */
pk_status pk_parameters_open(const pk_backend *on, const pk_config *config,
                             const pk_parameters_options *o, pk_parameters *out);
void      pk_parameters_close(pk_parameters *p);
/* the weights become those of a loaded model of the same configuration; moments zero. Its tables
 * may have fewer rows: those that they lack stay fresh. */
pk_status pk_parameters_load(pk_parameters *p, const pk_model_data *model);
/* A copy on the host as a model that can be saved and translated with: matrices in panels of the
 * type. averaged: the moving average instead of the weights. Vocabulary and provenance are taken
 * from `like` (borrowed until the copy is closed). */
pk_status pk_parameters_model(const pk_parameters *p, const pk_model_data *like, bool averaged,
                              pk_dtype type, pk_model_data *out);
/* the same from an array on the host, (n_all), as they lie on the device; moments zero */
pk_status pk_parameters_begin(pk_parameters *p, const float *host);
/* copies between device and host: one of the arrays above, n floats; waits */
pk_status pk_parameters_get(const pk_parameters *p, const float *from, float *to, size_t n);
pk_status pk_parameters_put(pk_parameters *p, float *to, const float *from, size_t n);
/* after the master weights were put: the weights follow, rounded */
void pk_parameters_round(pk_parameters *p);
/* memory on the device for anyone who trains, zeroed; given back with pk_device_give, at the
 * latest when a remote backend closes */
pk_status pk_device_take(const pk_backend *on, size_t bytes, void **out);
void      pk_device_give(const pk_backend *on, void *memory);
#endif
