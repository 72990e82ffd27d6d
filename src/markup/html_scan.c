/* html_scan.c - the tokenizer. Each function looks at what begins at s->at and moves behind it. */
#include "markup/html_scan.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

bool pk_html_same_name(pk_text a, pk_text b) {
    return a.size == b.size && strncasecmp(a.data, b.data, a.size) == 0;
}

static bool is_letter(char c) { return isalpha((unsigned char)c) != 0; }
static bool is_space(char c) { return c && strchr(" \t\n\r\f", c); }

static pk_html_token token(pk_html_scanner *s, pk_html_kind kind, size_t end) {
    const pk_html_token t = { .kind = kind, .bytes = { s->data + s->at, end - s->at } };
    s->at = end;
    return t;
}

/* behind the next `what` from `from` on; the end of the input where there is none */
static size_t behind(const pk_html_scanner *s, size_t from, const char *what) {
    const char *found =
        from < s->size ? memmem(s->data + from, s->size - from, what, strlen(what)) : NULL;
    return found ? (size_t)(found - s->data) + strlen(what) : s->size;
}

static bool begins(const pk_html_scanner *s, size_t at, const char *what) {
    const size_t n = strlen(what);
    return s->size - at >= n && strncasecmp(s->data + at, what, n) == 0;
}

/* <!-- to -->; <!--> and <!---> are whole ones */
static size_t comment_end(const pk_html_scanner *s) {
    const size_t at = s->at + 4;
    if (begins(s, at, ">")) return at + 1;
    if (begins(s, at, "->")) return at + 2;
    return behind(s, at, "-->");
}

/* <!DOCTYPE ...>, <?xml ...>, <![CDATA[ ... ]]> and what only looks like a tag */
static pk_html_token scan_other(pk_html_scanner *s) {
    if (begins(s, s->at, "<!--")) return token(s, PK_HTML_OTHER, comment_end(s));
    if (begins(s, s->at, "<![CDATA[") && !s->no_cdata) {
        const char *end = memmem(s->data + s->at, s->size - s->at, "]]>", 3);
        if (end) return token(s, PK_HTML_OTHER, (size_t)(end - s->data) + 3);
        s->no_cdata = true; /* not looked for again */
    }
    return token(s, PK_HTML_OTHER, behind(s, s->at, ">"));
}

typedef struct attribute {
    pk_text name, value;
} attribute;

/* The attribute at `at`; returns the place behind it. As in the standard, a quotation mark ends a
 * value only where it began with one. */
static size_t scan_attribute(const pk_html_scanner *s, size_t at, attribute *out) {
    const char *d = s->data;
    size_t      from = at;
    while (at < s->size && !is_space(d[at]) && d[at] != '>' && (d[at] != '=' || at == from) &&
           (d[at] != '/' || at == from))
        at++;
    *out = (attribute){ .name = { d + from, at - from } };
    size_t next = at;
    while (next < s->size && is_space(d[next])) next++;
    if (next >= s->size || d[next] != '=') return at;
    for (next++; next < s->size && is_space(d[next]);) next++;
    if (next >= s->size) return next;
    if (d[next] == '"' || d[next] == '\'') {
        const char  *end = memchr(d + next + 1, d[next], s->size - next - 1);
        const size_t stop = end ? (size_t)(end - d) : s->size;
        out->value = (pk_text){ d + next + 1, stop - next - 1 };
        return end ? stop + 1 : stop;
    }
    from = next;
    while (next < s->size && !is_space(d[next]) && d[next] != '>') next++;
    out->value = (pk_text){ d + from, next - from };
    return next;
}

static bool has_class(pk_text list, const char *name) {
    const size_t n = strlen(name);
    for (size_t at = 0; at < list.size;) {
        size_t end = at;
        while (end < list.size && !is_space(list.data[end])) end++;
        if (end - at == n && strncasecmp(list.data + at, name, n) == 0) return true;
        at = end + 1;
    }
    return false;
}

