/* ref_train_attend.c - attention over segments, forwards and backwards, one pair of query and
 * key at a time.
 *
 * p(i, j) = exp(score(i, j) - sums(i)), score = q k / sqrt(width); drop() makes it p f; out(i) =
 * sum of p f v(j). Backwards, with D(i) = d_out(i) out(i), the sum of p f d_out v over its keys:
 * d_score = p (f d_out v - D). Nothing of size (queries, keys) is kept between the two. */
#include <math.h>

#include "backend/ref/ref_ops.h"
#include "backend/ref/ref_train.h"

typedef struct pairs { /* one head of one op; d_out and out only backwards */
    pk_tensor           q, k, v, d_out, out;
    const pk_attention *see;
    pk_drop             drop;
    const float        *sums; /* (queries, heads) */
    int32_t             head, width;
} pairs;

/* rows of the same head of two tensors, multiplied */
static double dot(const pairs *p, pk_tensor a, int32_t row_a, pk_tensor b, int32_t row_b) {
    const float *x = pk_ref_at(a, row_a, p->head * p->width);
    const float *y = pk_ref_at(b, row_b, p->head * p->width);
    double       sum = 0;
    for (int32_t c = 0; c < p->width; c++) sum += (double)x[c] * y[c];
    return sum;
}

static double score(const pairs *p, int32_t query, int32_t key) {
    return dot(p, p->q, query, p->k, key) / sqrt(p->width);
}

/* is the key one of those the query sees? */
static bool sees(const pairs *p, int32_t query, int32_t key) {
    const int32_t first = p->see->first[query];
    return key >= first && key < first + p->see->count[query];
}

/* p(i, j), found again from the log sum of the forward op */
static double probability(const pairs *p, int32_t query, int32_t key) {
    const float log_sum = p->sums[(size_t)query * (size_t)p->see->heads + (size_t)p->head];
    return exp(score(p, query, key) - log_sum);
}

/* f: 0 or 1 / (1 - rate), the same forwards and backwards */
static double factor(const pairs *p, int32_t query, int32_t key) {
    return pk_drop_factor(
        p->drop, pk_drop_attention(query, p->see->heads, p->head, key - p->see->first[query]));
}

/* over the keys that a query sees; minus infinity where it sees none */
static double log_sum_of(const pairs *p, int32_t query) {
    const int32_t first = p->see->first[query], end = first + p->see->count[query];
    double        most = -INFINITY, sum = 0;
    for (int32_t key = first; key < end; key++) most = fmax(most, score(p, query, key));
    for (int32_t key = first; key < end; key++) sum += exp(score(p, query, key) - most);
    return first < end ? most + log(sum) : -INFINITY;
}

/* weight (keys that it sees): their probabilities, rounded where attend() rounds them */
static void probabilities(const pairs *p, int32_t query, double *weight) {
    const int32_t first = p->see->first[query], count = p->see->count[query];
    double        most = -INFINITY, total = 0;
    for (int32_t j = 0; j < count; j++) {
        weight[j] = (float)score(p, query, first + j);
        most = fmax(most, weight[j]);
    }
    for (int32_t j = 0; j < count; j++) total += exp(weight[j] - most);
    for (int32_t j = 0; j < count; j++) weight[j] = (float)(exp(weight[j] - most) / total);
}

/* weight: room for as many numbers as the query sees keys */
static void attend_query(const pairs *p, pk_tensor out, float *sums, int32_t query,
                         double *weight) {
    const int32_t first = p->see->first[query], count = p->see->count[query];
    sums[(size_t)query * (size_t)p->see->heads + (size_t)p->head] = (float)log_sum_of(p, query);
    probabilities(p, query, weight);
    for (int32_t j = 0; j < count; j++) weight[j] *= factor(p, query, first + j);
    for (int32_t c = p->head * p->width; c < (p->head + 1) * p->width; c++) {
        double sum = 0;
        for (int32_t j = 0; j < count; j++) sum += weight[j] * *pk_ref_at(p->v, first + j, c);
        *pk_ref_at(out, query, c) = (float)sum;
    }
}

