/* counting.c - floating-point operations of what a session has computed (model/flops.h).
 *
 * The shapes are known when a pass is lowered, so this is a few sums for each pass. What the method
 * needs is counted: rows that only fill a pass up are not, and of asks that follow the tokens that
 * were fed. A pass that failed does not count. */
#include "session/session_parts.h"

/* so many tokens through the decoders of all members, and logits of all members together */
static uint64_t decoder_flops(const pk_session *s, uint64_t tokens, uint64_t seen,
                              uint64_t logits) {
    uint64_t sum = logits * pk_flops_output(s->output.cols);
    for (int32_t i = 0; i < s->n_members; i++) {
        const pk_flops *f = &s->member[i].flops;
        sum += tokens * f->target_token + seen * f->target_pair;
    }
    return sum;
}

void pk_session_count_encoding(pk_session *s, const pk_sentence_tokens *source, int32_t n) {
    uint64_t tokens = 0, pairs = 0;
    for (int32_t i = 0; i < n; i++) {
        tokens += (uint64_t)source[i].n;
        pairs += (uint64_t)source[i].n * (uint64_t)source[i].n;
    }
    for (int32_t k = 0; k < s->n_networks; k++) {
        pk_session *own = s->network[k];
        for (int32_t i = 0; i < own->n_members; i++) {
            const pk_flops *f = &own->member[i].flops;
            own->flops += tokens * f->remembered;
            if (!own->shares_encoder)
                own->flops += tokens * f->source_token + pairs * f->source_pair;
        }
    }
}

/* where attention is wanted, all rows of the first member go through its last layer */
void pk_session_count_pass(pk_session *s, bool any_attention) {
    const uint64_t silent = (uint64_t)(s->n_asks - s->n_questions);
    s->flops += decoder_flops(s, (uint64_t)s->n_asks, s->n_seen, s->n_logits);
    for (int32_t i = any_attention; silent && i < s->n_members; i++) {
        const pk_flops *f = &s->member[i].flops;
        s->flops -= silent * f->silent_token + s->n_seen_silent * f->silent_pair;
    }
}

/* A row that sees itself alone needs neither query nor key: as much as keys and values of a source
 * token. Sums over the whole vocabulary are further logits. */
void pk_session_count_edges(pk_session *s) {
    const session_edging *g = &s->edging;
    const pk_flops       *f = &s->member[0].flops;
    const uint64_t        rows = (uint64_t)g->n_rows;
    const uint64_t        sums = g->full ? rows * (uint64_t)s->output.rows : 0;
    s->flops += rows * (f->target_token - f->remembered) + g->n_seen * f->target_pair +
                ((uint64_t)g->n_scores + sums) * pk_flops_output(s->output.cols);
}

/* the first step is one of the pass's asks; each further one sees `width` slots more */
void pk_session_count_steps(pk_session *s, const session_sentence *e, int32_t fed) {
    if (fed < 2) return;
    const uint64_t further = (uint64_t)(fed - 1), width = (uint64_t)e->width;
    const int32_t  last = s->list[e->own + fed * e->width - 1];
    const uint64_t most = (uint64_t)pk_slots_depth(&s->slots, last); /* what the last step sees */
    const uint64_t own = further * most - width * (further * (further - 1) / 2);
    const uint64_t tokens = further * width;
    s->flops += decoder_flops(s, tokens, width * own + tokens * (uint64_t)e->n_source,
                              tokens * (uint64_t)s->output.rows);
}

uint64_t pk_session_flops(const pk_session *s) { return s->flops; }
