/* torch.c - tensors from files of torch.save, in both their forms: a zip archive (PyTorch 1.6 and
 * later: data.pkl, data/<key>), and before that a chain of pickles followed by the storages.
 *
 * The pickle only says where each tensor lies (storage key, offset, shape, strides); the numbers
 * stay where they are in the mapping. Tensors may share a storage, as tied weights do. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint/pickle.h"
#include "checkpoint/stored_list.h"
#include "checkpoint/zip.h"

/* a block of numbers in the file */
typedef struct storage {
    const pk_pickle_value *key;
    pk_stored_type         type;
    const unsigned char   *data;
    size_t                 bytes;
} storage;

typedef struct reader {
    pk_pickle            pickle;
    pk_zip               zip;    /* zip form */
    const char          *folder; /* "archive/", borrowed, in front of every entry */
    size_t               folder_size;
    storage             *storages; /* older form: sorted by key */
    size_t               n_storages;
    const unsigned char *data; /* the whole file */
    size_t               size;
} reader;

enum { MAX_NAME = 256 };

/* ---- The values of a persistent id: 'storage', type, key, device, number of elements ---- */

/* Reads type and key into *out; *bytes is the size that the pickle claims. */
static pk_status read_storage_id(const pk_pickle_value *v, storage *out, size_t *bytes) {
    if (v->kind != PK_PICKLE_STORAGE) PK_FAIL(PK_FORMAT, "a tensor without a storage");
    const pk_pickle_value *type = v->item[1], *key = v->item[2], *count = v->item[4];
    if (type->kind != PK_PICKLE_GLOBAL || type->integer < PK_PICKLE_STORAGE_TYPE ||
        key->kind != PK_PICKLE_TEXT || key->size > MAX_NAME / 2 || count->kind != PK_PICKLE_INT ||
        count->integer < 0)
        PK_FAIL(PK_FORMAT, "a storage with a broken description");
    if (v->n > 5 && v->item[5]->kind != PK_PICKLE_NONE)
        PK_FAIL(PK_UNSUPPORTED, "a storage that is a view of another: save it anew");
    *out =
        (storage){ .key = key, .type = (pk_stored_type)(type->integer - PK_PICKLE_STORAGE_TYPE) };
    if (__builtin_mul_overflow((size_t)count->integer, pk_stored_type_bytes(out->type), bytes))
        PK_FAIL(PK_FORMAT, "a storage of impossible size");
    return PK_OK;
}

/* an entry of the checkpoint's folder inside the archive; NULL: none */
static const pk_zip_entry *find_entry(const reader *r, const char *name, size_t size) {
    char full[2 * MAX_NAME];
    if (r->folder_size + size > sizeof full) return NULL;
    memcpy(full, r->folder, r->folder_size);
    memcpy(full + r->folder_size, name, size);
    return pk_zip_find(&r->zip, full, r->folder_size + size);
}

/* shorter keys first: any order will do that is the same for sorting and searching */
static int by_key(const void *a, const void *b) {
    const pk_pickle_value *x = ((const storage *)a)->key, *y = ((const storage *)b)->key;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return x->size ? memcmp(x->text, y->text, x->size) : 0;
}

/* the older form's storage of this key; NULL: none */
static storage *find_listed(const reader *r, const pk_pickle_value *key) {
    const storage wanted = { .key = key };
    if (key->kind != PK_PICKLE_TEXT || !r->n_storages) return NULL;
    return bsearch(&wanted, r->storages, r->n_storages, sizeof wanted, by_key);
}

/* Where a tensor's storage lies, and that it is as long as the pickle says. */
static pk_status find_storage(const reader *r, const pk_pickle_value *id, storage *out) {
    char   name[MAX_NAME] = "data/";
    size_t bytes;
    PK_TRY(read_storage_id(id, out, &bytes));
    if (r->zip.entry) {
        memcpy(name + 5, out->key->text, out->key->size);
        const pk_zip_entry *entry = find_entry(r, name, 5 + out->key->size);
        if (entry) *out = (storage){ out->key, out->type, entry->data, entry->size };
    } else {
        const storage *listed = find_listed(r, out->key);
        if (listed) *out = *listed;
    }
    if (!out->data || out->bytes < bytes)
        PK_FAIL(PK_FORMAT, "storage %.*s is missing or too short (truncated file?)",
                (int)out->key->size, out->key->text);
    return PK_OK;
}

