/* unzip.c - the bytes of one entry of a zip archive, inflated in memory by zlib.
 *
 * Sizes are believed only within limits, and checked against what really comes out, as is the
 * checksum. Nothing is written to disk. */
#include <zlib.h>

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "checkpoint/zip.h"

/* Weights and texts shrink to a tenth at best, deflate goes up to 1032: a small archive must not
 * ask for much memory. */
enum { MOST_GAIN = 100, SMALL = 16 << 20 };

/* Before any memory is taken: an archive of some kilobytes may claim to hold gigabytes. Weights
 * hardly shrink, so a gain beyond MOST_GAIN is no model. */
static pk_status check_size(const pk_zip_entry *e, size_t most) {
    if (e->size > most)
        PK_FAIL(PK_FORMAT, "%zu bytes when unpacked: more than the %zu there may be", e->size,
                most);
    if (e->deflated && e->size > SMALL && e->size / MOST_GAIN > e->packed)
        PK_FAIL(PK_FORMAT, "%zu bytes that unpack to %zu: not what a model is made of", e->packed,
                e->size);
    return PK_OK;
}

/* zlib's lengths have 32 bits */
static uInt part(size_t left) { return left < UINT_MAX ? (uInt)left : UINT_MAX; }

/* the whole stream must give exactly the size that was promised */
static pk_status inflate_all(z_stream *z, const pk_zip_entry *e, unsigned char *out) {
    size_t in = e->packed, room = e->size;
    int    state = Z_OK;
    z->next_in = (Bytef *)e->data;
    z->next_out = out;
    while (state == Z_OK && (in || room)) {
        const uInt some = part(in), space = part(room);
        z->avail_in = some;
        z->avail_out = space;
        state = inflate(z, Z_NO_FLUSH);
        in -= some - z->avail_in;
        room -= space - z->avail_out;
        if (state == Z_OK && some == z->avail_in && space == z->avail_out) state = Z_BUF_ERROR;
    }
    if (state == Z_MEM_ERROR) PK_FAIL(PK_NO_MEMORY, "out of memory");
    if (state != Z_STREAM_END || room) PK_FAIL(PK_FORMAT, "damaged: it does not unpack");
    return PK_OK;
}

/* the window bits are negative for data without zlib's own header, as in zip */
static pk_status fill(const pk_zip_entry *e, unsigned char *out) {
    z_stream z = { 0 };
    if (!e->deflated) {
        if (e->size) memcpy(out, e->data, e->size);
        return PK_OK;
    }
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) PK_FAIL(PK_NO_MEMORY, "out of memory");
    const pk_status status = inflate_all(&z, e, out);
    inflateEnd(&z);
    return status;
}

/* a fuzzer would hardly ever guess one */
static bool has_checksum(const pk_zip_entry *e, const unsigned char *data) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)e, (void)data;
    return true;
#else
    return crc32_z(0, data, e->size) == e->checksum;
#endif
}

pk_status pk_zip_unpack(const pk_zip_entry *e, size_t most, void **out) {
    unsigned char *block;
    *out = NULL;
    PK_TRY(check_size(e, most));
    PK_TRY(PK_TAKE(&block, e->size));
    pk_status status = fill(e, block);
    if (status == PK_OK && !has_checksum(e, block))
        status = pk_fail_with(PK_FORMAT, "damaged: another checksum than its own");
    if (status != PK_OK)
        pk_memory_give(block);
    else
        *out = block;
    return status;
}
