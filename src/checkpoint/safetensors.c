/* safetensors.c - reading safetensors files: 8 bytes of header length, a JSON header, then data.
 *
 * Every claim of the header is checked before anything is returned: types, shapes, lengths and
 * offsets; the tensors must tile the data exactly, without overlap, hole or rest, as the format
 * asks. Data pages are not touched. The padding of our own writer is left out of the list. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "checkpoint/json.h"
#include "checkpoint/stored_list.h"

/* the header's own limit is that of the reference implementation */
enum { HEADER_AT = 8, MAX_HEADER = 100 * 1000 * 1000 };

/* File layout:
 *     8 bytes       n, the length of the header, little-endian
 *     n bytes       JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
 *                   "__metadata__": {"key": "text", ...}}; may end in spaces
 *     the rest      data; data_offsets are [begin, end) in bytes from here */

/* "F32", "BF16" ... -> type; false: none that we know */
static bool find_type(const char *text, pk_stored_type *out) {
    for (int i = 0; i < PK_STORED_N_TYPES; i++) {
        *out = (pk_stored_type)i;
        if (strcmp(text, pk_stored_type_name(*out)) == 0) return true;
    }
    return false;
}

/* a list of counts; whether their product makes sense is for read_range() to say */
static pk_status read_shape(const json_t *shape, pk_stored_tensor *t) {
    if (!json_is_array(shape)) PK_FAIL(PK_FORMAT, "tensor \"%s\": no shape", t->name);
    const size_t n = json_array_size(shape);
    if (n > PK_STORED_DIMS)
        PK_FAIL(PK_FORMAT, "tensor \"%s\": %zu dimensions, at most %d can be read", t->name, n,
                PK_STORED_DIMS);
    t->n_dims = (int32_t)n;
    for (size_t i = 0; i < n; i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            PK_FAIL(PK_FORMAT, "tensor \"%s\": dimension %zu is not a count", t->name, i);
        t->dim[i] = json_integer_value(dim);
    }
    return PK_OK;
}

/* data_offsets, counted from the end of the header, against the shape and the file */
static pk_status read_range(const json_t *offsets, const unsigned char *data, size_t size,
                            pk_stored_tensor *t) {
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    size_t        n, bytes;
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        PK_FAIL(PK_FORMAT, "tensor \"%s\": no data_offsets", t->name);
    const json_int_t from = json_integer_value(begin), to = json_integer_value(end);
    if (from < 0 || to < from || (uint64_t)to > size)
        PK_FAIL(PK_FORMAT, "tensor \"%s\": its data lies outside the file (truncated?)", t->name);
    if (!pk_stored_elements(t->dim, t->n_dims, pk_stored_type_bytes(t->type), &n, &bytes) ||
        bytes != (size_t)(to - from))
        PK_FAIL(PK_FORMAT, "tensor \"%s\": its shape does not fit its %lld bytes", t->name,
                (long long)(to - from));
    t->data = data + from;
    t->bytes = bytes;
    return PK_OK;
}

/* one entry of the header: exactly the three keys that the format has, in any order */
static pk_status read_tensor(const json_t *entry, const unsigned char *data, size_t size,
                             pk_stored_tensor *t) {
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    if (!json_is_object(entry) || json_object_size(entry) != 3 || !type)
        PK_FAIL(PK_FORMAT, "tensor \"%s\": needs dtype, shape and data_offsets", t->name);
    if (!find_type(type, &t->type))
        PK_FAIL(PK_UNSUPPORTED, "tensor \"%s\": type \"%s\" cannot be read", t->name, type);
    PK_TRY(read_shape(json_object_get(entry, "shape"), t));
    return read_range(json_object_get(entry, "data_offsets"), data, size, t);
}

/* kept as text: only the caller knows what its keys mean */
static pk_status read_metadata(const json_t *metadata, pk_stored *out) {
    const char *key;
    json_t     *value;
    if (!json_is_object(metadata)) PK_FAIL(PK_FORMAT, "__metadata__ must be an object");
    json_object_foreach((json_t *)metadata, key, value) {
        if (!json_is_string(value)) PK_FAIL(PK_FORMAT, "__metadata__.%s must be a text", key);
    }
    char *text = json_dumps(metadata, JSON_COMPACT);
    if (!text) PK_FAIL(PK_NO_MEMORY, "out of memory");
    const pk_status status = pk_memory_copy_text(text, strlen(text), &out->metadata);
    free(text); /* jansson's own allocation */
    return status;
}

