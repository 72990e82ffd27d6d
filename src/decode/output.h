/* output.h - one hypothesis being written: tokens, their log-probabilities, their attention to the
 * source. All room is taken at the start; adding cannot fail. */
#ifndef PK_DECODE_OUTPUT_H
#define PK_DECODE_OUTPUT_H
#include "decode/strategy.h"

typedef struct pk_output {
    int32_t *token;     /* (room) */
    float   *logp;      /* (room) */
    float   *attention; /* (room, n_source), or NULL */
    int32_t  n, room, n_source;
    float    score;
} pk_output;

/* room for src's longest output; with attention when the source wants it */
pk_status pk_output_begin(pk_output *out, const pk_source *src, int32_t room);
/* token i; attention (n_source) may be NULL: the row stays zero */
void pk_output_put(pk_output *out, int32_t i, int32_t token, float logp, const float *attention);
/* the same, as the next token */
void pk_output_add(pk_output *out, int32_t token, float logp, const float *attention);
void pk_output_view(const pk_output *out, pk_hypothesis *view);
/* result() of a strategy with one output, whose score is the log-probability of the whole of it */
int32_t pk_output_single(const pk_output *out, pk_hypothesis *view, int32_t room);
void    pk_output_end(pk_output *out); /* may be called at any time, and again */
#endif
