/* subtitles_read.c - cues to passages. A cue whose text does not end a sentence is joined to the
 * next. What is no cue is copied, also in a file that is broken somewhere. */
#include <string.h>

#include "markup/html.h"
#include "markup/subtitles.h"
#include "markup/tag_stack.h"
#include "text/utf8.h"

enum { MOST_JOINED = 8 }; /* cues of one passage */

typedef struct cue {
    pk_text head; /* all that stands before its text: number, times */
    pk_text text; /* its lines, without the last line end */
    bool    talk; /* a line begins with a dash: two people speak */
} cue;

typedef struct reader {
    pk_text      input;
    bool         vtt;
    pk_markup   *out;
    pk_passage  *passage; /* to be joined to; NULL: none */
    size_t       joined;
    pk_tag_stack stack;
    size_t       at, copied; /* copied: bytes that have their place */
} reader;

/* ---- lines ---- */

/* the line at r->at without its end; moves behind it */
static pk_text next_line(reader *r) {
    const char *begin = r->input.data + r->at, *stop = r->input.data + r->input.size;
    const char *end = memchr(begin, '\n', (size_t)(stop - begin));
    r->at = end ? (size_t)(end - r->input.data) + 1 : r->input.size;
    if (!end) end = stop;
    if (end > begin && end[-1] == '\r') end--;
    return (pk_text){ begin, (size_t)(end - begin) };
}

static bool is_blank(pk_text line) {
    for (size_t i = 0; i < line.size; i++)
        if (!strchr(" \t\xEF\xBB\xBF", line.data[i]) || !line.data[i]) return false;
    return true;
}

static bool is_times(pk_text line) {
    return memmem(line.data, line.size, "-->", 3) != NULL && memchr(line.data, ':', line.size);
}

static bool begins_talk(pk_text line) {
    return (line.size > 1 && line.data[0] == '-') ||
           (line.size > 3 && memcmp(line.data, "\xE2\x80\x93", 3) == 0);
}

/* the next cue that has text; false: there is none */
static bool next_cue(reader *r, cue *out) {
    pk_text line = { 0 };
    while (r->at < r->input.size) {
        do line = next_line(r);
        while (!is_times(line) && r->at < r->input.size);
        const size_t from = r->at;
        *out = (cue){ .text.data = r->input.data + from };
        if (!is_times(line)) return false;
        while (r->at < r->input.size) {
            const size_t begin = r->at;
            line = next_line(r);
            if (is_blank(line) || is_times(line)) {
                r->at = begin;
                break;
            }
            out->talk |= begins_talk(line);
            out->text.size = (size_t)(line.data + line.size - out->text.data);
        }
        out->head = (pk_text){ r->input.data + r->copied, from - r->copied };
        if (out->text.size) return true;
    }
    return false;
}

/* ---- joining ---- */

/* the text goes on in the next cue: no sign at its end says that it does not */
static bool is_open(const cue *c) {
    size_t n = c->text.size;
    while (n > 0 && strchr(" \t\"')]>", c->text.data[n - 1])) {
        if (c->text.data[n - 1] == '>') /* a tag */
            while (n > 0 && c->text.data[n - 1] != '<') n--;
        if (n > 0) n--;
    }
    static const char *const ends[] = {
        ".",        "!", "?", ":", ";", "\xE2\x80\xA6", "\xE2\x99\xAA", "\xE2\x80\x9D",
        "\xC2\xBB", "]", NULL
    };
    for (int i = 0; ends[i]; i++) {
        const size_t size = strlen(ends[i]);
        if (n >= size && memcmp(c->text.data + n - size, ends[i], size) == 0) return false;
    }
    return !c->talk;
}

static bool begins_anew(const cue *c) {
    return c->talk || strchr("[(\xE2", c->text.data[0]); /* a sound; a note or a quotation mark */
}

/* ---- the text of a cue ---- */

