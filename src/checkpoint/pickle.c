/* pickle.c - the opcodes and the globals that a file of tensors needs; all others are refused by
 * name.
 *
 * Opcodes are those of Python's pickletools that torch.save writes with protocols 2 to 4. A global
 * is looked up in a list of four: nothing is imported, nothing is called. */
#include "checkpoint/pickle.h"

#include <string.h>

#include "base/buffer.h"

/* bytes of the file, borrowed, not NUL-terminated */
typedef struct machine_text {
    const char *at;
    size_t      size;
} machine_text;

int pk_pickle_is_text(const pk_pickle_value *v, const char *text) {
    return v->kind == PK_PICKLE_TEXT && v->size == strlen(text) &&
           memcmp(v->text, text, v->size) == 0;
}

/* ---- The bytes ---- */

/* the next n bytes */
static pk_status take_raw(pk_pickle *p, size_t n, machine_text *out) {
    *out = (machine_text){ 0 };
    if (n > p->size - p->at) PK_FAIL(PK_FORMAT, "pickle ends in the middle (truncated file?)");
    *out = (machine_text){ (const char *)p->data + p->at, n };
    p->at += n;
    return PK_OK;
}

/* an unsigned little-endian number of up to 8 bytes */
static pk_status take_number(pk_pickle *p, size_t bytes, uint64_t *out) {
    machine_text raw;
    *out = 0;
    PK_TRY(take_raw(p, bytes, &raw));
    for (size_t i = 0; i < bytes; i++) *out |= (uint64_t)(unsigned char)raw.at[i] << (8 * i);
    return PK_OK;
}

/* `bytes` bytes of length, then as many of text */
static pk_status take_counted(pk_pickle *p, size_t bytes, machine_text *out) {
    uint64_t n;
    *out = (machine_text){ 0 };
    PK_TRY(take_number(p, bytes, &n));
    if (n > p->size) PK_FAIL(PK_FORMAT, "pickle ends in the middle of a text (truncated file?)");
    return take_raw(p, (size_t)n, out);
}

/* up to the next newline, which is skipped: how protocol 2 writes names of globals */
static pk_status take_line(pk_pickle *p, machine_text *out) {
    const unsigned char *begin = p->data + p->at;
    const size_t         left = p->size - p->at;
    const unsigned char *end = left ? memchr(begin, '\n', left) : NULL;
    if (!end) PK_FAIL(PK_FORMAT, "pickle ends in the middle of a line (truncated file?)");
    PK_TRY(take_raw(p, (size_t)(end - begin), out));
    p->at++;
    return PK_OK;
}

/* ---- Globals ---- */

typedef struct known_global {
    const char *module, *name;
    int         global;
} known_global;

/* The whole list of what a pickle may name. PyTorch writes one storage class per number type. */
static const known_global known[] = {
    { "collections", "OrderedDict", PK_PICKLE_ORDERED_DICT },
    { "torch._utils", "_rebuild_tensor_v2", PK_PICKLE_REBUILD_TENSOR },
    { "torch._utils", "_rebuild_parameter", PK_PICKLE_REBUILD_PARAMETER },
    { "torch", "DoubleStorage", PK_PICKLE_STORAGE_TYPE + PK_STORED_F64 },
    { "torch", "FloatStorage", PK_PICKLE_STORAGE_TYPE + PK_STORED_F32 },
    { "torch", "HalfStorage", PK_PICKLE_STORAGE_TYPE + PK_STORED_F16 },
    { "torch", "BFloat16Storage", PK_PICKLE_STORAGE_TYPE + PK_STORED_BF16 },
    { "torch", "LongStorage", PK_PICKLE_STORAGE_TYPE + PK_STORED_I64 },
    { "torch", "IntStorage", PK_PICKLE_STORAGE_TYPE + PK_STORED_I32 },
    { "torch", "ShortStorage", PK_PICKLE_STORAGE_TYPE + PK_STORED_I16 },
    { "torch", "CharStorage", PK_PICKLE_STORAGE_TYPE + PK_STORED_I8 },
    { "torch", "ByteStorage", PK_PICKLE_STORAGE_TYPE + PK_STORED_U8 },
    { "torch", "BoolStorage", PK_PICKLE_STORAGE_TYPE + PK_STORED_BOOL },
};

