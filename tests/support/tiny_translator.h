/* tiny_translator.h - a translator of a tiny model, and lines for it: for tests of the public interface. */
#ifndef PK_TESTS_TINY_TRANSLATOR_H
#define PK_TESTS_TINY_TRANSLATOR_H
#include <string.h>

#include "check.h"
#include "pronk.h"

#define TINY_MODEL "tests/data/models/marian-relu"

static const char *const lines[] = {
    "the cat sees a house",
    "a small dog",
    "the sun",
    "we go to the river and we see the old boat",
    "good",
    "she reads a book in the garden",
    "",
    "  two  spaces  ",
    "x",
    "the old man and the sea",
};
enum { N_LINES = sizeof lines / sizeof *lines };

/* type: the numbers to compute with; NULL: as stored */
static inline pk_model *open_model(const char *type) {
    pk_model *m;
    ASSERT_OK(pk_model_open(TINY_MODEL, PK_OPTIONS(pk_model_options, .type = type), &m));
    return m;
}

typedef struct opened { /* a model and a translator of it */
    pk_model      *m;
    pk_translator *t;
} opened;

static inline opened open_both(const char *path, const pk_translator_options *o) {
    opened both;
    ASSERT_OK(pk_model_open(path, NULL, &both.m));
    ASSERT_OK(pk_translator_open(both.m, o, &both.t));
    return both;
}

static inline void close_both(opened *both) {
    pk_translator_close(both->t);
    pk_model_close(both->m);
}
#endif
