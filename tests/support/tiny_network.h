/* tiny_network.h - a network with random weights, made in memory: for laws that hold for any
 * model. */
#ifndef PK_TESTS_TINY_NETWORK_H
#define PK_TESTS_TINY_NETWORK_H
#include "model/network.h"

typedef struct tiny_network {
    pk_network net;
    void     **block;
    size_t     n_blocks;
    uint64_t   seed;
} tiny_network;

/* two layers on each side, width 16, 40 tokens, end symbol 0 */
pk_config tiny_config(void);
pk_status tiny_network_open(const pk_config *config, pk_dtype type, uint64_t seed,
                            tiny_network *out);
void      tiny_network_close(tiny_network *t);
float     tiny_random(uint64_t *seed); /* uniform in -1 .. 1 */
#endif
