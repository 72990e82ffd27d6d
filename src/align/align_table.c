/* align_table.c - looks words up in a lexical table and finds the best links of a pair.
 *
 * Probabilities are compared as fast_align compares them: null wins ties, then the earlier word.
 * The prior is a product from two small tables; where two candidates come so close that rounding
 * could decide, both are computed over again by fast_align's own formula. */
#include "align/align_table.h"

#include <math.h>

#include "align/align_diagonal.h"
#include "base/memory.h"

static const double close_call = 1e-12; /* relative: beyond that rounding cannot decide */
static const double beam = -4;          /* what is within e^-4 of the best is printed */

void pk_align_table_free(pk_align_table *t) {
    pk_memory_give((void *)t->row);
    pk_memory_give((void *)t->word);
    pk_memory_give((void *)t->prob);
    pk_memory_give((void *)t->null);
    *t = (pk_align_table){ 0 };
}

void pk_align_scratch_free(pk_align_scratch *s) {
    for (int side = 0; side < 2; side++) {
        pk_memory_give(s->rising[side]);
        pk_memory_give(s->falling[side]);
    }
    pk_memory_give(s->normaliser);
    pk_memory_give(s->scale);
    pk_memory_give(s->sum);
    pk_memory_give(s->best);
    pk_memory_give(s->best_prob);
    pk_memory_give(s->link);
    *s = (pk_align_scratch){ 0 };
}

/* arrays for sentences of up to `length` words; old contents are not kept */
static pk_status make_room(pk_align_scratch *s, size_t length) {
    const size_t room = 2 * length;
    if (length + 1 <= s->room) return PK_OK;
    pk_align_scratch_free(s);
    for (int side = 0; side < 2; side++) {
        PK_TRY(PK_TAKE(&s->rising[side], room));
        PK_TRY(PK_TAKE(&s->falling[side], room));
    }
    PK_TRY(PK_TAKE(&s->normaliser, room));
    PK_TRY(PK_TAKE(&s->scale, room));
    PK_TRY(PK_TAKE(&s->sum, room));
    PK_TRY(PK_TAKE(&s->best, room));
    PK_TRY(PK_TAKE(&s->best_prob, room));
    PK_TRY(PK_TAKE(&s->link, room));
    s->room = room;
    return PK_OK;
}

/* The entry of the row that holds the word, by halving without branches that depend on data. No
 * more than w entries can lie before that of word w, and frequent words have low numbers: most
 * searches are short. */
static float row_prob(const uint32_t *word, const float *prob, size_t n, uint32_t wanted) {
    const uint32_t *at = word;
    if (n > wanted) n = (size_t)wanted + 1;
    if (n == 0) return PK_ALIGN_FLOOR;
    for (size_t half; n > 1; n -= half) { /* a multiplication: with ?: compilers may branch */
        half = n / 2;
        at += half * (at[half - 1] < wanted);
    }
    return *at == wanted ? prob[at - word] : PK_ALIGN_FLOOR;
}

/* an unknown word has the floor's probability */
static float null_prob(const pk_align_table *t, uint32_t word) {
    return word < t->n_generated ? t->null[word] : PK_ALIGN_FLOOR;
}

/* exp(+-tension k / length): see pk_align_curves */
static void fill_curves(double *rising, double *falling, uint32_t length, double tension) {
    for (uint32_t k = 1; k <= length; k++) {
        rising[k] = exp(tension * k / length);
        falling[k] = 1 / rising[k];
    }
}

/* fast_align's own product, bit by bit */
static double exact(const pk_align_table *t, const pk_align_scratch *s, float prob, uint32_t i,
                    uint32_t n, uint32_t j, uint32_t m) {
    return (double)prob * (exp(-pk_align_distance(j, i, m, n) * t->tension) / s->normaliser[j]);
}

/* whether p beats the best so far; on a close call both are compared exactly */
static bool is_better(const pk_align_table *t, const pk_align_scratch *s, double p, float prob,
                      uint32_t i, uint32_t n, uint32_t j, uint32_t m) {
    const double best = s->best[j];
    if (p > best * (1 + close_call)) return true;
    if (p < best * (1 - close_call) || s->link[j] == 0) return false;
    return exact(t, s, prob, i, n, j, m) > exact(t, s, s->best_prob[j], s->link[j], n, j, m);
}

