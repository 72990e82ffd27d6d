/* edging.c - passes over lattices: the scores of all edges of all positions of all sentences.
 *
 * A row is one candidate as a decoder input that sees itself alone; a block is one position: its
 * rows, and the tokens that may follow them. Nothing is remembered, so blocks are computed in any
 * portions: as many at a time as fit the memory of one, which does not grow with the sentences.
 * Of one portion the scores stay where they came to; of several they are put together.
 * As in a pass, where arrays lie depends only on how many rows and blocks there are, filled up:
 *
 *   up:    four arrays of R numbers | B blocks | R questions (whole vocabulary only) | tokens
 *   down:  R log sums | scores */
#include <math.h>
#include <string.h>

#include "session/session_parts.h"

enum { ALIGNMENT = 64, SUMS = 32 };

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void *carve(char *base, size_t *used, size_t bytes) {
    char *at = base ? base + *used : NULL;
    *used += aligned(bytes);
    return at;
}

/* sets the pointers to the arrays of a portion; with NULL only counts. Tokens are last. */
static void lay_out(session_edging *g, char *up, char *down, int32_t rows, int32_t blocks) {
    int32_t **const arrays[] = { &g->token, &g->pos, &g->cross_first, &g->cross_count };
    g->rows = rows;
    g->blocks = blocks;
    g->up_used = g->down_used = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = carve(up, &g->up_used, (size_t)rows * sizeof(int32_t));
    g->block = carve(up, &g->up_used, (size_t)blocks * sizeof *g->block);
    g->question = carve(up, &g->up_used, (g->full ? (size_t)rows : 0) * sizeof *g->question);
    g->list = carve(up, &g->up_used, 0);
    g->log_sum = carve(down, &g->down_used, (size_t)rows * sizeof *g->log_sum);
    g->score = carve(down, &g->down_used, 0);
}

static size_t scores_of(const pk_edge_step *e) { return (size_t)e->n_from * (size_t)e->n_to; }

/* ---- memory ---- */

/* every block lists the tokens that follow it, and all questions the suppressed ones once */
static size_t list_room(const pk_session *s) {
    return 2 * (size_t)s->max.edge_rows + (size_t)s->max.edge_tokens + PK_MAX_SUPPRESSED;
}

pk_status pk_session_open_edging(pk_session *s) {
    session_edging *g = &s->edging;
    const int32_t   rows = s->on->padded_rows(s->on->self, s->max.edge_rows);
    if (!s->max.edge_rows) return PK_OK;
    if (s->n_members > 1)
        PK_FAIL(PK_UNSUPPORTED, "a lattice is scored by one model, not by several together");
    g->full = true; /* the most that a portion sends */
    lay_out(g, NULL, NULL, rows, rows);
    const size_t scores = (size_t)rows * (size_t)s->max.edge_tokens * sizeof(float);
    PK_TRY(pk_mirror_open(s->on, g->up_used + list_room(s) * sizeof(int32_t), &g->up));
    return pk_mirror_open(s->on, g->down_used + scores, &g->down);
}

void pk_session_close_edging(pk_session *s) {
    pk_mirror_close(s->on, &s->edging.up);
    pk_mirror_close(s->on, &s->edging.down);
    pk_memory_give(s->edging.kept);
}

/* room for the scores of all steps; it stays for the next pass */
static pk_status take_kept(session_edging *g, const pk_request *request, int32_t n) {
    size_t scores = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < request[i].pass->n_edges; k++)
            scores += scores_of(&request[i].pass->edges[k]);
    if (scores <= g->kept_room) return PK_OK;
    pk_memory_give(g->kept);
    g->kept = NULL;
    g->kept_room = 0;
    PK_TRY(PK_TAKE(&g->kept, scores));
    g->kept_room = scores;
    return PK_OK;
}

/* ---- what is asked ---- */

/* what a strategy asks is checked in every build: lists come from a model's lexicon file */
static pk_status check_step(const pk_session *s, const pk_edge_step *e) {
    const pk_config *c = &s->config;
    bool             ok = e->pos >= 0 && e->pos < c->max_target && e->n_from > 0 &&
              e->n_from <= s->max.edge_tokens && e->n_to > 0 && e->n_to <= s->max.edge_tokens;
    for (int32_t i = 0; ok && i < e->n_from; i++)
        ok = e->from[i] >= PK_NO_TOKEN && e->from[i] < c->target_vocab;
    for (int32_t i = 0; ok && i < e->n_to; i++) ok = e->to[i] >= 0 && e->to[i] < pk_config_text(c);
    if (!ok) PK_FAIL(PK_ARGUMENT, "a step of a lattice is out of range");
    return PK_OK;
}

/* The denominator is a matter of the whole recorded graph, so all passes must want the same. */
static pk_status check_all(const pk_session *s, const pk_request *request, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        const pk_pass *p = request[i].pass;
        if (p->n || !p->n_edges || p->model ||
            p->whole_vocabulary != request[0].pass->whole_vocabulary)
            PK_FAIL(PK_ARGUMENT, "a pass over lattices asks for nothing else");
        for (int32_t k = 0; k < p->n_edges; k++) PK_TRY(check_step(s, &p->edges[k]));
    }
    return PK_OK;
}

