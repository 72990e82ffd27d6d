/* output.c - one hypothesis being written. */
#include "decode/output.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

pk_status pk_output_begin(pk_output *out, const pk_source *src, int32_t room) {
    *out = (pk_output){ .room = room, .n_source = src->n_tokens };
    PK_TRY(PK_TAKE(&out->token, (size_t)room));
    PK_TRY(PK_TAKE(&out->logp, (size_t)room));
    if (src->want_attention) PK_TRY(PK_TAKE(&out->attention, (size_t)room * (size_t)src->n_tokens));
    return PK_OK;
}

void pk_output_put(pk_output *out, int32_t i, int32_t token, float logp, const float *attention) {
    const size_t width = (size_t)out->n_source;
    assert(i >= 0 && i < out->room);
    if (out->attention && attention)
        memcpy(out->attention + (size_t)i * width, attention, width * sizeof *attention);
    out->token[i] = token;
    out->logp[i] = logp;
}

void pk_output_add(pk_output *out, int32_t token, float logp, const float *attention) {
    pk_output_put(out, out->n++, token, logp, attention);
}

void pk_output_view(const pk_output *out, pk_hypothesis *view) {
    *view = (pk_hypothesis){ .token = out->token,
                             .logp = out->logp,
                             .n = out->n,
                             .score = out->score,
                             .attention = out->attention };
}

int32_t pk_output_single(const pk_output *out, pk_hypothesis *view, int32_t room) {
    if (room < 1) return 0;
    pk_output_view(out, view);
    for (int32_t i = 0; i < out->n; i++) view->score += out->logp[i];
    return 1;
}

void pk_output_end(pk_output *out) {
    pk_memory_give(out->token);
    pk_memory_give(out->logp);
    pk_memory_give(out->attention);
    *out = (pk_output){ 0 };
}
