/* protobuf.h - fields of a protocol buffer, which SentencePiece models are: read one by one, written at the end.
 *
 * Two buffers end to end are one that has the fields of both: lists go on, of single fields the last one
 * counts. So a model is extended by what is added behind it. Invariant: no byte outside the buffer is read. */
#ifndef PK_VOCAB_PROTOBUF_H
#define PK_VOCAB_PROTOBUF_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/* numbers of the fields that matter, from sentencepiece_model.proto */
enum {
    PK_SPM_MODEL_PIECE = 1,
    PK_SPM_MODEL_TRAINER = 2,
    PK_SPM_MODEL_NORMALIZER = 3,
    PK_SPM_MODEL_SELF_TEST = 4,
    PK_SPM_MODEL_DENORMALIZER = 5
};
enum { PK_SPM_PIECE_TEXT = 1, PK_SPM_PIECE_SCORE = 2, PK_SPM_PIECE_TYPE = 3 };
enum { PK_SPM_TRAINER_SIZE = 4, PK_SPM_TRAINER_BYTE_FALLBACK = 35, PK_SPM_NORMALIZER_CHARSMAP = 2 };
enum {
    PK_SPM_TYPE_NORMAL = 1,
    PK_SPM_TYPE_UNKNOWN = 2,
    PK_SPM_TYPE_USER_DEFINED = 4,
    PK_SPM_TYPE_BYTE = 6
};

typedef struct pk_proto { /* what is left to read */
    const unsigned char *at, *end;
} pk_proto;

/* One field. A number (varint or fixed) has its bits in number; the rest are bytes. */
typedef struct pk_proto_field {
    uint64_t id, number;
    bool     is_bytes;
    pk_proto bytes;
} pk_proto_field;

/* the next field; false: damaged */
bool pk_proto_next(pk_proto *p, pk_proto_field *f);

/* append a field */
void pk_proto_add_number(pk_buffer *b, uint64_t id, uint64_t number);
void pk_proto_add_float(pk_buffer *b, uint64_t id, float number);
void pk_proto_add_bytes(pk_buffer *b, uint64_t id, const void *bytes, size_t n);
#endif