typedef struct cursor { /* the next step to compute */
    int32_t request, step;
} cursor;

static pk_edge_step *step_at(const pk_request *request, cursor at) {
    return &request[at.request].pass->edges[at.step];
}

static cursor after(const pk_request *request, cursor at) {
    if (++at.step < request[at.request].pass->n_edges) return at;
    return (cursor){ at.request + 1, 0 };
}

typedef struct portion { /* steps that are computed together */
    const pk_request *request;
    cursor            first, end;
    int32_t           rows, blocks;
} portion;

/* as many steps from `at` on as fit */
static portion measure(const pk_session *s, const pk_request *request, int32_t n, cursor at) {
    portion p = { .request = request, .first = at };
    size_t  tokens = PK_MAX_SUPPRESSED;
    for (; at.request < n; at = after(request, at)) {
        const pk_edge_step *e = step_at(request, at);
        if (p.rows + e->n_from > s->max.edge_rows || p.blocks == s->max.edge_rows ||
            tokens + (size_t)e->n_to > list_room(s))
            break;
        p.rows += e->n_from;
        tokens += (size_t)e->n_to;
        p.blocks++;
    }
    p.end = at;
    return p;
}

/* ---- one portion ---- */

static int32_t list_tokens(session_edging *g, const int32_t *token, int32_t n) {
    if (n) memcpy(g->list + g->n_list, token, (size_t)n * sizeof *token);
    g->n_list += n;
    return g->n_list - n;
}

/* one position: its rows, its tokens, and where its scores go */
static void add_block(pk_session *s, const session_sentence *e, const pk_edge_step *step) {
    session_edging *g = &s->edging;
    g->block[g->n_blocks++] = (pk_edge_block){ .row = g->n_rows,
                                               .n_rows = step->n_from,
                                               .token = list_tokens(g, step->to, step->n_to),
                                               .n_tokens = step->n_to,
                                               .score = g->n_scores };
    g->n_scores += step->n_from * step->n_to;
    g->n_seen += (uint64_t)step->n_from * (uint64_t)e->n_source;
    for (int32_t i = 0; i < step->n_from; i++, g->n_rows++) {
        g->token[g->n_rows] = step->from[i];
        g->pos[g->n_rows] = step->pos;
        g->cross_first[g->n_rows] = (int32_t)(e->source - s->source_index);
        g->cross_count[g->n_rows] = e->n_source;
    }
}

/* rows and blocks that only fill up compute nothing that is used */
static void fill_up(session_edging *g) {
    for (int32_t i = g->n_rows; i < g->rows; i++) {
        g->token[i] = PK_NO_TOKEN;
        g->pos[i] = g->cross_first[i] = g->cross_count[i] = 0;
    }
    for (int32_t i = g->n_blocks; i < g->blocks; i++) g->block[i] = (pk_edge_block){ 0 };
}

/* with the whole vocabulary in the sums, every row is a question that wants nothing else */
static void ask_sums(pk_session *s) {
    session_edging  *g = &s->edging;
    const pk_config *c = &s->config;
    const int32_t    ban = list_tokens(g, c->suppressed, c->n_suppressed);
    for (int32_t i = 0; i < g->rows; i++)
        g->question[i] = (pk_question){ .row = i,
                                        .ban = ban,
                                        .n_ban = c->n_suppressed,
                                        .log_sum = i < g->n_rows,
                                        .renormalise = c->renormalise };
}

static bool is_end(const portion *p, cursor at) {
    return at.request == p->end.request && at.step == p->end.step;
}

static void fill(pk_session *s, const portion *p) {
    session_edging *g = &s->edging;
    lay_out(g, g->up.here, g->down.here, s->on->padded_rows(s->on->self, p->rows),
            s->on->padded_rows(s->on->self, p->blocks));
    g->n_rows = g->n_blocks = g->n_list = g->n_scores = 0;
    g->n_seen = 0;
    for (cursor at = p->first; !is_end(p, at); at = after(p->request, at))
        add_block(s, &s->sentence[p->request[at.request].sentence], step_at(p->request, at));
    fill_up(g);
    if (g->full) ask_sums(s);
}

/* ---- computing ---- */

typedef struct scoring {
    pk_session *s;
    pk_run      r;
} scoring;

/* log sums over the whole vocabulary, of every row */
static void sum_all(scoring *k, pk_tensor hidden) {
    pk_session           *s = k->s;
    const session_edging *g = &s->edging;
    const pk_answering    a = { .n = g->rows,
                                .any_log_sum = true,
                                .question = pk_mirror_device(&g->up, g->question),
                                .tokens = pk_mirror_device(&g->up, g->list),
                                .top_stride = s->max.top_k,
                                .top = pk_mirror_device(&s->down, s->down.here),
                                .log_sum = pk_mirror_device(&g->down, g->log_sum),
                                .target_score = pk_mirror_device(&g->down, g->score) };
    pk_answers(&k->r, hidden, &s->output, &s->output_bias, &a);
}

