/* ops.c - shape checks, scratch memory and timing around the backend's table.
 *
 * Shapes that do not fit are a mistake of ours: asserted, and refused in a build without
 * assertions. The first failure of a run sticks: ops that follow do nothing, and pk_run_status()
 * says it. */
#include "tensor/ops.h"

#include <assert.h>

#include "base/clock.h"
#include "tensor/tape.h"

void pk_run_begin(pk_run *r, const pk_backend *on, pk_arena *scratch) {
    assert(on && scratch);
    *r = (pk_run){
        .on = on, .scratch = scratch, .module = PK_MODULE_OTHER, .since = pk_clock_now()
    };
    scratch->used = 0;
    scratch->short_of = 0;
}

pk_status pk_run_status(pk_run *r) {
    pk_run_enter(r, PK_MODULE_OTHER);
    const pk_status device = r->on->status(r->on->self); /* may wait for the device */
    pk_run_enter(r, PK_MODULE_OTHER);
    return r->status != PK_OK ? r->status : device;
}

void pk_run_enter(pk_run *r, pk_module module) {
    const double now = pk_clock_now();
    r->seconds[r->module] += now - r->since;
    r->since = now;
    r->module = module;
}

bool pk_run_refuse(pk_run *r, pk_status why, const char *what) {
    if (r->status == PK_OK) r->status = pk_fail_with(why, "%s", what);
    return false;
}

bool pk_run_fits(pk_run *r, bool shapes_fit, const char *op) {
    assert(shapes_fit);
    if (!shapes_fit) return pk_run_refuse(r, PK_ARGUMENT, op);
    return r->status == PK_OK;
}

pk_tensor pk_scratch(pk_run *r, int32_t rows, int32_t cols) {
    const pk_dtype type = r->on->activations;
    assert(rows >= 0 && cols > 0);
    float *data = pk_arena_take(r->scratch, (size_t)rows * (size_t)cols * pk_dtype_bytes(type));
    if (!data)
        pk_run_refuse(r, PK_NO_MEMORY, "a pass needs more scratch memory than the session planned");
    return (pk_tensor){ .data = data, .rows = rows, .cols = cols, .stride = cols, .type = type };
}

pk_tensor pk_columns(pk_tensor t, int32_t first, int32_t cols) {
    assert(first >= 0 && first + cols <= t.cols);
    if (t.data) t.data = (float *)(void *)((char *)t.data + (size_t)first * pk_dtype_bytes(t.type));
    t.cols = cols;
    return t;
}

pk_tensor pk_first_rows(pk_tensor t, int32_t rows) {
    assert(rows >= 0 && rows <= t.rows);
    t.rows = rows;
    return t;
}

pk_tensor pk_embed(pk_run *r, const pk_weight *table, const int32_t *token, float scale,
                   const pk_weight *position, const int32_t *pos, int32_t n) {
    if (r->tape) return pk_tape_embed(r, table, token, scale, position, pos, n);
    pk_tensor out = pk_scratch(r, n, table->cols);
    if (pk_run_fits(r, table->cols == position->cols, "embed"))
        r->on->embed(r->on->self, out, table, token, scale, position, pos);
    return out;
}

/* checks all shapes, those of bias, residual, gain and pool too */
static void linear(pk_run *r, pk_tensor out, pk_tensor x, const pk_weight *w,
                   const pk_after *after) {
    pk_after what = *after;
    if (what.bias && !what.bias->data) what.bias = NULL; /* the network has none */
    const bool stored = !what.pool.data || what.pool.cols == out.cols - what.from;
    const bool added = (!what.bias || what.bias->cols == out.cols) &&
                       (!what.residual.data ||
                        (what.residual.rows == out.rows && what.residual.cols == out.cols)) &&
                       (!what.gain || what.gain->cols == out.cols);
    if (pk_run_fits(
            r, x.cols == w->cols && out.cols == w->rows && out.rows == x.rows && stored && added,
            "linear"))
        r->on->linear(r->on->self, out, x, w, &what);
}

pk_tensor pk_linear(pk_run *r, pk_tensor x, const pk_weight *w, const pk_after *after) {
    if (r->tape) return pk_tape_linear(r, x, w, after);
    pk_tensor out = pk_scratch(r, x.rows, w->rows);
    linear(r, out, x, w, after);
    return out;
}

pk_tensor pk_linear_over(pk_run *r, pk_tensor x, const pk_weight *w, const pk_after *after) {
    if (r->tape) return pk_tape_linear(r, x, w, after);
    assert(after->residual.data || r->status != PK_OK); /* the output needs its memory */
    linear(r, after->residual, x, w, after);
    return after->residual;
}

static void norm(pk_run *r, pk_tensor out, pk_tensor x, const pk_weight *gain,
                 const pk_weight *bias, float epsilon) {
    if (pk_run_fits(r, x.cols == gain->cols && x.cols == bias->cols, "norm"))
        r->on->norm(r->on->self, out, x, gain, bias, epsilon);
}

pk_tensor pk_norm_rows(pk_run *r, pk_tensor x, const pk_weight *gain, const pk_weight *bias,
                       float epsilon) {
    if (r->tape) return pk_tape_norm(r, x, gain, bias, epsilon);
    pk_tensor out = pk_scratch(r, x.rows, x.cols);
    norm(r, out, x, gain, bias, epsilon);
    return out;
}

pk_tensor pk_norm_over(pk_run *r, pk_tensor x, const pk_weight *gain, const pk_weight *bias,
                       float epsilon) {
    if (r->tape) return pk_tape_norm(r, x, gain, bias, epsilon);
    norm(r, x, x, gain, bias, epsilon);
    return x;
}

pk_tensor pk_attend(pk_run *r, pk_tensor q, pk_tensor k, pk_tensor v, const pk_attention *see) {
    if (r->tape) return pk_tape_attend(r, q, k, v, see);
    pk_tensor  out = pk_scratch(r, q.rows, q.cols);
    const bool shapes_fit = q.cols == k.cols && k.cols == v.cols && k.rows == v.rows &&
                            k.type == v.type && see->heads > 0 && q.cols % see->heads == 0;
    if (pk_run_fits(r, shapes_fit, "attend")) r->on->attend(r->on->self, out, q, k, v, see);
    return out;
}

void pk_answers(pk_run *r, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                const pk_answering *a) {
    const bool fits = hidden.cols == table->cols && a->most_top_k <= a->top_stride &&
                      (!bias->data || bias->cols == table->rows);
    if (pk_run_fits(r, fits, "answer"))
        r->on->answer(r->on->self, hidden, table, bias->data ? bias : NULL, a);
}

void pk_edges(pk_run *r, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
              const pk_edging *e) {
    const bool fits = hidden.cols == table->cols && e->n >= 0 && e->most_tokens >= 0 &&
                      (!bias->data || bias->cols == table->rows);
    if (pk_run_fits(r, fits, "edges"))
        r->on->edges(r->on->self, hidden, table, bias->data ? bias : NULL, e);
}

void pk_advance(pk_run *r, const pk_following *f) {
    if (r->status == PK_OK) r->on->advance(r->on->self, f);
}
