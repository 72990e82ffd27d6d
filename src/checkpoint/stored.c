/* stored.c - a list of stored tensors: types, finding by name, elements as floats.
 *
 * The readers (safetensors.c, torch.c) fill the list; pk_stored_sort() closes it. Elements may lie
 * unaligned in the mapping, so they are always read by memcpy. */
#include "checkpoint/stored.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "checkpoint/stored_list.h"

/* Both tables come from PK_STORED_TYPE_MAP, so that they cannot disagree. */
size_t pk_stored_type_bytes(pk_stored_type type) {
#define BYTES(name, bytes, text) bytes,
    static const unsigned char table[] = { PK_STORED_TYPE_MAP(BYTES) };
#undef BYTES
    return (unsigned)type < PK_STORED_N_TYPES ? table[type] : 0;
}

const char *pk_stored_type_name(pk_stored_type type) {
#define NAME(name, bytes, text) text,
    static const char *const table[] = { PK_STORED_TYPE_MAP(NAME) };
#undef NAME
    return (unsigned)type < PK_STORED_N_TYPES ? table[type] : "?";
}

/* Checked at every step: a shape such as (2^32, 2^32) must not wrap to a small number. */
bool pk_stored_elements(const int64_t *dim, int32_t n_dims, size_t each, size_t *n, size_t *bytes) {
    size_t product = 1;
    for (int32_t i = 0; i < n_dims; i++)
        if (dim[i] < 0 || __builtin_mul_overflow(product, (size_t)dim[i], &product)) return false;
    *n = product;
    return !__builtin_mul_overflow(product, each, bytes);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const pk_stored_tensor *)a)->name, ((const pk_stored_tensor *)b)->name);
}

/* Sorting brings equal names together, so one sweep finds duplicates. */
pk_status pk_stored_sort(pk_stored *s) {
    if (s->n) qsort(s->tensor, s->n, sizeof *s->tensor, by_name);
    for (size_t i = 1; i < s->n; i++)
        if (strcmp(s->tensor[i - 1].name, s->tensor[i].name) == 0)
            PK_FAIL(PK_FORMAT, "tensor \"%s\" is there twice", s->tensor[i].name);
    return PK_OK;
}

const pk_stored_tensor *pk_stored_find(const pk_stored *s, const char *name) {
    const pk_stored_tensor key = { .name = name };
    if (!s->n) return NULL;
    return bsearch(&key, s->tensor, s->n, sizeof key, by_name);
}

void pk_stored_close(pk_stored *s) {
    pk_memory_give(s->tensor);
    pk_memory_give(s->names);
    pk_memory_give(s->metadata);
    pk_file_map_close(&s->map);
    *s = (pk_stored){ 0 };
}

/* ---- Elements as floats ---- */

static float from_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* IEEE half (1 sign, 5 exponent, 10 mantissa bits) to float (1, 8, 23). Shifting left by 13 bits
 * lines up exponent and mantissa. The exponent's bias is then 15 in place of 127: multiplying by
 * 2^(127 - 15) corrects it. This is exact, also for subnormal numbers, and has no branch, so that
 * the compiler can convert many at a time. Infinity and NaN (exponent 31) get the float's exponent
 * 255. */
static float half_to_float(uint16_t h) {
    const uint32_t magnitude = (uint32_t)(h & 0x7FFF) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    const float    scaled = from_bits(magnitude) * 0x1p112f;
    const uint32_t infinite =
        magnitude >= 0x0F800000u ? 0x7F800000u | (magnitude & 0x007FFFFFu) : 0;
    uint32_t bits;
    memcpy(&bits, &scaled, sizeof bits);
    return from_bits((infinite ? infinite : bits) | sign);
}

/* one loop per type: WIDE is how an element lies in the file, CONVERT makes it a float */
#define CONVERT_ALL(WIDE, CONVERT)                 \
    for (size_t i = 0; i < n; i++) {               \
        WIDE e;                                    \
        memcpy(&e, from + i * sizeof e, sizeof e); \
        out[i] = (CONVERT);                        \
    }                                              \
    break

/* BF16 is the upper half of a float. Integers and F64 round to the nearest float. */
void pk_stored_get_many(const pk_stored_tensor *t, size_t first, size_t n, float *out) {
    const unsigned char *from =
        (const unsigned char *)t->data + first * pk_stored_type_bytes(t->type);
    if (n == 0) return;
    switch (t->type) {
    case PK_STORED_F32: memcpy(out, from, n * sizeof *out); break;
    case PK_STORED_F64: CONVERT_ALL(double, (float)e);
    case PK_STORED_F16: CONVERT_ALL(uint16_t, half_to_float(e));
    case PK_STORED_BF16: CONVERT_ALL(uint16_t, from_bits((uint32_t)e << 16));
    case PK_STORED_I64: CONVERT_ALL(int64_t, (float)e);
    case PK_STORED_I32: CONVERT_ALL(int32_t, (float)e);
    case PK_STORED_I16: CONVERT_ALL(int16_t, (float)e);
    case PK_STORED_I8: CONVERT_ALL(int8_t, (float)e);
    case PK_STORED_U8: CONVERT_ALL(uint8_t, (float)e);
    case PK_STORED_BOOL: CONVERT_ALL(uint8_t, (float)(e != 0));
    case PK_STORED_N_TYPES: break;
    }
}

float pk_stored_get(const pk_stored_tensor *t, size_t i) {
    float out = 0;
    pk_stored_get_many(t, i, 1, &out);
    return out;
}

pk_status pk_stored_open_with(const char *path, pk_stored_reader *read, pk_stored *out) {
    pk_file_map map;
    *out = (pk_stored){ 0 };
    PK_TRY(pk_file_map_open(path, &map));
    const pk_status status = read(map.data, map.size, out);
    if (status == PK_OK) {
        out->map = map;
        return PK_OK;
    }
    pk_file_map_close(&map);
    pk_fail_context("%s", path);
    return status;
}
