/* pickle.h - a machine that reads pickles of tensors, and only those. It never executes anything.
 *
 * It knows the opcodes a state dict needs and builds plain values; the only callables are the few
 * listed in pickle.c, and "calling" them only records the arguments. Work and memory are bounded by
 * the size of the file and by hard limits, so that a hostile pickle ends in an error, and soon. */
#ifndef PK_CHECKPOINT_PICKLE_H
#define PK_CHECKPOINT_PICKLE_H
#include "base/memory.h"
#include "checkpoint/stored.h"

typedef enum pk_pickle_kind {
    PK_PICKLE_NONE,
    PK_PICKLE_BOOL,
    PK_PICKLE_INT,
    PK_PICKLE_LONG,  /* an integer beyond 64 bits: text, little-endian */
    PK_PICKLE_FLOAT, /* its value is not kept */
    PK_PICKLE_TEXT,
    PK_PICKLE_TUPLE,
    PK_PICKLE_LIST,
    PK_PICKLE_DICT,     /* items: key, value, key, value ... */
    PK_PICKLE_GLOBAL,   /* integer: enum pk_pickle_global */
    PK_PICKLE_STORAGE,  /* items: of the persistent id: 'storage', type, key, device, elements */
    PK_PICKLE_TENSOR,   /* items: arguments of _rebuild_tensor_v2 */
    PK_PICKLE_PARAMETER /* items: arguments of _rebuild_parameter */
} pk_pickle_kind;

/* globals: one of these, or PK_PICKLE_STORAGE_TYPE + enum pk_stored_type */
enum pk_pickle_global {
    PK_PICKLE_ORDERED_DICT,
    PK_PICKLE_REBUILD_TENSOR,
    PK_PICKLE_REBUILD_PARAMETER,
    PK_PICKLE_STORAGE_TYPE
};

typedef struct pk_pickle_value {
    pk_pickle_kind           kind;
    int64_t                  integer;
    const char              *text; /* borrowed from the file, not NUL-terminated */
    size_t                   size; /* of text */
    struct pk_pickle_value **item;
    size_t                   n, room; /* items */
} pk_pickle_value;

/* All values of one file; zero it before the first use. */
typedef struct pk_pickle {
    const unsigned char *data; /* of the pickle being read */
    size_t               size, at;
    pk_pickle_value    **stack, **memo; /* a NULL on the stack is a mark */
    size_t               n_stack, stack_room, n_memo, memo_room;
    void               **block; /* memory behind values and items; the last one is being filled */
    size_t               n_blocks, block_room, block_used, n_values;
} pk_pickle;

/* Reads one pickle, up to its STOP; *used: its bytes. The value lives until pk_pickle_free(). */
pk_status pk_pickle_read(pk_pickle *p, const unsigned char *data, size_t size, size_t *used,
                         const pk_pickle_value **out);
void      pk_pickle_free(pk_pickle *p);
/* whether a value is this text */
int pk_pickle_is_text(const pk_pickle_value *v, const char *text);

/* within this folder (pickle_values.c): the parts of the machine */
enum { PK_PICKLE_MAX_VALUES = 1 << 20, PK_PICKLE_BLOCK = 1 << 16 };
pk_status pk_pickle_new(pk_pickle *p, pk_pickle_kind kind, pk_pickle_value **out);
pk_status pk_pickle_push(pk_pickle *p, pk_pickle_value *v); /* NULL pushes a mark */
pk_status pk_pickle_pop(pk_pickle *p, pk_pickle_value **out);
/* how many values lie above the last mark */
pk_status pk_pickle_above_mark(const pk_pickle *p, size_t *n);
/* appends the top n values of the stack to a container and drops them */
pk_status pk_pickle_collect(pk_pickle *p, pk_pickle_value *container, size_t n);
pk_status pk_pickle_remember(pk_pickle *p, size_t index); /* the top of the stack */
pk_status pk_pickle_recall(pk_pickle *p, size_t index);
#endif