static int same(machine_text text, const char *word) {
    return text.size == strlen(word) && memcmp(text.at, word, text.size) == 0;
}

/* a name of the list becomes a value; any other name is refused */
static pk_status push_global(pk_pickle *p, machine_text module, machine_text name) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!same(module, known[i].module) || !same(name, known[i].name)) continue;
        pk_pickle_value *v;
        PK_TRY(pk_pickle_new(p, PK_PICKLE_GLOBAL, &v));
        v->integer = known[i].global;
        return PK_OK;
    }
    const int most = 100; /* of a name that may be made of anything */
    PK_FAIL(PK_UNSUPPORTED, "refuses to load %.*s.%.*s: only tensors are read",
            module.size < 100 ? (int)module.size : most, module.at,
            name.size < 100 ? (int)name.size : most, name.at);
}

/* GLOBAL: module and name as two lines of text */
static pk_status read_global(pk_pickle *p) {
    machine_text module, name;
    PK_TRY(take_line(p, &module));
    PK_TRY(take_line(p, &name));
    return push_global(p, module, name);
}

/* STACK_GLOBAL (protocol 4): module and name are the two top values of the stack */
static pk_status read_stack_global(pk_pickle *p) {
    pk_pickle_value *name, *module;
    PK_TRY(pk_pickle_pop(p, &name));
    PK_TRY(pk_pickle_pop(p, &module));
    if (name->kind != PK_PICKLE_TEXT || module->kind != PK_PICKLE_TEXT)
        PK_FAIL(PK_FORMAT, "broken pickle: a global without a name at byte %zu", p->at);
    return push_global(p, (machine_text){ module->text, module->size },
                       (machine_text){ name->text, name->size });
}

/* REDUCE, function(*arguments): nothing is called. The result holds the arguments, and its kind
 * says what the function would have built. */
static pk_status reduce(pk_pickle *p) {
    pk_pickle_value *arguments, *function, *result;
    PK_TRY(pk_pickle_pop(p, &arguments));
    PK_TRY(pk_pickle_pop(p, &function));
    if (function->kind != PK_PICKLE_GLOBAL || arguments->kind != PK_PICKLE_TUPLE)
        PK_FAIL(PK_FORMAT, "broken pickle: a call of nothing at byte %zu", p->at);
    if (function->integer >= PK_PICKLE_STORAGE_TYPE)
        PK_FAIL(PK_FORMAT, "broken pickle: a storage type is called at byte %zu", p->at);
    if (function->integer == PK_PICKLE_ORDERED_DICT) {
        if (arguments->n)
            PK_FAIL(PK_UNSUPPORTED, "an OrderedDict pickled by Python 2: save it anew");
        return pk_pickle_new(p, PK_PICKLE_DICT, &result);
    }
    PK_TRY(pk_pickle_new(
        p, function->integer == PK_PICKLE_REBUILD_TENSOR ? PK_PICKLE_TENSOR : PK_PICKLE_PARAMETER,
        &result));
    result->item = arguments->item; /* a tuple never changes, so it can be shared */
    result->n = arguments->n;
    return PK_OK;
}

/* ---- Values ---- */

static pk_status push_integer(pk_pickle *p, pk_pickle_kind kind, int64_t integer) {
    pk_pickle_value *v;
    PK_TRY(pk_pickle_new(p, kind, &v));
    v->integer = integer;
    return PK_OK;
}

/* BININT1, BININT2 and BININT: 1, 2 or 4 bytes; only the last has a sign */
static pk_status push_number(pk_pickle *p, size_t bytes) {
    uint64_t n;
    PK_TRY(take_number(p, bytes, &n));
    return push_integer(p, PK_PICKLE_INT, bytes == 4 ? (int64_t)(int32_t)(uint32_t)n : (int64_t)n);
}

/* LONG1: two's complement of any length; what fits 64 bits becomes a plain integer */
static pk_status push_long(pk_pickle *p) {
    machine_text raw;
    PK_TRY(take_counted(p, 1, &raw));
    uint64_t n = 0;
    if (raw.size <= 8) {
        for (size_t i = 0; i < raw.size; i++) n |= (uint64_t)(unsigned char)raw.at[i] << (8 * i);
        if (raw.size && raw.size < 8 && (raw.at[raw.size - 1] & 0x80)) n |= ~0ull << (8 * raw.size);
        return push_integer(p, PK_PICKLE_INT, (int64_t)n);
    }
    pk_pickle_value *v;
    PK_TRY(pk_pickle_new(p, PK_PICKLE_LONG, &v));
    v->text = raw.at;
    v->size = raw.size;
    return PK_OK;
}

