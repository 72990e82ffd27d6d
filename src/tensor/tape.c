/* tape.c - records of a forward pass, and the walk back over them.
 *
 * Every value has a node: the tensor as it was computed, and its gradient once one was written.
 * Views (columns) carry the node of the whole, so the gradient of a view is the same view of the
 * gradient. The first op that writes a gradient sets it, later ones add to it. When a record has
 * been walked over, the gradient of its output is not needed any more: its memory is used for
 * the next gradient of the same size. */
#include "tensor/tape.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

typedef enum kind { EMBED, PRODUCT, ACTIVATE, ADD_NORM, NORM, ATTEND, LOSS } kind;

typedef struct record {
    kind             kind;
    pk_tensor        out, x;   /* ATTEND: x holds the queries */
    pk_tensor        a, b;     /* ATTEND: keys, values; ADD_NORM: residual, sum */
    const pk_weight *w, *bias; /* ADD_NORM, NORM: gain, shift; EMBED: table, positions */
    const int32_t   *token, *pos;
    float            number; /* EMBED: scale */
    float           *kept;   /* moments or sums */
    pk_act           act;
    pk_drop          drop;
    pk_attention     see;
    size_t           weights_end; /* weights behind this one belong to later records */
} record;

typedef struct node {
    pk_tensor value, grad; /* grad has no data until it is written to */
    size_t    bytes;
    bool      learns; /* depends on a weight that learns */
} node;

typedef struct piece { /* gradient memory that can serve again */
    void  *memory;
    size_t bytes;
} piece;

struct pk_tape {
    record      *record;
    node        *node; /* from 1 */
    piece       *spare;
    size_t       n_records, record_room, n_nodes, node_room, n_spare, spare_room;
    pk_gradients learned;
    pk_dropout   dropout;
    uint64_t     key;
    bool         dry;
    pk_arena     nothing; /* what a dry run takes from */
    size_t       peak;
};

pk_status pk_tape_open(pk_tape **out) { return PK_TAKE(out, 1); }

void pk_tape_close(pk_tape *t) {
    if (!t) return;
    pk_memory_give(t->record);
    pk_memory_give(t->node);
    pk_memory_give(t->spare);
    pk_memory_give(t);
}

void pk_tape_begin(pk_tape *t, pk_run *r, const pk_backend *on, pk_arena *scratch,
                   const pk_gradients *learned, const pk_dropout *dropout, uint64_t key, bool dry) {
    assert(dry || scratch->base);
    t->nothing = (pk_arena){ .base = (char *)64, .size = SIZE_MAX / 2 }; /* never touched */
    t->n_records = t->n_nodes = t->n_spare = t->peak = 0;
    t->learned = *learned;
    t->dropout = dropout ? *dropout : (pk_dropout){ 0 };
    t->key = key;
    t->dry = dry;
    pk_run_begin(r, on, dry ? &t->nothing : scratch);
    r->tape = t;
    if (!on->train) pk_run_refuse(r, PK_UNSUPPORTED, "this device cannot train");
}

size_t pk_tape_peak(const pk_tape *t) { return t->peak; }

/* ---- memory ---- */

static bool grow(pk_run *r, void **list, size_t n, size_t *room, size_t size) {
    if (pk_memory_reserve(n + 1, size, list, room) == PK_OK) return true;
    return pk_run_refuse(r, PK_NO_MEMORY, "out of memory for the tape");
}

static void *take(pk_run *r, size_t bytes) {
    void *memory = pk_arena_take(r->scratch, bytes);
    if (!memory)
        pk_run_refuse(r, PK_NO_MEMORY, "a batch needs more memory than was planned for training");
    if (r->scratch->used > r->tape->peak) r->tape->peak = r->scratch->used;
    return memory;
}

static size_t tensor_bytes(const pk_run *r, int32_t rows, int32_t cols) {
    return (size_t)rows * (size_t)cols * pk_dtype_bytes(r->on->activations);
}

