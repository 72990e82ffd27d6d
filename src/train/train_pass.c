/* train_pass.c - a lesson on the device: sent, run through the network, and back.
 *
 * Memory is planned by a dry run of the largest lesson and taken once. */
#include "train/train_pass.h"

#include <assert.h>

#include "model/forward.h"
#include "tensor/panel.h"

pk_status pk_device_get(const pk_backend *on, void *to, const void *from, size_t bytes) {
    on->get(on->self, to, from, bytes);
    return on->status(on->self);
}

pk_status pk_device_put(const pk_backend *on, void *to, const void *from, size_t bytes) {
    on->put(on->self, to, from, bytes);
    return on->status(on->self);
}

/* ---- through the network ---- */

/* the loss of questions about one slice of the output table, as often as there are slices */
static void add_losses(pk_train_pass *t, pk_run *r, pk_tensor hidden, const pk_lesson_there *l,
                       const pk_pass_options *o) {
    const pk_network *net = &t->p->net;
    int32_t          *best = o->answers ? t->best : NULL;
    for (int32_t i = 0; i <= net->config.n_groups; i++) {
        const pk_lesson_asked    *asked = &l->asked[i];
        pk_weight                *table = &t->slice[i].table, *bias = &t->slice[i].bias;
        const pk_lesson_questions q = { .n = asked->n,
                                        .row = asked->row,
                                        .target = asked->target,
                                        .weight = asked->weight,
                                        .smoothing = o->smoothing,
                                        .vocab = t->slice[i].classes,
                                        .never = i ? -1 : o->never };
        if (i && !asked->n) continue; /* that of the text also clears the gradient */
        pk_tape_loss(r, hidden, table, bias, &q, o->measure ? &t->valid->sums : &t->train->sums,
                     best, !o->measure);
        if (best) best += asked->n;
    }
}

/* Encoder, decoder, loss, and the backward pass. A dry run only counts memory. */
static pk_status compute(pk_train_pass *t, const pk_lesson_there *l, const pk_pass_options *o,
                         bool dry) {
    const pk_network *net = &t->p->net;
    pk_run            r;
    pk_tape_begin(t->tape, &r, t->on, &t->scratch, &t->p->learned, o->dropout, o->key, dry);
    pk_tensor       source = pk_encode(&r, net, l->source_token, l->source_pos, l->n_source,
                                       &l->source_self); /* (source rows, D) */
    const pk_target target = { .n = l->n_target,
                               .asked = l->n_target,
                               .token = l->token,
                               .pos = l->pos,
                               .self = &l->self,
                               .cross = &l->cross,
                               .source = source };
    pk_tensor       hidden = pk_decode(&r, net, &target); /* (target rows, D) */
    add_losses(t, &r, hidden, l, o);
    if (!o->measure) pk_tape_backward(&r, o->done, o->user);
    return r.status;
}

/* ---- memory ---- */

/* The largest lesson there can be, for the dry run: sizes only, the arrays are not read. Freed
 * memory is reused for blocks of exactly its size. So a lesson whose sides are equally long needs
 * less than one whose sides differ: hence one row more on the source side. */
static pk_lesson_there largest(const pk_train_pass *t) {
    static const int32_t nothing[1];
    const pk_config     *c = &t->p->net.config;
    const pk_attention   see = { .heads = c->encoder_heads,
                                 .n_segments = t->most.sentences,
                                 .longest_segment = t->most.longest_segment,
                                 .query_segment = nothing,
                                 .key_segment = nothing };
    pk_lesson_there      l = { .n_source = t->most.source_rows + 1,
                               .n_target = t->most.target_rows,
                               .source_self = see,
                               .self = see,
                               .cross = see };
    l.self.heads = l.cross.heads = c->decoder_heads;
    for (int32_t i = 0; i <= c->n_groups; i++) l.asked[i].n = t->most.target_rows;
    return l;
}

/* Tables are filled up for products, and so are slices of them: where they end, rows follow that
 * are no answers. */
