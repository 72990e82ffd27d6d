/* slots.h - the tree of target tokens whose keys and values the decoder keeps.
 *
 * A slot is one target token. Each slot knows the slot before it, so a history is the path to
 * its last slot, and histories with the same beginning share its slots. Slots are counted
 * references: a slot lives while it is held by a history that ends there, by a slot that follows
 * it, or by the pass in flight. Only integers are here; the keys and values lie in pools indexed by
 * slot. */
#ifndef PK_SESSION_SLOTS_H
#define PK_SESSION_SLOTS_H
#include "base/memory.h"

enum { PK_NO_SLOT = -1 };

typedef struct pk_slots {
    int32_t  n, n_free;
    int32_t *before, *depth, *holders; /* [slot]; depth: slots on the path, itself included */
    int32_t *unused;                   /* stack: the latest given back is reused first */
} pk_slots;

pk_status pk_slots_open(pk_slots *s, int32_t n);
void      pk_slots_close(pk_slots *s);
/* a slot behind `before` (or PK_NO_SLOT), held once by the caller; PK_NO_SLOT when none is left */
int32_t pk_slots_take(pk_slots *s, int32_t before);
void    pk_slots_hold(pk_slots *s, int32_t slot); /* accepts PK_NO_SLOT, as does drop */
void    pk_slots_drop(pk_slots *s, int32_t slot);
/* writes the path to the slot, start first; returns its length */
int32_t pk_slots_path(const pk_slots *s, int32_t slot, int32_t *out);
/* the slot n steps before this one */
int32_t               pk_slots_back(const pk_slots *s, int32_t slot, int32_t n);
static inline int32_t pk_slots_depth(const pk_slots *s, int32_t slot) {
    return slot == PK_NO_SLOT ? 0 : s->depth[slot];
}
#endif
