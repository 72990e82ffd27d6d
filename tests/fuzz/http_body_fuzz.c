/* http_body_fuzz.c - any bytes as a request's content type, query string and body, the first two ended by a
 * zero: fields of valid UTF-8, or a refusal. What is made of a text afterwards is done to each. */
#include "../../server/fields.h"
#include "../../server/plain_text.h"
#include "fuzz_help.h"

/* the limits count what a client sees, lines are unified in place, and nothing leaves its room */
static void look_at_text(const json_t *value) {
    const size_t n = json_string_length(value);
    char        *copy = malloc(n + 1);
    LAW(copy);
    memcpy(copy, json_string_value(value), n);
    const size_t unified = pk_text_unify_lines(copy, n);
    LAW(unified <= n && pk_text_characters(copy, unified) <= pk_text_characters(copy, n));
    pk_text_is_translatable(copy, unified);
    free(copy);
    size_t size;
    copy = pk_text_repair(json_string_value(value), n, &size);
    LAW(copy && size == n && !memcmp(copy, json_string_value(value), n)); /* it was UTF-8 already */
    free(copy);
}

static void look_at(const pk_fields *f, const char *name) {
    const json_t *value = pk_fields_get(f, name), *all = pk_fields_all(f, name);
    char         *quoted = pk_fields_quote(f, name);
    LAW(value || pk_fields_is_missing(f, name));
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        LAW(f->is_json || json_is_string(one));
        if (json_is_string(one)) look_at_text(one);
    }
    if (json_is_string(value)) look_at_text(value);
    free(quoted);
}

/* the text up to the next zero, which is taken off; a copy */
static char *take(const uint8_t **data, size_t *size) {
    const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
    const size_t   n = end ? (size_t)(end - *data) : *size;
    char          *copy = malloc(n + 1);
    LAW(copy);
    if (n) memcpy(copy, *data, n);
    copy[n] = '\0';
    *data += end ? n + 1 : n;
    *size -= end ? n + 1 : n;
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_fields   f;
    const char *key;
    json_t     *value;
    char *type = take(&data, &size), *query = take(&data, &size), *body = malloc(size + !size);
    LAW(body);
    if (size) memcpy(body, data, size); /* so that reading past its end is seen */
    if (pk_fields_read(&f, type, query, body, size) == PK_FIELDS_OK)
        json_object_foreach(f.object, key, value) look_at(&f, key);
    pk_fields_free(&f);
    free(type);
    free(query);
    free(body);
    return 0;
}
