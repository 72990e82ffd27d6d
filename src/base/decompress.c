/* decompress.c - zlib, liblzma and libzstd behind one function.
 *
 * Each kind is three small functions in a table. Memory of zlib and liblzma comes from
 * base/memory.h; libzstd has no stable way to say where it should take it from.
 * Invariant: `whole` is true only between two streams, frames or members. */
#include "base/decompress.h"

#include <string.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory.h"

typedef struct kind {
    const char *name;
    pk_status (*open)(pk_decompressor *d);
    pk_status (*feed)(pk_decompressor *d, pk_flow *f, bool last);
    void (*close)(pk_decompressor *d);
} kind;

struct pk_decompressor {
    const kind    *kind;
    bool           whole;
    z_stream       gzip;
    lzma_stream    xz;
    lzma_allocator allocator;
    ZSTD_DStream  *zstd;
};

enum { XZ_MEMORY = 1 << 30 }; /* most that an .xz file may ask for; xz -9 asks for 65 MiB */

static pk_status damaged(const pk_decompressor *d, const char *why) {
    PK_FAIL(PK_FORMAT, "damaged %s data%s%s", d->kind->name, why ? ": " : "", why ? why : "");
}

/* zlib's and liblzma's allocator, over base/memory.h */
static void *take(void *opaque, size_t n, size_t each) {
    void *block;
    (void)opaque;
    return pk_memory_take(n, each, &block) == PK_OK ? block : NULL;
}
static void *take_for_zlib(void *opaque, uInt n, uInt each) { return take(opaque, n, each); }

static void give(void *opaque, void *block) {
    (void)opaque;
    pk_memory_give(block);
}

/* ---- plain ---- */
static pk_status plain_open(pk_decompressor *d) {
    d->whole = true;
    return PK_OK;
}

/* copies what fits */
static pk_status plain_feed(pk_decompressor *d, pk_flow *f, bool last) {
    (void)d, (void)last;
    const size_t n = f->n_in < f->room ? f->n_in : f->room;
    if (n) memcpy(f->out, f->in, n);
    f->in += n, f->n_in -= n, f->out += n, f->room -= n;
    return PK_OK;
}

static void plain_close(pk_decompressor *d) { (void)d; }

/* ---- gzip ---- */
static pk_status gzip_open(pk_decompressor *d) {
    enum { GZIP_ONLY = 16 };
    d->gzip.zalloc = take_for_zlib;
    d->gzip.zfree = give;
    if (inflateInit2(&d->gzip, MAX_WBITS + GZIP_ONLY) == Z_OK) return PK_OK;
    PK_FAIL(PK_NO_MEMORY, "out of memory for reading gzip");
}

/* Pieces are far below 4 GiB, so zlib's 32-bit counts do. */
static pk_status gzip_feed(pk_decompressor *d, pk_flow *f, bool last) {
    (void)last;
    z_stream *z = &d->gzip;
    while (f->room && (f->n_in || !d->whole)) {
        if (d->whole && inflateReset(z) != Z_OK) return damaged(d, NULL); /* the next member */
        d->whole = false;
        z->next_in = (unsigned char *)f->in, z->avail_in = (uInt)f->n_in;
        z->next_out = f->out, z->avail_out = (uInt)f->room;
        const int result = inflate(z, Z_NO_FLUSH);
        f->in = z->next_in, f->n_in = z->avail_in;
        f->out = z->next_out, f->room = z->avail_out;
        d->whole = result == Z_STREAM_END;
        if (result == Z_BUF_ERROR) return PK_OK; /* more input is needed */
        if (result == Z_MEM_ERROR) PK_FAIL(PK_NO_MEMORY, "out of memory for reading gzip");
        if (result != Z_OK && result != Z_STREAM_END) return damaged(d, z->msg);
    }
    return PK_OK;
}

static void gzip_close(pk_decompressor *d) { inflateEnd(&d->gzip); }

