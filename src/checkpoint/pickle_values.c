/* pickle_values.c - the pickle machine's memory: values, stack and memo, with their limits.
 *
 * Values are never freed one by one: they live in blocks that pk_pickle_free() gives back.
 * Containers hold pointers, so a pickle that repeats or contains itself takes no more room than it
 * has bytes. */
#include <string.h>

#include "checkpoint/pickle.h"

/* bytes from the current block, or from a new one; large pieces get a block of their own */
static pk_status take_bytes(pk_pickle *p, size_t bytes, void **out) {
    bytes = (bytes + 15) / 16 * 16; /* aligned for any type */
    if (p->n_blocks && bytes <= PK_PICKLE_BLOCK - p->block_used) {
        *out = (char *)p->block[p->n_blocks - 1] + p->block_used;
        p->block_used += bytes;
        return PK_OK;
    }
    PK_TRY(PK_RESERVE(&p->block, p->n_blocks + 1, &p->block_room));
    const size_t size = bytes > PK_PICKLE_BLOCK ? bytes : PK_PICKLE_BLOCK;
    PK_TRY(pk_memory_take(size, 1, out));
    p->block[p->n_blocks++] = *out;
    p->block_used = bytes < PK_PICKLE_BLOCK ? bytes : PK_PICKLE_BLOCK;
    return PK_OK;
}

/* A new value, already on the stack; zeroed, as blocks are. */
pk_status pk_pickle_new(pk_pickle *p, pk_pickle_kind kind, pk_pickle_value **out) {
    void *memory;
    if (p->n_values == PK_PICKLE_MAX_VALUES)
        PK_FAIL(PK_FORMAT, "pickle with more than %d values: not a state dict",
                PK_PICKLE_MAX_VALUES);
    PK_TRY(take_bytes(p, sizeof **out, &memory));
    p->n_values++;
    *out = memory;
    (*out)->kind = kind;
    return pk_pickle_push(p, *out);
}

pk_status pk_pickle_push(pk_pickle *p, pk_pickle_value *v) {
    if (p->n_stack >= PK_PICKLE_MAX_VALUES) PK_FAIL(PK_FORMAT, "pickle nested too deeply");
    PK_TRY(PK_RESERVE(&p->stack, p->n_stack + 1, &p->stack_room));
    p->stack[p->n_stack++] = v;
    return PK_OK;
}

/* A mark is no value: meeting one here means that the pickle is broken. */
pk_status pk_pickle_pop(pk_pickle *p, pk_pickle_value **out) {
    if (p->n_stack == 0 || !p->stack[p->n_stack - 1])
        PK_FAIL(PK_FORMAT, "broken pickle: nothing on the stack at byte %zu", p->at);
    *out = p->stack[--p->n_stack];
    return PK_OK;
}

/* A mark is a NULL on the stack. */
pk_status pk_pickle_above_mark(const pk_pickle *p, size_t *n) {
    for (*n = 0; *n < p->n_stack; (*n)++)
        if (!p->stack[p->n_stack - 1 - *n]) return PK_OK;
    PK_FAIL(PK_FORMAT, "broken pickle: no mark at byte %zu", p->at);
}

/* Room doubles, so that many small additions cost little. */
pk_status pk_pickle_collect(pk_pickle *p, pk_pickle_value *container, size_t n) {
    if (container->n + n > container->room) {
        /* the old array stays in its block: all together at most as much again */
        const size_t room = container->n ? 2 * (container->n + n) : n;
        void        *item;
        PK_TRY(take_bytes(p, room * sizeof *container->item, &item));
        if (container->n) memcpy(item, container->item, container->n * sizeof *container->item);
        container->item = item;
        container->room = room;
    }
    p->n_stack -= n;
    if (n) memcpy(container->item + container->n, p->stack + p->n_stack, n * sizeof *p->stack);
    container->n += n;
    return PK_OK;
}

/* Indices are the pickle's own choice, hence the limit; gaps stay empty. */
pk_status pk_pickle_remember(pk_pickle *p, size_t index) {
    if (p->n_stack == 0 || !p->stack[p->n_stack - 1])
        PK_FAIL(PK_FORMAT, "broken pickle: nothing to remember at byte %zu", p->at);
    if (index >= PK_PICKLE_MAX_VALUES) PK_FAIL(PK_FORMAT, "pickle with a memo too large");
    PK_TRY(PK_RESERVE(&p->memo, index + 1, &p->memo_room));
    while (p->n_memo <= index) p->memo[p->n_memo++] = NULL;
    p->memo[index] = p->stack[p->n_stack - 1];
    return PK_OK;
}

pk_status pk_pickle_recall(pk_pickle *p, size_t index) {
    if (index >= p->n_memo || !p->memo[index])
        PK_FAIL(PK_FORMAT, "broken pickle: memo %zu is empty at byte %zu", index, p->at);
    return pk_pickle_push(p, p->memo[index]);
}

void pk_pickle_free(pk_pickle *p) {
    for (size_t i = 0; i < p->n_blocks; i++) pk_memory_give(p->block[i]);
    pk_memory_give(p->block);
    pk_memory_give(p->stack);
    pk_memory_give(p->memo);
    *p = (pk_pickle){ 0 };
}
