/* protobuf.c - reads and writes fields of protocol buffers.
 *
 * The key of a field holds its id and, in the lowest three bits, how its value is stored: 0 varint, 1 eight
 * bytes, 2 a length and as many bytes, 5 four bytes. */
#include "vocab/protobuf.h"

#include <string.h>

enum { VARINT = 0, EIGHT_BYTES = 1, BYTES = 2, FOUR_BYTES = 5 };

/* seven bits a byte, lowest first; the high bit says that more follow */
static bool read_varint(pk_proto *p, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 64 && p->at < p->end; shift += 7) {
        const unsigned char byte = *p->at++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* a number of n bytes, 4 or 8 */
static bool read_fixed(pk_proto *p, size_t n, uint64_t *value) {
    if ((size_t)(p->end - p->at) < n) return false;
    *value = 0;
    memcpy(value, p->at, n); /* little-endian, as every machine we build for */
    p->at += n;
    return true;
}

static bool read_bytes(pk_proto *p, pk_proto *bytes) {
    uint64_t size;
    if (!read_varint(p, &size) || size > (uint64_t)(p->end - p->at)) return false;
    *bytes = (pk_proto){ p->at, p->at + size };
    p->at += size;
    return true;
}

bool pk_proto_next(pk_proto *p, pk_proto_field *f) {
    uint64_t key;
    *f = (pk_proto_field){ 0 };
    if (!read_varint(p, &key) || key < 8 || key > UINT32_MAX) return false; /* ids: 1 to 2^29 - 1 */
    f->id = key >> 3;
    f->is_bytes = (key & 7) == BYTES;
    switch (key & 7) {
    case VARINT: return read_varint(p, &f->number);
    case EIGHT_BYTES: return read_fixed(p, 8, &f->number);
    case FOUR_BYTES: return read_fixed(p, 4, &f->number);
    case BYTES: return read_bytes(p, &f->bytes);
    default: return false; /* groups are not used in this format */
    }
}

static void add_varint(pk_buffer *b, uint64_t value) {
    unsigned char byte;
    do {
        byte = (unsigned char)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        pk_buffer_add(b, &byte, 1);
        value >>= 7;
    } while (value);
}

void pk_proto_add_number(pk_buffer *b, uint64_t id, uint64_t number) {
    add_varint(b, id << 3 | VARINT);
    add_varint(b, number);
}

void pk_proto_add_float(pk_buffer *b, uint64_t id, float number) {
    add_varint(b, id << 3 | FOUR_BYTES);
    pk_buffer_add(b, &number, sizeof number);
}

void pk_proto_add_bytes(pk_buffer *b, uint64_t id, const void *bytes, size_t n) {
    add_varint(b, id << 3 | BYTES);
    add_varint(b, n);
    pk_buffer_add(b, bytes, n);
}