static bool says_no(const attribute *a) {
    if (pk_html_same_name(a->name, (pk_text){ "translate", 9 }))
        return pk_html_same_name(a->value, (pk_text){ "no", 2 });
    return pk_html_same_name(a->name, (pk_text){ "class", 5 }) &&
           has_class(a->value, "notranslate");
}

/* <name attribute="value" ...>; one that is not closed goes to the end of the input */
static pk_html_token scan_tag(pk_html_scanner *s, bool closes) {
    const char  *d = s->data;
    const size_t from = s->at + 1 + closes;
    size_t       at = from;
    bool         slash = false, no = false;
    while (at < s->size && !is_space(d[at]) && d[at] != '>' && d[at] != '/') at++;
    const pk_text name = { d + from, at - from };
    while (at < s->size && d[at] != '>') {
        slash = d[at] == '/';
        if (slash || is_space(d[at])) {
            at++;
            continue;
        }
        attribute a;
        at = scan_attribute(s, at, &a);
        no |= says_no(&a);
    }
    if (at >= s->size) return token(s, PK_HTML_OTHER, s->size);
    const bool    empty = !closes && (slash || pk_html_is_void(name));
    pk_html_token t = token(s,
                            closes  ? PK_HTML_CLOSE
                            : empty ? PK_HTML_VOID
                                    : PK_HTML_OPEN,
                            at + 1);
    t.name = name;
    t.no_translate = no;
    if (t.kind == PK_HTML_OPEN && pk_html_has_raw_text(name)) s->raw = name;
    return t;
}

/* what a script holds: up to its closing tag, which is the next token */
static pk_html_token scan_raw(pk_html_scanner *s) {
    const pk_text name = s->raw;
    size_t        at = s->at;
    s->raw = (pk_text){ 0 };
    for (;;) {
        const size_t next = behind(s, at, "</");
        if (next >= s->size) return token(s, PK_HTML_RAW, s->size);
        at = next;
        if (s->size - at < name.size || strncasecmp(s->data + at, name.data, name.size) != 0)
            continue;
        const char end = at + name.size < s->size ? s->data[at + name.size] : '>';
        if (end == '>' || end == '/' || is_space(end)) return token(s, PK_HTML_RAW, at - 2);
    }
}

/* whether a tag or the like begins there: "<" alone is text */
static bool is_markup(const pk_html_scanner *s, size_t at) {
    if (at + 1 >= s->size) return false;
    const char c = s->data[at + 1];
    if (s->vtt) return is_letter(c) || c == '/' || isdigit((unsigned char)c);
    if (c == '/') return at + 2 < s->size;
    return is_letter(c) || c == '!' || c == '?';
}

static pk_html_token scan_text(pk_html_scanner *s) {
    size_t at = s->at;
    do {
        const char *next = memchr(s->data + at + 1, '<', s->size - at - 1);
        at = next ? (size_t)(next - s->data) : s->size;
    } while (at < s->size && !is_markup(s, at));
    return token(s, PK_HTML_TEXT, at);
}

pk_html_token pk_html_next(pk_html_scanner *s) {
    if (s->at >= s->size) return token(s, PK_HTML_END, s->size);
    if (s->raw.data) {
        const pk_html_token raw = scan_raw(s);
        if (raw.bytes.size) return raw;
        if (s->at >= s->size) return token(s, PK_HTML_END, s->size);
    }
    if (s->data[s->at] != '<' || !is_markup(s, s->at)) return scan_text(s);
    const char c = s->data[s->at + 1];
    if (is_letter(c)) return scan_tag(s, false);
    if (c == '/' && s->at + 2 < s->size && is_letter(s->data[s->at + 2])) return scan_tag(s, true);
    if (s->vtt && c != '/') { /* a time inside a cue */
        pk_html_token t = token(s, PK_HTML_VOID, behind(s, s->at, ">"));
        t.name = (pk_text){ "time", 4 };
        return t;
    }
    return scan_other(s);
}
