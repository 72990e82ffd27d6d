/* pass_memory.c - the arrays of a pass, on the host and on the device.
 *
 * All that a pass sends lies in one block, all that comes back in another, so that a pass costs
 * one small upload and one small download (R rows, Q questions, both filled up):
 *
 *   up:    nine arrays of R numbers | live | Q questions | lists of tokens | lists of visible slots
 *   down:  (Q, top_k) best | (members, Q) log sums | target scores | found | (R, source) attention
 *
 * Where an array begins depends only on R and Q. So passes of the same shape find their arrays
 * at the same addresses, and a device can replay the ops that it recorded. */
#include <string.h>

#include "session/session_parts.h"

enum { ALIGNMENT = 64 };

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

pk_status pk_mirror_open(const pk_backend *on, size_t bytes, session_mirror *out) {
    *out = (session_mirror){ .bytes = bytes };
    PK_TRY(on->take(on->self, bytes, (void **)&out->there));
    return on->mirror(on->self, out->there, bytes, (void **)&out->here);
}

void pk_mirror_close(const pk_backend *on, session_mirror *t) {
    on->give(on->self, t->there);
    *t = (session_mirror){ 0 };
}

/* takes the next array of a block; with base NULL only counts */
static void *carve(char *base, size_t *used, size_t bytes) {
    char *at = base ? base + *used : NULL;
    *used += aligned(bytes);
    return at;
}

/* sets the pointers to all arrays that are sent; the lists are last, since only they vary in
 * length */
static void lay_out_up(pk_session *s, char *base, int32_t rows, int32_t questions) {
    int32_t **const arrays[] = { &s->token,       &s->pos,         &s->slot, &s->first,  &s->count,
                                 &s->cross_first, &s->cross_count, &s->left, &s->n_found };
    s->up_used = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = carve(base, &s->up_used, (size_t)rows * sizeof(int32_t));
    s->live = carve(base, &s->up_used, sizeof(int32_t));
    const size_t followers = s->steps ? (size_t)rows : 0;
    s->follower = carve(base, &s->up_used, followers * sizeof *s->follower);
    const size_t of_slices = (size_t)questions * (size_t)(1 + s->config.n_groups);
    s->question = carve(base, &s->up_used, of_slices * sizeof *s->question);
    const size_t summing = s->n_members > 1 ? of_slices : 0;
    s->summing = carve(base, &s->up_used, summing * sizeof *s->summing);
    s->list = carve(base, &s->up_used, 0);
}

/* sets the pointers to all arrays that come back; returns their bytes */
static size_t lay_out_down(pk_session *s, char *base, int32_t rows, int32_t questions) {
    size_t used = 0;
    s->top = carve(base, &used, (size_t)questions * (size_t)s->max.top_k * sizeof *s->top);
    s->log_sum = carve(base, &used, (size_t)s->n_members * (size_t)questions * sizeof *s->log_sum);
    s->target_score = carve(base, &used, (size_t)s->max.listed * sizeof *s->target_score);
    /* one entry for each sentence that follows: a pair takes half as many steps */
    const int32_t sentences = s->on->padded_rows(s->on->self, s->max.sentences);
    const int32_t following = rows < sentences ? rows : sentences;
    s->found = carve(base, &used, (size_t)following * (size_t)s->max.path * sizeof *s->found);
    s->attention =
        carve(base, &used, (size_t)rows * (size_t)s->max.source_length * sizeof *s->attention);
    return used;
}

/* a row that only fills up the pass: no token, no key to see; it writes to a slot that is never
 * read */
static void fill_row(pk_session *s, int32_t i) {
    s->token[i] = PK_NO_TOKEN;
    s->pos[i] = s->first[i] = s->count[i] = s->cross_first[i] = s->cross_count[i] = s->left[i] = 0;
    s->slot[i] = s->max.slots;
}

