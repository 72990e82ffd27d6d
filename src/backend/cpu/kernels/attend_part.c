/* attend_part.c - attention of some queries over the keys they see, head by head.
 *
 * Up to four neighbouring queries that see the same keys are served together, each key and value being
 * loaded once. The numbers are those of a query served alone: a score is a sum lane by lane over the
 * head's width and then a fixed tree (vf_sum16), a softmax sum goes lane by lane over the keys, and an
 * output is a chain over the keys in order. */
#include "backend/cpu/kernels/kernel_list.h"

enum { MAX_Q = PK_ATTEND_QUERIES };

/* one group of queries, for one head */
typedef struct group {
    const float  *k, *v;                        /* row 0, at this head's first column */
    const size_t *k_at, *v_at;                  /* (count, padded to 16) where the rows of the keys are */
    int32_t       count, width;
    const float  *q[MAX_Q];                     /* at this head's first column */
    float        *out[MAX_Q], *p[MAX_Q];        /* p (count, padded to 16): scores, then weights */
} group;

INLINE vf load_columns(const float *x, int32_t left) {
    return left >= 16 ? vf_load(x) : vf_load_part(x, left);
}

/* scores of n queries x 16 / n keys starting at key j */
INLINE void score_block(const group *g, int32_t j, float scale, const int n) {
    vf           sums[16];
    float        scores[16];
    const int    m = 16 / n;
    const float *k = g->k;
    UNROLL for (int i = 0; i < 16; i++) sums[i] = vf_all(0);
    for (int32_t c = 0; c < g->width; c += 16, k += 16) {
        const int32_t left = g->width - c;
        vf            q[MAX_Q];
        UNROLL for (int a = 0; a < n; a++) q[a] = load_columns(g->q[a] + c, left);
        UNROLL for (int i = 0; i < m; i++) {
            const vf key = load_columns(k + g->k_at[j + i], left);
            UNROLL for (int a = 0; a < n; a++) sums[a * m + i] = vf_fma(q[a], key, sums[a * m + i]);
        }
    }
    const vf scaled = vf_mul(vf_sum16(sums), vf_all(scale));
    if (n == 1) {
        vf_store(g->p[0] + j, scaled);
        return;
    }
    vf_store(scores, scaled);
    UNROLL for (int a = 0; a < n; a++) memcpy(g->p[a] + j, scores + a * m, (size_t)m * sizeof(float));
}

/* scores to exp(score - largest); returns 1 / their sum. Lanes past the end become zero. */
static float soften(float *p, int32_t count) {
    vf top = vf_all(-INFINITY), total = vf_all(0);
    const int32_t tail = count / 16 * 16;
    if (tail < count) vf_store(p + tail, vf_first(vf_load(p + tail), count - tail, -INFINITY));
    for (int32_t j = 0; j < count; j += 16) top = vf_max(top, vf_load(p + j));
    const vf most = vf_all(vf_most(top));
    for (int32_t j = 0; j < count; j += 16) {
        const vf e = vf_exp(vf_sub(vf_load(p + j), most));
        vf_store(p + j, e);
        total = vf_add(total, e);
    }
    return 1.0f / vf_sum(total);
}

/* columns c .. c + 16 b - 1 (the last vector may be shorter) of the outputs of n queries */
INLINE void mix_columns(const group *g, int32_t c, const float *factor, const int n, const int b) {
    const int32_t left = g->width - c;
    vf            sums[MAX_Q][4];
    UNROLL for (int a = 0; a < n; a++)
        UNROLL for (int i = 0; i < b; i++) sums[a][i] = vf_all(0);
    for (int32_t j = 0; j < g->count; j++) {
        const float *row = g->v + g->v_at[j] + c;
        UNROLL for (int i = 0; i < b; i++) {
            const vf v = b > 1 ? vf_load(row + 16 * i) : load_columns(row, left);
            UNROLL for (int a = 0; a < n; a++)
                sums[a][i] = vf_fma(vf_all(g->p[a][j]), v, sums[a][i]);
        }
    }
    UNROLL for (int a = 0; a < n; a++)
        UNROLL for (int i = 0; i < b; i++) {
            const vf y = vf_mul(sums[a][i], vf_all(factor[a]));
            if (b > 1 || left >= 16) vf_store(g->out[a] + c + 16 * i, y);
            else vf_store_part(g->out[a] + c, y, left);
        }
}

