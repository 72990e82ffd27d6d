/* draft_tree.c - best paths first, from a heap: a path that is taken gives its place to those that
 * are longer by a token. */
#include "decode/draft_tree.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

#define ANY 0.1f    /* of P(z) in P(z | y): what was not seen behind y */
#define FEW 1e-3f   /* share that tokens outside a list have at least */
enum { NEXT = 64 }; /* successors of a token that are looked at */

pk_status pk_draft_tree_begin(pk_draft_tree *t, const pk_lexicon *l, int32_t places,
                              int32_t nodes) {
    const size_t width = PK_DRAFT_WIDTH;
    *t = (pk_draft_tree){ .lexicon = l && l->next_first ? l : NULL,
                          .most_places = places,
                          .most_nodes = nodes };
    PK_TRY(PK_TAKE(&t->place, (size_t)places * width));
    PK_TRY(PK_TAKE(&t->node, 2 * (size_t)nodes + 1)); /* an end symbol behind each */
    PK_TRY(PK_TAKE(&t->prob, 2 * (size_t)nodes + 1));
    return PK_TAKE(&t->heap, ((size_t)nodes + 2) * width);
}

void pk_draft_tree_end(pk_draft_tree *t) {
    pk_memory_give(t->place);
    pk_memory_give(t->node);
    pk_memory_give(t->prob);
    pk_memory_give(t->heap);
    *t = (pk_draft_tree){ 0 };
}

/* ---- places ---- */

void pk_draft_tree_place(pk_draft_tree *t, int32_t place, const pk_candidate *top, int32_t n,
                         int32_t vocab) {
    pk_lexicon_candidate *to = t->place + (size_t)place * PK_DRAFT_WIDTH;
    int32_t               kept = 0;
    assert(place < t->most_places && n <= PK_DRAFT_WIDTH);
    for (int32_t i = 0; i < n; i++)
        if (top[i].token >= 0 && top[i].token < vocab)
            to[kept++] = (pk_lexicon_candidate){ top[i].token, expf(top[i].logp) };
    if (kept < PK_DRAFT_WIDTH) to[kept].token = -1;
}

int32_t pk_draft_tree_best(const pk_draft_tree *t, int32_t place) {
    return t->place[(size_t)place * PK_DRAFT_WIDTH].token;
}

/* ---- the heap ---- */

static void swap(pk_draft_path *a, pk_draft_path *b) {
    const pk_draft_path c = *a;
    *a = *b;
    *b = c;
}

static void push(pk_draft_tree *t, pk_draft_path path) {
    pk_draft_path *h = t->heap;
    int32_t        i = t->n_heap++;
    h[i] = path;
    for (; i > 0 && h[i].prob > h[(i - 1) / 2].prob; i = (i - 1) / 2) swap(&h[i], &h[(i - 1) / 2]);
}

static pk_draft_path pop(pk_draft_tree *t) {
    pk_draft_path      *h = t->heap;
    const pk_draft_path best = h[0];
    h[0] = h[--t->n_heap];
    for (int32_t i = 0, next; (next = 2 * i + 1) < t->n_heap; i = next) {
        if (next + 1 < t->n_heap && h[next + 1].prob > h[next].prob) next++;
        if (h[i].prob >= h[next].prob) break;
        swap(&h[i], &h[next]);
    }
    return best;
}

/* ---- paths ---- */

/* how much likelier each token of a list is behind this one: the root of P(z | y) / P(z) */
static void weigh(const pk_draft_tree *t, int32_t before, const pk_lexicon_candidate *list,
                  float *weight) {
    const pk_lexicon *l = t->lexicon;
    for (int32_t i = 0; i < PK_DRAFT_WIDTH; i++) weight[i] = l ? ANY : 1;
    if (!l) return;
    const int32_t  row = before < 0 ? l->target_vocab : before; /* the last row: the beginning */
    const bool     known = before < l->target_vocab;
    const uint32_t first = known ? l->next_first[row] : 0, end = known ? l->next_first[row + 1] : 0;
    for (uint32_t k = first; k < end && k < first + NEXT; k++)
        for (int32_t i = 0; i < PK_DRAFT_WIDTH && list[i].token >= 0; i++)
            if (list[i].token == l->next[k].token && list[i].token < l->target_vocab &&
                l->share[list[i].token] > 0)
                weight[i] += (1 - ANY) * l->next[k].prob / l->share[list[i].token];
    for (int32_t i = 0; i < PK_DRAFT_WIDTH; i++) weight[i] = sqrtf(weight[i]);
}

/* what may follow a path: all of the next place's list, with what is left for other tokens */
static void extend(pk_draft_tree *t, const pk_draft_growth *g, pk_draft_path from, int32_t node) {
    if (from.depth >= t->n_places || from.depth >= g->most_depth) return;
    const pk_lexicon_candidate *list = t->place + (size_t)from.depth * PK_DRAFT_WIDTH;
    float                       weight[PK_DRAFT_WIDTH], sum = 0, rest = 1;
    weigh(t, from.token, list, weight);
    for (int32_t i = 0; i < PK_DRAFT_WIDTH && list[i].token >= 0; i++) {
        weight[i] *= list[i].prob;
        sum += weight[i];
        rest -= list[i].prob;
    }
    sum += rest > FEW ? rest : FEW;
    for (int32_t i = 0; i < PK_DRAFT_WIDTH && list[i].token >= 0; i++) {
        const float prob = from.prob * weight[i] / sum;
        if (prob >= g->least) /* no number, of a damaged drafter, is not */
            push(t, (pk_draft_path){ prob, list[i].token, node, from.depth + 1 });
    }
}

/* what a pass of so many asks costs */
static float cost_of(const pk_draft_growth *g, int32_t asks) {
    if (asks < g->n_cost) return g->cost[asks];
    return g->cost[g->n_cost - 1] + g->more * (float)(asks - g->n_cost + 1);
}

/* The first so many nodes that bring most beyond their cost. One that does not pay by itself may with
 * those behind it: costs have steps. */
static void keep_what_pays(pk_draft_tree *t, const pk_draft_growth *g) {
    float   brought = 0, most = -g->worth * cost_of(g, 1);
    int32_t asks = 1, best = 0;
    for (int32_t i = 0; i < t->n; i++) {
        brought += t->prob[i];
        asks += t->node[i].token != g->eos;
        const float left = brought - g->worth * cost_of(g, asks);
        if (left >= most) most = left, best = i + 1;
    }
    t->n = best;
}

void pk_draft_tree_grow(pk_draft_tree *t, const pk_draft_growth *g) {
    int32_t asked = 0;
    assert(g->most_nodes <= t->most_nodes && t->n_places <= t->most_places);
    t->n = t->n_heap = 0;
    extend(t, g, (pk_draft_path){ 1, g->before, -1, 0 }, -1);
    while (t->n_heap && asked < g->most_nodes) {
        const pk_draft_path path = pop(t);
        const bool          ends = path.token == g->eos;
        assert(t->n <= 2 * t->most_nodes); /* tokens of a list are distinct: one end behind each */
        t->node[t->n] = (pk_guess_node){ path.token, path.parent, path.depth };
        t->prob[t->n] = path.prob;
        asked += !ends;
        if (!ends) extend(t, g, path, t->n);
        t->n++;
    }
    if (g->worth > 0) keep_what_pays(t, g);
}
