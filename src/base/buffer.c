/* buffer.c - growing text.
 *
 * A failed allocation sticks: what is added later is dropped, and whoever takes the text gets the
 * status. So a text can be put together without a check after every piece. */
#include "base/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* room for n more bytes and the NUL */
static bool make_room(pk_buffer *b, size_t n) {
    assert(!b->data || b->size < b->room); /* the NUL has its room */
    if (b->failed) return false;
    if (n >= SIZE_MAX / 4 - b->size) return !(b->failed = true);
    b->failed = PK_RESERVE(&b->data, b->size + n + 1, &b->room) != PK_OK;
    return !b->failed;
}

void pk_buffer_add(pk_buffer *b, const void *bytes, size_t n) {
    if (!make_room(b, n)) return;
    if (n) memcpy(b->data + b->size, bytes, n);
    b->size += n;
    b->data[b->size] = '\0';
}

void pk_buffer_add_text(pk_buffer *b, const char *text) { pk_buffer_add(b, text, strlen(text)); }

void pk_buffer_print(pk_buffer *b, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n >= 0 && make_room(b, (size_t)n)) {
        vsnprintf(b->data + b->size, (size_t)n + 1, format, again);
        b->size += (size_t)n;
    }
    va_end(again);
}

void pk_buffer_clear(pk_buffer *b) {
    b->size = 0;
    if (b->data) b->data[0] = '\0';
}

pk_status pk_buffer_status(const pk_buffer *b) {
    if (b->failed) PK_FAIL(PK_NO_MEMORY, "out of memory (text of %zu bytes)", b->size);
    return PK_OK;
}

pk_status pk_buffer_take(pk_buffer *b, char **text, size_t *size) {
    pk_buffer_add(b, "", 0);
    PK_TRY(pk_buffer_status(b));
    *text = b->data;
    if (size) *size = b->size;
    *b = (pk_buffer){ 0 };
    return PK_OK;
}

void pk_buffer_free(pk_buffer *b) {
    pk_memory_give(b->data);
    *b = (pk_buffer){ 0 };
}
