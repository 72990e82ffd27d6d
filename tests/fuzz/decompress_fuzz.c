/* decompress_fuzz.c - any bytes to be decompressed, in pieces of any size: the result must not
 * depend on the pieces. The first byte says how large these are. */
#include "base/decompress.h"
#include "fuzz_help.h"

enum { MOST = 1 << 16 }; /* bytes that are looked at: a few of input can stand for gigabytes */

typedef struct outcome {
    pk_status     status;
    bool          whole;
    size_t        n;
    unsigned char text[MOST];
} outcome;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* until the input is used up and nothing more comes, the room is full, or it fails */
static void decompress(const uint8_t *data, size_t size, size_t piece, outcome *o) {
    pk_decompressor *d;
    size_t           at = 0;
    o->n = 0;
    o->whole = false;
    o->status = pk_decompressor_open(data, least(size, PK_DECOMPRESS_HEAD), &d);
    for (bool moved = true; o->status == PK_OK && moved && o->n < MOST;) {
        const size_t n_in = least(piece, size - at), room = least(piece, MOST - o->n);
        pk_flow      f = { data + at, n_in, o->text + o->n, room };
        o->status = pk_decompressor_feed(d, &f, at + n_in == size);
        moved = f.n_in < n_in || f.room < room;
        at += n_in - f.n_in;
        o->n += room - f.room;
    }
    if (d) o->whole = pk_decompressor_whole(d);
    pk_decompressor_close(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static outcome at_once, in_pieces;
    if (size == 0) return 0;
    decompress(data + 1, size - 1, (size_t)1 << 20, &at_once);
    fuzz_check_end(at_once.status);
    decompress(data + 1, size - 1, 1 + (size_t)data[0], &in_pieces);
    fuzz_check_end(in_pieces.status);
    const size_t n = least(at_once.n, in_pieces.n); /* a failure may come before its output does */
    LAW(memcmp(at_once.text, in_pieces.text, n) == 0);
    if (at_once.n == MOST || in_pieces.n == MOST) return 0;
    LAW(at_once.status == in_pieces.status);
    if (at_once.status == PK_OK) LAW(at_once.n == in_pieces.n && at_once.whole == in_pieces.whole);
    return 0;
}
