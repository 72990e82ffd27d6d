/* ensemble.h - one network, or several that decode together, their log-probabilities averaged.
 *
 * The mean of log-probabilities is mean(logits) - mean(log sums), and the sum of logits is one
 * product: hidden states side by side times output layers side by side. So an ensemble answers
 * like a network with a wide output layer; only the log sums are each network's own. Several
 * int8 layers are rounded anew, each row with one scale for all. */
#ifndef PK_MODEL_ENSEMBLE_H
#define PK_MODEL_ENSEMBLE_H
#include "model/network.h"

enum { PK_MOST_NETWORKS = 16 };

typedef struct pk_ensemble {
    int32_t           n;
    const pk_network *net[PK_MOST_NETWORKS]; /* borrowed */
    pk_config         config;                /* the first's, with limits that hold for all */
    int32_t           width;                 /* D of all together */
    pk_weight         output, output_bias;   /* (V, width), (1, V); one network: its own */
    void             *data;                  /* what they lie in, where there are several */
    float            *scale, *bias;
} pk_ensemble;

/* borrows net; nothing to close */
pk_ensemble pk_ensemble_alone(const pk_network *net);
/* refuses networks whose target vocabularies, start or end symbols differ; sources and target
 * tokens must mean the same to all, which the caller knows */
pk_status pk_ensemble_open(const pk_network *const *net, int32_t n, pk_ensemble *out);
void      pk_ensemble_close(pk_ensemble *e);
/* bytes of weights that one decoder pass reads, output layers included */
uint64_t pk_ensemble_decoder_bytes(const pk_ensemble *e);
#endif
