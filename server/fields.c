/* fields.c - what a request says, whatever it came as. */
#include "fields.h"

#include <string.h>
#include <strings.h>

/* the type without its parameters: "application/json" of "application/json; charset=utf-8" */
static size_t type_size(const char *type) {
    size_t n = strcspn(type, ";");
    while (n && (type[n - 1] == ' ' || type[n - 1] == '\t')) n--;
    return n;
}

static bool is_type(const char *type, const char *wanted) {
    return type && type_size(type) == strlen(wanted) && !strncasecmp(type, wanted, strlen(wanted));
}

/* application/json and application/SOMETHING+json */
static bool is_json_type(const char *type) {
    static const char begin[] = "application/", end[] = "+json";
    const size_t      n = type ? type_size(type) : 0, longest = sizeof begin + sizeof end - 2;
    if (is_type(type, "application/json")) return true;
    return n > longest && !strncasecmp(type, begin, sizeof begin - 1) &&
           !strncasecmp(type + n - (sizeof end - 1), end, sizeof end - 1);
}

/* whether there may be more values than that; there are no more than commas */
static bool has_many(const char *body, size_t size) {
    enum { MOST = 250000 };
    size_t commas = 0;
    for (size_t i = 0; i < size; i++) commas += body[i] == ',';
    return commas > MOST;
}

/* any value is JSON, only an object has fields; a byte order mark before it is passed over */
static pk_fields_status read_json(pk_fields *f, const char *body, size_t size) {
    const size_t mark = size >= 3 && !memcmp(body, "\xEF\xBB\xBF", 3) ? 3 : 0;
    if (has_many(body, size)) return PK_FIELDS_TOO_MANY;
    f->object = json_loadb(body + mark, size - mark, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!f->object) return PK_FIELDS_BROKEN;
    return json_is_object(f->object) ? PK_FIELDS_OK : PK_FIELDS_NOT_OBJECT;
}

pk_fields_status pk_fields_read(pk_fields *f, const char *content_type, const char *query,
                                const char *body, size_t size) {
    pk_fields_status status = PK_FIELDS_OK;
    *f = (pk_fields){ .is_json = is_json_type(content_type) };
    if (f->is_json) return read_json(f, size ? body : "", size);
    if (!(f->object = json_object())) return PK_FIELDS_NO_MEMORY;
    if (query) status = pk_form_read(f->object, query, strlen(query));
    if (status || !size) return status;
    if (is_type(content_type, "multipart/form-data"))
        return pk_multipart_read(f->object, content_type, body, size);
    if (is_type(content_type, "application/x-www-form-urlencoded"))
        return pk_form_read(f->object, body, size);
    return status; /* other bodies hold no fields */
}

void pk_fields_free(pk_fields *f) {
    json_decref(f->object);
    f->object = NULL;
}

json_t *pk_fields_get(const pk_fields *f, const char *name) {
    json_t *value = json_object_get(f->object, name);
    return f->is_json ? value : json_array_get(value, 0);
}

json_t *pk_fields_all(const pk_fields *f, const char *name) {
    json_t *value = json_object_get(f->object, name);
    return json_is_array(value) ? value : NULL;
}

const char *pk_fields_text(const pk_fields *f, const char *name) {
    return json_string_value(pk_fields_get(f, name));
}

bool pk_fields_is_missing(const pk_fields *f, const char *name) {
    const json_t *value = pk_fields_get(f, name);
    if (json_is_string(value)) return json_string_length(value) == 0;
    if (json_is_array(value)) return json_array_size(value) == 0;
    if (json_is_object(value)) return json_object_size(value) == 0;
    if (json_is_number(value)) return json_number_value(value) == 0;
    return !json_is_true(value);
}

char *pk_fields_quote(const pk_fields *f, const char *name) {
    const json_t *value = pk_fields_get(f, name);
    if (json_is_string(value)) return strdup(json_string_value(value));
    return json_dumps(value, JSON_ENCODE_ANY);
}
