/* charsmap_check.c - checks the normalisation rules of a SentencePiece model before they are
 * trusted.
 *
 * They are a trie, stored as a double array of 32-bit units, and a block of NUL-terminated texts.
 * libsentencepiece follows its offsets without looking, so a damaged one would read anywhere. This
 * walks the trie from its root and makes sure that every step stays in the array, that every value
 * points into the texts, and that no rule is longer than the library expects.
 *
 * Bytes: the size of the trie (4, little-endian), the trie's units of 4 bytes, then the texts. A
 * unit (of the library Darts-clone) holds: bits 0 to 7 the label, the byte that leads to this node;
 * bit 8 whether the node has a value; bits 10 to 30 the offset of its children, times 256 if bit 9
 * is set, which is XORed with the node's own index. A unit with bit 31 set is a value: the other 31
 * bits are an offset into the texts. */
#include <stdbool.h>
#include <string.h>

#include "vocab/spm_check.h"

/* DEEPEST: the library keeps at most 32 rules that match at one position of a text */
enum { DEEPEST = 32, NONE = -1 };

typedef struct trie {
    const unsigned char *units;
    size_t               n, texts_size;
    int32_t             *first, *next; /* of each base: units that claim it, as lists [n] */
    int32_t             *now, *later;  /* nodes of this level and of the next [n] */
    unsigned char       *level;        /* the last one a node was found at, or 0 [n] */
} trie;

/* unit i, which may be unaligned in the file */
static uint32_t unit(const trie *t, size_t i) {
    uint32_t value;
    memcpy(&value, t->units + 4 * i, sizeof value);
    return value;
}

/* Where the children of node i begin: the child for byte c is at base ^ c, the value at base
 * itself. (u & bit 9) >> 6 is 8 or 0: the offset is shifted by one byte or not at all. */
static size_t base_of(const trie *t, size_t i) {
    const uint32_t u = unit(t, i);
    return i ^ (size_t)((u >> 10) << ((u & 1u << 9) >> 6));
}

/* Lists units by the base they would be a child of; those with the high bit set are values. */
static void list_children(trie *t) {
    for (size_t i = 0; i < t->n; i++) t->first[i] = NONE;
    for (size_t i = t->n; i-- > 1;) {
        const uint32_t u = unit(t, i);
        const size_t   label = u & 0xFF, base = i ^ label;
        if (u >> 31 || label == 0 || base >= t->n) continue;
        t->next[i] = t->first[base];
        t->first[base] = (int32_t)i;
    }
}

/* All 256 children that the library may look up must lie in the array, and the value in the
 * texts. */
static pk_status check_node(const trie *t, size_t node, size_t *base) {
    *base = base_of(t, node);
    if ((*base | 0xFF) >= t->n) PK_FAIL(PK_FORMAT, "a normalisation rule leads out of its table");
    const bool has_value = unit(t, node) >> 8 & 1;
    if (has_value && (unit(t, *base) & 0x7FFFFFFF) >= t->texts_size)
        PK_FAIL(PK_FORMAT, "a normalisation rule has no replacement");
    return PK_OK;
}

/* Adds the children of a node to the next level, each of them once. */
static pk_status add_children(trie *t, size_t node, unsigned char level, size_t *n_queued) {
    size_t base;
    PK_TRY(check_node(t, node, &base));
    for (int32_t child = t->first[base]; child != NONE; child = t->next[child]) {
        if (t->level[child] == level) continue;
        t->level[child] = level;
        t->later[(*n_queued)++] = child;
    }
    return PK_OK;
}

/* Level by level. A damaged table may have a cycle: the limit on the levels ends the walk. A node
 * may be on several levels, but is listed once per level, so the work stays small. */
static pk_status walk(trie *t) {
    size_t n = 1;
    t->now[0] = 0;
    for (unsigned char level = 1; n > 0; level++) {
        if (level > DEEPEST + 1)
            PK_FAIL(PK_FORMAT, "a normalisation rule is longer than %d bytes", DEEPEST);
        size_t n_next = 0;
        for (size_t i = 0; i < n; i++) PK_TRY(add_children(t, (size_t)t->now[i], level, &n_next));
        int32_t *swap = t->now;
        t->now = t->later;
        t->later = swap;
        n = n_next;
    }
    return PK_OK;
}

/* memory for the walk: 17 bytes a unit */
static pk_status check_trie(trie *t) {
    pk_status status;
    PK_GOTO(PK_TAKE(&t->first, t->n));
    PK_GOTO(PK_TAKE(&t->next, t->n));
    PK_GOTO(PK_TAKE(&t->now, t->n));
    PK_GOTO(PK_TAKE(&t->later, t->n));
    PK_GOTO(PK_TAKE(&t->level, t->n));
    list_children(t);
    status = walk(t);
done:
    pk_memory_give(t->first);
    pk_memory_give(t->next);
    pk_memory_give(t->now);
    pk_memory_give(t->later);
    pk_memory_give(t->level);
    return status;
}

/* A trie is a multiple of 256 units (1024 bytes): the children of a node lie in one such block. */
pk_status pk_charsmap_check(const unsigned char *data, size_t size) {
    uint32_t bytes; /* of the trie; the texts are the rest */
    if (size < 4) PK_FAIL(PK_FORMAT, "its normalisation rules are cut short");
    memcpy(&bytes, data, sizeof bytes);
    if (bytes > size - 4 || bytes % 1024 != 0 || bytes == 0 || bytes > INT32_MAX)
        PK_FAIL(PK_FORMAT, "its normalisation rules are cut short (%u of %zu bytes)", bytes, size);
    trie t = { .units = data + 4, .n = bytes / 4, .texts_size = size - 4 - bytes };
    if (t.texts_size && data[size - 1] != 0) PK_FAIL(PK_FORMAT, "its replacements are cut short");
    return check_trie(&t);
}