static pk_tensor take_tensor(pk_run *r, int32_t rows, int32_t cols) {
    return (pk_tensor){ .data = take(r, tensor_bytes(r, rows, cols)),
                        .rows = rows,
                        .cols = cols,
                        .stride = cols,
                        .type = r->on->activations };
}

static float *take_floats(pk_run *r, int32_t rows, int32_t cols) {
    return take(r, (size_t)rows * (size_t)cols * sizeof(float));
}

/* gives a value a node of its own */
static void name_value(pk_run *r, pk_tensor *value) {
    pk_tape *t = r->tape;
    value->node = 0;
    if (!grow(r, (void **)&t->node, t->n_nodes + 1, &t->node_room, sizeof *t->node)) return;
    value->node = (int32_t)++t->n_nodes;
    t->node[value->node] =
        (node){ .value = *value, .bytes = tensor_bytes(r, value->rows, value->cols) };
}

/* ---- gradients ---- */

/* memory for a gradient: that of a finished one of the same size, or new memory */
static void *take_gradient(pk_run *r, size_t bytes) {
    pk_tape *t = r->tape;
    for (size_t i = t->n_spare; i-- > 0;) {
        if (t->spare[i].bytes != bytes) continue;
        void *memory = t->spare[i].memory;
        t->spare[i] = t->spare[--t->n_spare];
        return memory;
    }
    return take(r, bytes);
}

/* the gradient of a value or a view of one; *add: whether something is there already */
static pk_tensor take_any_gradient(pk_run *r, pk_tensor of, bool *add) {
    *add = false;
    if (!of.node) return (pk_tensor){ 0 };
    assert((size_t)of.node <= r->tape->n_nodes);
    node *n = &r->tape->node[of.node];
    *add = n->grad.data != NULL;
    if (!*add) {
        n->grad = n->value;
        n->grad.data = take_gradient(r, n->bytes);
        if (!n->grad.data) return (pk_tensor){ 0 };
    }
    const size_t offset = (size_t)((char *)of.data - (char *)n->value.data);
    assert(offset < n->bytes || n->bytes == 0); /* a view lies inside its value */
    of.data = (float *)(void *)((char *)n->grad.data + offset);
    return of;
}

/* the same where it leads to something that learns; else none */
static pk_tensor gradient(pk_run *r, pk_tensor of, bool *add) {
    *add = false;
    if (!of.node || !r->tape->node[of.node].learns) return (pk_tensor){ 0 };
    return take_any_gradient(r, of, add);
}

/* the gradient of a record's output is not needed any more: its memory can be used again */
static void give_gradient(pk_run *r, pk_tensor out) {
    pk_tape *t = r->tape;
    node    *n = &t->node[out.node];
    assert(n->grad.data); /* given once */
    if (!grow(r, (void **)&t->spare, t->n_spare, &t->spare_room, sizeof *t->spare)) return;
    t->spare[t->n_spare++] = (piece){ n->grad.data, n->bytes };
    n->grad.data = NULL;
}

/* the offset of a weight among those that learn, in numbers; false: it is a constant */
static bool offset_of(const pk_tape *t, const pk_weight *w, size_t *first) {
    if (!w || !w->data || w == t->learned.constant) return false;
    const uintptr_t at = (uintptr_t)w->data, base = (uintptr_t)t->learned.weights;
    *first = (at - base) / pk_dtype_bytes(t->learned.type);
    return at >= base && *first < t->learned.n;
}

static float *weight_gradient(const pk_tape *t, const pk_weight *w) {
    size_t first;
    return offset_of(t, w, &first) ? t->learned.grad + first : NULL;
}

/* ---- forwards ---- */

/* whether backend ops are called: not in a dry run, not after a failure */
static bool live(const pk_run *r) { return r->status == PK_OK && !r->tape->dry; }

static bool does_learn(const pk_tape *t, pk_tensor x) { return x.node && t->node[x.node].learns; }