/* a setting inside the text, {\an8}, is a mark */
static pk_status add_plain(reader *r, pk_text bytes) {
    const char *end = bytes.data + bytes.size;
    for (const char *at = bytes.data; at < end;) {
        const char   *open = r->vtt ? NULL : memmem(at, (size_t)(end - at), "{\\", 2);
        const char   *close = open ? memchr(open, '}', (size_t)(end - open)) : NULL;
        const pk_text text = { at, (size_t)((close ? open : end) - at) };
        if (text.size && r->vtt) PK_TRY(pk_html_add_text(r->passage, text));
        if (text.size && !r->vtt) PK_TRY(pk_passage_add_text(r->passage, text, text));
        if (!close) break;
        const pk_html_token mark = { .kind = PK_HTML_VOID,
                                     .bytes = { open, (size_t)(close + 1 - open) } };
        PK_TRY(pk_tag_stack_add(&r->stack, r->passage, &mark));
        at = close + 1;
    }
    return PK_OK;
}

static pk_status add_text(reader *r, pk_text text) {
    pk_html_scanner scan = { .data = text.data, .size = text.size, .vtt = true };
    for (;;) {
        const pk_html_token t = pk_html_next(&scan);
        if (t.kind == PK_HTML_END) return PK_OK;
        const bool plain = t.kind == PK_HTML_TEXT || t.kind == PK_HTML_RAW;
        PK_TRY(plain ? add_plain(r, t.bytes) : pk_tag_stack_add(&r->stack, r->passage, &t));
    }
}

/* a cue is a tag around its text; what stands before that is its opening tag */
static pk_status add_cue(reader *r, const cue *c) {
    const size_t        first = r->passage->n_tags;
    const pk_html_token open = { .kind = PK_HTML_OPEN, .bytes = c->head, .name = { "", 0 } };
    const pk_text       none = { c->text.data, 0 };
    if (r->passage->text.size) PK_TRY(pk_passage_add_text(r->passage, (pk_text){ " ", 1 }, none));
    PK_TRY(pk_tag_stack_add(&r->stack, r->passage, &open));
    PK_TRY(add_text(r, c->text));
    pk_tag_stack_end(&r->stack, r->passage, 1, first);
    r->stack.n = 0;
    memset(r->stack.count, 0, sizeof r->stack.count);
    pk_tag *tag = &r->passage->tag[first];
    tag->end = r->passage->text.size;
    tag->cue = true;
    r->passage->raw.size = (size_t)(c->text.data + c->text.size - r->passage->raw.data);
    r->copied = (size_t)(c->text.data + c->text.size - r->input.data);
    return PK_OK;
}

static pk_status read_cues(reader *r) {
    cue  c;
    bool open = false;
    for (size_t n = 0; next_cue(r, &c); n++) {
        if (!open || begins_anew(&c) || r->joined == MOST_JOINED) {
            PK_TRY(pk_markup_add(r->out, &r->passage));
            r->passage->raw = c.text;
            r->passage->lines = c.talk;
            r->joined = 0;
        }
        PK_TRY(add_cue(r, &c));
        r->joined++;
        open = is_open(&c);
    }
    return PK_OK;
}

static pk_status check(const reader *r) {
    static const char bom[] = "\xEF\xBB\xBF";
    const size_t      skip = r->input.size >= 3 && memcmp(r->input.data, bom, 3) == 0 ? 3 : 0;
    if (r->vtt && (r->input.size < skip + 6 || memcmp(r->input.data + skip, "WEBVTT", 6) != 0))
        PK_FAIL(PK_ARGUMENT, "this is no WebVTT text: it does not begin with WEBVTT");
    return PK_OK;
}

pk_status pk_subtitles_read(pk_text text, bool vtt, pk_markup *out) {
    reader r = { .input = text, .vtt = vtt, .out = out };
    if (is_blank(text)) {
        out->after = text;
        return PK_OK;
    }
    pk_status status = check(&r);
    if (status == PK_OK) status = read_cues(&r);
    if (status == PK_OK && out->n == 0 && !vtt)
        status = pk_fail_with(PK_ARGUMENT, "this is no SubRip text: it has no line of times (-->) "
                                           "with text below it");
    out->after = (pk_text){ text.data + r.copied, text.size - r.copied };
    pk_tag_stack_free(&r.stack);
    return status;
}
