/* ct2.h - the tensors of a CTranslate2 model.bin, of every binary version (1 to 6).
 *
 * Numbers are little-endian; a text is its length in two bytes (the NUL counts), its bytes, a NUL.
 *   u32 version; text spec, u32 revision (from 2 on); u32 n, then n variables; from 3 on u32 m,
 *   then m aliases: text alias, text name.
 * A variable is text name; u8 rank; u32 dim[rank]; then u8 type, u32 bytes; before version 4 it is
 * u8 bytes of an element, u32 elements instead. */
#ifndef PK_CHECKPOINT_CT2_H
#define PK_CHECKPOINT_CT2_H
#include "checkpoint/stored.h"

enum { PK_CT2_NEWEST = 6 };
typedef struct pk_ct2_header {
    uint32_t    version, revision;
    const char *spec; /* inside the file; "" where the version has none */
} pk_ct2_header;

/* An alias becomes a tensor of its own over the same bytes. Names and data are borrowed; out->map
 * stays empty. */
pk_status pk_ct2_read(const unsigned char *data, size_t size, pk_ct2_header *header,
                      pk_stored *out);
#endif
