/* golden_data.h - reading what transformers computed with the fixtures (tools/make_fixtures.py).
 *
 * golden.json holds sentences, ids and outputs; golden.safetensors encoder states and logits. A
 * file that is not as it should be fails the test at once: these are our own files. */
#ifndef PK_GOLDEN_DATA_H
#define PK_GOLDEN_DATA_H
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checkpoint/stored.h"
#include "pronk.h"

#define GOLDEN_FOLDER "tests/data/models"
enum { GOLDEN_PATH = 256, GOLDEN_IDS = 64 };

typedef struct golden_ids {
    int32_t id[GOLDEN_IDS], n;
} golden_ids;

static inline void golden_path(char *out, const char *fixture, const char *file) {
    const int n =
        snprintf(out, GOLDEN_PATH, "%s/%s%s%s", GOLDEN_FOLDER, fixture, *file ? "/" : "", file);
    assert_in_range(n, 1, GOLDEN_PATH - 1);
}

static inline json_t *golden_open(const char *fixture) {
    char         path[GOLDEN_PATH];
    json_error_t error;
    golden_path(path, fixture, "golden.json");
    json_t *root = json_load_file(path, 0, &error);
    if (!root) fail_msg("%s: %s", path, error.text);
    return root;
}

static inline json_t *golden_get(const json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!value) fail_msg("golden.json has no \"%s\"", key);
    return value;
}

static inline golden_ids golden_read_ids(const json_t *list) {
    golden_ids out = { .n = (int32_t)json_array_size(list) };
    assert_in_range(out.n, 0, GOLDEN_IDS);
    for (int32_t i = 0; i < out.n; i++)
        out.id[i] = (int32_t)json_integer_value(json_array_get(list, (size_t)i));
    return out;
}

/* a number of the object, or what is normal where it has none */
static inline double golden_number(const json_t *object, const char *key, double normal) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : normal;
}

static inline bool golden_same(const golden_ids *want, const int32_t *id, int32_t n) {
    return want->n == n && (n == 0 || memcmp(want->id, id, (size_t)n * sizeof *id) == 0);
}

static inline void golden_print_ids(const char *what, const int32_t *id, int32_t n) {
    print_error("    %s:", what);
    for (int32_t i = 0; i < n; i++) print_error(" %d", (int)id[i]);
    print_error("\n");
}

/* largest distance between a stored tensor and n floats; fails when the shapes differ */
static inline double golden_distance(const pk_stored *s, const char *kind, size_t number,
                                     const float *got, size_t rows, size_t cols) {
    char   name[64];
    double most = 0;
    snprintf(name, sizeof name, "%s.%zu", kind, number);
    const pk_stored_tensor *t = pk_stored_find(s, name);
    if (!t) fail_msg("golden.safetensors has no %s", name);
    assert_int_equal(t->n_dims, 2);
    assert_int_equal(t->dim[0], rows);
    assert_int_equal(t->dim[1], cols);
    for (size_t i = 0; i < rows * cols; i++) {
        const double distance = fabs((double)pk_stored_get(t, i) - (double)got[i]);
        if (!(distance <= most)) most = distance; /* a NaN stays */
    }
    return most;
}
#endif
