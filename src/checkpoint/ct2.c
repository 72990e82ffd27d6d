/* ct2.c - a walk over model.bin that never goes beyond its end.
 *
 * Everything is read by take_...(), which first see that so many bytes are left. Names and tensors
 * are not copied: they are used where the file is mapped. */
#include "checkpoint/ct2.h"

#include <string.h>

#include "base/memory.h"
#include "checkpoint/stored_list.h"

typedef struct reader {
    const unsigned char *at, *end;
    uint32_t             version;
} reader;

/* the fewest bytes of a variable and of an alias: what a count may promise; and far more tensors
 * than any model has */
enum { LEAST_VARIABLE = 2 + 1 + 1 + 1 + 4, LEAST_ALIAS = 2 * (2 + 1), MOST_TENSORS = 1 << 16 };

/* ---- Parts ---- */

static pk_status cut_short(void) { PK_FAIL(PK_FORMAT, "cut short (an incomplete download?)"); }

static pk_status take_number(reader *r, size_t bytes, uint32_t *out) {
    *out = 0;
    if ((size_t)(r->end - r->at) < bytes) return cut_short();
    for (size_t i = 0; i < bytes; i++) *out |= (uint32_t)r->at[i] << (8 * i);
    r->at += bytes;
    return PK_OK;
}

/* A text has two bytes for its size, which counts the 0 at its end. A 0 anywhere else is refused:
 * names are compared as C texts. */
static pk_status take_text(reader *r, const char **out) {
    uint32_t size;
    PK_TRY(take_number(r, 2, &size));
    if ((size_t)(r->end - r->at) < size) return cut_short();
    *out = (const char *)r->at;
    if (size == 0 || memchr(*out, 0, size) != *out + size - 1)
        PK_FAIL(PK_FORMAT, "a name that does not end where its length says");
    r->at += size;
    return PK_OK;
}

/* how many variables or aliases follow; each takes some bytes */
static pk_status take_count(reader *r, size_t least, uint32_t *out) {
    PK_TRY(take_number(r, 4, out));
    if (*out > MOST_TENSORS) PK_FAIL(PK_FORMAT, "%u tensors are too many", *out);
    return *out <= (size_t)(r->end - r->at) / least ? PK_OK : cut_short();
}

/* ---- Variables ---- */

/* the number of a type from version 4 on, and the bytes of an element before */
static pk_status find_type(const reader *r, uint32_t number, pk_stored_type *out) {
    static const pk_stored_type now[] = { PK_STORED_F32, PK_STORED_I8,  PK_STORED_I16,
                                          PK_STORED_I32, PK_STORED_F16, PK_STORED_BF16 };
    if (r->version >= 4 && number < sizeof now / sizeof *now)
        *out = now[number];
    else if (r->version < 4 && (number == 1 || number == 2 || number == 4))
        *out = number == 4 ? PK_STORED_F32 : number == 2 ? PK_STORED_I16 : PK_STORED_I8;
    else
        PK_FAIL(PK_UNSUPPORTED, "weights of an unknown type (%u)", number);
    return PK_OK;
}

static pk_status take_shape(reader *r, pk_stored_tensor *t) {
    uint32_t rank, dim;
    PK_TRY(take_number(r, 1, &rank));
    if (rank > PK_STORED_DIMS) PK_FAIL(PK_FORMAT, "tensor \"%s\" has %u dimensions", t->name, rank);
    t->n_dims = (int32_t)rank;
    for (uint32_t i = 0; i < rank; i++) {
        PK_TRY(take_number(r, 4, &dim));
        t->dim[i] = dim;
    }
    return PK_OK;
}

/* Up to version 3 the count is of elements, from 4 on of bytes. It repeats what the shape says and
 * must agree, and the bytes must be there, before anything uses them. */
