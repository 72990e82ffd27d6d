/* beam_state.c - book-keeping of a beam search.
 *
 * A step makes at most two nodes per entry of the beam (one that goes on, one that ends), which is
 * what the room for nodes is counted from. Lists are short and kept sorted by insertion. */
#include "decode/beam_state.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

void pk_beam_give(pk_beam *s) {
    pk_constraint_end(&s->constraint);
    pk_output_end(&s->prefix_output);
    for (int32_t i = 0; s->outputs && i < s->src.n_best; i++) pk_output_end(&s->outputs[i]);
    void *const blocks[] = { s->live,     s->next,       s->ask,       s->from,
                             s->finished, s->candidates, s->nodes,     s->special,
                             s->lists,    s->history,    s->attention, s->outputs };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    s->live = s->next = NULL;
    s->finished = NULL;
    s->candidates = NULL;
    s->nodes = NULL;
    s->special = NULL;
    s->lists = s->history = s->ask = s->from = NULL;
    s->attention = NULL;
    s->outputs = NULL;
}

/* room for the constraints: a list for each ask in flight, and one history at a time */
static pk_status take_lists(pk_beam *s, size_t asks) {
    const size_t room = (size_t)s->constraint.room, longest = (size_t)s->constraint.max_length;
    PK_TRY(PK_TAKE(&s->special, asks));
    PK_TRY(PK_TAKE(&s->lists, asks * room));
    s->n_special = (int32_t)asks;
    for (size_t i = 0; i < asks; i++) s->special[i].token = s->lists + i * room;
    PK_TRY(PK_TAKE(&s->history, longest + 1));
    s->history[0] = s->src.model->start;
    if (s->src.n_prefix)
        memcpy(s->history + 1, s->src.prefix, (size_t)s->src.n_prefix * sizeof *s->history);
    return PK_OK;
}

/* steps: the free tokens, those after the prefix */
pk_status pk_beam_take(pk_beam *s, int32_t width, int32_t asks) {
    const size_t        size = (size_t)width;
    pk_constraint_rules rules = s->by->constraint;
    if (s->src.model->renormalise) rules.renormalise = true;
    if (size == 1) rules.on_logits = true; /* a beam of one is greedy search, also in hf */
    PK_TRY(pk_constraint_begin(&s->constraint, &s->options, &s->src, rules));
    const size_t longest = (size_t)s->constraint.max_length,
                 steps = longest - (size_t)s->src.n_prefix;
    PK_TRY(PK_TAKE(&s->live, size));
    PK_TRY(PK_TAKE(&s->next, size));
    PK_TRY(PK_TAKE(&s->ask, size));
    PK_TRY(PK_TAKE(&s->from, size));
    PK_TRY(PK_TAKE(&s->finished, size));
    PK_TRY(PK_TAKE(&s->candidates, 2 * size));
    PK_TRY(PK_TAKE(&s->nodes, 2 * size * steps));
    PK_TRY(take_lists(s, (size_t)asks));
    if (s->src.want_attention)
        PK_TRY(PK_TAKE(&s->attention, size * steps * (size_t)s->src.n_tokens));
    PK_TRY(pk_output_begin(&s->prefix_output, &s->src, s->src.n_prefix));
    PK_TRY(PK_TAKE(&s->outputs, (size_t)s->src.n_best));
    for (int32_t i = 0; i < s->src.n_best; i++)
        PK_TRY(pk_output_begin(&s->outputs[i], &s->src, (int32_t)longest));
    return PK_OK;
}

const int32_t *pk_beam_trace(pk_beam *s, const pk_beam_hypothesis *h, int32_t n) {
    if (!pk_constraint_looks_back(&s->constraint)) return NULL;
    /* from the last token to the first: a node knows only the one before it */
    for (int32_t tip = h->tip; tip != PK_NO_NODE; tip = s->nodes[tip].before)
        s->history[n--] = s->nodes[tip].token;
    return s->history;
}

int32_t pk_beam_add_node(pk_beam *s, const pk_beam_candidate *c) {
    const int32_t step = s->n - s->src.n_prefix;
    assert(s->n_nodes < 2 * s->now.size * (s->constraint.max_length - s->src.n_prefix));
    s->nodes[s->n_nodes] = (pk_beam_node){
        .token = c->token,
        .before = s->live[c->hypothesis].tip,
        .attention = step * s->now.size + c->hypothesis,
        .logp = c->logp,
    };
    return s->n_nodes++;
}

void pk_beam_finish(pk_beam *s, int32_t tip, float sum, int32_t n) {
    const int32_t length = pk_beam_length(s->by, &s->src, n);
    const float   score = pk_beam_score(sum, length, s->now.length_penalty);
    int32_t       i = s->now.n_finished;
    s->now.n_ended++;
    if (i == s->now.size) {
        if (s->by->stops_taking || !(score > s->finished[i - 1].score)) return;
        i--;
    } else {
        s->now.n_finished++;
    }
    /* a tie stays behind the earlier one */
    for (; i > 0 && score > s->finished[i - 1].score; i--) s->finished[i] = s->finished[i - 1];
    s->finished[i] = (pk_beam_ending){ tip, score };
}

/* Copies the attention of this step. Answers are gone after the pass, and which hypothesis wins is
 * known only at the end. */
void pk_beam_keep_attention(pk_beam *s, const pk_pass *pass) {
    const size_t  width = (size_t)s->src.n_tokens;
    const int32_t step = s->n - s->src.n_prefix;
    for (int32_t i = 0; s->attention && i < s->n_live; i++) {
        const float *from = pass->answer[s->ask[i]].attention;
        const size_t at = (size_t)(step * s->now.size + i) * width;
        if (from) memcpy(s->attention + at, from, width * sizeof *from);
    }
}

/* row i of a table (rows, source tokens), or NULL when there is no table */
static const float *attention_of(const pk_beam *s, const float *table, int32_t i) {
    return table ? table + (size_t)i * (size_t)s->src.n_tokens : NULL;
}

/* The prefix, then the tokens of a finished path. The path is read from its end, so its length is
 * counted first. */
static void write_output(const pk_beam *s, const pk_beam_ending *e, pk_output *out) {
    const pk_output *given = &s->prefix_output;
    for (int32_t i = 0; i < given->n; i++)
        pk_output_add(out, given->token[i], s->src.want_scores ? given->logp[i] : 0,
                      attention_of(s, given->attention, i));
    for (int32_t tip = e->tip; tip != PK_NO_NODE; tip = s->nodes[tip].before) out->n++;
    int32_t i = out->n;
    for (int32_t tip = e->tip; tip != PK_NO_NODE; tip = s->nodes[tip].before) {
        const pk_beam_node *node = &s->nodes[tip];
        const float        *attention = attention_of(s, s->attention, node->attention);
        pk_output_put(out, --i, node->token, node->logp, attention);
    }
    out->score = e->score;
}

void pk_beam_write_outputs(pk_beam *s) {
    if (s->now.n_finished == 0) /* nothing was allowed to follow: all hypotheses end here */
        for (int32_t i = 0; i < s->n_live; i++)
            pk_beam_finish(s, s->live[i].tip, s->live[i].score, s->n);
    for (; s->n_outputs < s->src.n_best && s->n_outputs < s->now.n_finished; s->n_outputs++)
        write_output(s, &s->finished[s->n_outputs], &s->outputs[s->n_outputs]);
}