/* weights_end rises from record to record. So once the walk back is past record i, gradients from
 * record i - 1's weights_end on are final. */
static void add_record(pk_run *r, record what) {
    pk_tape *t = r->tape;
    if (!grow(r, (void **)&t->record, t->n_records, &t->record_room, sizeof *t->record)) return;
    const pk_weight *const weights[] = { what.w, what.bias };
    bool                   learns = false;
    what.weights_end = t->n_records ? t->record[t->n_records - 1].weights_end : 0;
    for (size_t i = 0, first; i < 2; i++) {
        if (!offset_of(t, weights[i], &first)) continue;
        const size_t end = first + (size_t)weights[i]->rows * (size_t)weights[i]->cols;
        if (end > what.weights_end) what.weights_end = end;
        learns = true;
    }
    if (what.out.node && r->status == PK_OK)
        t->node[what.out.node].learns =
            learns || does_learn(t, what.x) || does_learn(t, what.a) || does_learn(t, what.b);
    t->record[t->n_records++] = what;
}

/* dropout of the next record */
static pk_drop drop_at(const pk_tape *t, float rate) {
    return (pk_drop){ rate, pk_mix(t->key + (t->n_records + 1) * PK_GOLDEN) };
}

pk_tensor pk_tape_embed(pk_run *r, const pk_weight *table, const int32_t *token, float scale,
                        const pk_weight *position, const int32_t *pos, int32_t n) {
    const pk_drop drop = drop_at(r->tape, r->tape->dropout.embedding);
    pk_tensor     out = take_tensor(r, n, table->cols);
    name_value(r, &out);
    if (pk_run_fits(r, table->cols == position->cols, "embed") && live(r))
        r->on->train->embed(r->on->self, out, table, token, scale, position, pos, drop);
    add_record(r, (record){ .kind = EMBED,
                            .out = out,
                            .w = table,
                            .bias = position,
                            .token = token,
                            .pos = pos,
                            .number = scale,
                            .drop = drop });
    return out;
}

static pk_tensor product(pk_run *r, pk_tensor x, const pk_weight *w, const pk_weight *bias) {
    pk_tensor out = take_tensor(r, x.rows, w->rows);
    name_value(r, &out);
    if (bias && !bias->data) bias = NULL; /* the network has none */
    if (pk_run_fits(r, x.cols == w->cols, "product") && live(r))
        r->on->train->product(r->on->self, out, x, w, bias);
    add_record(r, (record){ .kind = PRODUCT, .out = out, .x = x, .w = w, .bias = bias });
    return out;
}

static pk_tensor activate(pk_run *r, pk_tensor x, pk_act act) {
    const pk_drop drop = drop_at(r->tape, r->tape->dropout.activation);
    pk_tensor     out = take_tensor(r, x.rows, x.cols);
    name_value(r, &out);
    if (live(r)) r->on->train->activate(r->on->self, out, x, act, drop);
    add_record(r, (record){ .kind = ACTIVATE, .out = out, .x = x, .act = act, .drop = drop });
    return out;
}

/* The sum overwrites x: the backward pass does not need x itself. */
static pk_tensor add_norm(pk_run *r, pk_tensor x, const pk_after *after) {
    const pk_drop drop = drop_at(r->tape, r->tape->dropout.residual);
    pk_tensor     sum = x, out = x;
    float        *moments = NULL;
    if (after->gain) {
        out = take_tensor(r, x.rows, x.cols);
        moments = take_floats(r, x.rows, 2);
    }
    name_value(r, &out);
    const bool fits = x.cols == after->residual.cols && x.rows == after->residual.rows;
    if (pk_run_fits(r, fits, "add_norm") && live(r))
        r->on->train->add_norm(r->on->self, sum, out, x, after->residual, drop, after->gain,
                               after->shift, after->epsilon, moments);
    add_record(r, (record){ .kind = ADD_NORM,
                            .out = out,
                            .x = x,
                            .a = after->residual,
                            .b = sum,
                            .w = after->gain,
                            .bias = after->shift,
                            .kept = moments,
                            .drop = drop });
    return out;
}

