/* attend_part.c - attention of some queries and heads over the keys they see.
 *
 * Rows of keys and values are often a power of two bytes apart. Then one head's columns of many
 * rows fall into few sets of the first-level cache. Hence the order of loops: four keys at a
 * time, all heads of each, which reads whole rows. Up to four neighbouring queries that see the
 * same keys are computed together.
 *
 * Orders of sums, the same for a query alone and for one of four:
 *   score of a query and a key   lane by lane over the head's width, then a fixed tree (vf_sum16)
 *   sum of the softmax           lane by lane over the keys, then vf_sum
 *   output                       one chain over the keys in order
 *   division by the softmax sum  last, on the output */
#include "backend/cpu/kernels/kernel_list.h"

enum { MAX_Q = PK_ATTEND_QUERIES, MAX_H = PK_ATTEND_HEADS };
enum { KEYS = 4, MIX_KEYS = 8 }; /* keys scored together; values added up together */

/* one group of queries and up to MAX_H heads */
typedef struct group {
    const void   *k, *v;       /* row 0, at the first head's first column */
    const size_t *k_at, *v_at; /* (count, padded to 16) where the rows of the keys are */
    int32_t       count, width, heads;
    size_t        room;     /* count, padded to 16 */
    const float  *q[MAX_Q]; /* at the first head's first column */
    float        *out[MAX_Q];
    float        *p[MAX_Q];             /* (heads, room): scores, then weights */
    float         factor[MAX_Q][MAX_H]; /* 1 / sum of the weights */
} group;

/* Kernels exist for heads that are 64 wide and for all others; each for keys and values of 32 and
 * of 16 bits. Plain C gains nothing from a fixed width or from unrolling, and takes minutes to
 * compile. */
enum kind { WIDTH_64, WIDTH_ANY, HALF = 2 };
#ifdef PK_ISA_generic
#undef UNROLL
#define UNROLL
#define FIXED(kind) WIDTH_ANY
#else
#define FIXED(kind) kind
#endif

INLINE bool any_width(const enum kind kind) { return kind & WIDTH_ANY; }
/* a constant after inlining, where the kind fixes it */
INLINE int32_t width_of(const group *g, const enum kind kind) {
    return any_width(kind) ? g->width : 64;
}
INLINE vf load_columns(const float *x, int32_t left, const enum kind kind) {
    return !any_width(kind) || left >= 16 ? vf_load(x) : vf_load_part(x, left);
}

/* the last numbers of a head whose width is no multiple of 16 */
static __attribute__((noinline)) vf load_half_rest(const uint16_t *half, int32_t left) {
    uint16_t part[16] = { 0 };
    memcpy(part, half, (size_t)left * sizeof *half);
    return vf_load_f16(part);
}

/* sixteen numbers (or as many as are left) of the keys or values, from element `at` on */
INLINE vf load_stored(const void *x, size_t at, int32_t left, const enum kind kind) {
    if (!(kind & HALF)) return load_columns((const float *)x + at, left, kind);
    const uint16_t *half = (const uint16_t *)x + at;
    return !any_width(kind) || left >= 16 ? vf_load_f16(half) : load_half_rest(half, left);
}
INLINE void store_columns(float *x, vf v, int32_t left, const enum kind kind) {
    if (!any_width(kind) || left >= 16)
        vf_store(x, v);
    else
        vf_store_part(x, v, left);
}

/* sums[a * step + i]: products of head columns of n queries and KEYS keys, lane by lane */
INLINE void dot_head(const group *g, int32_t j, size_t column, vf *sums, const int n,
                     const int step, const enum kind kind) {
    const int32_t width = width_of(g, kind);
    UNROLL for (int32_t c = 0; c < width; c += 16) {
        const int32_t left = width - c;
        vf            q[MAX_Q];
        UNROLL for (int a = 0; a < n; a++) q[a] = load_columns(g->q[a] + column + c, left, kind);
        UNROLL for (int i = 0; i < KEYS; i++) {
            const vf key = load_stored(g->k, g->k_at[j + i] + column + (size_t)c, left, kind);
            UNROLL for (int a = 0; a < n; a++) sums[a * step + i] =
                vf_fma(q[a], key, sums[a * step + i]);
        }
    }
}

/* scores of n queries, 4 / n heads and KEYS keys starting at key j: sixteen sums at once */
INLINE void score_block(const group *g, int32_t j, int32_t head, vf scale, const int n,
                        const enum kind kind) {
    const int heads = 4 / n;
    vf        sums[16];
    float     scores[16];
    UNROLL for (int i = 0; i < 16; i++) sums[i] = vf_all(0);
    UNROLL for (int h = 0; h < heads; h++) {
        const int32_t here = head + h < g->heads ? head + h : g->heads - 1;
        dot_head(g, j, (size_t)here * (size_t)width_of(g, kind), sums + h * KEYS, n, heads * KEYS,
                 kind);
    }
    vf_store(scores, vf_mul(vf_sum16(sums), scale));
    UNROLL for (int a = 0; a < n; a++)
        UNROLL for (int h = 0; h < heads; h++) if (head + h < g->heads)
            memcpy(g->p[a] + (size_t)(head + h) * g->room + j, scores + (a * heads + h) * KEYS,
                   KEYS * sizeof(float));
}