static void find_slices(pk_train_pass *t) {
    const pk_network *net = &t->p->net;
    for (int32_t i = 0; i <= net->config.n_groups; i++) {
        pk_output_slice *s = &t->slice[i];
        pk_network_slice(net, i, &s->table, &s->bias);
        s->classes = s->table.rows;
        s->table.rows = (s->table.rows + PK_PANEL - 1) / PK_PANEL * PK_PANEL;
    }
    if (!net->config.n_text) t->slice[0].table = net->output;
}

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

/* gives the backend the largest sizes, so that it takes its own buffers now and not in a pass */
static pk_status reserve(pk_train_pass *t) {
    const pk_config *c = &t->p->net.config;
    const int32_t    ffn = larger(c->encoder_ffn, c->decoder_ffn);
    int32_t          rows = larger(larger(t->most.source_rows, t->most.target_rows), ffn);
    rows = larger(larger(rows, 3 * c->dim), t->p->net.output.rows);
    if (!t->on->train->reserve) return PK_OK;
    return t->on->train->reserve(t->on->self, rows, larger(3 * c->dim, ffn),
                                 t->most.longest_segment);
}

static pk_status take(pk_train_pass *t, size_t bytes, void **out) {
    t->bytes += bytes;
    return pk_device_take(t->on, bytes, out);
}

/* a dry run finds how much memory a pass needs at most; it is taken once */
static pk_status take_scratch(pk_train_pass *t) {
    const pk_lesson_there l = largest(t);
    const pk_pass_options o = { .dropout = NULL };
    void                 *base = NULL;
    PK_TRY(compute(t, &l, &o, true));
    t->scratch.size = pk_tape_peak(t->tape);
    const pk_status status = take(t, t->scratch.size, &base);
    if (status != PK_OK)
        pk_fail_context("a batch needs %.1f GiB of memory: lower data.batch_tokens",
                        (double)t->scratch.size / (double)(1u << 30));
    t->scratch.base = base;
    return status;
}

/* A remote device has its own copies, and as many blocks as it has events: an event says when the
 * device is done with a block. The host itself needs one. */
static pk_status take_blocks(pk_train_pass *t) {
    const pk_backend *on = t->on;
    t->block_bytes =
        pk_lesson_bytes_most(t->most.source_rows, t->most.target_rows, t->most.sentences);
    t->n_blocks = on->remote ? PK_EVENTS : 1;
    for (int32_t i = 0; i < t->n_blocks; i++) {
        pk_lesson_block *b = &t->block[i];
        void            *read = NULL;
        PK_TRY(take(t, t->block_bytes, &b->device));
        PK_TRY(on->mirror(on->self, b->device, t->block_bytes, &b->host));
        PK_TRY(on->mirror(on->self, t->train, sizeof *b->read, &read));
        b->read = read;
    }
    return PK_OK;
}

/* two_pass: also memory for the answers of the first pass */
static pk_status open_parts(pk_train_pass *t, bool two_pass) {
    const size_t answers = (size_t)t->most.target_rows * sizeof *t->best;
    void        *block = NULL;
    PK_TRY(pk_tape_open(&t->tape));
    PK_TRY(take(t, sizeof *t->train, &block));
    t->train = block, block = NULL;
    PK_TRY(take(t, sizeof *t->valid, &block));
    t->valid = block, block = NULL;
    find_slices(t);
    PK_TRY(reserve(t));
    PK_TRY(take_scratch(t));
    PK_TRY(take_blocks(t));
    if (!two_pass) return PK_OK;
    PK_TRY(PK_TAKE(&t->best_here, (size_t)t->most.target_rows));
    PK_TRY(PK_TAKE(&t->best_packed, (size_t)t->most.target_rows));
    PK_TRY(take(t, answers, &block));
    t->best = block;
    return PK_OK;
}

pk_status pk_train_pass_open(const pk_backend *on, pk_parameters *p, const pk_pass_limits *most,
                             bool two_pass, pk_train_pass *out) {
    *out = (pk_train_pass){ .on = on, .p = p, .most = *most };
    const pk_status status = open_parts(out, two_pass);
    if (status != PK_OK) pk_train_pass_close(out);
    return status;
}