void pk_session_lay_out(pk_session *s, int32_t n, int32_t n_questions) {
    s->rows = s->on->padded_rows(s->on->self, n);
    s->n_questions = n_questions;
    s->questions = n_questions ? s->on->padded_rows(s->on->self, n_questions) : 0;
    s->n_asks = s->n_listed = s->n_list = s->n_following = s->n_followers = 0;
    s->n_seen = s->n_seen_silent = s->n_logits = 0;
    lay_out_up(s, s->up.here, s->rows, s->questions);
    lay_out_down(s, s->down.here, s->rows, s->questions);
    for (int32_t i = n; i < s->rows; i++) fill_row(s, i);
    if (s->steps) memset(s->follower, 0, (size_t)s->rows * sizeof *s->follower);
    for (int32_t i = n_questions; i < s->questions * (1 + s->config.n_groups); i++) {
        s->question[i] = (pk_question){ 0 };
        if (s->n_members > 1) s->summing[i] = (pk_question){ 0 };
    }
}

int32_t pk_session_most_rows(const pk_session *s) {
    int32_t most = s->max.asks > s->max.encode_tokens ? s->max.asks : s->max.encode_tokens;
    if (s->max.edge_rows > most) most = s->max.edge_rows;
    return s->on->padded_rows(s->on->self, most);
}

/* bytes of up, down and scratch; numbers of asks, candidates, and those of asks that follow */
typedef struct pass_sizes {
    size_t up, down, scratch, asks, candidates, followed;
} pass_sizes;

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* what the largest pass on one network needs */
static pass_sizes sizes_of(pk_session *s) {
    const int32_t asks = s->on->padded_rows(s->on->self, s->max.asks);
    const size_t  list = (size_t)s->max.listed + (size_t)s->max.visible;
    /* each tensor is aligned, which takes some bytes more; only a few tensors are alive at a
     * time */
    const size_t row = pk_session_scratch(s) * pk_dtype_bytes(s->on->activations);
    s->steps = 1; /* the most that a pass sends */
    lay_out_up(s, NULL, asks, asks);
    return (pass_sizes){ .up = s->up_used + aligned(list * sizeof *s->list),
                         .down = lay_out_down(s, NULL, asks, asks),
                         .scratch = (size_t)pk_session_most_rows(s) * row + 4096,
                         .asks = (size_t)s->max.asks,
                         .candidates = (size_t)s->max.asks * (size_t)s->max.top_k,
                         .followed = (size_t)s->max.sentences * (size_t)s->max.path };
}

/* there is one pass at a time, whichever network it is for */
static pass_sizes largest_sizes(const pk_session *s) {
    pass_sizes most = { 0 };
    for (int32_t i = 0; i < s->n_networks; i++) {
        const pass_sizes one = sizes_of(s->network[i]);
        most = (pass_sizes){ larger(most.up, one.up),
                             larger(most.down, one.down),
                             larger(most.scratch, one.scratch),
                             larger(most.asks, one.asks),
                             larger(most.candidates, one.candidates),
                             larger(most.followed, one.followed) };
    }
    return most;
}

pk_status pk_session_open_pass(pk_session *s) {
    const pass_sizes most = largest_sizes(s);
    PK_TRY(pk_mirror_open(s->on, most.up, &s->up));
    PK_TRY(pk_mirror_open(s->on, most.down, &s->down));
    PK_TRY(PK_TAKE(&s->row, most.asks));
    PK_TRY(PK_TAKE(&s->candidate, most.candidates));
    PK_TRY(PK_TAKE(&s->followed, most.followed));
    s->scratch.size = most.scratch;
    return s->on->take(s->on->self, s->scratch.size, (void **)&s->scratch.base);
}

void pk_session_close_pass(pk_session *s) {
    pk_mirror_close(s->on, &s->up);
    pk_mirror_close(s->on, &s->down);
    pk_memory_give(s->row);
    pk_memory_give(s->candidate);
    pk_memory_give(s->followed);
    s->on->give(s->on->self, s->scratch.base);
}