/* scores to exp(score - largest); returns 1 / their sum. Lanes past the end become zero. */
INLINE float softmax(float *p, int32_t count) {
    vf            top = vf_all(-INFINITY), total = vf_all(0);
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

/* Adds m weighted values, from key j on, to b vectors of output columns of one head. The first keys
 * (j = 0) start from zero instead of the output. */
INLINE void mix_columns(const group *g, int32_t j, int32_t head, int32_t c, const int n,
                        const int b, const int m, const enum kind kind) {
    const int32_t left = g->width - c;
    const size_t  column = (size_t)head * (size_t)width_of(g, kind) + (size_t)c;
    const size_t *at = g->v_at + j;
    const float  *p[MAX_Q];
    float        *out[MAX_Q];
    vf            sums[MAX_Q][4];
    UNROLL for (int a = 0; a < n; a++) {
        p[a] = g->p[a] + (size_t)head * g->room + (size_t)j;
        out[a] = g->out[a] + column;
        UNROLL for (int i = 0; i < b; i++) sums[a][i] =
            j ? load_columns(out[a] + 16 * i, left, kind) : vf_all(0);
    }
    UNROLL for (int key = 0; key < m; key++) {
        UNROLL for (int i = 0; i < b; i++) {
            const vf value = load_stored(g->v, at[key] + column + 16 * (size_t)i, left, kind);
            UNROLL for (int a = 0; a < n; a++) sums[a][i] =
                vf_fma(vf_all(p[a][key]), value, sums[a][i]);
        }
    }
    UNROLL for (int a = 0; a < n; a++) UNROLL for (int i = 0; i < b; i++)
        store_columns(out[a] + 16 * i, sums[a][i], left, kind);
}

/* m keys from j on: all heads */
INLINE void mix_block(const group *g, int32_t j, const int n, const int m, const enum kind kind) {
    const int32_t width = width_of(g, kind);
    for (int32_t head = 0; head < g->heads; head++) {
        int32_t c = 0;
        for (; c + 64 <= width; c += 64) mix_columns(g, j, head, c, n, 4, m, kind);
        for (; c < width; c += 16) mix_columns(g, j, head, c, n, 1, m, kind);
    }
}

/* out *= 1 / sum of the weights, for every query and head */
INLINE void divide(const group *g, const int n, const enum kind kind) {
    const int32_t width = width_of(g, kind);
    for (int a = 0; a < n; a++)
        for (int32_t head = 0; head < g->heads; head++) {
            float   *out = g->out[a] + (size_t)head * (size_t)width;
            const vf factor = vf_all(g->factor[a][head]);
            for (int32_t c = 0; c < width; c += 16)
                store_columns(out + c, vf_mul(load_columns(out + c, width - c, kind), factor),
                              width - c, kind);
        }
}

/* n queries of a group: scores, softmax, weighted values; n and kind are constants after
 * inlining */
INLINE void attend_group(group *g, const int n, const enum kind kind) {
    const vf scale = vf_all(1.0f / sqrtf((float)width_of(g, kind)));
    for (int32_t j = 0; j < g->count; j += KEYS)
        for (int32_t head = 0; head < g->heads; head += 4 / n)
            score_block(g, j, head, scale, n, kind);
    for (int a = 0; a < n; a++)
        for (int32_t head = 0; head < g->heads; head++)
            g->factor[a][head] = softmax(g->p[a] + (size_t)head * g->room, g->count);
    int32_t j = 0;
    for (; j + MIX_KEYS <= g->count; j += MIX_KEYS) mix_block(g, j, n, MIX_KEYS, kind);
    if (g->count - j >= 4) mix_block(g, j, n, 4, kind), j += 4;
    if (g->count - j >= 2) mix_block(g, j, n, 2, kind), j += 2;
    if (g->count - j >= 1) mix_block(g, j, n, 1, kind);
    divide(g, n, kind);
}

#define DEFINE_KIND(n)                                                                     \
    static void attend_##n##_64(group *g) { attend_group(g, n, FIXED(WIDTH_64)); }         \
    static void attend_##n##_any(group *g) { attend_group(g, n, WIDTH_ANY); }              \
    static void attend_##n##_64h(group *g) { attend_group(g, n, FIXED(WIDTH_64) | HALF); } \
    static void attend_##n##_anyh(group *g) { attend_group(g, n, WIDTH_ANY | HALF); }
DEFINE_KIND(1)
DEFINE_KIND(2)
DEFINE_KIND(4)

/* how many queries from i on see the same keys: 1, 2 or 4 */
static int32_t sharing(const pk_attention *see, int32_t i, int32_t end) {
    int32_t n = 1;
    while (n < MAX_Q && i + n < end && see->first[i + n] == see->first[i] &&
           see->count[i + n] == see->count[i])
        n++;
    return n == 3 ? 2 : n;
}

/* where the rows of the keys are, in elements; past the last key it is repeated, and those
 * scores are not used */
static void locate(size_t *at, const pk_attention *see, int32_t i, int32_t stride) {
    const int32_t count = see->count[i], first = see->first[i];
    for (int32_t j = 0; j < count; j++)
        at[j] = (size_t)(see->index ? see->index[first + j] : first + j) * (size_t)stride;
    for (int32_t j = count; j % 16; j++) at[j] = at[count - 1];
}

/* scratch: k_at and v_at, then the scores of each query */
static void begin_group(group *g, const pk_attend_job *job, int32_t i, float *scratch) {
    size_t *at = (size_t *)(void *)scratch;
    g->count = job->see->count[i];
    g->width = job->width;
    g->room = ((size_t)g->count + 15) / 16 * 16;
    g->k_at = at, g->v_at = at + g->room;
    if (g->count > 0) {
        locate(at, job->see, i, job->k.stride);
        locate(at + g->room, job->see, i, job->v.stride);
    }
    for (int a = 0; a < MAX_Q; a++)
        g->p[a] = (float *)(at + 2 * g->room) + (size_t)a * MAX_H * g->room;
}

static const void *stored_at(pk_tensor t, size_t column) {
    if (t.type == PK_F16) return (const uint16_t *)(const void *)t.data + column;
    return t.data + column;
}

/* points the group at heads head .. head + heads - 1 of queries i .. i + n - 1 */
static void choose_heads(group *g, const pk_attend_job *job, int32_t i, int32_t n, int32_t head,
                         int32_t heads) {
    const size_t column = (size_t)head * (size_t)job->width;
    g->heads = heads;
    g->k = stored_at(job->k, column), g->v = stored_at(job->v, column);
    for (int32_t a = 0; a < n; a++) {
        g->q[a] = job->q.data + (size_t)(i + a) * (size_t)job->q.stride + column;
        g->out[a] = job->out.data + (size_t)(i + a) * (size_t)job->out.stride + column;
    }
}

/* adds these heads' share to the attention weights of the group; the first head clears them */
static void add_weights(const pk_attention *see, const group *g, int32_t i, int32_t n,
                        int32_t first) {
    for (int32_t a = 0; a < n; a++) {
        float *weights = see->weights + (size_t)(i + a) * (size_t)see->weights_stride;
        if (first == 0) memset(weights, 0, (size_t)see->weights_stride * sizeof *weights);
        for (int32_t head = 0; head < g->heads; head++) {
            const float *p = g->p[a] + (size_t)head * g->room;
            for (int32_t j = 0; j < g->count; j++)
                weights[j] += p[j] * (g->factor[a][head] / (float)see->heads);
        }
    }
}

/* calls the kernel for n queries; a group that sees no keys gets zeros */
static void attend_by_kind(group *g, int32_t n, bool half) {
    static void (*const table[3][2][2])(group * g) = {
        { { attend_1_64, attend_1_any }, { attend_1_64h, attend_1_anyh } },
        { { attend_2_64, attend_2_any }, { attend_2_64h, attend_2_anyh } },
        { { attend_4_64, attend_4_any }, { attend_4_64h, attend_4_anyh } },
    };
    if (g->count > 0) {
        table[n / 2][half][g->width != 64](g);
        return;
    }
    const size_t bytes = (size_t)g->heads * (size_t)g->width * sizeof(float);
    for (int32_t a = 0; a < n; a++) memset(g->out[a], 0, bytes);
}

void PK_KERNEL(attend)(const pk_attend_job *job, int32_t first_query, int32_t n_queries,
                       int32_t first_head, int32_t n_heads, float *scratch) {
    const int32_t end = first_query + n_queries, last = first_head + n_heads;
    group         g = { 0 };
    for (int32_t i = first_query, n; i < end; i += n) {
        n = sharing(job->see, i, end);
        begin_group(&g, job, i, scratch);
        for (int32_t head = first_head; head < last; head += MAX_H) {
            choose_heads(&g, job, i, n, head, last - head < MAX_H ? last - head : MAX_H);
            attend_by_kind(&g, n, job->k.type == PK_F16);
            if (job->see->weights) add_weights(job->see, &g, i, n, head);
        }
    }
}
