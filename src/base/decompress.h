/* decompress.h - compressed bytes in, plain bytes out, a piece at a time.
 *
 * The first bytes of a file decide, not its name: gzip, xz, zstd (also several of one kind, one
 * behind the other), or anything else, which passes unchanged. */
#ifndef PK_BASE_DECOMPRESS_H
#define PK_BASE_DECOMPRESS_H
#include <stdbool.h>

#include "base/status.h"

enum { PK_DECOMPRESS_HEAD = 6 }; /* first bytes that decide */
typedef struct pk_decompressor pk_decompressor;
pk_status pk_decompressor_open(const unsigned char *head, size_t n, pk_decompressor **out);
void      pk_decompressor_close(pk_decompressor *d); /* accepts NULL */

/* Bytes on their way; feeding moves both ends forward. */
typedef struct pk_flow {
    const unsigned char *in;
    size_t               n_in;
    unsigned char       *out;
    size_t               room;
} pk_flow;
/* Goes on until the input is used up or the room is full. last: no more input will come. Damaged
 * data: PK_FORMAT. */
pk_status pk_decompressor_feed(pk_decompressor *d, pk_flow *f, bool last);
/* whether the data may end here; false: something is missing */
bool pk_decompressor_whole(const pk_decompressor *d);
#endif
