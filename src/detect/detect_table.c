/* detect_table.c - the table's bytes, put into the library as they are, and how they are read.
 *
 * The layout, little-endian: "pkdetct3", then groups, then a group without languages. A group has
 * its script, the number of its languages and that of its sets, 4 bytes each; 8 bytes for each
 * language, which are its code, with zeros behind it, and its bias, the last 4; 2 bytes an entry
 * (PK_DETECT_WAYS to a set); and a row for each entry. */
#include "detect/detect_table.h"

#include <assert.h>
#include <string.h>

enum { START = 8, HEADER = 12, LANGUAGE = 8 };

/* half a megabyte would be megabytes of source text as an array */
__asm__(".section .rodata\n"
        ".balign 64\n"
        ".hidden pk_detect_bytes\n"
        ".global pk_detect_bytes\n"
        "pk_detect_bytes:\n"
        ".incbin \"src/detect/detect.table\"\n"
        ".text\n");
extern const uint8_t pk_detect_bytes[];

static uint32_t read_u16(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }
static uint32_t read_u32(const uint8_t *at) { return read_u16(at) | read_u16(at + 2) << 16; }

bool pk_detect_group_next(pk_detect_group *g) {
    const uint8_t *at = g->next ? g->next : pk_detect_bytes + START;
    assert(memcmp(pk_detect_bytes, "pkdetct3", START) == 0);
    g->script = (int32_t)read_u32(at);
    g->n = (int32_t)read_u32(at + 4);
    g->n_sets = read_u32(at + 8);
    assert(g->n <= PK_DETECT_LANGUAGES);
    const size_t entries = (size_t)g->n_sets * PK_DETECT_WAYS;
    g->language = at + HEADER;
    g->entry = g->language + (size_t)g->n * LANGUAGE;
    g->row = g->entry + 2 * entries;
    g->next = g->row + entries * (((size_t)g->n + 1) / 2);
    return g->n > 0;
}

const char *pk_detect_group_code(const pk_detect_group *g, int32_t language) {
    return (const char *)g->language + (size_t)language * LANGUAGE;
}

int32_t pk_detect_group_bias(const pk_detect_group *g, int32_t language) {
    return (int32_t)read_u32(g->language + (size_t)language * LANGUAGE + LANGUAGE - 4);
}

int32_t pk_detect_factor(uint32_t which) {
    static const int32_t factor[16] = { 4,  6,  8,   11,  16,  23,  32,  45,
                                        64, 91, 128, 181, 256, 362, 512, 724 };
    return factor[which & 15];
}

/* the odd last half byte goes nowhere: sums have room for an even number */
static void add_row(const uint8_t *row, int32_t bytes, int32_t factor, int32_t *sum) {
    for (int32_t k = 0; k < bytes; k++) {
        sum[2 * k] += ((row[k] & 15) - 8) * factor;
        sum[2 * k + 1] += ((row[k] >> 4) - 8) * factor;
    }
}

bool pk_detect_group_add(const pk_detect_group *g, uint64_t hash, int32_t *sum) {
    if (g->n_sets == 0) return false;
    const size_t   first = hash % g->n_sets * PK_DETECT_WAYS;
    const uint32_t wanted = pk_detect_fingerprint(hash);
    const int32_t  bytes = (g->n + 1) / 2;
    for (size_t i = first; i < first + PK_DETECT_WAYS; i++) {
        const uint32_t entry = read_u16(g->entry + 2 * i);
        if (entry >> 4 != wanted) continue;
        add_row(g->row + i * (size_t)bytes, bytes, pk_detect_factor(entry), sum);
        return true;
    }
    return false;
}