void pk_train_pass_close(pk_train_pass *t) {
    if (!t->on) return;
    for (int32_t i = 0; i < t->n_blocks; i++) pk_device_give(t->on, t->block[i].device);
    pk_device_give(t->on, t->scratch.base);
    pk_device_give(t->on, t->train);
    pk_device_give(t->on, t->valid);
    pk_device_give(t->on, t->best);
    pk_memory_give(t->best_here);
    pk_memory_give(t->best_packed);
    pk_tape_close(t->tape);
    *t = (pk_train_pass){ 0 };
}

/* ---- one lesson ---- */

/* a task that makes more rows than its `most` says would write beyond the memory */
static pk_status check_size(const pk_train_pass *t, const pk_lesson *l) {
    if (l->source_token.n > (size_t)t->most.source_rows ||
        l->token.n > (size_t)t->most.target_rows || l->segment.n - 1 > (size_t)t->most.sentences)
        PK_FAIL(PK_ARGUMENT,
                "a lesson of %zu and %zu rows, but memory was planned for %d and %d: the task must "
                "say how many it makes of a sentence",
                l->source_token.n, l->token.n, t->most.source_rows, t->most.target_rows);
    return PK_OK;
}

/* Waits until the next block is free, and hands what the device counted there to `seen`. */
pk_status pk_train_pass_ready(pk_train_pass *t, pk_readings_seen *seen, void *user) {
    const pk_backend *on = t->on;
    pk_lesson_block  *b = &t->block[t->next];
    if (!on->remote) return PK_OK;
    if (on->wait_event)
        on->wait_event(on->self, t->next);
    else if (t->next == 0)
        PK_TRY(on->status(on->self));
    const int64_t update = b->update;
    b->update = 0;
    return update && seen ? seen(user, b->read, update) : PK_OK;
}

pk_status pk_train_pass_drain(pk_train_pass *t, pk_readings_seen *seen, void *user) {
    for (int32_t i = 0; i < t->n_blocks; i++) {
        pk_lesson_block *b = &t->block[(t->next + i) % t->n_blocks];
        const int64_t    update = b->update;
        b->update = 0;
        if (update) PK_TRY(seen(user, b->read, update));
    }
    return PK_OK;
}

/* Writes the lesson to a block, copies the block to the device, and starts the pass. On a GPU all
 * of this only queues work; the event then says when the block is free again. */
pk_status pk_train_pass_compute(pk_train_pass *t, const pk_lesson *l, const pk_pass_options *o) {
    const pk_backend *on = t->on;
    const pk_config  *c = &t->p->net.config;
    pk_lesson_block  *b = &t->block[t->next];
    pk_lesson_there   there;
    PK_TRY(check_size(t, l));
    assert(pk_lesson_bytes(l) <= t->block_bytes && b->update == 0); /* ready() came first */
    pk_lesson_pack(l, c->encoder_heads, c->decoder_heads, b->host, b->device, &there);
    on->put(on->self, b->device, b->host, pk_lesson_bytes(l));
    PK_TRY(compute(t, &there, o, false));
    if (on->remote && on->record_event) on->record_event(on->self, t->next);
    t->next = (t->next + 1) % t->n_blocks;
    if (!o->answers) return PK_OK;
    PK_TRY(pk_device_get(on, t->best_packed, t->best, l->target.n * sizeof *t->best));
    pk_lesson_sort_answers(l, t->best_packed, t->best_here);
    return PK_OK;
}

/* The copy back is queued behind the pass: the host reads it when the block's event has come. */
void pk_train_pass_record(pk_train_pass *t, int64_t update) {
    const pk_backend *on = t->on;
    const int32_t     last = (t->next + t->n_blocks - 1) % t->n_blocks;
    if (!on->remote) return;
    on->get(on->self, t->block[last].read, t->train, sizeof *t->train);
    if (on->record_event) on->record_event(on->self, last);
    t->block[last].update = update;
}