/* ---- Tensors ---- */

/* (storage, offset, size, stride, ...) -> data, type and shape. Offset and strides count
 * elements. */
static pk_status read_tensor(const reader *r, const pk_pickle_value *v, pk_stored_tensor *t) {
    if (v->kind == PK_PICKLE_PARAMETER && v->n) v = v->item[0];
    if (v->kind != PK_PICKLE_TENSOR || v->n < 4) PK_FAIL(PK_UNSUPPORTED, "not a tensor");
    const pk_pickle_value *offset = v->item[1], *shape = v->item[2], *stride = v->item[3];
    if (offset->kind != PK_PICKLE_INT || offset->integer < 0 || shape->kind != PK_PICKLE_TUPLE ||
        stride->kind != PK_PICKLE_TUPLE || shape->n != stride->n || shape->n > PK_STORED_DIMS)
        PK_FAIL(PK_FORMAT, "broken shape");
    t->n_dims = (int32_t)shape->n;
    for (size_t i = 0; i < shape->n; i++) {
        if (shape->item[i]->kind != PK_PICKLE_INT || stride->item[i]->kind != PK_PICKLE_INT)
            PK_FAIL(PK_FORMAT, "broken shape");
        t->dim[i] = shape->item[i]->integer;
    }
    storage s;
    size_t  n, begin;
    PK_TRY(find_storage(r, v->item[0], &s));
    t->type = s.type;
    const size_t each = pk_stored_type_bytes(s.type);
    if (!pk_stored_elements(t->dim, t->n_dims, each, &n, &t->bytes) ||
        __builtin_mul_overflow((size_t)offset->integer, each, &begin) || begin > s.bytes ||
        t->bytes > s.bytes - begin)
        PK_FAIL(PK_FORMAT, "its shape does not fit its storage");
    t->data = s.data + begin;
    /* row-major: from the last dimension up, strides are products of the dimensions below; the
     * stride of a dimension of one element says nothing */
    int64_t expect = 1;
    for (size_t i = shape->n; n > 0 && i-- > 0; expect *= t->dim[i])
        if (t->dim[i] != 1 && stride->item[i]->integer != expect)
            PK_FAIL(PK_UNSUPPORTED, "not contiguous: save it anew after .contiguous()");
    return PK_OK;
}

/* names are borrowed from the file without a NUL: copy them behind each other */
static pk_status copy_name(const pk_pickle_value *key, char **at, const char **name) {
    if (memchr(key->text, 0, key->size)) PK_FAIL(PK_FORMAT, "a tensor's name with a NUL in it");
    memcpy(*at, key->text, key->size);
    *name = *at;
    *at += key->size + 1;
    return PK_OK;
}

/* The whole dict, name -> tensor. No walk into values goes deeper than a tensor's arguments, so a
 * pickle that contains itself cannot lead anywhere. */
static pk_status read_state_dict(const reader *r, const pk_pickle_value *dict, pk_stored *out) {
    if (dict->kind != PK_PICKLE_DICT)
        PK_FAIL(PK_UNSUPPORTED, "not a state dict: save model.state_dict() alone");
    size_t bytes = 0;
    for (size_t i = 0; i < dict->n; i += 2) {
        if (dict->item[i]->kind != PK_PICKLE_TEXT || dict->item[i]->size >= MAX_NAME)
            PK_FAIL(PK_FORMAT, "a tensor without a name, or with one too long");
        bytes += dict->item[i]->size + 1;
    }
    PK_TRY(PK_TAKE(&out->names, bytes));
    PK_TRY(PK_TAKE(&out->tensor, dict->n / 2));
    char *name = out->names;
    for (; out->n < dict->n / 2; out->n++) {
        pk_stored_tensor *t = &out->tensor[out->n];
        PK_TRY(copy_name(dict->item[2 * out->n], &name, &t->name));
        const pk_status status = read_tensor(r, dict->item[2 * out->n + 1], t);
        if (status != PK_OK) {
            pk_fail_context("tensor \"%s\"", t->name);
            return status;
        }
    }
    return pk_stored_sort(out);
}

