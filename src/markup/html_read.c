/* html_read.c - from tokens to passages. Block tags end a passage; inline tags, comments and void
 * elements are taken out and remembered; code and the like is kept. A <br> ends a passage, as a
 * line end does in plain text, unless the next line goes on with a small letter. */
#include <string.h>
#include <unicode/uchar.h>

#include "markup/html.h"
#include "markup/html_scan.h"
#include "markup/tag_stack.h"
#include "text/utf8.h"

#define OBJECT "\xEF\xBF\xBC" /* U+FFFC stands for what is kept */

typedef struct reader {
    pk_html_scanner scan;
    pk_markup      *out;
    pk_passage     *passage; /* the one being read; NULL: none */
    pk_tag_stack    stack;
    size_t          copied; /* bytes of the input that have their place */
    size_t          pre;    /* depth of <pre> */
} reader;

/* ---- text ---- */

static pk_status add_reference(pk_passage *p, pk_text bytes, int32_t code) {
    char      character[8] = { 0 };
    pk_buffer one = { 0 };
    if (code < 0) {
        PK_TRY(pk_passage_add_kept(p, (pk_kept){ p->text.size, strlen(OBJECT), bytes }));
        return pk_passage_add_text(p, (pk_text){ OBJECT, strlen(OBJECT) }, bytes);
    }
    pk_utf8_add(&one, code);
    const size_t size = one.size < sizeof character ? one.size : sizeof character - 1;
    if (one.data) memcpy(character, one.data, size);
    const pk_status status = pk_buffer_status(&one);
    pk_buffer_free(&one);
    return status == PK_OK ? pk_passage_add_text(p, (pk_text){ character, size }, bytes) : status;
}

pk_status pk_html_add_text(pk_passage *p, pk_text bytes) {
    int32_t code = 0;
    for (size_t at = 0; at < bytes.size;) {
        const char  *d = bytes.data + at;
        const size_t left = bytes.size - at, reference = pk_html_reference(d, left, &code);
        if (reference) {
            PK_TRY(add_reference(p, (pk_text){ d, reference }, code));
            at += reference;
            continue;
        }
        const char  *next = left > 1 ? memchr(d + 1, '&', left - 1) : NULL;
        const size_t n = next ? (size_t)(next - d) : left;
        PK_TRY(pk_passage_add_text(p, (pk_text){ d, n }, (pk_text){ d, n }));
        at += n;
    }
    return PK_OK;
}

