/* train_attend.c - one head of one segment of attention, forwards and backwards.
 *
 * A segment is one sentence, and short, so its scores (queries, keys) fit into a cache:
 *   forwards    P = softmax(Q K^T / sqrt(width)), zero where a query does not see the key; O = P V
 *   backwards   the scores are computed again; then d_P = d_O V^T, d_Q = d_S K, d_K = d_S^T Q,
 *               d_V = P^T d_O, with d_S as in ref_train_attend.c
 * All products are those of train_product.c. */
#include "backend/cpu/kernels/train_list.h"

typedef struct span { /* one head of one segment */
    const pk_segments_job *job;
    int32_t                head, width;
    int32_t                query, queries, key, keys; /* first and how many */
    float                  scale;                     /* of the scores */
    float                 *p, *d_p;                   /* (queries, keys) */
    float                 *scratch;
} span;

/* scratch: room for a product, then P and d_P */
static span span_of(const pk_segments_job *job, int32_t segment, int32_t head, float *scratch) {
    const pk_attention *see = job->see;
    span                s = { .job = job, .head = head, .width = job->q.cols / see->heads };
    s.query = see->query_segment[segment], s.queries = see->query_segment[segment + 1] - s.query;
    s.key = see->key_segment[segment], s.keys = see->key_segment[segment + 1] - s.key;
    s.scale = 1 / sqrtf((float)s.width);
    s.scratch = scratch;
    s.p = scratch + PK_PRODUCT_SCRATCH;
    s.d_p = s.p + (size_t)s.queries * (size_t)s.keys;
    return s;
}

/* where row `row` of a tensor has this head */
static float *head_of(const span *s, pk_tensor t, int32_t row) {
    return t.data + (size_t)row * (size_t)t.stride + (size_t)(s->head * s->width);
}

static pk_view rows_view(const float *at, size_t stride) { return (pk_view){ at, stride, 1 }; }
static pk_view transposed(pk_view v) { return (pk_view){ v.at, v.col, v.row }; }

static pk_view queries_of(const span *s, pk_tensor t) {
    return rows_view(head_of(s, t, s->query), (size_t)t.stride);
}
static pk_view keys_of(const span *s, pk_tensor t) {
    return rows_view(head_of(s, t, s->key), (size_t)t.stride);
}

/* to (queries, keys) = rows of queries times rows of keys */
static void all_pairs(const span *s, float *to, pk_tensor of_query, pk_tensor of_key) {
    const pk_product_part part = {
        .a = queries_of(s, of_query),
        .b = transposed(keys_of(s, of_key)),
        .out = to,
        .out_stride = (size_t)s->keys,
        .m = s->queries,
        .n = s->keys,
        .k = s->width,
    };
    PK_KERNEL(train_product)(&part, s->scratch);
}

/* to = weights times `from`: queries from keys, or with by_key, weights transposed, keys from
 * queries */
static void weigh(const span *s, pk_tensor to, const float *weights, pk_tensor from, bool by_key) {
    const pk_view   w = rows_view(weights, (size_t)s->keys);
    pk_product_part part = {
        .a = by_key ? transposed(w) : w,
        .b = by_key ? queries_of(s, from) : keys_of(s, from),
        .out = head_of(s, to, by_key ? s->key : s->query),
        .out_stride = (size_t)to.stride,
        .m = by_key ? s->keys : s->queries,
        .n = s->width,
        .k = by_key ? s->queries : s->keys,
    };
    if (to.data) PK_KERNEL(train_product)(&part, s->scratch);
}

/* p (n) = softmax of scale p; returns the log of the sum of exp of the scaled scores */
static float softmax(float *p, int32_t n, float scale) {
    vf most = vf_all(-INFINITY), sum = vf_all(0);
    for (int32_t j = 0; j < n; j += 16) {
        const vf x = vf_mul(load_some(p + j, n - j), vf_all(scale));
        store_some(p + j, x, n - j);
        most = vf_max(n - j < 16 ? vf_first(x, n - j, -INFINITY) : x, most);
    }
    const float largest = vf_most(most);
    for (int32_t j = 0; j < n; j += 16) {
        const vf x = vf_exp(vf_sub(load_some(p + j, n - j), vf_all(largest)));
        store_some(p + j, x, n - j);
        sum = vf_add(sum, n - j < 16 ? vf_first(x, n - j, 0) : x);
    }
    const float total = vf_sum(sum);
    for (int32_t j = 0; j < n; j++) p[j] /= total;
    return largest + logf(total);
}