/* ---- The zip form ---- */

/* the folder's name is that of the file when it was saved: find it by what must be in it */
static pk_status find_folder(reader *r) {
    static const char wanted[] = "/data.pkl";
    const size_t      length = sizeof wanted - 1;
    for (size_t i = 0; i < r->zip.n; i++) {
        const pk_zip_entry *e = &r->zip.entry[i];
        if (e->name_size <= length || e->name_size > MAX_NAME) continue;
        if (memcmp(e->name + e->name_size - length, wanted, length) != 0) continue;
        r->folder = e->name;
        r->folder_size = e->name_size - length + 1;
        return PK_OK;
    }
    PK_FAIL(PK_FORMAT, "a zip archive without data.pkl: not a PyTorch checkpoint");
}

/* folder/data.pkl: the state dict; folder/data/<key>: the bytes of a storage; folder/byteorder:
 * "little", absent in files of older versions. */
static pk_status read_zip(reader *r, pk_stored *out) {
    const pk_pickle_value *top;
    PK_TRY(pk_zip_open(r->data, r->size, &r->zip));
    for (size_t i = 0; i < r->zip.n; i++) /* data is used where it lies */
        if (r->zip.entry[i].deflated)
            PK_FAIL(PK_UNSUPPORTED, "zip entry is compressed: torch stores it plain");
    PK_TRY(find_folder(r));
    const pk_zip_entry *order = find_entry(r, "byteorder", 9);
    if (order && (order->size < 6 || memcmp(order->data, "little", 6) != 0))
        PK_FAIL(PK_UNSUPPORTED, "written on a big-endian machine: save it anew on another");
    const pk_zip_entry *pickle = find_entry(r, "data.pkl", 8);
    PK_TRY(pk_pickle_read(&r->pickle, pickle->data, pickle->size, NULL, &top));
    return read_state_dict(r, top, out);
}

/* ---- The form before PyTorch 1.6 ----
 * Five pickles, one behind the other: magic number, version (1001), a dict on the machine that
 * wrote the file, the state dict, the list of storage keys. Then each storage in the order of that
 * list: its number of elements in 8 bytes, and the elements. */

/* reads the pickle at *at, which then points behind it */
static pk_status next_pickle(reader *r, size_t *at, const pk_pickle_value **out) {
    size_t used = 0;
    PK_TRY(pk_pickle_read(&r->pickle, r->data + *at, r->size - *at, &used, out));
    *at += used;
    return PK_OK;
}

/* magic number, version and the byte order of the machine that wrote the file */
static pk_status read_preamble(reader *r, size_t *at) {
    static const char      magic[] = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    const pk_pickle_value *v;
    const pk_status        first = next_pickle(r, at, &v);
    if (first == PK_NO_MEMORY) return first;
    if (first != PK_OK || v->kind != PK_PICKLE_LONG || v->size != 10 ||
        memcmp(v->text, magic, 10) != 0)
        PK_FAIL(PK_FORMAT, "not a PyTorch checkpoint");
    PK_TRY(next_pickle(r, at, &v));
    if (v->kind != PK_PICKLE_INT || v->integer != 1001)
        PK_FAIL(PK_UNSUPPORTED, "a PyTorch checkpoint of an unknown version");
    PK_TRY(next_pickle(r, at, &v));
    for (size_t i = 0; v->kind == PK_PICKLE_DICT && i < v->n; i += 2)
        if (pk_pickle_is_text(v->item[i], "little_endian") && v->item[i + 1]->integer != 1)
            PK_FAIL(PK_UNSUPPORTED, "written on a big-endian machine: save it anew on another");
    return PK_OK;
}

