/* zip.c - reads a zip archive's central directory (APPNOTE.TXT 4.3) and checks every offset in it.
 *
 * Entries may lie anywhere in the archive: they are only ever read, so overlaps do no harm.
 * Checksums are verified of what is unpacked (unzip.c) only: doing so of what is used in place
 * would read every page of a large model before its first use. */
#include "checkpoint/zip.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Layout of an archive: entries (local header, name, extra field, data), the central directory (one
 * record for each entry), the end record (where the directory is). Zip64 puts its own end record
 * and a locator of that record before the end record. Numbers below are bytes. */
enum {
    END_SIZE = 22,     /* end of central directory, without its comment */
    LOCATOR_SIZE = 20, /* zip64: where the zip64 end record is */
    END64_SIZE = 56,
    CENTRAL_SIZE = 46, /* central directory entry, without its name */
    LOCAL_SIZE = 30,
    MAX_COMMENT = 65535
};
enum { STORED = 0, DEFLATED = 8 }; /* methods */
#define END_MAGIC     0x06054B50u
#define LOCATOR_MAGIC 0x07064B50u
#define END64_MAGIC   0x06064B50u
#define CENTRAL_MAGIC 0x02014B50u
#define LOCAL_MAGIC   0x04034B50u

typedef struct archive {
    const unsigned char *data;
    size_t               size;
} archive;

typedef struct directory {
    uint64_t n, size, at;
} directory;

/* little-endian, as everything in a zip archive */
static uint64_t number(const unsigned char *p, int bytes) {
    uint64_t n = 0;
    for (int i = 0; i < bytes; i++) n |= (uint64_t)p[i] << (8 * i);
    return n;
}

/* whether [at, at + bytes) lies in the archive; written so that nothing can overflow */
static bool inside(const archive *a, uint64_t at, uint64_t bytes) {
    return at <= a->size && bytes <= a->size - at;
}

bool pk_zip_is(const unsigned char *data, size_t size) {
    return size >= 4 && number(data, 4) == LOCAL_MAGIC;
}

/* the end record is the last thing in the file but for a comment */
static pk_status find_end(const archive *a, size_t *at) {
    if (a->size >= END_SIZE) {
        const size_t last = a->size - END_SIZE;
        for (size_t back = 0; back <= last && back <= MAX_COMMENT; back++) {
            *at = last - back;
            if (number(a->data + *at, 4) == END_MAGIC) return PK_OK;
        }
    }
    PK_FAIL(PK_FORMAT, "zip archive without its directory (truncated file?)");
}

/* Where the directory is. End record: number of entries at byte 10, size of the directory at 12,
 * its offset at 16. Where a zip64 record exists, its wider fields count (at 32, 40 and 48). */
static pk_status read_end(const archive *a, directory *out) {
    size_t at = 0;
    PK_TRY(find_end(a, &at));
    const unsigned char *end = a->data + at;
    *out = (directory){ number(end + 10, 2), number(end + 12, 4), number(end + 16, 4) };
    if (at >= LOCATOR_SIZE && number(end - LOCATOR_SIZE, 4) == LOCATOR_MAGIC) {
        const uint64_t at64 = number(end - LOCATOR_SIZE + 8, 8);
        if (!inside(a, at64, END64_SIZE) || number(a->data + at64, 4) != END64_MAGIC)
            PK_FAIL(PK_FORMAT, "zip archive with a broken zip64 directory");
        const unsigned char *end64 = a->data + at64;
        *out = (directory){ number(end64 + 32, 8), number(end64 + 40, 8), number(end64 + 48, 8) };
    }
    if (!inside(a, out->at, out->size) || out->n > out->size / CENTRAL_SIZE)
        PK_FAIL(PK_FORMAT, "zip archive whose directory lies outside the file (truncated?)");
    return PK_OK;
}

/* An extra field is id, length, content. The one of id 1 (zip64) holds the values that do not fit
 * 32 bits, 8 bytes each, in the order of value[]; the 32-bit field of such a value is all ones. */
static pk_status read_wide(const unsigned char *extra, size_t size, uint64_t *value[3]) {
    while (size >= 4) {
        const size_t         id = (size_t)number(extra, 2), length = (size_t)number(extra + 2, 2);
        const unsigned char *p = extra + 4;
        if (length > size - 4) break;
        for (size_t i = 0, left = length; id == 1 && i < 3; i++) {
            if (*value[i] != 0xFFFFFFFFu) continue;
            if (left < 8) PK_FAIL(PK_FORMAT, "zip entry with a broken zip64 field");
            *value[i] = number(p, 8);
            p += 8;
            left -= 8;
        }
        extra += 4 + length;
        size -= 4 + length;
    }
    return PK_OK;
}

