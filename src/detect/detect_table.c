/* detect_table.c - the table's bytes, put into the library as they are, and how they are read.
 *
 * The layout, little-endian, begins with 32 bytes: "pkdetct1", numbers of classes and of sets, the
 * rows' scale and the power (both in millionths), 8 bytes of zeros. Then 48 bytes a class: code,
 * script, bias, weights; two bytes a place: fingerprints; PK_DETECT_WIDTH a place: rows. */
#include "detect/detect_table.h"

#include <assert.h>
#include <string.h>

enum { HEADER = 32, CLASS = PK_DETECT_CODE + 8 + 2 * PK_DETECT_WIDTH };

/* half a megabyte would be megabytes of source text as an array */
__asm__(".section .rodata\n"
        ".balign 64\n"
        ".hidden pk_detect_bytes\n"
        ".hidden pk_detect_bytes_end\n"
        ".global pk_detect_bytes\n"
        ".global pk_detect_bytes_end\n"
        "pk_detect_bytes:\n"
        ".incbin \"src/detect/detect.table\"\n"
        "pk_detect_bytes_end:\n"
        ".byte 0\n"
        ".text\n");
extern const uint8_t pk_detect_bytes[], pk_detect_bytes_end[];

static uint32_t read_u16(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }
static uint32_t read_u32(const uint8_t *at) { return read_u16(at) | read_u16(at + 2) << 16; }

void pk_detect_table_get(pk_detect_table *out) {
    const uint8_t *bytes = pk_detect_bytes;
    assert(memcmp(bytes, "pkdetct1", 8) == 0);
    out->n_classes = (int32_t)read_u32(bytes + 8);
    out->n_sets = read_u32(bytes + 12);
    out->scale = read_u32(bytes + 16) / 1e6;
    out->power = read_u32(bytes + 20) / 1e6;
    const size_t places = (size_t)out->n_sets * PK_DETECT_WAYS;
    out->classes = bytes + HEADER;
    out->fingerprint = out->classes + (size_t)out->n_classes * CLASS;
    out->row = (const int8_t *)(out->fingerprint + 2 * places);
    assert(out->n_classes <= PK_DETECT_MOST_CLASSES);
    assert((const uint8_t *)out->row + places * PK_DETECT_WIDTH == pk_detect_bytes_end);
}

void pk_detect_table_class(const pk_detect_table *t, int32_t i, pk_detect_class *out) {
    assert(i >= 0 && i < t->n_classes);
    const uint8_t *at = t->classes + (size_t)i * CLASS;
    out->code = (const char *)at;
    out->script = (int32_t)read_u32(at + PK_DETECT_CODE);
    out->bias = (int32_t)read_u32(at + PK_DETECT_CODE + 4);
    for (size_t k = 0; k < PK_DETECT_WIDTH; k++)
        out->weight[k] = (int16_t)read_u16(at + PK_DETECT_CODE + 8 + 2 * k);
}

const int8_t *pk_detect_table_find(const pk_detect_table *t, uint64_t hash) {
    const size_t   first = hash % t->n_sets * PK_DETECT_WAYS;
    const uint32_t wanted = pk_detect_fingerprint(hash);
    for (size_t i = first; i < first + PK_DETECT_WAYS; i++)
        if (read_u16(t->fingerprint + 2 * i) == wanted) return t->row + i * PK_DETECT_WIDTH;
    return NULL;
}