void pk_ref_attend_segments(void *self, pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                            const pk_attention *see, pk_drop drop, float *sums) {
    pairs   p = { .q = q, .k = k, .v = v, .see = see, .drop = drop, .sums = sums };
    double *weight = (double *)(void *)pk_ref_scratch(self, 2 * (size_t)k.rows + 2);
    if (!weight) return;
    p.width = q.cols / see->heads;
    for (p.head = 0; p.head < see->heads; p.head++)
        for (int32_t query = see->query_segment[0]; query < see->query_segment[see->n_segments];
             query++)
            attend_query(&p, out, sums, query, weight);
}

/* the gradient of the product of a query and a key: that of the score, times its scale */
static double d_score(const pairs *p, int32_t query, int32_t key) {
    const double d_p = factor(p, query, key) * dot(p, p->d_out, query, p->v, key);
    const double before = dot(p, p->d_out, query, p->out, query);
    return probability(p, query, key) * (d_p - before) / sqrt(p->width);
}

/* what a query's d_out is weighted with in the gradient of a value */
static double d_value(const pairs *p, int32_t query, int32_t key) {
    return probability(p, query, key) * factor(p, query, key);
}

/* to[query] = sum over its keys of weight times from[key] */
static void gather_keys(const pairs *p, pk_tensor to, int32_t query, pk_tensor from,
                        double *weight) {
    const int32_t first = p->see->first[query], count = p->see->count[query];
    for (int32_t j = 0; j < count; j++) weight[j] = d_score(p, query, first + j);
    for (int32_t c = p->head * p->width; c < (p->head + 1) * p->width; c++) {
        double sum = 0;
        for (int32_t j = 0; j < count; j++) sum += weight[j] * *pk_ref_at(from, first + j, c);
        *pk_ref_at(to, query, c) = (float)sum;
    }
}

/* to[key] = sum over the queries of its segment that see it of weight times from[query] */
static void gather_queries(const pairs *p, pk_tensor to, int32_t key, pk_tensor from,
                           int32_t segment, double (*weigh)(const pairs *, int32_t, int32_t),
                           double *weight) {
    const int32_t first = p->see->query_segment[segment], end = p->see->query_segment[segment + 1];
    for (int32_t i = first; i < end; i++) weight[i] = sees(p, i, key) ? weigh(p, i, key) : 0;
    for (int32_t c = p->head * p->width; c < (p->head + 1) * p->width; c++) {
        double sum = 0;
        for (int32_t i = first; i < end; i++) sum += weight[i] * *pk_ref_at(from, i, c);
        *pk_ref_at(to, key, c) = (float)sum;
    }
}

/* all gradients of one head and one segment */
static void back_through_segment(const pairs *p, pk_tensor d_q, pk_tensor d_k, pk_tensor d_v,
                                 int32_t segment, double *weight) {
    const pk_attention *see = p->see;
    for (int32_t i = see->query_segment[segment]; d_q.data && i < see->query_segment[segment + 1];
         i++)
        gather_keys(p, d_q, i, p->k, weight);
    for (int32_t j = see->key_segment[segment]; j < see->key_segment[segment + 1]; j++) {
        if (d_k.data) gather_queries(p, d_k, j, p->q, segment, d_score, weight);
        if (d_v.data) gather_queries(p, d_v, j, p->d_out, segment, d_value, weight);
    }
}

void pk_ref_attend_back(void *self, pk_tensor d_q, pk_tensor d_k, pk_tensor d_v, pk_tensor d_out,
                        pk_tensor out, pk_tensor q, pk_tensor k, pk_tensor v,
                        const pk_attention *see, pk_drop drop, const float *sums) {
    const int32_t most = q.rows > k.rows ? q.rows : k.rows;
    pairs         p = { q, k, v, d_out, out, see, drop, sums, 0, q.cols / see->heads };
    double       *weight = (double *)(void *)pk_ref_scratch(self, 2 * (size_t)most + 2);
    if (!weight) return;
    for (p.head = 0; p.head < see->heads; p.head++)
        for (int32_t segment = 0; segment < see->n_segments; segment++)
            back_through_segment(&p, d_q, d_k, d_v, segment, weight);
}
