/* byte_ranges.c - a list of stretches of a text. */
#include <stdlib.h>

#include "markup/protect.h"

pk_status pk_byte_ranges_add(pk_byte_ranges *r, size_t begin, size_t end) {
    PK_TRY(PK_RESERVE(&r->range, r->n + 1, &r->room));
    r->range[r->n++] = (pk_byte_range){ begin, end };
    return PK_OK;
}

static int by_begin(const void *a, const void *b) {
    const pk_byte_range *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

void pk_byte_ranges_tidy(pk_byte_ranges *r) {
    size_t n = 0, behind = 0;
    if (r->n) qsort(r->range, r->n, sizeof *r->range, by_begin);
    for (size_t i = 0; i < r->n; i++) {
        if (r->range[i].begin < behind) continue;
        behind = r->range[i].end;
        r->range[n++] = r->range[i];
    }
    r->n = n;
}

void pk_byte_ranges_free(pk_byte_ranges *r) {
    pk_memory_give(r->range);
    *r = (pk_byte_ranges){ 0 };
}
