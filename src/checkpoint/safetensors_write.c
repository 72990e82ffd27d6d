/* safetensors_write.c - writing safetensors files whose tensors all begin at multiples of 64 bytes.
 *
 * The format knows no holes, so the header is filled up with spaces, and a tensor that does not end
 * on such a multiple is followed by a small U8 tensor "padding.N". Whole ones come first, so there
 * are few of these. The file appears under its name only when it is complete. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file_writer.h"
#include "base/memory.h"
#include "checkpoint/json.h"
#include "checkpoint/stored_list.h"

enum { ALIGN = 64, HEADER_AT = 8 };

/* bytes from the end of a tensor to the next multiple of ALIGN */
static size_t gap_after(size_t bytes) { return (ALIGN - bytes % ALIGN) % ALIGN; }

/* tensors that need no padding first; otherwise as given */
static void order_tensors(const pk_stored_tensor *tensor, size_t n,
                          const pk_stored_tensor **order) {
    size_t filled = 0;
    for (int padded = 0; padded < 2; padded++)
        for (size_t i = 0; i < n; i++)
            if ((gap_after(tensor[i].bytes) != 0) == padded) order[filled++] = &tensor[i];
}

/* "name":{"dtype":...,"shape":[...],"data_offsets":[begin,end]} */
static void add_entry(pk_buffer *out, const char *name, const char *type, const int64_t *dim,
                      int32_t n_dims, size_t begin, size_t end) {
    if (out->size > HEADER_AT + 1) pk_buffer_add_text(out, ",");
    pk_json_add_string(out, name);
    pk_buffer_print(out, ":{\"dtype\":\"%s\",\"shape\":[", type);
    for (int32_t i = 0; i < n_dims; i++) pk_buffer_print(out, "%s%" PRId64, i ? "," : "", dim[i]);
    pk_buffer_print(out, "],\"data_offsets\":[%zu,%zu]}", begin, end);
}

/* one U8 tensor of `gap` bytes, "padding.<number>" */
static void add_padding(pk_buffer *out, size_t number, size_t begin, size_t gap) {
    char          name[40];
    const int64_t dim = (int64_t)gap;
    snprintf(name, sizeof name, "padding.%zu", number);
    add_entry(out, name, "U8", &dim, 1, begin, begin + gap);
}

/* the 8 bytes of length come first; they are filled in at the end */
static pk_status build_header(const char *metadata, const pk_stored_tensor **order, size_t n,
                              pk_buffer *out) {
    size_t at = 0, n_padding = 0;
    pk_buffer_add(out, "\0\0\0\0\0\0\0\0{", HEADER_AT + 1);
    if (metadata) {
        pk_buffer_add_text(out, "\"__metadata__\":");
        pk_buffer_add_text(out, metadata);
    }
    for (size_t i = 0; i < n; i++) {
        const pk_stored_tensor *t = order[i];
        const size_t            gap = gap_after(t->bytes);
        add_entry(out, t->name, pk_stored_type_name(t->type), t->dim, t->n_dims, at, at + t->bytes);
        at += t->bytes;
        if (gap) add_padding(out, n_padding++, at, gap);
        at += gap;
    }
    pk_buffer_add_text(out, "}");
    while (!out->failed && out->size % ALIGN) pk_buffer_add_text(out, " ");
    PK_TRY(pk_buffer_status(out));
    for (int i = 0; i < HEADER_AT; i++)
        out->data[i] = (char)((uint64_t)(out->size - HEADER_AT) >> (8 * i));
    return PK_OK;
}

/* a header that lies about its data could be written, but never read again: refuse at once */
static pk_status check_tensors(const pk_stored_tensor *tensor, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t elements, bytes;
        if (!pk_stored_elements(tensor[i].dim, tensor[i].n_dims,
                                pk_stored_type_bytes(tensor[i].type), &elements, &bytes) ||
            bytes != tensor[i].bytes)
            PK_FAIL(PK_ARGUMENT, "tensor \"%s\": its shape does not fit its bytes", tensor[i].name);
    }
    return PK_OK;
}

/* the order here must be that of the header; errors stick in the writer until the end */
static pk_status write_file(const char *path, const pk_buffer *header,
                            const pk_stored_tensor **order, size_t n) {
    static const char zeros[ALIGN];
    pk_file_writer    w;
    PK_TRY(pk_file_writer_open(path, &w));
    pk_file_writer_add(&w, header->data, header->size);
    for (size_t i = 0; i < n; i++) {
        if (order[i]->bytes) pk_file_writer_add(&w, order[i]->data, order[i]->bytes);
        pk_file_writer_add(&w, zeros, gap_after(order[i]->bytes));
    }
    return pk_file_writer_finish(&w);
}

pk_status pk_safetensors_write(const char *path, const char *metadata,
                               const pk_stored_tensor *tensor, size_t n) {
    const pk_stored_tensor **order;
    pk_buffer                header = { 0 };
    PK_TRY(check_tensors(tensor, n));
    PK_TRY(PK_TAKE(&order, n));
    order_tensors(tensor, n, order);
    pk_status status = build_header(metadata, order, n, &header);
    if (status == PK_OK) status = write_file(path, &header, order, n);
    pk_buffer_free(&header);
    pk_memory_give(order);
    return status;
}
