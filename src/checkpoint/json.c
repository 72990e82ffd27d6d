/* json.c - strict JSON in, escaped JSON out. */
#include "checkpoint/json.h"

#include <stdio.h>
#include <string.h>

#include "base/file_map.h"

static pk_status load(const char *text, size_t size, const char *what, json_t **out) {
    json_error_t error;
    *out = json_loadb(text ? text : "", text ? size : 0, JSON_REJECT_DUPLICATES, &error);
    if (!*out) {
        if (json_error_code(&error) == json_error_out_of_memory)
            PK_FAIL(PK_NO_MEMORY, "%s: out of memory", what);
        PK_FAIL(PK_FORMAT, "%s: not valid JSON: %s (line %d)", what, error.text, error.line);
    }
    return PK_OK;
}

static pk_status drop(json_t **out, const char *what, const char *kind) {
    json_decref(*out);
    *out = NULL;
    PK_FAIL(PK_FORMAT, "%s: must hold a JSON %s", what, kind);
}

pk_status pk_json_parse(const char *text, size_t size, const char *what, json_t **out) {
    PK_TRY(load(text, size, what, out));
    return json_is_object(*out) ? PK_OK : drop(out, what, "object");
}

pk_status pk_json_parse_list(const char *text, size_t size, const char *what, json_t **out) {
    PK_TRY(load(text, size, what, out));
    return json_is_array(*out) ? PK_OK : drop(out, what, "list");
}

pk_status pk_json_open(const char *path, json_t **out) {
    pk_file_map map;
    *out = NULL;
    PK_TRY(pk_file_map_open(path, &map));
    const pk_status status = pk_json_parse((const char *)map.data, map.size, path, out);
    pk_file_map_close(&map);
    return status;
}

/* Only what JSON demands is escaped: quotes, backslashes and control characters. UTF-8 passes. */
void pk_json_add_string(pk_buffer *out, const char *text) {
    pk_buffer_add(out, "\"", 1);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            pk_buffer_print(out, "\\%c", *c);
        else if ((unsigned char)*c < ' ')
            pk_buffer_print(out, "\\u%04x", (unsigned)*c);
        else
            pk_buffer_add(out, c, 1);
    }
    pk_buffer_add(out, "\"", 1);
}

/* 9 significant digits are enough to get every 32-bit float back exactly. */
void pk_json_add_float(pk_buffer *out, float value) {
    char text[32];
    snprintf(text, sizeof text, "%.9g", (double)value);
    /* the host program may have set a locale with a decimal comma */
    char *comma = strchr(text, ',');
    if (comma) *comma = '.';
    pk_buffer_add_text(out, text);
}
