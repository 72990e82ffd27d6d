/* buffer.h - bytes that grow: text being written. Always NUL-terminated once anything was added.
 * `failed` sticks: append freely, ask once at the end with pk_buffer_status(). */
#ifndef PK_BASE_BUFFER_H
#define PK_BASE_BUFFER_H
#include <stdbool.h>

#include "base/status.h"

typedef struct pk_buffer {
    char  *data;
    size_t size, room;
    bool   failed;
} pk_buffer;

void pk_buffer_add(pk_buffer *b, const void *bytes, size_t n);
void pk_buffer_add_text(pk_buffer *b, const char *text);
void pk_buffer_print(pk_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pk_buffer_clear(pk_buffer *b); /* keeps the room */
pk_status pk_buffer_status(const pk_buffer *b);
/* hands the text to the caller (never NULL on PK_OK) and leaves the buffer empty */
pk_status pk_buffer_take(pk_buffer *b, char **text, size_t *size);
void      pk_buffer_free(pk_buffer *b);
#endif
