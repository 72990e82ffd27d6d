/* align_symmetrise.c - intersect, union, grow-diag, final, final-and.
 *
 * grow-diag begins with the intersection and goes over the other links, in order of source and
 * then target, as long as it finds one to add: a link with a chosen neighbour (of eight) and a word
 * that has no link yet. final then adds forward links and after them reverse ones of which one
 * word has no link yet, final-and those of which neither has. */
#include "align/align_symmetrise.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- methods ---- */

#define METHOD_NAME(name, text) text,
static const char *const method_names[PK_ALIGN_N_METHODS] = { "",
                                                              PK_ALIGN_METHOD_MAP(METHOD_NAME) };

const char *pk_align_method_name(pk_align_method m) { return method_names[m]; }

pk_status pk_align_method_find(const char *name, pk_align_method *out) {
    for (int m = PK_ALIGN_ONE_WAY + 1; m < PK_ALIGN_N_METHODS; m++) {
        *out = (pk_align_method)m;
        if (!strcmp(name, method_names[m])) return PK_OK;
    }
#define METHOD_LIST(name, text) " " text
    PK_FAIL(PK_ARGUMENT,
            "cannot symmetrise by \"%s\": give one of" PK_ALIGN_METHOD_MAP(METHOD_LIST), name);
}

/* ---- the links of both directions, each once ---- */

static int compare(const void *a, const void *b) {
    const pk_align_point *x = a, *y = b;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* appends the links of one direction */
static void add_all(pk_align_symmetriser *s, const pk_align_links *l, bool reverse) {
    for (size_t i = 0; i < l->n; i++) {
        const pk_align_link k = l->link[i];
        s->point[s->n++] = (pk_align_point){ k.source, k.target, !reverse, reverse, false };
        if (k.source >= s->n_words[0]) s->n_words[0] = k.source + 1;
        if (k.target >= s->n_words[1]) s->n_words[1] = k.target + 1;
    }
}

/* a link of both directions becomes one point with both flags */
static void merge_equal(pk_align_symmetriser *s) {
    size_t n = 0;
    qsort(s->point, s->n, sizeof *s->point, compare);
    for (size_t i = 0; i < s->n; i++) {
        if (n && !compare(&s->point[n - 1], &s->point[i])) {
            s->point[n - 1].forward |= s->point[i].forward;
            s->point[n - 1].reverse |= s->point[i].reverse;
        } else {
            s->point[n++] = s->point[i];
        }
    }
    s->n = n;
}

/* a zeroed array of n elements, the old one where that is long enough */
static pk_status clear(void **array, size_t each, size_t n, size_t *room) {
    if (n > *room) {
        pk_memory_give(*array);
        *room = 0;
        PK_TRY(pk_memory_take(2 * n, each, array));
        *room = 2 * n;
    }
    memset(*array, 0, n * each);
    return PK_OK;
}

/* points sorted by source and target, and where each source word's points begin */
static pk_status collect(pk_align_symmetriser *s, const pk_align_links *forward,
                         const pk_align_links *reverse) {
    s->n = s->n_words[0] = s->n_words[1] = 0;
    PK_TRY(clear((void **)&s->point, sizeof *s->point, forward->n + reverse->n + 1, &s->room));
    add_all(s, forward, false);
    add_all(s, reverse, true);
    merge_equal(s);
    PK_TRY(clear((void **)&s->row, sizeof *s->row, (size_t)s->n_words[0] + 2, &s->word_room[0]));
    for (int side = 0; side < 2; side++)
        PK_TRY(clear((void **)&s->has_link[side], sizeof(bool), (size_t)s->n_words[side] + 1,
                     &s->word_room[1 + side]));
    for (size_t i = 0; i < s->n; i++) s->row[s->point[i].source + 1]++;
    for (uint32_t w = 0; w < s->n_words[0]; w++) s->row[w + 1] += s->row[w];
    return PK_OK;
}

/* ---- choosing ---- */

/* takes a link into the result */
static void choose(pk_align_symmetriser *s, pk_align_point *p) {
    p->chosen = true;
    s->has_link[0][p->source] = s->has_link[1][p->target] = true;
}

/* binary search for the target among the points of the source word */
static bool is_chosen(const pk_align_symmetriser *s, int64_t source, int64_t target) {
    if (source < 0 || source >= s->n_words[0]) return false;
    size_t at = s->row[source], n = s->row[source + 1] - at;
    while (n > 0) {
        const bool before = s->point[at + n / 2].target < target;
        at += before ? n / 2 + 1 : 0;
        n = before ? n - n / 2 - 1 : n / 2;
    }
    return at < s->row[source + 1] && s->point[at].target == target && s->point[at].chosen;
}

/* one of the eight around it is chosen */
static bool has_neighbour(const pk_align_symmetriser *s, const pk_align_point *p) {
    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++)
            if ((i || j) && is_chosen(s, (int64_t)p->source + i, (int64_t)p->target + j))
                return true;
    return false;
}

/* repeated until nothing is added: a link added late may be the neighbour of an earlier one */
static void grow_diag(pk_align_symmetriser *s) {
    for (bool added = true; added;) {
        added = false;
        for (size_t i = 0; i < s->n; i++) {
            pk_align_point *p = &s->point[i];
            const bool      both = s->has_link[0][p->source] && s->has_link[1][p->target];
            if (p->chosen || both || !has_neighbour(s, p)) continue;
            choose(s, p);
            added = true;
        }
    }
}

/* and: neither word may have a link yet; otherwise at least one of them has none */
static void add_final(pk_align_symmetriser *s, bool reverse, bool and) {
    for (size_t i = 0; i < s->n; i++) {
        pk_align_point *p = &s->point[i];
        const bool      a = s->has_link[0][p->source], b = s->has_link[1][p->target];
        if (!(reverse ? p->reverse : p->forward) || p->chosen || (and? a || b : a && b)) continue;
        choose(s, p);
    }
}

pk_status pk_align_symmetrise(pk_align_symmetriser *s, pk_align_method method,
                              const pk_align_links *forward, const pk_align_links *reverse,
                              pk_align_links *out) {
    const bool final = method == PK_ALIGN_GROW_DIAG_FINAL || method == PK_ALIGN_GROW_DIAG_FINAL_AND;
    PK_TRY(collect(s, forward, reverse));
    for (size_t i = 0; i < s->n; i++)
        if (method == PK_ALIGN_UNION || (s->point[i].forward && s->point[i].reverse))
            choose(s, &s->point[i]);
    if (method == PK_ALIGN_GROW_DIAG || final) grow_diag(s);
    for (int side = 0; side < 2 && final; side++)
        add_final(s, side == 1, method == PK_ALIGN_GROW_DIAG_FINAL_AND);
    out->n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->point[i].chosen)
            PK_TRY(pk_align_links_add(out, s->point[i].source, s->point[i].target));
    return PK_OK;
}

void pk_align_symmetriser_free(pk_align_symmetriser *s) {
    pk_memory_give(s->point);
    pk_memory_give(s->row);
    pk_memory_give(s->has_link[0]);
    pk_memory_give(s->has_link[1]);
    *s = (pk_align_symmetriser){ 0 };
}