/* The local header repeats the name and has an extra field of its own length (name length at byte
 * 26, extra length at 28). So only this header says where the data begins. */
static pk_status locate(const archive *a, uint64_t local, uint64_t packed, pk_zip_entry *out) {
    if (!inside(a, local, LOCAL_SIZE) || number(a->data + local, 4) != LOCAL_MAGIC)
        PK_FAIL(PK_FORMAT, "zip entry whose header lies outside the file");
    const unsigned char *p = a->data + local;
    const uint64_t       data = local + LOCAL_SIZE + number(p + 26, 2) + number(p + 28, 2);
    if (!inside(a, data, packed)) PK_FAIL(PK_FORMAT, "zip entry whose data lies outside the file");
    out->data = a->data + data;
    out->packed = (size_t)packed;
    return PK_OK;
}

/* One directory record at *at, which moves behind it. Flags at byte 8, method at 10, checksum at
 * 16, sizes at 20 and 24, lengths of name, extra field and comment at 28, 30 and 32, offset of the
 * local header at 42. */
static pk_status read_entry(const archive *a, const directory *d, uint64_t *at, pk_zip_entry *out) {
    const uint64_t       left = d->at + d->size - *at;
    const unsigned char *p = a->data + *at;
    if (left < CENTRAL_SIZE || number(p, 4) != CENTRAL_MAGIC)
        PK_FAIL(PK_FORMAT, "zip archive with a broken directory");
    const size_t name = (size_t)number(p + 28, 2), extra = (size_t)number(p + 30, 2);
    const size_t whole = CENTRAL_SIZE + name + extra + (size_t)number(p + 32, 2);
    if (whole > left) PK_FAIL(PK_FORMAT, "zip archive with a broken directory");
    out->name = (const char *)p + CENTRAL_SIZE;
    out->name_size = name;
    if (number(p + 8, 2) & 1) PK_FAIL(PK_UNSUPPORTED, "zip entry is encrypted");
    const uint64_t method = number(p + 10, 2);
    if (method != STORED && method != DEFLATED)
        PK_FAIL(PK_UNSUPPORTED, "zip entry is compressed in another way than deflate");
    out->deflated = method == DEFLATED;
    out->checksum = (uint32_t)number(p + 16, 4);
    uint64_t  packed = number(p + 20, 4), size = number(p + 24, 4), local = number(p + 42, 4);
    uint64_t *wide[3] = { &size, &packed, &local };
    PK_TRY(read_wide(p + CENTRAL_SIZE + name, extra, wide));
    if (!out->deflated && packed != size) PK_FAIL(PK_FORMAT, "zip entry with two sizes");
    *at += whole;
    out->size = (size_t)size;
    return locate(a, local, packed, out);
}

/* names are not NUL-terminated: compare what both have, then lengths */
static int by_name(const void *a, const void *b) {
    const pk_zip_entry *x = a, *y = b;
    const size_t        shorter = x->name_size < y->name_size ? x->name_size : y->name_size;
    const int           order = shorter ? memcmp(x->name, y->name, shorter) : 0;
    if (order) return order;
    return (x->name_size > y->name_size) - (x->name_size < y->name_size);
}

/* Sorted, to be found by name. Two of one name are refused: which of them counts differs between
 * programs, and what was checked could be another one than what is used. */
static pk_status read_entries(const archive *a, const directory *d, pk_zip *out) {
    uint64_t at = d->at;
    PK_TRY(PK_TAKE(&out->entry, (size_t)d->n));
    for (; out->n < d->n; out->n++) PK_TRY(read_entry(a, d, &at, &out->entry[out->n]));
    if (out->n) qsort(out->entry, out->n, sizeof *out->entry, by_name);
    for (size_t i = 1; i < out->n; i++)
        if (by_name(&out->entry[i - 1], &out->entry[i]) == 0)
            PK_FAIL(PK_FORMAT, "zip archive with two entries of one name");
    return PK_OK;
}

pk_status pk_zip_open(const unsigned char *data, size_t size, pk_zip *out) {
    const archive a = { data, size };
    directory     d;
    *out = (pk_zip){ 0 };
    PK_TRY(read_end(&a, &d));
    const pk_status status = read_entries(&a, &d, out);
    if (status != PK_OK) pk_zip_close(out);
    return status;
}

void pk_zip_close(pk_zip *z) {
    pk_memory_give(z->entry);
    *z = (pk_zip){ 0 };
}

const pk_zip_entry *pk_zip_find(const pk_zip *z, const char *name, size_t name_size) {
    const pk_zip_entry key = { .name = name, .name_size = name_size };
    return z->n ? bsearch(&key, z->entry, z->n, sizeof key, by_name) : NULL;
}
