/* ct2_file_help.h - model.bin made in the tests, variable by variable, as any binary version. */
#ifndef PK_TESTS_CT2_FILE_HELP_H
#define PK_TESTS_CT2_FILE_HELP_H
#include "checkpoint/ct2.h"
#include "checkpoint_help.h"

static inline void put(pk_buffer *b, uint64_t n, int bytes) {
    for (int i = 0; i < bytes; i++) {
        const char byte = (char)(i < 8 ? n >> (8 * i) & 255 : 0);
        pk_buffer_add(b, &byte, 1);
    }
}

static inline void put_text(pk_buffer *b, const char *text) {
    put(b, strlen(text) + 1, 2);
    pk_buffer_add(b, text, strlen(text) + 1);
}

/* all that comes before the variables; count: how many follow */
static inline void put_head(pk_buffer *b, uint32_t version, const char *spec, uint32_t revision,
                            uint32_t count) {
    put(b, version, 4);
    if (version >= 2) {
        put_text(b, spec);
        put(b, revision, 4);
    }
    put(b, count, 4);
}

/* rank 0, 1 or 2; type: a number of version 4, where each is the bytes of an element */
static inline void put_variable(pk_buffer *b, uint32_t version, const char *name, int rank,
                                uint32_t rows, uint32_t cols, int type, size_t each,
                                const void *data) {
    const size_t n = (rank > 0 ? rows : 1) * (size_t)(rank > 1 ? cols : 1);
    put_text(b, name);
    put(b, (uint64_t)rank, 1);
    if (rank > 0) put(b, rows, 4);
    if (rank > 1) put(b, cols, 4);
    put(b, version >= 4 ? (uint64_t)type : each, 1);
    put(b, version >= 4 ? n * each : n, 4);
    pk_buffer_add(b, data, n * each);
}

/* for the helpers of checkpoint_help.h */
static inline pk_status read_without_header(const unsigned char *data, size_t size,
                                            pk_stored *out) {
    pk_ct2_header header;
    return pk_ct2_read(data, size, &header, out);
}
#endif