/* ---- xz ---- */
static pk_status xz_open(pk_decompressor *d) {
    d->allocator = (lzma_allocator){ .alloc = take, .free = give };
    d->xz = (lzma_stream)LZMA_STREAM_INIT;
    d->xz.allocator = &d->allocator;
    if (lzma_stream_decoder(&d->xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK) return PK_OK;
    PK_FAIL(PK_NO_MEMORY, "out of memory for reading xz");
}

/* LZMA_FINISH says that no more input comes: only then can it find the end of the last stream. */
static pk_status xz_feed(pk_decompressor *d, pk_flow *f, bool last) {
    lzma_stream *x = &d->xz;
    if (d->whole) return PK_OK; /* the end has been seen: only `last` brings it about */
    x->next_in = f->in, x->avail_in = f->n_in;
    x->next_out = f->out, x->avail_out = f->room;
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK && x->avail_out && (x->avail_in || last))
        result = lzma_code(x, last ? LZMA_FINISH : LZMA_RUN);
    f->in = x->next_in, f->n_in = x->avail_in;
    f->out = x->next_out, f->room = x->avail_out;
    d->whole = result == LZMA_STREAM_END;
    switch (result) {
    case LZMA_OK:
    case LZMA_STREAM_END:
    case LZMA_BUF_ERROR: return PK_OK; /* nothing more can be made: cut off, if this is the end */
    case LZMA_MEM_ERROR: PK_FAIL(PK_NO_MEMORY, "out of memory for reading xz");
    case LZMA_MEMLIMIT_ERROR: return damaged(d, "reading it would take over 1 GiB of memory");
    default: return damaged(d, NULL);
    }
}

static void xz_close(pk_decompressor *d) { lzma_end(&d->xz); }

/* ---- zstd ---- */
static pk_status zstd_open(pk_decompressor *d) {
    d->zstd = ZSTD_createDStream();
    if (d->zstd) return PK_OK;
    PK_FAIL(PK_NO_MEMORY, "out of memory for reading zstd");
}

/* Goes on as long as input is read or output is written: at the end of a piece neither is. */
static pk_status zstd_feed(pk_decompressor *d, pk_flow *f, bool last) {
    (void)last;
    ZSTD_inBuffer  in = { f->in, f->n_in, 0 };
    ZSTD_outBuffer out = { f->out, f->room, 0 };
    size_t         before = 1, result = 0;
    while (out.pos < out.size && (in.pos < in.size || !d->whole) && before != in.pos + out.pos) {
        before = in.pos + out.pos;
        result = ZSTD_decompressStream(d->zstd, &out, &in);
        if (ZSTD_isError(result)) return damaged(d, ZSTD_getErrorName(result));
        d->whole = result == 0;
    }
    f->in += in.pos, f->n_in -= in.pos;
    f->out += out.pos, f->room -= out.pos;
    return PK_OK;
}

static void zstd_close(pk_decompressor *d) { ZSTD_freeDStream(d->zstd); }

static const kind kinds[] = {
    { "plain", plain_open, plain_feed, plain_close },
    { "gzip", gzip_open, gzip_feed, gzip_close },
    { "xz", xz_open, xz_feed, xz_close },
    { "zstd", zstd_open, zstd_feed, zstd_close },
};

/* By the first bytes. gzip: 1F 8B 08; xz: FD "7zXZ" 00; zstd: 28 B5 2F FD, or a frame to be
 * skipped, 50..5F 2A 4D 18. */
static const kind *kind_of(const unsigned char *head, size_t n) {
    if (n >= 3 && memcmp(head, "\x1F\x8B\x08", 3) == 0) return &kinds[1];
    if (n >= 6 && memcmp(head,
                         "\xFD"
                         "7zXZ\0",
                         6) == 0)
        return &kinds[2];
    if (n >= 4 && memcmp(head, "\x28\xB5\x2F\xFD", 4) == 0) return &kinds[3];
    if (n >= 4 && head[0] >> 4 == 5 && memcmp(head + 1, "\x2A\x4D\x18", 3) == 0) return &kinds[3];
    return &kinds[0];
}

pk_status pk_decompressor_open(const unsigned char *head, size_t n, pk_decompressor **out) {
    pk_decompressor *d;
    *out = NULL;
    PK_TRY(PK_TAKE(&d, 1));
    d->kind = kind_of(head, n);
    const pk_status status = d->kind->open(d);
    if (status != PK_OK)
        pk_memory_give(d);
    else
        *out = d;
    return status;
}

void pk_decompressor_close(pk_decompressor *d) {
    if (!d) return;
    d->kind->close(d);
    pk_memory_give(d);
}

pk_status pk_decompressor_feed(pk_decompressor *d, pk_flow *f, bool last) {
    return d->kind->feed(d, f, last);
}

bool pk_decompressor_whole(const pk_decompressor *d) { return d->whole; }
