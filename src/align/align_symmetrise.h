/* align_symmetrise.h - forward and reverse links of a pair become one set (Koehn, Och and Marcu
 * 2003; results are those of fast_align's atools).
 *
 * Memory grows with the links and the lengths of the sentences, not with their product. */
#ifndef PK_ALIGN_SYMMETRISE_H
#define PK_ALIGN_SYMMETRISE_H
#include "align/align_links.h"

// clang-format off
#define PK_ALIGN_METHOD_MAP(X)              \
    X(INTERSECT,           "intersect")       \
    X(UNION,               "union")           \
    X(GROW_DIAG,           "grow-diag")       \
    X(GROW_DIAG_FINAL,     "grow-diag-final") \
    X(GROW_DIAG_FINAL_AND, "grow-diag-final-and")
// clang-format on
#define PK_ALIGN_METHOD_ENUM(name, text) PK_ALIGN_##name,
typedef enum pk_align_method {
    PK_ALIGN_ONE_WAY, /* not symmetrised */
    PK_ALIGN_METHOD_MAP(PK_ALIGN_METHOD_ENUM) PK_ALIGN_N_METHODS
} pk_align_method;

/* PK_ARGUMENT with the list of methods where there is none of that name */
pk_status   pk_align_method_find(const char *name, pk_align_method *out);
const char *pk_align_method_name(pk_align_method m);

typedef struct pk_align_point { /* a link of either direction */
    uint32_t source, target;
    bool     forward, reverse, chosen;
} pk_align_point;

typedef struct pk_align_symmetriser { /* memory, kept from pair to pair */
    pk_align_point *point;            /* sorted by source, then target; each once */
    size_t          n, room;
    size_t         *row;          /* first point of each source word [n_sources + 1] */
    bool           *has_link[2];  /* source words, target words that have a chosen link */
    size_t          word_room[3]; /* of the three arrays above */
    uint32_t        n_words[2];
} pk_align_symmetriser;

/* out: sorted by source, then target */
pk_status pk_align_symmetrise(pk_align_symmetriser *s, pk_align_method method,
                              const pk_align_links *forward, const pk_align_links *reverse,
                              pk_align_links *out);
void      pk_align_symmetriser_free(pk_align_symmetriser *s);
#endif