pk_tensor pk_tape_norm(pk_run *r, pk_tensor x, const pk_weight *gain, const pk_weight *shift,
                       float epsilon) {
    pk_tensor out = take_tensor(r, x.rows, x.cols);
    float    *moments = take_floats(r, x.rows, 2);
    name_value(r, &out);
    if (pk_run_fits(r, x.cols == gain->cols && x.cols == shift->cols, "norm") && live(r))
        r->on->train->norm(r->on->self, out, x, gain, shift, epsilon, moments);
    add_record(
        r, (record){ .kind = NORM, .out = out, .x = x, .w = gain, .bias = shift, .kept = moments });
    return out;
}

pk_tensor pk_tape_linear(pk_run *r, pk_tensor x, const pk_weight *w, const pk_after *after) {
    pk_run_fits(r, !after->pool.data, "storing into a pool while training");
    pk_tensor out = product(r, x, w, after->bias);
    if (after->act != PK_LINEAR) out = activate(r, out, after->act);
    if (after->residual.data) return add_norm(r, out, after);
    if (after->gain) out = pk_tape_norm(r, out, after->gain, after->shift, after->epsilon);
    return out;
}

pk_tensor pk_tape_attend(pk_run *r, pk_tensor q, pk_tensor k, pk_tensor v,
                         const pk_attention *see) {
    const pk_drop drop = drop_at(r->tape, r->tape->dropout.attention);
    pk_tensor     out = take_tensor(r, q.rows, q.cols);
    float        *sums = take_floats(r, q.rows, see->heads);
    name_value(r, &out);
    const bool fits = q.cols == k.cols && k.cols == v.cols && q.cols % see->heads == 0 &&
                      !see->index && see->query_segment && see->key_segment;
    if (pk_run_fits(r, fits, "attend") && live(r))
        r->on->train->attend(r->on->self, out, q, k, v, see, drop, sums);
    add_record(r, (record){ .kind = ATTEND,
                            .out = out,
                            .x = q,
                            .a = k,
                            .b = v,
                            .see = *see,
                            .kept = sums,
                            .drop = drop });
    return out;
}

void pk_tape_loss(pk_run *r, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                  const pk_lesson_questions *q, pk_loss_sums *sums, int32_t *best, bool learn) {
    const pk_tape     *t = r->tape;
    const pk_training *train = r->on->train;
    pk_tensor          d_hidden = { 0 };
    bool               add = false;
    if (!pk_run_fits(r, hidden.cols == table->cols && q->vocab <= table->rows, "loss")) return;
    if (bias && !bias->data) bias = NULL;
    if (learn) d_hidden = gradient(r, hidden, &add);
    const size_t    used = r->scratch->used;
    const pk_tensor before = d_hidden; /* what earlier losses of the same states have left */
    if (add) d_hidden = take_tensor(r, hidden.rows, hidden.cols);
    void *work = take(r, train->loss_bytes(r->on->self, q->n, table->cols, table->rows));
    if (live(r))
        train->loss(r->on->self, hidden, table, bias, q, sums, best, d_hidden,
                    learn ? weight_gradient(t, table) : NULL,
                    learn ? weight_gradient(t, bias) : NULL, work);
    if (add && live(r)) /* a sum without a norm, backwards, is how gradients are added */
        train->add_norm_back(r->on->self, (pk_tensor){ 0 }, before, true, NULL, NULL, d_hidden,
                             hidden, NULL, NULL, (pk_drop){ 0 });
    r->scratch->used = used;
    add_record(r, (record){ .kind = LOSS, .w = table, .bias = bias });
}

/* ---- backwards ---- */

