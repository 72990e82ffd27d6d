/* json.h - JSON text through jansson: strict reading, and escaping for what we write ourselves.
 *
 * jansson allocates by itself (not through base/memory.h): every result is checked for NULL here,
 * and a caller that got a json_t frees it with json_decref(). */
#ifndef PK_CHECKPOINT_JSON_H
#define PK_CHECKPOINT_JSON_H
#include <jansson.h>

#include "base/buffer.h"

/* Parses one JSON object, duplicates refused; `what` names the text in errors. */
pk_status pk_json_parse(const char *text, size_t size, const char *what, json_t **out);
/* the same of a list */
pk_status pk_json_parse_list(const char *text, size_t size, const char *what, json_t **out);
/* Reads and parses a whole file. */
pk_status pk_json_open(const char *path, json_t **out);
/* Appends the text as a JSON string, quotes included. */
void pk_json_add_string(pk_buffer *out, const char *text);
/* Appends a number that reads back as the same float, whatever the locale. */
void pk_json_add_float(pk_buffer *out, float value);
#endif
