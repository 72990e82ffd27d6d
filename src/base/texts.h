/* texts.h - a growing list of texts, each a copy of its own. */
#ifndef PK_BASE_TEXTS_H
#define PK_BASE_TEXTS_H
#include "base/memory.h"

typedef struct pk_texts {
    char **item;
    size_t n;
} pk_texts;

static inline pk_status pk_texts_add(pk_texts *t, const char *text, size_t size) {
    /* there is always room for a power of two */
    if ((t->n & (t->n - 1)) == 0) PK_TRY(PK_GROW(&t->item, t->n ? 2 * t->n : 1));
    PK_TRY(pk_memory_copy_text(text, size, &t->item[t->n]));
    t->n++;
    return PK_OK;
}

static inline void pk_texts_free(pk_texts *t) {
    for (size_t i = 0; i < t->n; i++) pk_memory_give(t->item[i]);
    pk_memory_give(t->item);
    *t = (pk_texts){ 0 };
}
#endif