/* all ops of one portion, which a device may record */
static void score(void *context) {
    scoring              *k = context;
    pk_session           *s = k->s;
    const session_edging *g = &s->edging;
    const session_member *m = &s->member[0];
    const pk_attention    cross = { .heads = m->net.config.decoder_heads,
                                    .first = pk_mirror_device(&g->up, g->cross_first),
                                    .count = pk_mirror_device(&g->up, g->cross_count),
                                    .index = pk_mirror_device(&s->source, s->source_index) };
    const pk_target       target = { .n = g->rows,
                                     .asked = g->rows,
                                     .token = pk_mirror_device(&g->up, g->token),
                                     .pos = pk_mirror_device(&g->up, g->pos),
                                     .alone = true,
                                     .cross = &cross,
                                     .memory = &m->memory };
    pk_run_release(&k->r, 0);
    const pk_tensor hidden = pk_decode(&k->r, &m->net, &target);
    pk_run_enter(&k->r, PK_MODULE_OUTPUT);
    if (g->full) sum_all(k, hidden);
    const pk_edging e = { .n = g->blocks,
                          .most_rows = s->max.edge_tokens,
                          .most_tokens = s->max.edge_tokens,
                          .block = pk_mirror_device(&g->up, g->block),
                          .tokens = pk_mirror_device(&g->up, g->list),
                          .log_sum = g->full ? pk_mirror_device(&g->down, g->log_sum) : NULL,
                          .score = pk_mirror_device(&g->down, g->score) };
    pk_edges(&k->r, hidden, &s->output, &s->output_bias, &e);
}

/* Nothing times a number is nothing; of infinities and what is no number it is no number. There are
 * as many sums as fit registers, so that none waits for the one before. */
static bool are_finite(const float *x, int32_t n) {
    float   nothing[SUMS] = { 0 }, all = 0;
    int32_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (int32_t k = 0; k < SUMS; k++) nothing[k] += 0 * x[i + k];
    for (; i < n; i++) all += 0 * x[i];
    for (int32_t k = 0; k < SUMS; k++) all += nothing[k];
    return all == 0;
}

/* tells whoever asked where the scores lie; kept: where they are copied to, or NULL */
static void hand_out(const session_edging *g, const portion *p, float *kept) {
    const float *from = g->score;
    if (kept) from = memcpy(kept, g->score, (size_t)g->n_scores * sizeof *kept);
    for (cursor at = p->first; !is_end(p, at); at = after(p->request, at)) {
        pk_edge_step *e = step_at(p->request, at);
        e->score = from;
        from += scores_of(e);
    }
}

/* Its lists are sent, the recorded graph runs, its scores come back. */
static pk_status run(scoring *k) {
    pk_session     *s = k->s;
    session_edging *g = &s->edging;
    const uint32_t  what = PK_KEY_EDGES | (g->full ? PK_KEY_SUMS : 0u);
    pk_mirror_send(s->on, &g->up, g->up_used + (size_t)g->n_list * sizeof *g->list);
    s->on->repeat(s->on->self, pk_session_key(what, 0, g->blocks, g->rows), 1, NULL, score, k);
    s->on->get(s->on->self, g->score, pk_mirror_device(&g->down, g->score),
               (size_t)g->n_scores * sizeof *g->score);
    pk_session_see_encoded(s);
    PK_TRY(pk_run_status(&k->r));
    pk_session_count_edges(s);
    return are_finite(g->score, g->n_scores) ? PK_OK : pk_session_not_finite();
}

static pk_status compute(pk_session *s, const portion *p, float *kept) {
    scoring k = { .s = s };
    pk_run_begin(&k.r, s->on, &s->scratch);
    fill(s, p);
    const pk_status status = run(&k);
    if (status == PK_OK) hand_out(&s->edging, p, kept);
    pk_run_enter(&k.r, PK_MODULE_OTHER);
    pk_session_add_time(s, &k.r);
    return status;
}

static pk_status compute_all(pk_session *s, const pk_request *request, int32_t n) {
    portion p = measure(s, request, n, (cursor){ 0, 0 });
    if (p.end.request == n) return compute(s, &p, NULL);
    PK_TRY(take_kept(&s->edging, request, n));
    for (float *to = s->edging.kept;; to += s->edging.n_scores) {
        assert(p.rows > 0); /* a step that was checked fits */
        PK_TRY(compute(s, &p, to));
        if (p.end.request == n) return PK_OK;
        p = measure(s, request, n, p.end);
    }
}

pk_status pk_session_score_edges(pk_session *s, const pk_request *request, int32_t n) {
    PK_TRY(check_all(s, request, n));
    s->edging.full = request[0].pass->whole_vocabulary;
    PK_TRY(compute_all(s, request, n));
    for (int32_t i = 0; i < n; i++) s->sentence[request[i].sentence].in_flight = true;
    s->n_in_flight += n;
    return PK_OK;
}
