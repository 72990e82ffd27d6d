/* form.c - forms: urlencoded and multipart bodies, as browsers and libraries send them.
 *
 * Both are read whole, from memory. Anything can be read as urlencoded; a multipart body that does not
 * hold what its boundary promises is broken. Files among the parts are left out. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fields.h"
#include "plain_text.h"

enum { MOST_FIELDS = 16384 };

/* puts a value behind the others of its name; both may be any bytes */
static pk_fields_status add(json_t *object, const char *name, size_t name_size, const char *value,
                            size_t size) {
    size_t  n_name, n_value;
    char   *key = pk_text_repair(name, name_size, &n_name);
    char   *text = pk_text_repair(value, size, &n_value);
    json_t *list = key ? json_object_getn(object, key, n_name) : NULL;
    bool    done = key && text;
    if (done && !list) {
        list = json_array();
        done = list && !json_object_setn_new(object, key, n_name, list);
    }
    if (done) done = !json_array_append_new(list, json_stringn(text, n_value));
    free(key);
    free(text);
    return done ? PK_FIELDS_OK : PK_FIELDS_NO_MEMORY;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %41 and + in place; a % without two digits is itself; the new size */
static size_t decode(char *text, size_t n) {
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        const int high = text[i] == '%' && n - i > 2 ? hex(text[i + 1]) : -1;
        const int low = high < 0 ? -1 : hex(text[i + 2]);
        if (low >= 0) {
            text[to++] = (char)(high << 4 | low);
            i += 2;
        } else {
            text[to++] = text[i] == '+' ? ' ' : text[i];
        }
    }
    return to;
}

/* name=value, encoded; changes the copy it is given */
static pk_fields_status add_encoded(json_t *object, char *pair, size_t n) {
    char        *equals = memchr(pair, '=', n);
    const size_t name = equals ? (size_t)(equals - pair) : n;
    const size_t rest = equals ? n - name - 1 : 0;
    if (!n) return PK_FIELDS_OK;
    const size_t value = equals ? decode(equals + 1, rest) : 0;
    return add(object, pair, decode(pair, name), equals ? equals + 1 : "", value);
}

pk_fields_status pk_form_read(json_t *object, const char *data, size_t n) {
    char            *copy = malloc(n + 1);
    pk_fields_status status = copy ? PK_FIELDS_OK : PK_FIELDS_NO_MEMORY;
    if (copy) memcpy(copy, data, n);
    size_t fields = 0;
    for (size_t at = 0; !status && at < n;) {
        char        *end = memchr(copy + at, '&', n - at);
        const size_t size = end ? (size_t)(end - copy) - at : n - at;
        status = fields++ < MOST_FIELDS ? add_encoded(object, copy + at, size) : PK_FIELDS_TOO_MANY;
        at += size + 1;
    }
    free(copy);
    return status;
}

/* ---- multipart (RFC 7578) ---- */

typedef struct piece {
    const char *data;
    size_t      n;
} piece;

/* the value of a parameter, `; name=value` or `; name="value"`; data is NULL where it is not there */
static piece parameter(piece header, const char *name) {
    const size_t size = strlen(name);
    for (size_t i = 0; i < header.n; i++) {
        if (header.data[i] != ';') continue;
        while (++i < header.n && (header.data[i] == ' ' || header.data[i] == '\t')) continue;
        if (header.n - i <= size || strncasecmp(header.data + i, name, size) ||
            header.data[i + size] != '=') {
            i--;
            continue;
        }
        const char *value = header.data + i + size + 1;
        size_t      left = header.n - i - size - 1;
        const bool  quoted = left && *value == '"';
        if (quoted) value++, left--;
        size_t n = 0;
        while (n < left && (quoted ? value[n] != '"' : value[n] != ';' && value[n] != ' ')) n++;
        return (piece){ value, n };
    }
    return (piece){ NULL, 0 };
}

/* takes one line off the front, without its end; false: there is no whole line */
static bool take_line(piece *from, piece *line) {
    const char *end = from->n ? memchr(from->data, '\n', from->n) : NULL;
    if (!end) return false;
    const size_t n = (size_t)(end - from->data);
    *line = (piece){ from->data, n && end[-1] == '\r' ? n - 1 : n };
    from->data += n + 1;
    from->n -= n + 1;
    return true;
}

/* headers up to the empty line, then the value; a part with a file name is none of the fields */
static pk_fields_status add_part(json_t *object, piece part) {
    static const char wanted[] = "content-disposition:";
    piece             line, name = { NULL, 0 };
    bool              file = false;
    while (take_line(&part, &line)) {
        if (!line.n)
            return name.data && !file ? add(object, name.data, name.n, part.data, part.n)
                                      : PK_FIELDS_OK;
        if (line.n < sizeof wanted - 1 || strncasecmp(line.data, wanted, sizeof wanted - 1))
            continue;
        name = parameter(line, "name");
        file = parameter(line, "filename").data || parameter(line, "filename*").data;
    }
    return PK_FIELDS_BROKEN;
}

/* where the next "--boundary" begins a line, from `at` on; n: nowhere */
static size_t find_boundary(const char *data, size_t n, size_t at, piece mark) {
    while (at < n) {
        const char *found = memmem(data + at, n - at, mark.data, mark.n);
        if (!found) return n;
        at = (size_t)(found - data);
        if (at == 0 || data[at - 1] == '\n') return at;
        at++;
    }
    return n;
}

/* the part behind the boundary at `begin` and before the one at `end` */
static pk_fields_status add_between(json_t *object, const char *data, size_t begin, size_t end) {
    piece line, part = { data + begin, end - begin };
    if (!take_line(&part, &line)) return PK_FIELDS_BROKEN; /* the rest of the boundary's line */
    if (part.n && part.data[part.n - 1] == '\n') part.n--;
    if (part.n && part.data[part.n - 1] == '\r') part.n--;
    return add_part(object, part);
}

static pk_fields_status read_parts(json_t *object, const char *data, size_t n, piece mark) {
    size_t           fields = 0, begin = find_boundary(data, n, 0, mark);
    pk_fields_status status = begin < n ? PK_FIELDS_OK : PK_FIELDS_BROKEN;
    while (!status) {
        begin += mark.n;
        if (n - begin >= 2 && !memcmp(data + begin, "--", 2)) return PK_FIELDS_OK;
        const size_t end = find_boundary(data, n, begin, mark);
        if (end == n) return PK_FIELDS_BROKEN;
        if (fields++ >= MOST_FIELDS) return PK_FIELDS_TOO_MANY;
        status = add_between(object, data, begin, end);
        begin = end;
    }
    return status;
}

pk_fields_status pk_multipart_read(json_t *object, const char *content_type, const char *data,
                                   size_t n) {
    enum { LONGEST = 200 };
    char        text[LONGEST + 2] = "--";
    const piece boundary = parameter((piece){ content_type, strlen(content_type) }, "boundary");
    if (!boundary.n || boundary.n > LONGEST - 2) return PK_FIELDS_BROKEN;
    memcpy(text + 2, boundary.data, boundary.n);
    return read_parts(object, data, n, (piece){ text, boundary.n + 2 });
}
