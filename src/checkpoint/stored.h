/* stored.h - tensors as they lie in a file, whatever its format. Knows nothing of models.
 *
 * A reader checks everything that a file claims (lengths, offsets, shapes, types, names) before it
 * answers; what it returns may be trusted to lie inside the mapping. Nothing is ever executed. */
#ifndef PK_CHECKPOINT_STORED_H
#define PK_CHECKPOINT_STORED_H
/* aligned by hand, to be read as tables */
// clang-format off
#include "base/file_map.h"

#define PK_STORED_TYPE_MAP(X) /* name, bytes, safetensors name */                                  \
    X(F64, 8, "F64") X(F32, 4, "F32") X(F16, 2, "F16") X(BF16, 2, "BF16") X(I64, 8, "I64")         \
    X(I32, 4, "I32") X(I16, 2, "I16") X(I8, 1, "I8") X(U8, 1, "U8") X(BOOL, 1, "BOOL")
#define PK_STORED_ENUM(name, bytes, text) PK_STORED_##name,
typedef enum pk_stored_type { PK_STORED_TYPE_MAP(PK_STORED_ENUM) PK_STORED_N_TYPES } pk_stored_type;
size_t      pk_stored_type_bytes(pk_stored_type type);
const char *pk_stored_type_name(pk_stored_type type);

enum { PK_STORED_DIMS = 8 };
typedef struct pk_stored_tensor {
    const char    *name;
    pk_stored_type type;
    int32_t        n_dims;
    int64_t        dim[PK_STORED_DIMS];
    const void    *data;                        /* contiguous, row-major, little-endian, maybe unaligned */
    size_t         bytes;
} pk_stored_tensor;

typedef struct pk_stored {
    pk_file_map       map;
    pk_stored_tensor *tensor;                   /* sorted by name */
    size_t            n;
    char             *names;                    /* memory behind the names */
    char             *metadata;                 /* safetensors' __metadata__ as JSON text, or NULL */
} pk_stored;

pk_status pk_safetensors_open(const char *path, pk_stored *out);
/* the same from memory (for fuzzing); out->map stays empty, data is borrowed */
pk_status pk_safetensors_read(const unsigned char *data, size_t size, pk_stored *out);
/* pytorch_model.bin: the zip form of torch.save, and the older form without zip */
pk_status pk_torch_open(const char *path, pk_stored *out);
pk_status pk_torch_read(const unsigned char *data, size_t size, pk_stored *out);
void      pk_stored_close(pk_stored *s);
const pk_stored_tensor *pk_stored_find(const pk_stored *s, const char *name);      /* NULL: none */
/* element i of a numeric tensor as a float; booleans become 0 and 1 */
float     pk_stored_get(const pk_stored_tensor *t, size_t i);
/* n elements from first as floats: fast for whole rows */
void      pk_stored_get_many(const pk_stored_tensor *t, size_t first, size_t n, float *out);

/* Writes a safetensors file; metadata: a JSON object of strings, or NULL. Each tensor's data begins
 * at a multiple of 64 bytes in the file. The file appears only when it is whole. */
pk_status pk_safetensors_write(const char *path, const char *metadata, const pk_stored_tensor *tensor,
                               size_t n);
#endif