INLINE void attend_group(const group *g, float *factor, const int n) {
    const float scale = 1.0f / sqrtf((float)g->width);
    int32_t     c = 0;
    for (int32_t j = 0; j < g->count; j += 16 / n) score_block(g, j, scale, n);
    UNROLL for (int a = 0; a < n; a++) factor[a] = soften(g->p[a], g->count);
    for (; c + 64 <= g->width; c += 64) mix_columns(g, c, factor, n, 4);
    for (; c < g->width; c += 16) mix_columns(g, c, factor, n, 1);
}

static void attend_one(const group *g, float *factor) { attend_group(g, factor, 1); }
static void attend_two(const group *g, float *factor) { attend_group(g, factor, 2); }
static void attend_four(const group *g, float *factor) { attend_group(g, factor, 4); }

/* how many queries from i on see the same keys: 1, 2 or 4 */
static int32_t sharing(const pk_attention *see, int32_t i, int32_t end) {
    int32_t n = 1;
    while (n < MAX_Q && i + n < end && see->first[i + n] == see->first[i] &&
           see->count[i + n] == see->count[i])
        n++;
    return n == 3 ? 2 : n;
}

/* where the rows of the keys are, in floats; past the last key it is repeated, and its scores unused */
static void locate(size_t *at, const pk_attention *see, int32_t i, int32_t stride) {
    const int32_t count = see->count[i], first = see->first[i];
    for (int32_t j = 0; j < count; j++)
        at[j] = (size_t)(see->index ? see->index[first + j] : first + j) * (size_t)stride;
    for (int32_t j = count; j % 16; j++) at[j] = at[count - 1];
}

/* scratch: k_at and v_at, then the scores of each query */
static group group_of(const pk_attend_job *job, int32_t i, int32_t n, float *scratch) {
    const int32_t count = job->see->count[i];
    const size_t  room = ((size_t)count + 15) / 16 * 16;
    size_t       *at = (size_t *)(void *)scratch;
    group         g = { .k = job->k.data, .v = job->v.data, .k_at = at, .v_at = at + room,
                        .count = count, .width = job->width };
    if (count > 0) {
        locate(at, job->see, i, job->k.stride);
        locate(at + room, job->see, i, job->v.stride);
    }
    for (int32_t a = 0; a < n; a++) {
        g.q[a] = job->q.data + (size_t)(i + a) * (size_t)job->q.stride;
        g.out[a] = job->out.data + (size_t)(i + a) * (size_t)job->out.stride;
        g.p[a] = (float *)(at + 2 * room) + (size_t)a * room;
    }
    return g;
}

/* the same group, `columns` further to the right */
static group move(group g, size_t columns) {
    g.k += columns, g.v += columns;
    for (int a = 0; a < MAX_Q; a++) {
        if (g.q[a]) g.q[a] += columns, g.out[a] += columns;
    }
    return g;
}

/* adds this head's share to the attention weights of the group; the first head clears them */
static void add_weights(const pk_attention *see, const group *g, int32_t i, int32_t n, int32_t head,
                        const float *factor) {
    for (int32_t a = 0; a < n; a++) {
        float *weights = see->weights + (size_t)(i + a) * (size_t)see->weights_stride;
        if (head == 0) memset(weights, 0, (size_t)see->weights_stride * sizeof *weights);
        for (int32_t j = 0; j < g->count; j++)
            weights[j] += g->p[a][j] * (factor[a] / (float)see->heads);
    }
}

static void attend_head(const pk_attend_job *job, const group *g, int32_t i, int32_t n, int32_t head) {
    float factor[MAX_Q] = { 0 };
    if (g->count > 0) (n == 4 ? attend_four : n == 2 ? attend_two : attend_one)(g, factor);
    else for (int32_t a = 0; a < n; a++) memset(g->out[a], 0, (size_t)g->width * sizeof(float));
    if (job->see->weights) add_weights(job->see, g, i, n, head, factor);
}

void PK_KERNEL(attend)(const pk_attend_job *job, int32_t first_query, int32_t n_queries,
                       int32_t first_head, int32_t n_heads, float *scratch) {
    const int32_t end = first_query + n_queries;
    for (int32_t i = first_query, n; i < end; i += n) {
        n = sharing(job->see, i, end);
        const group all = group_of(job, i, n, scratch);
        for (int32_t head = first_head; head < first_head + n_heads; head++) {
            const group g = move(all, (size_t)head * (size_t)job->width);
            attend_head(job, &g, i, n, head);
        }
    }
}
