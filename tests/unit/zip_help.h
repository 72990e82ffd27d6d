/* zip_help.h - zip archives made by hand in the tests, right or wrong. */
#ifndef PK_TESTS_ZIP_HELP_H
#define PK_TESTS_ZIP_HELP_H
#include <zlib.h>

#include "checkpoint_help.h"

typedef struct made {
    pk_buffer file, directory;
    int       n, flags, method; /* method 8: what is given is already deflated */
    bool      wide;             /* zip64 */
    uint64_t  size;             /* to claim; 0: the data's own */
    uint32_t  checksum;         /* to claim; 0: the data's own */
} made;

static inline void add_number(pk_buffer *b, uint64_t n, int bytes) {
    for (int i = 0; i < bytes; i++) {
        const char byte = (char)(i < 8 ? n >> (8 * i) & 255 : 0);
        pk_buffer_add(b, &byte, 1);
    }
}

/* data as it lies in the archive, with the size and the checksum it is said to have when unpacked */
static inline void add_packed(made *z, const char *name, const char *data, size_t size,
                              uint64_t plain, uint64_t checksum) {
    const uint64_t at = z->file.size;
    if (z->size) plain = z->size;
    if (z->checksum) checksum = z->checksum;
    add_number(&z->file, 0x04034B50, 4);
    add_number(&z->file, 0, 22);
    add_number(&z->file, strlen(name), 2);
    add_number(&z->file, 3, 2);
    pk_buffer_add_text(&z->file, name);
    pk_buffer_add(&z->file, "FBZ", 3); /* an extra field, to be skipped */
    pk_buffer_add(&z->file, data, size);
    pk_buffer *d = &z->directory;
    add_number(d, 0x02014B50, 4);
    add_number(d, 0, 4);
    add_number(d, (uint64_t)z->flags, 2);
    add_number(d, (uint64_t)z->method, 2);
    add_number(d, 0, 4);
    add_number(d, checksum, 4);
    add_number(d, z->wide ? 0xFFFFFFFF : size, 4);
    add_number(d, z->wide ? 0xFFFFFFFF : plain, 4);
    add_number(d, strlen(name), 2);
    add_number(d, z->wide ? 28 : 0, 2);
    add_number(d, 0, 10);
    add_number(d, z->wide ? 0xFFFFFFFF : at, 4);
    pk_buffer_add_text(d, name);
    if (z->wide) {
        add_number(d, 1, 2);
        add_number(d, 24, 2);
        add_number(d, plain, 8);
        add_number(d, size, 8);
        add_number(d, at, 8);
    }
    z->n++;
}

static inline void add_entry(made *z, const char *name, const char *data, size_t size) {
    add_packed(z, name, data, size, size, crc32_z(0, (const Bytef *)data, size));
}

/* data, deflated */
static inline void add_deflated(made *z, const char *name, const void *data, size_t size) {
    z_stream    s = { 0 };
    const uLong most = compressBound((uLong)size) + 64;
    Bytef      *packed = malloc(most);
    assert_int_equal(deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    s.next_in = (Bytef *)data, s.avail_in = (uInt)size;
    s.next_out = packed, s.avail_out = (uInt)most;
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    const int method = z->method;
    z->method = 8;
    add_packed(z, name, (const char *)packed, s.total_out, size, crc32_z(0, data, size));
    z->method = method;
    deflateEnd(&s);
    free(packed);
}

/* the directory and the end; z->file is then the whole archive */
static inline void end_archive(made *z) {
    const uint64_t at = z->file.size, size = z->directory.size;
    pk_buffer_add(&z->file, z->directory.data, size);
    if (z->wide) {
        const uint64_t end = z->file.size;
        add_number(&z->file, 0x06064B50, 4);
        add_number(&z->file, 44, 8);
        add_number(&z->file, 0, 12);
        add_number(&z->file, (uint64_t)z->n, 8);
        add_number(&z->file, (uint64_t)z->n, 8);
        add_number(&z->file, size, 8);
        add_number(&z->file, at, 8);
        add_number(&z->file, 0x07064B50, 4);
        add_number(&z->file, 0, 4);
        add_number(&z->file, end, 8);
        add_number(&z->file, 1, 4);
    }
    add_number(&z->file, 0x06054B50, 4);
    add_number(&z->file, 0, 4);
    add_number(&z->file, z->wide ? 0xFFFF : (uint64_t)z->n, 2);
    add_number(&z->file, z->wide ? 0xFFFF : (uint64_t)z->n, 2);
    add_number(&z->file, z->wide ? 0xFFFFFFFF : size, 4);
    add_number(&z->file, z->wide ? 0xFFFFFFFF : at, 4);
    add_number(&z->file, 0, 2);
}

static inline void free_archive(made *z) {
    pk_buffer_free(&z->file);
    pk_buffer_free(&z->directory);
    *z = (made){ 0 };
}
#endif