/* Only the tensors say which type their storage has. So the list gets one entry for each tensor, is
 * sorted by key, and repeated keys are dropped. */
static pk_status list_storages(reader *r, const pk_pickle_value *dict) {
    PK_TRY(PK_TAKE(&r->storages, dict->n / 2));
    for (size_t i = 1; i < dict->n; i += 2) {
        const pk_pickle_value *v = dict->item[i];
        size_t                 bytes;
        if (v->kind == PK_PICKLE_PARAMETER && v->n) v = v->item[0];
        if (v->kind != PK_PICKLE_TENSOR || v->n == 0) continue;
        PK_TRY(read_storage_id(v->item[0], &r->storages[r->n_storages], &bytes));
        r->n_storages++;
    }
    if (r->n_storages) qsort(r->storages, r->n_storages, sizeof *r->storages, by_key);
    size_t kept = 0;
    for (size_t i = 0; i < r->n_storages; i++)
        if (kept == 0 || by_key(&r->storages[kept - 1], &r->storages[i]) != 0)
            r->storages[kept++] = r->storages[i];
    r->n_storages = kept;
    return PK_OK;
}

/* one storage: its number of elements in 8 bytes, then the elements */
static pk_status locate_storage(const reader *r, storage *s, size_t *at) {
    uint64_t n = 0;
    if (r->size - *at < 8) PK_FAIL(PK_FORMAT, "ends before its storages (truncated file?)");
    for (size_t i = 0; i < 8; i++) n |= (uint64_t)r->data[*at + i] << (8 * i);
    *at += 8;
    if (__builtin_mul_overflow((size_t)n, pk_stored_type_bytes(s->type), &s->bytes) ||
        s->bytes > r->size - *at)
        PK_FAIL(PK_FORMAT, "ends in the middle of a storage (truncated file?)");
    s->data = r->data + *at;
    *at += s->bytes;
    return PK_OK;
}

/* storages follow one another in the order of the list of keys */
static pk_status locate_storages(reader *r, const pk_pickle_value *keys, size_t at) {
    if (keys->kind != PK_PICKLE_LIST) PK_FAIL(PK_FORMAT, "broken list of storages");
    for (size_t i = 0; i < keys->n; i++) {
        storage *s = find_listed(r, keys->item[i]);
        if (!s) PK_FAIL(PK_FORMAT, "a storage that belongs to no tensor");
        PK_TRY(locate_storage(r, s, &at));
    }
    return PK_OK;
}

/* the older form: all storages must be located before the first tensor can be read */
static pk_status read_chain(reader *r, pk_stored *out) {
    const pk_pickle_value *dict, *keys;
    size_t                 at = 0;
    PK_TRY(read_preamble(r, &at));
    PK_TRY(next_pickle(r, &at, &dict));
    if (dict->kind != PK_PICKLE_DICT)
        PK_FAIL(PK_UNSUPPORTED, "not a state dict: save model.state_dict() alone");
    PK_TRY(next_pickle(r, &at, &keys));
    PK_TRY(list_storages(r, dict));
    PK_TRY(locate_storages(r, keys, at));
    return read_state_dict(r, dict, out);
}

pk_status pk_torch_read(const unsigned char *data, size_t size, pk_stored *out) {
    reader r = { .data = data, .size = size };
    *out = (pk_stored){ 0 };
    const pk_status status = pk_zip_is(data, size) ? read_zip(&r, out) : read_chain(&r, out);
    pk_pickle_free(&r.pickle);
    pk_zip_close(&r.zip);
    pk_memory_give(r.storages);
    if (status != PK_OK) pk_stored_close(out);
    return status;
}

pk_status pk_torch_open(const char *path, pk_stored *out) {
    return pk_stored_open_with(path, pk_torch_read, out);
}