void pk_html_escape(pk_text text, pk_buffer *out) {
    for (size_t at = 0; at < text.size;) {
        size_t n = 0;
        while (at + n < text.size && !strchr("&<>", text.data[at + n] ? text.data[at + n] : ' '))
            n++;
        pk_buffer_add(out, text.data + at, n);
        at += n;
        if (at >= text.size) break;
        const char c = text.data[at++];
        pk_buffer_add_text(out, c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;");
    }
}

/* ---- passages ---- */

/* the passage that is being read; a new one begins with the bytes at `begin` */
static pk_status need_passage(reader *r, const char *begin) {
    if (r->passage) return PK_OK;
    PK_TRY(pk_markup_add(r->out, &r->passage));
    const char *input = r->scan.data;
    r->passage->lines = r->pre > 0;
    r->passage->raw.data = begin;
    r->passage->before = (pk_text){ input + r->copied, (size_t)(begin - input) - r->copied };
    return PK_OK;
}

/* one that has nothing to translate is no passage: its bytes are copied */
static void end_passage(reader *r, const char *end) {
    pk_passage *p = r->passage;
    if (!p) return;
    pk_tag_stack_end(&r->stack, p, 0, 0);
    p->raw.size = (size_t)(end - p->raw.data);
    if (pk_passage_has_text(p)) {
        r->copied = (size_t)(end - r->scan.data);
    } else {
        pk_passage_free(p);
        r->out->n--;
    }
    r->passage = NULL;
}

/* from the opening tag, which was read, to behind its closing tag */
static pk_text skip_element(reader *r, const pk_html_token *open) {
    size_t depth = 1;
    while (depth) {
        const pk_html_token t = pk_html_next(&r->scan);
        if (t.kind == PK_HTML_END) break;
        const bool same = t.name.data && pk_html_same_name(t.name, open->name);
        if (same && t.kind == PK_HTML_OPEN) depth++;
        if (same && t.kind == PK_HTML_CLOSE) depth--;
    }
    return (pk_text){ open->bytes.data, (size_t)(r->scan.data + r->scan.at - open->bytes.data) };
}

/* an element that stays as it is */
static pk_status keep_element(reader *r, const pk_html_token *t, pk_html_class class) {
    pk_html_token mark = { .kind = PK_HTML_VOID };
    if (class == PK_HTML_BLOCK || class == PK_HTML_UNTOUCHED) {
        end_passage(r, t->bytes.data);
        skip_element(r, t);
        return PK_OK;
    }
    PK_TRY(need_passage(r, t->bytes.data));
    mark.bytes = skip_element(r, t);
    if (class == PK_HTML_HIDDEN) return pk_tag_stack_add(&r->stack, r->passage, &mark);
    return add_reference(r->passage, mark.bytes, -1);
}

/* Whether the text behind a <br> goes on with a small letter. Looks no further than the next text,
 * block or <br>. */
static bool line_goes_on(const reader *r) {
    pk_html_scanner ahead = r->scan;
    int32_t         c;
    for (;;) {
        const pk_html_token t = pk_html_next(&ahead);
        if (t.kind == PK_HTML_END || t.kind == PK_HTML_RAW) return false;
        if (t.kind != PK_HTML_TEXT && t.name.data && pk_html_class_of(t.name) != PK_HTML_INLINE)
            return false;
        for (size_t at = 0; t.kind == PK_HTML_TEXT && at < t.bytes.size;) {
            at += pk_utf8_next(t.bytes.data + at, t.bytes.size - at, &c);
            if (!pk_utf8_is_space(c)) return u_islower(c);
        }
    }
}

static bool ends_passage(const reader *r, pk_html_class class) {
    if (class == PK_HTML_LINE) return !line_goes_on(r);
    return class == PK_HTML_BLOCK || class == PK_HTML_UNTOUCHED;
}

static pk_status read_tag(reader *r, const pk_html_token *t) {
    const pk_html_class class = t->name.data ? pk_html_class_of(t->name) : PK_HTML_INLINE;
    const bool pre = t->name.data && pk_html_same_name(t->name, (pk_text){ "pre", 3 });
    const bool stays = t->no_translate || class == PK_HTML_KEPT || class == PK_HTML_UNTOUCHED ||
                       class == PK_HTML_HIDDEN;
    if (t->kind == PK_HTML_OPEN && stays) return keep_element(r, t, class);
    if (ends_passage(r, class)) {
        end_passage(r, t->bytes.data);
        if (pre && t->kind == PK_HTML_OPEN) r->pre++;
        if (pre && t->kind == PK_HTML_CLOSE && r->pre) r->pre--;
        return PK_OK;
    }
    PK_TRY(need_passage(r, t->bytes.data));
    return pk_tag_stack_add(&r->stack, r->passage, t);
}

static pk_status read_all(reader *r) {
    for (;;) {
        const pk_html_token t = pk_html_next(&r->scan);
        if (t.kind == PK_HTML_END) break;
        if (t.kind == PK_HTML_TEXT) {
            PK_TRY(need_passage(r, t.bytes.data));
            PK_TRY(pk_html_add_text(r->passage, t.bytes));
        } else {
            PK_TRY(read_tag(r, &t));
        }
    }
    end_passage(r, r->scan.data + r->scan.size);
    r->out->after = (pk_text){ r->scan.data + r->copied, r->scan.size - r->copied };
    return PK_OK;
}

pk_status pk_html_read(pk_text text, pk_markup *out) {
    reader          r = { .scan = { .data = text.data, .size = text.size }, .out = out };
    const pk_status status = read_all(&r);
    pk_tag_stack_free(&r.stack);
    return status;
}