/* a text in UTF-8 with 1, 4 or 8 bytes of length before it */
static pk_status push_text(pk_pickle *p, size_t length_bytes) {
    machine_text     raw;
    pk_pickle_value *v;
    PK_TRY(take_counted(p, length_bytes, &raw));
    PK_TRY(pk_pickle_new(p, PK_PICKLE_TEXT, &v));
    v->text = raw.at;
    v->size = raw.size;
    return PK_OK;
}

/* Replaces the top n values, or those above the mark, by a tuple of them. */
static pk_status push_tuple(pk_pickle *p, size_t n, bool marked) {
    pk_pickle_value *v;
    if (marked) PK_TRY(pk_pickle_above_mark(p, &n));
    if (n > p->n_stack)
        PK_FAIL(PK_FORMAT, "broken pickle: a tuple of too little at byte %zu", p->at);
    for (size_t i = 0; i < n; i++)
        if (!p->stack[p->n_stack - 1 - i])
            PK_FAIL(PK_FORMAT, "broken pickle: a mark inside a tuple at byte %zu", p->at);
    PK_TRY(pk_pickle_new(p, PK_PICKLE_TUPLE, &v));
    p->n_stack--; /* the tuple goes where its items began: take it off, push it again */
    PK_TRY(pk_pickle_collect(p, v, n));
    if (marked) p->n_stack--;
    return pk_pickle_push(p, v);
}

/* appends what lies above the mark, or n values, to the container below */
static pk_status extend(pk_pickle *p, pk_pickle_kind kind, size_t n, bool marked) {
    if (marked) PK_TRY(pk_pickle_above_mark(p, &n));
    const size_t below = n + (marked ? 1 : 0);
    if (p->n_stack <= below)
        PK_FAIL(PK_FORMAT, "broken pickle: nothing to add to at byte %zu", p->at);
    pk_pickle_value *container = p->stack[p->n_stack - 1 - below];
    for (size_t i = 0; i < n; i++)
        if (!p->stack[p->n_stack - 1 - i]) container = NULL;
    if (!container || container->kind != kind || (kind == PK_PICKLE_DICT && n % 2))
        PK_FAIL(PK_FORMAT, "broken pickle: nothing to add to at byte %zu", p->at);
    PK_TRY(pk_pickle_collect(p, container, n));
    if (marked) p->n_stack--;
    return PK_OK;
}

/* BUILD sets attributes of the object below; a state dict's _metadata, of no use here */
static pk_status build(pk_pickle *p) {
    pk_pickle_value *state, *object;
    PK_TRY(pk_pickle_pop(p, &state));
    PK_TRY(pk_pickle_pop(p, &object));
    if (object->kind != PK_PICKLE_DICT)
        PK_FAIL(PK_UNSUPPORTED, "refuses to set attributes of an object: only tensors are read");
    return pk_pickle_push(p, object);
}

/* BINPERSID: a tuple that names a storage. Its numbers lie elsewhere in the file. */
static pk_status persistent(pk_pickle *p) {
    pk_pickle_value *id, *v;
    PK_TRY(pk_pickle_pop(p, &id));
    if (id->kind != PK_PICKLE_TUPLE || id->n < 5 || !pk_pickle_is_text(id->item[0], "storage"))
        PK_FAIL(PK_UNSUPPORTED, "refuses to load an object that is not a storage of numbers");
    PK_TRY(pk_pickle_new(p, PK_PICKLE_STORAGE, &v));
    v->item = id->item;
    v->n = id->n;
    return PK_OK;
}

/* PUT stores the top of the stack under a number, GET pushes what is stored there */
static pk_status memo(pk_pickle *p, size_t bytes, bool put) {
    uint64_t index;
    PK_TRY(take_number(p, bytes, &index));
    return put ? pk_pickle_remember(p, (size_t)index) : pk_pickle_recall(p, (size_t)index);
}

static pk_status skip(pk_pickle *p, size_t n) {
    machine_text ignored;
    return take_raw(p, n, &ignored);
}