/* by address; of two that begin together the empty one comes first, so that both can tile */
static int by_offset(const void *a, const void *b) {
    const pk_stored_tensor *x = *(const pk_stored_tensor *const *)a;
    const pk_stored_tensor *y = *(const pk_stored_tensor *const *)b;
    if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* In order of offset, each tensor must begin where the one before it ends. */
static pk_status check_tiling(const pk_stored *s, const unsigned char *data, size_t size) {
    const pk_stored_tensor **order;
    const unsigned char     *at = data;
    pk_status                status = PK_OK;
    PK_TRY(PK_TAKE(&order, s->n));
    for (size_t i = 0; i < s->n; i++) order[i] = &s->tensor[i];
    if (s->n) qsort(order, s->n, sizeof *order, by_offset);
    for (size_t i = 0; i < s->n && status == PK_OK; i++) {
        if (order[i]->data != at)
            status = pk_fail_with(PK_FORMAT, "tensor \"%s\": its data %s", order[i]->name,
                                  (const unsigned char *)order[i]->data < at
                                      ? "overlaps another tensor's"
                                      : "is preceded by bytes that belong to no tensor");
        at = (const unsigned char *)order[i]->data + order[i]->bytes;
    }
    if (status == PK_OK && at != data + size)
        status = pk_fail_with(PK_FORMAT, "%zu bytes at the end belong to no tensor",
                              (size_t)(data + size - at));
    pk_memory_give(order);
    return status;
}

/* one block for all names, so that they outlive the JSON tree */
static pk_status take_lists(const json_t *header, pk_stored *out) {
    const char *key;
    json_t     *value;
    size_t      bytes = 0;
    json_object_foreach((json_t *)header, key, value) bytes += strlen(key) + 1;
    PK_TRY(PK_TAKE(&out->names, bytes));
    return PK_TAKE(&out->tensor, json_object_size(header));
}

/* "padding.N" of safetensors_write.c: U8 tensors that fill the gaps between others */
static bool is_padding(const pk_stored_tensor *t) {
    static const char prefix[] = "padding.";
    const size_t      n = sizeof prefix - 1;
    return t->type == PK_STORED_U8 && strncmp(t->name, prefix, n) == 0 && t->name[n] &&
           strspn(t->name + n, "0123456789") == strlen(t->name + n);
}

/* takes the padding off the list; the bytes stay in the file */
static void drop_padding(pk_stored *s) {
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!is_padding(&s->tensor[i])) s->tensor[kept++] = s->tensor[i];
    s->n = kept;
}

/* Fills the list in three steps: every tensor on its own, then all together, then sorted by name.
 * On failure the caller closes what is half filled. */
static pk_status read_header(const json_t *header, const unsigned char *data, size_t size,
                             pk_stored *out) {
    const char *key;
    json_t     *value;
    PK_TRY(take_lists(header, out));
    char *name = out->names;
    json_object_foreach((json_t *)header, key, value) {
        if (strcmp(key, "__metadata__") == 0) {
            PK_TRY(read_metadata(value, out));
            continue;
        }
        pk_stored_tensor *t = &out->tensor[out->n];
        const size_t      length = strlen(key) + 1;
        memcpy(name, key, length);
        t->name = name;
        name += length;
        PK_TRY(read_tensor(value, data, size, t));
        out->n++;
    }
    PK_TRY(check_tiling(out, data, size));
    drop_padding(out);
    return pk_stored_sort(out);
}

pk_status pk_safetensors_read(const unsigned char *data, size_t size, pk_stored *out) {
    uint64_t length = 0;
    json_t  *header;
    *out = (pk_stored){ 0 };
    if (size < HEADER_AT) PK_FAIL(PK_FORMAT, "not a safetensors file: only %zu bytes long", size);
    for (int i = 0; i < HEADER_AT; i++) length |= (uint64_t)data[i] << (8 * i);
    if (length > MAX_HEADER || length > size - HEADER_AT)
        PK_FAIL(PK_FORMAT, "not a safetensors file, or truncated: header of %llu bytes in %zu",
                (unsigned long long)length, size);
    if (length == 0 || data[HEADER_AT] != '{') PK_FAIL(PK_FORMAT, "not a safetensors file");
    PK_TRY(pk_json_parse((const char *)data + HEADER_AT, (size_t)length, "header", &header));
    const size_t    begin = HEADER_AT + (size_t)length;
    const pk_status status = read_header(header, data + begin, size - begin, out);
    json_decref(header);
    if (status != PK_OK) pk_stored_close(out);
    return status;
}

pk_status pk_safetensors_open(const char *path, pk_stored *out) {
    return pk_stored_open_with(path, pk_safetensors_read, out);
}
