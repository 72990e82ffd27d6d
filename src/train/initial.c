/* initial.c - first weights from a counter-based generator.
 *
 * Matrices are Xavier-uniform (Glorot and Bengio 2010), tables normal, positions sinusoidal. A
 * number depends on seed, name and index alone, so neither order nor device changes it. */
#include "train/initial.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

static const double TWO_PI = 6.283185307179586;

/* uniform in (0, 1) */
static double uniform(uint64_t key, uint64_t i) {
    return ((double)(pk_mix(key + i * PK_GOLDEN) >> 11) + 0.5) * 0x1p-53;
}

/* Box and Muller's way from two uniform numbers to a normal one */
static double normal(uint64_t key, uint64_t i) {
    return sqrt(-2 * log(uniform(key, 2 * i))) * cos(TWO_PI * uniform(key, 2 * i + 1));
}

/* Queries, keys and values lie end to end in one matrix; each part is (D, D) for itself, and
 * smaller by 1/sqrt 2, as if the three were one */
static double bound_of(const pk_parameter *one) {
    const bool   parts = one->role == PK_ROLE_PROJECTION;
    const double outputs = parts ? one->cols : one->rows;
    return (parts ? sqrt(0.5) : 1) * sqrt(6.0 / (outputs + one->cols));
}

/* uniform in [-bound, bound], bound = sqrt(6 / (inputs + outputs)) */
static void fill_matrix(const pk_parameter *one, uint64_t key, float *out) {
    const double bound = bound_of(one);
    const size_t n = (size_t)one->rows * (size_t)one->cols;
    for (size_t i = 0; i < n; i++) out[i] = (float)(bound * (2 * uniform(key, i) - 1));
}

/* embeddings: normal with deviation 1/sqrt(D); the row of the padding is zero */
static void fill_table(const pk_parameter *one, const pk_config *c, uint64_t key, float *out) {
    const size_t cols = (size_t)one->cols, n = (size_t)one->rows * cols;
    const double deviation = 1 / sqrt(one->cols);
    for (size_t i = 0; i < n; i++) out[i] = (float)(deviation * normal(key, i));
    if (c->pad >= 0 && c->pad < one->rows)
        memset(out + (size_t)c->pad * cols, 0, cols * sizeof *out);
}

/* sines in the first half of a row, cosines in the second, as MarianMT has them */
static void fill_positions(const pk_parameter *one, float *out) {
    const int32_t dim = one->cols, half = (dim + 1) / 2;
    for (int32_t i = 0; i < dim; i++) {
        const double wavelength = pow(10000, 2.0 * (i < half ? i : i - half) / dim);
        for (int32_t pos = 0; pos < one->rows; pos++) {
            const double angle = pos / wavelength;
            out[(size_t)pos * (size_t)dim + (size_t)i] =
                (float)(i < half ? sin(angle) : cos(angle));
        }
    }
}

static void fill_all(float *out, size_t n, float value) {
    for (size_t i = 0; i < n; i++) out[i] = value;
}

void pk_initial_weights(const pk_parameter *one, const pk_config *c, uint64_t seed, float *out) {
    const uint64_t key = pk_mix(pk_mix(seed + 1) ^ pk_hash(one->name, strlen(one->name)));
    const size_t   n = (size_t)one->rows * (size_t)one->cols;
    switch (one->role) {
    case PK_ROLE_EMBEDDING:
    case PK_ROLE_OUTPUT: fill_table(one, c, key, out); break;
    case PK_ROLE_PROJECTION:
    case PK_ROLE_DENSE: fill_matrix(one, key, out); break;
    case PK_ROLE_POSITIONS: fill_positions(one, out); break;
    case PK_ROLE_GAIN: fill_all(out, n, 1); break;
    case PK_ROLE_BIAS:
    case PK_ROLE_OUTPUT_BIAS:
    case PK_ROLE_SHIFT: fill_all(out, n, 0); break;
    }
}