/* BINFLOAT: 8 bytes. No tensor's description has a float that matters. */
static pk_status push_float(pk_pickle *p) {
    PK_TRY(skip(p, 8));
    return push_integer(p, PK_PICKLE_FLOAT, 0);
}

static pk_status push_container(pk_pickle *p, pk_pickle_kind kind) {
    pk_pickle_value *v;
    return pk_pickle_new(p, kind, &v);
}

/* one opcode; a table in the shape of a switch, longer than most functions for that reason */
static pk_status step(pk_pickle *p, unsigned char opcode) {
    switch (opcode) {
    case 0x80: return skip(p, 1);                         /* PROTO */
    case 0x95: return skip(p, 8);                         /* FRAME */
    case '(': return pk_pickle_push(p, NULL);             /* MARK */
    case 'N': return push_integer(p, PK_PICKLE_NONE, 0);  /* NONE */
    case 0x88: return push_integer(p, PK_PICKLE_BOOL, 1); /* NEWTRUE */
    case 0x89: return push_integer(p, PK_PICKLE_BOOL, 0); /* NEWFALSE */
    case 'K': return push_number(p, 1);                   /* BININT1 */
    case 'M': return push_number(p, 2);                   /* BININT2 */
    case 'J': return push_number(p, 4);                   /* BININT */
    case 0x8a: return push_long(p);                       /* LONG1 */
    case 'G': return push_float(p);                       /* BINFLOAT */
    case 'X': return push_text(p, 4);                     /* BINUNICODE */
    case 0x8c: return push_text(p, 1);                    /* SHORT_BINUNICODE */
    case 0x8d: return push_text(p, 8);                    /* BINUNICODE8 */
    case 'U': return push_text(p, 1);                     /* SHORT_BINSTRING */
    case 'T': return push_text(p, 4);                     /* BINSTRING */
    case ')': return push_container(p, PK_PICKLE_TUPLE);  /* EMPTY_TUPLE */
    case ']': return push_container(p, PK_PICKLE_LIST);   /* EMPTY_LIST */
    case '}': return push_container(p, PK_PICKLE_DICT);   /* EMPTY_DICT */
    case 0x85: return push_tuple(p, 1, false);            /* TUPLE1 */
    case 0x86: return push_tuple(p, 2, false);            /* TUPLE2 */
    case 0x87: return push_tuple(p, 3, false);            /* TUPLE3 */
    case 't': return push_tuple(p, 0, true);              /* TUPLE */
    case 'a': return extend(p, PK_PICKLE_LIST, 1, false); /* APPEND */
    case 'e': return extend(p, PK_PICKLE_LIST, 0, true);  /* APPENDS */
    case 's': return extend(p, PK_PICKLE_DICT, 2, false); /* SETITEM */
    case 'u': return extend(p, PK_PICKLE_DICT, 0, true);  /* SETITEMS */
    case 'q': return memo(p, 1, true);                    /* BINPUT */
    case 'r': return memo(p, 4, true);                    /* LONG_BINPUT */
    case 0x94: return pk_pickle_remember(p, p->n_memo);   /* MEMOIZE */
    case 'h': return memo(p, 1, false);                   /* BINGET */
    case 'j': return memo(p, 4, false);                   /* LONG_BINGET */
    case 'c': return read_global(p);                      /* GLOBAL */
    case 0x93: return read_stack_global(p);               /* STACK_GLOBAL */
    case 'R': return reduce(p);                           /* REDUCE */
    case 'b': return build(p);                            /* BUILD */
    case 'Q': return persistent(p);                       /* BINPERSID */
    default:
        PK_FAIL(PK_UNSUPPORTED, "refuses pickle opcode 0x%02x at byte %zu: only tensors are read",
                opcode, p->at - 1);
    }
}

pk_status pk_pickle_read(pk_pickle *p, const unsigned char *data, size_t size, size_t *used,
                         const pk_pickle_value **out) {
    pk_pickle_value *top;
    p->data = data;
    p->size = size;
    p->at = p->n_stack = p->n_memo = 0;
    while (p->at < size) {
        const unsigned char opcode = data[p->at++];
        if (opcode != '.') {
            PK_TRY(step(p, opcode));
            continue;
        }
        PK_TRY(pk_pickle_pop(p, &top));
        *out = top;
        if (used) *used = p->at;
        return PK_OK;
    }
    PK_FAIL(PK_FORMAT, "pickle without an end (truncated file?)");
}
