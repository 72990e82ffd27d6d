/* checkpoint_help.h - what the tests of checkpoint readers share: files, exact copies, hostile
 * bytes. */
#ifndef PK_TESTS_CHECKPOINT_HELP_H
#define PK_TESTS_CHECKPOINT_HELP_H
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "checkpoint/stored.h"

typedef pk_status (*read_function)(const unsigned char *data, size_t size, pk_stored *out);

/* "/tmp/pronk_test_PID_name": a path of this process's own; pass room for 256 characters */
static inline const char *temporary(char *path, const char *name) {
    snprintf(path, 256, "/tmp/pronk_test_%ld_%s", (long)getpid(), name);
    return path;
}

static inline void write_bytes(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static inline pk_buffer read_bytes(const char *path) {
    pk_buffer out = { 0 };
    char      part[4096];
    size_t    n;
    FILE     *f = fopen(path, "rb");
    assert_non_null(f);
    while ((n = fread(part, 1, sizeof part, f)) > 0) pk_buffer_add(&out, part, n);
    fclose(f);
    assert_int_equal(pk_buffer_status(&out), PK_OK);
    return out;
}

/* every byte a reader calls a tensor's must be there to be read */
static inline void touch_all(const pk_stored *s) {
    float sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        const pk_stored_tensor *t = &s->tensor[i];
        const size_t            n = t->bytes / pk_stored_type_bytes(t->type);
        for (size_t k = 0; k < n; k++) sum += pk_stored_get(t, k);
        assert_ptr_equal(pk_stored_find(s, t->name), t);
    }
    (void)sum;
}

/* reads an exact copy (so that a sanitizer sees any step beyond it); gives the status */
static inline pk_status read_copy(read_function read, const void *data, size_t size) {
    unsigned char *copy = malloc(size ? size : 1);
    pk_stored      s;
    const int64_t  alive = pk_memory_alive();
    if (size) memcpy(copy, data, size);
    const pk_status status = read(copy, size, &s);
    if (status == PK_OK)
        touch_all(&s);
    else
        assert_true(pk_last_error()[0] != '\0' && s.tensor == NULL);
    pk_stored_close(&s);
    assert_int_equal(pk_memory_alive(), alive);
    free(copy);
    return status;
}

/* no cut of the file may pass for whole; `rest` last bytes may be missing without harm */
static inline void try_truncations(read_function read, const pk_buffer *file, size_t rest) {
    for (size_t size = 0; size + rest < file->size; size++)
        assert_int_not_equal(read_copy(read, file->data, size), PK_OK);
}

/* changes each of the first n bytes in several ways; any status will do, a crash will not */
static inline size_t try_flips(read_function read, const pk_buffer *file, size_t n) {
    static const unsigned char masks[] = { 0x01, 0x02, 0x10, 0x20, 0x80, 0xFF };
    size_t                     refused = 0;
    for (size_t at = 0; at < n; at++)
        for (size_t k = 0; k < sizeof masks; k++) {
            file->data[at] = (char)(file->data[at] ^ masks[k]);
            refused += read_copy(read, file->data, file->size) != PK_OK;
            file->data[at] = (char)(file->data[at] ^ masks[k]);
        }
    return refused;
}

/* fails each allocation in turn: the reader must say so, and leave nothing behind */
static inline void try_allocations(read_function read, const pk_buffer *file) {
    pk_status status = PK_NO_MEMORY;
    for (int64_t n = 1; status != PK_OK; n++) {
        assert_true(n < 10000);
        pk_memory_fail_after(n);
        status = read_copy(read, file->data, file->size);
        pk_memory_fail_after(0);
        assert_true(status == PK_OK || status == PK_NO_MEMORY);
    }
}
#endif
