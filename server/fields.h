/* fields.h - what a request says, whatever it came as: JSON, a form, multipart, a query string.
 *
 * A JSON body stands alone; of the others, the query string and the body are put together, and the
 * first of several values counts, as in LibreTranslate. All text is UTF-8, repaired where it was not
 * (a JSON body that is not is refused). */
#ifndef PK_SERVER_FIELDS_H
#define PK_SERVER_FIELDS_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct pk_fields {
    json_t *object; /* of a form: name -> array of strings, in order */
    bool    is_json;
} pk_fields;

typedef enum pk_fields_status {
    PK_FIELDS_OK,
    PK_FIELDS_BROKEN,     /* not JSON, or not as its content type says */
    PK_FIELDS_NOT_OBJECT, /* JSON, but no object */
    PK_FIELDS_TOO_MANY,   /* values: each takes many times the memory of its bytes */
    PK_FIELDS_NO_MEMORY,
} pk_fields_status;

/* content_type and query may be NULL; nothing is borrowed. Free it in any case */
pk_fields_status pk_fields_read(pk_fields *f, const char *content_type, const char *query,
                                const char *body, size_t size);
void             pk_fields_free(pk_fields *f);
/* the field as it came, or NULL; owned by f */
json_t *pk_fields_get(const pk_fields *f, const char *name);
/* all values of a field: the array it is, or those of a form; NULL: none. Owned by f */
json_t *pk_fields_all(const pk_fields *f, const char *name);
/* its text; NULL where it is none; owned by f */
const char *pk_fields_text(const pk_fields *f, const char *name);
/* what counts as not given: nothing, "", [], {}, 0, false, null */
bool pk_fields_is_missing(const pk_fields *f, const char *name);
/* a field that should be text as it can be quoted in messages, JSON if it is none; the caller frees; NULL: no
   memory, or there is no such field */
char *pk_fields_quote(const pk_fields *f, const char *name);

/* the parts of it, in form.c: each value is added behind those that are there */
pk_fields_status pk_form_read(json_t *object, const char *data, size_t n);
pk_fields_status pk_multipart_read(json_t *object, const char *content_type, const char *data,
                                   size_t n);
#endif
