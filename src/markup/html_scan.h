/* html_scan.h - HTML as tokens that cover the input exactly, byte for byte.
 *
 * The rules are those of the HTML standard's tokenizer where they decide what is text and what is
 * not. What is not closed (a tag, a comment, a script at the end of the input) is one token to the
 * end. One step forward, never back: linear in the input. */
#ifndef PK_MARKUP_HTML_SCAN_H
#define PK_MARKUP_HTML_SCAN_H
#include <stdbool.h>

#include "pronk.h"

typedef enum pk_html_kind {
    PK_HTML_TEXT,
    PK_HTML_OPEN,
    PK_HTML_CLOSE,
    PK_HTML_VOID,  /* <br>, <x/> */
    PK_HTML_OTHER, /* comments, doctypes, instructions; what is not closed */
    PK_HTML_RAW,   /* what script, style and the like hold */
    PK_HTML_END
} pk_html_kind;

typedef struct pk_html_token {
    pk_html_kind kind;
    pk_text      bytes;
    pk_text      name;         /* of a tag */
    bool         no_translate; /* translate="no" or class "notranslate" */
} pk_html_token;

typedef struct pk_html_scanner {
    const char *data;
    size_t      size, at;
    pk_text     raw;      /* name of the element whose raw text comes next; or no data */
    bool        no_cdata; /* none is closed from here on */
    bool        vtt;      /* <00:00:01.000> is a tag too */
} pk_html_scanner;

pk_html_token pk_html_next(pk_html_scanner *s);

/* what is known of elements, by name, in any case of letters */
typedef enum pk_html_class {
    PK_HTML_INLINE,    /* in running text; also what is not known */
    PK_HTML_BLOCK,     /* ends a passage */
    PK_HTML_KEPT,      /* in running text, comes out as it is: code */
    PK_HTML_UNTOUCHED, /* copied, and ends a passage: video */
    PK_HTML_HIDDEN,    /* copied, and ends none: script */
    PK_HTML_LINE       /* br */
} pk_html_class;
pk_html_class pk_html_class_of(pk_text name);
bool          pk_html_is_void(pk_text name);
bool          pk_html_has_raw_text(pk_text name);
bool          pk_html_same_name(pk_text a, pk_text b);

/* Bytes of the character reference at the beginning of the text ("&amp;"); 0: there is none.
 * *code: its character; -1: it has a form that only others know, so that it is to be kept. */
size_t pk_html_reference(const char *text, size_t size, int32_t *code);
#endif
