/* slots.c - taking, holding and dropping slots of the tree.
 *
 * A slot counts who holds it: histories that end in it, and slots that follow it. It is free again
 * when the count is 0, so no history is ever searched for. */
#include "session/slots.h"

#include <assert.h>

pk_status pk_slots_open(pk_slots *s, int32_t n) {
    *s = (pk_slots){ .n = n, .n_free = n };
    PK_TRY(PK_TAKE(&s->before, (size_t)n));
    PK_TRY(PK_TAKE(&s->depth, (size_t)n));
    PK_TRY(PK_TAKE(&s->holders, (size_t)n));
    PK_TRY(PK_TAKE(&s->unused, (size_t)n));
    for (int32_t i = 0; i < n; i++) s->unused[i] = n - 1 - i;
    return PK_OK;
}

void pk_slots_close(pk_slots *s) {
    pk_memory_give(s->before);
    pk_memory_give(s->depth);
    pk_memory_give(s->holders);
    pk_memory_give(s->unused);
    *s = (pk_slots){ 0 };
}

/* the new slot holds the one before it: a path lives as long as its last slot */
int32_t pk_slots_take(pk_slots *s, int32_t before) {
    if (s->n_free == 0) return PK_NO_SLOT;
    const int32_t slot = s->unused[--s->n_free];
    assert(s->holders[slot] == 0 && before >= PK_NO_SLOT && before < s->n);
    s->before[slot] = before;
    s->depth[slot] = 1 + pk_slots_depth(s, before);
    s->holders[slot] = 1;
    pk_slots_hold(s, before);
    return slot;
}

void pk_slots_hold(pk_slots *s, int32_t slot) {
    if (slot == PK_NO_SLOT) return;
    assert(slot >= 0 && slot < s->n && s->holders[slot] > 0); /* it was not given back before */
    s->holders[slot]++;
}

/* a slot that nothing holds any more gives up its own hold on the slot before it, and so on */
void pk_slots_drop(pk_slots *s, int32_t slot) {
    assert(slot == PK_NO_SLOT || (slot >= 0 && slot < s->n && s->holders[slot] > 0));
    while (slot != PK_NO_SLOT && --s->holders[slot] == 0) {
        assert(s->n_free < s->n);
        s->unused[s->n_free++] = slot;
        slot = s->before[slot];
    }
}

int32_t pk_slots_path(const pk_slots *s, int32_t slot, int32_t *out) {
    const int32_t n = pk_slots_depth(s, slot);
    for (int32_t i = n; i > 0; i--) {
        out[i - 1] = slot;
        slot = s->before[slot];
    }
    return n;
}

int32_t pk_slots_back(const pk_slots *s, int32_t slot, int32_t n) {
    while (n-- > 0 && slot != PK_NO_SLOT) slot = s->before[slot];
    return slot;
}