static void embed_back(pk_run *r, const record *i, pk_tensor d_out) {
    const pk_tape *t = r->tape;
    if (live(r))
        r->on->train->embed_back(r->on->self, d_out, weight_gradient(t, i->w), i->token, i->number,
                                 weight_gradient(t, i->bias), i->pos, i->drop);
}

static void product_back(pk_run *r, const record *i, pk_tensor d_out) {
    bool      add;
    pk_tensor d_x = gradient(r, i->x, &add);
    if (live(r))
        r->on->train->product_back(r->on->self, d_x, add, weight_gradient(r->tape, i->w),
                                   weight_gradient(r->tape, i->bias), d_out, i->x, i->w);
}

static void activate_back(pk_run *r, const record *i, pk_tensor d_out) {
    bool      add;
    pk_tensor d_x = gradient(r, i->x, &add);
    if (pk_run_fits(r, !add, "activate backwards") && live(r))
        r->on->train->activate_back(r->on->self, d_x, d_out, i->x, i->act, i->drop);
}

static void add_norm_back(pk_run *r, const record *i, pk_tensor d_out) {
    bool      add_x, add;
    pk_tensor d_x = gradient(r, i->x, &add_x), d_residual = gradient(r, i->a, &add);
    if (pk_run_fits(r, !add_x, "add_norm backwards") && live(r))
        r->on->train->add_norm_back(
            r->on->self, d_x, d_residual, add, weight_gradient(r->tape, i->w),
            weight_gradient(r->tape, i->bias), d_out, i->b, i->w, i->kept, i->drop);
}

static void norm_back(pk_run *r, const record *i, pk_tensor d_out) {
    bool      add;
    pk_tensor d_x = gradient(r, i->x, &add);
    if (live(r))
        r->on->train->norm_back(r->on->self, d_x, add, weight_gradient(r->tape, i->w),
                                weight_gradient(r->tape, i->bias), d_out, i->x, i->w, i->kept);
}

/* Queries, keys and values may be views of one value (one product computes all three). Then no
 * other op reads that value: its gradient is set here, never added to. All three
 * gradients come together, also where only one is of use. */
static void attend_back(pk_run *r, const record *i, pk_tensor d_out) {
    bool      add[3];
    pk_tensor d_q = take_any_gradient(r, i->x, &add[0]), d_k = take_any_gradient(r, i->a, &add[1]),
              d_v = take_any_gradient(r, i->b, &add[2]);
    const bool whole = i->a.node == i->x.node || !add[1];
    if (pk_run_fits(r, !add[0] && whole, "attend backwards") && live(r))
        r->on->train->attend_back(r->on->self, d_q, d_k, d_v, d_out, i->out, i->x, i->a, i->b,
                                  &i->see, i->drop, i->kept);
}

static void walk_back(pk_run *r, const record *i) {
    static void (*const back[])(pk_run *, const record *, pk_tensor) = {
        [EMBED] = embed_back,       [PRODUCT] = product_back, [ACTIVATE] = activate_back,
        [ADD_NORM] = add_norm_back, [NORM] = norm_back,       [ATTEND] = attend_back,
    };
    if (i->kind == LOSS) return; /* the forward op wrote its gradients already */
    const pk_tensor d_out = r->tape->node[i->out.node].grad;
    if (!d_out.data) return; /* the loss does not depend on it */
    if (r->tape->node[i->out.node].learns) back[i->kind](r, i, d_out);
    give_gradient(r, i->out);
}

void pk_tape_backward(pk_run *r, pk_tape_done *done, void *user) {
    pk_tape *t = r->tape;
    size_t   final = t->learned.n;
    assert(t->n_spare == 0); /* a tape is walked back once */
    for (size_t i = t->n_records; i-- > 0 && r->status == PK_OK;) {
        walk_back(r, &t->record[i]);
        const size_t first = i ? t->record[i - 1].weights_end : 0;
        if (!done || first >= final) continue;
        final = first;
        if (!t->dry) done(user, first);
    }
}