/* Adds p(j, i) = t(j | i) x prior to the sum of each generated word j, and keeps the best i. */
static void add_given(const pk_align_table *t, uint32_t given, uint32_t i, uint32_t n,
                      const uint32_t *generated, uint32_t m, pk_align_scratch *s) {
    const bool     known = given < t->n_given;
    const uint64_t first = known ? t->row[given] : 0;
    const size_t   size = known ? (size_t)(t->row[given + 1] - first) : 0;
    const double   rising = s->rising[0][i], falling = s->falling[0][i];
    for (uint32_t j = 1; j <= m; j++) {
        const float  prob = row_prob(t->word + first, t->prob + first, size, generated[j - 1]);
        const double a = rising * s->falling[1][j], b = falling * s->rising[1][j];
        const double p = (double)prob * (a < b ? a : b) * s->scale[j];
        s->sum[j] += p;
        if (!is_better(t, s, p, prob, i, n, j, m)) continue;
        s->best[j] = p;
        s->best_prob[j] = prob;
        s->link[j] = i;
    }
}

/* Arrays are indexed from 1 here, since link 0 is null; the result is moved down by one. */
pk_status pk_align_best(const pk_align_table *t, const uint32_t *given, uint32_t n,
                        const uint32_t *generated, uint32_t m, pk_align_scratch *s,
                        double *log_prob) {
    PK_TRY(make_room(s, (size_t)(n > m ? n : m) + 1));
    fill_curves(s->rising[0], s->falling[0], n, t->tension);
    fill_curves(s->rising[1], s->falling[1], m, t->tension);
    for (uint32_t j = 1; j <= m; j++) {
        s->normaliser[j] = pk_align_normaliser(j, m, n, t->tension) / (1 - t->p_null);
        s->scale[j] = 1 / s->normaliser[j];
        s->sum[j] = s->best[j] = t->p_null * (double)null_prob(t, generated[j - 1]);
        s->link[j] = 0;
    }
    for (uint32_t i = 1; i <= n; i++) add_given(t, given[i - 1], i, n, generated, m, s);
    for (uint32_t j = 1; j <= m; j++) {
        *log_prob += log(s->sum[j]);
        s->link[j - 1] = s->link[j];
    }
    return PK_OK;
}

/* ---- as text ---- */

static void print_entry(pk_text given, pk_text generated, double log_prob, pk_buffer *out) {
    pk_buffer_add(out, given.data, given.size);
    pk_buffer_add(out, "\t", 1);
    pk_buffer_add(out, generated.data, generated.size);
    pk_buffer_print(out, "\t%.6g\n", log_prob);
}

/* a row; word NULL: entry i is word i */
static void print(pk_text given, const uint32_t *word, const float *prob, size_t n,
                  const pk_align_words *generated, pk_buffer *out) {
    double best = PK_ALIGN_FLOOR;
    for (size_t i = 0; i < n; i++) best = fmax(best, (double)prob[i]);
    for (size_t i = 0; i < n; i++) {
        const double   log_prob = log((double)prob[i]);
        const uint32_t w = word ? word[i] : (uint32_t)i;
        if (log_prob >= log(best) + beam)
            print_entry(given, pk_align_words_name(generated, w), log_prob, out);
    }
}

void pk_align_table_print_null(const pk_align_table *t, const pk_align_words *generated,
                               pk_buffer *out) {
    print((pk_text){ "<eps>", 5 }, NULL, t->null, t->n_generated, generated, out);
}

void pk_align_table_print_row(const pk_align_table *t, uint32_t row, const pk_align_words *given,
                              const pk_align_words *generated, pk_buffer *out) {
    print(pk_align_words_name(given, row), t->word + t->row[row], t->prob + t->row[row],
          (size_t)(t->row[row + 1] - t->row[row]), generated, out);
}