/* zero for the keys of the segment that the query does not see */
static void clear_unseen(float *row, int32_t first, int32_t count, int32_t keys) {
    memset(row, 0, (size_t)first * sizeof *row);
    memset(row + first + count, 0, (size_t)(keys - first - count) * sizeof *row);
}

/* dropout on the probabilities of one query */
static void drop_row(float *p, int32_t n, pk_drop drop, uint64_t first) {
    float factor[BLOCK];
    for (int32_t j = 0; drop.rate > 0 && j < n; j += BLOCK) {
        const int32_t some = block_of(n - j);
        drop_factors(factor, drop, first + (uint64_t)j);
        for (int32_t i = 0; i < some; i++) p[j + i] *= factor[i];
    }
}

void PK_KERNEL(train_attend)(const pk_segments_job *job, int32_t segment, int32_t head,
                             float *scratch) {
    const span          s = span_of(job, segment, head, scratch);
    const pk_attention *see = job->see;
    all_pairs(&s, s.p, job->q, job->k);
    for (int32_t i = 0; i < s.queries; i++) {
        const int32_t query = s.query + i, count = see->count[query];
        const int32_t first = count > 0 ? see->first[query] - s.key : 0;
        float        *p = s.p + (size_t)i * (size_t)s.keys;
        float        *sum = job->sums + (size_t)query * (size_t)see->heads + head;
        *sum = count > 0 ? softmax(p + first, count, s.scale) : -INFINITY;
        drop_row(p + first, count, job->drop, pk_drop_attention(query, see->heads, head, 0));
        clear_unseen(p, first, count, s.keys);
    }
    weigh(&s, job->out, s.p, job->v, false);
}

static float dot(const float *x, const float *y, int32_t n) {
    vf sum = vf_all(0);
    for (int32_t c = 0; c < n; c += 16)
        sum = vf_fma(load_some(x + c, n - c), load_some(y + c, n - c), sum);
    return vf_sum(sum);
}

/* p (n): scores become probabilities after dropout; d_p: their gradients become those of the
 * scores. before: sum over the keys of p times d_p. */
static void back_row(float *p, float *d_p, int32_t n, float scale, float log_sum, float before,
                     pk_drop drop, uint64_t first) {
    float factor[BLOCK];
    for (int32_t j = 0; j < n; j += BLOCK) {
        const int32_t end = j + block_of(n - j);
        drop_factors(factor, drop, first + (uint64_t)j);
        for (int32_t c = j; c < end; c += 16) {
            const int32_t left = end - c;
            const vf      scaled = vf_mul(load_some(p + c, left), vf_all(scale));
            const vf      share = vf_exp(vf_sub(scaled, vf_all(log_sum)));
            const vf      f = vf_load(factor + c - j);
            const vf      d = vf_sub(vf_mul(load_some(d_p + c, left), f), vf_all(before));
            store_some(d_p + c, vf_mul(vf_mul(share, d), vf_all(scale)), left);
            store_some(p + c, vf_mul(share, f), left);
        }
    }
}

void PK_KERNEL(train_attend_back)(const pk_segments_job *job, int32_t segment, int32_t head,
                                  float *scratch) {
    const span          s = span_of(job, segment, head, scratch);
    const pk_attention *see = job->see;
    all_pairs(&s, s.p, job->q, job->k);
    all_pairs(&s, s.d_p, job->d_out, job->v);
    for (int32_t i = 0; i < s.queries; i++) {
        const int32_t query = s.query + i, count = see->count[query];
        const int32_t first = count > 0 ? see->first[query] - s.key : 0;
        const float   before =
            dot(head_of(&s, job->d_out, query), head_of(&s, job->out, query), s.width);
        const float log_sum = job->sums[(size_t)query * (size_t)see->heads + (size_t)head];
        float      *p = s.p + (size_t)i * (size_t)s.keys, *d_p = s.d_p + (p - s.p);
        back_row(p + first, d_p + first, count, s.scale, log_sum, before, job->drop,
                 pk_drop_attention(query, see->heads, head, 0));
        clear_unseen(p, first, count, s.keys);
        clear_unseen(d_p, first, count, s.keys);
    }
    weigh(&s, job->d_q, s.d_p, job->k, false);
    weigh(&s, job->d_k, s.d_p, job->q, true);
    weigh(&s, job->d_v, s.p, job->d_out, true);
}