static pk_status take_variable(reader *r, pk_stored_tensor *t) {
    uint32_t type, count;
    size_t   n, claimed;
    *t = (pk_stored_tensor){ 0 };
    PK_TRY(take_text(r, &t->name));
    PK_TRY(take_shape(r, t));
    PK_TRY(take_number(r, 1, &type));
    PK_TRY(find_type(r, type, &t->type));
    PK_TRY(take_number(r, 4, &count));
    const size_t each = pk_stored_type_bytes(t->type);
    claimed = r->version >= 4 ? count : (size_t)count * each;
    if (!pk_stored_elements(t->dim, t->n_dims, each, &n, &t->bytes) || t->bytes != claimed)
        PK_FAIL(PK_FORMAT, "tensor \"%s\" has other sizes than its shape says", t->name);
    if (t->bytes > (size_t)(r->end - r->at)) return cut_short();
    t->data = r->at;
    r->at += t->bytes;
    return PK_OK;
}

static pk_status take_variables(reader *r, pk_stored *out) {
    uint32_t n;
    PK_TRY(take_count(r, LEAST_VARIABLE, &n));
    PK_TRY(PK_TAKE(&out->tensor, n));
    for (; out->n < n; out->n++) PK_TRY(take_variable(r, &out->tensor[out->n]));
    return pk_stored_sort(out);
}

/* ---- Aliases ---- */

/* tensors that are equal are stored once; the others are listed behind them by name */
static pk_status take_alias(reader *r, const pk_stored *variables, pk_stored_tensor *out) {
    const char *alias, *name;
    PK_TRY(take_text(r, &alias));
    PK_TRY(take_text(r, &name));
    const pk_stored_tensor *t = pk_stored_find(variables, name);
    if (!t) PK_FAIL(PK_FORMAT, "\"%s\" is another name of \"%s\", which is missing", alias, name);
    *out = *t;
    out->name = alias;
    return PK_OK;
}

/* behind the variables, which stay sorted until all names are resolved */
static pk_status take_aliases(reader *r, pk_stored *out) {
    uint32_t n;
    PK_TRY(take_count(r, LEAST_ALIAS, &n));
    PK_TRY(PK_GROW(&out->tensor, out->n + n));
    const pk_stored variables = *out;
    for (uint32_t i = 0; i < n; i++, out->n++)
        PK_TRY(take_alias(r, &variables, &out->tensor[out->n]));
    return pk_stored_sort(out);
}

/* ---- The whole ---- */

/* No magic number begins the file: a version out of any range is the sign of another format. A
 * newer version has a message of its own. */
static pk_status read_all(reader *r, pk_ct2_header *header, pk_stored *out) {
    PK_TRY(take_number(r, 4, &header->version));
    if (header->version < 1 || header->version > 255)
        PK_FAIL(PK_FORMAT, "not a model of CTranslate2");
    if (header->version > PK_CT2_NEWEST)
        PK_FAIL(PK_UNSUPPORTED, "binary version %u; 1 to %d can be read", header->version,
                PK_CT2_NEWEST);
    r->version = header->version;
    if (r->version >= 2) {
        PK_TRY(take_text(r, &header->spec));
        PK_TRY(take_number(r, 4, &header->revision));
    }
    PK_TRY(take_variables(r, out));
    if (r->version >= 3) PK_TRY(take_aliases(r, out));
    if (r->at != r->end) PK_FAIL(PK_FORMAT, "there are bytes behind its end");
    return PK_OK;
}

pk_status pk_ct2_read(const unsigned char *data, size_t size, pk_ct2_header *header,
                      pk_stored *out) {
    *header = (pk_ct2_header){ .revision = 1, .spec = "" };
    *out = (pk_stored){ 0 };
    if (!size) return cut_short(); /* its data may be NULL, and NULL + 0 is undefined in C */
    reader          r = { .at = data, .end = data + size };
    const pk_status status = read_all(&r, header, out);
    if (status != PK_OK) pk_stored_close(out);
    return status;
}
