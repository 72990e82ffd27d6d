/* viz_samples.h - traces with known answers, for the tests of viz: guesses, a chain, a drafter. */
#ifndef PK_TESTS_VIZ_SAMPLES_H
#define PK_TESTS_VIZ_SAMPLES_H
#include "cli_stubs.h"

#include "../../cli/viz.h"

enum { START = 0, PAD = 1, END = 2, HOSTILE = 3, MASK = 4, A = 10, B, C, D };

static inline const char *test_name(const void *names, int32_t id) {
    static const char *const piece[] = { "<s>", "<pad>", "</s>", "\xe2\x96\x81<script>\"&'\\",
                                         "<mask>" };
    static char              other[16];
    (void)names;
    if (id >= 0 && id <= MASK) return piece[id];
    snprintf(other, sizeof other, "\xe2\x96\x81t%d", (int)id);
    return other;
}

static const float half = -0.693147f;

static inline pk_viz begin(void) {
    return (pk_viz){ .sentence = "in", .translation = "out", .decode = "pj", .name = test_name };
}

/* an ask about the position behind the token that it is fed, or about one further on */
typedef struct row {
    int32_t position, token, best;
    float   log_prob;
    int32_t parent, kept;
} row;

static inline void trace_rows(pk_viz *v, int32_t model, int32_t ahead, const row *r, int32_t n) {
    pk_trace_ask ask[16];
    for (int32_t i = 0; i < n; i++)
        ask[i] = (pk_trace_ask){ .position = r[i].position,
                                 .token = r[i].token,
                                 .best = r[i].best,
                                 .log_prob = r[i].log_prob,
                                 .parent = r[i].parent,
                                 .kept = r[i].kept,
                                 .fed_at = r[i].position - 1 - ahead,
                                 .scored = model == 0 };
    pk_viz_trace(v, &(pk_trace_pass){ .n = n, .ask = ask, .model = model });
}

/* asks of one pass on a network */
#define PASS_ON(v, model, ahead, ...)                                             \
    do {                                                                          \
        const row row_[] = { __VA_ARGS__ };                                       \
        trace_rows(v, model, ahead, row_, (int32_t)(sizeof row_ / sizeof *row_)); \
    } while (0)
#define PASS(v, ...) PASS_ON(v, 0, 0, __VA_ARGS__)

/* Jacobi over A B C D END: C is right too early, C and D are fixed together, a guess is accepted,
 * one comes after a wrong one, and END is right, wrong and right again. */
static inline pk_viz sample(void) {
    static const int32_t token[] = { A, B, C, D, END };
    static const float   log_prob[] = { -0.105361f, half, half, half, 0 };
    pk_viz               v = begin();
    PASS(&v, { 0, START, A, half, -1, 1 }, { 1, PAD, 99, half, 0, 0 }, { 2, PAD, C, half, 1, 0 },
         { 3, PAD, 50, half, 2, 0 }, { 4, PAD, END, half, 3, 0 });
    PASS(&v, { 1, A, B, half, -1, 1 }, { 2, 99, C, half, 0, 0 }, { 3, C, 50, half, 1, 0 },
         { 4, 50, 7, half, 2, 0 });
    PASS(&v, { 2, B, C, half, -1, 1 }, { 3, C, D, half, 0, 1 }, { 4, 50, END, half, 1, 0 });
    PASS(&v, { 4, D, END, half, -1, 1 }, { 5, END, 7, half, 0, 0 });
    pk_viz_finish(&v, token, log_prob, 5);
    return v;
}

/* greedy over n tokens named from 100 on */
static inline pk_viz chain(size_t n) {
    int32_t *token = malloc(n * sizeof *token);
    pk_viz   v = begin();
    for (size_t i = 0; i < n; i++) {
        token[i] = 100 + (int32_t)i;
        PASS(&v, { (int32_t)i, token[i] - 1, token[i], half, -1, 1 });
    }
    pk_viz_finish(&v, token, NULL, n);
    free(token);
    return v;
}

/* A B C END: two tokens are drafted at masks, the first of them right, and the model checks */
static inline pk_viz drafted(void) {
    static const int32_t token[] = { A, B, C, END };
    static const float   log_prob[] = { half, half, half, half };
    pk_viz               v = begin();
    PASS_ON(&v, 1, -1, { -1, START, -1, 0, -1, 1 }, { 0, MASK, A, half, 0, 0 },
            { 1, MASK, 99, half, 1, 0 });
    PASS(&v, { 0, START, A, half, -1, 1 }, { 1, A, B, half, 0, 1 }, { 2, 99, 50, half, 1, 0 });
    PASS_ON(&v, 1, -1, { 0, A, -1, 0, -1, 1 }, { 1, B, -1, 0, 0, 1 }, { 2, MASK, C, half, 1, 0 },
            { 3, MASK, END, half, 2, 0 });
    PASS(&v, { 2, B, C, half, -1, 1 }, { 3, C, END, half, 0, 1 }, { 4, END, 50, half, 1, 0 });
    pk_viz_finish(&v, token, log_prob, 4);
    return v;
}

#endif
