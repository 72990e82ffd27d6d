/* html_names.c - what is known of elements and character references: the lists.
 *
 * Lists are words with a space before and after each, in small letters. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "markup/html_scan.h"

static const char void_names[] =
    " area base basefont bgsound br col embed frame hr img input keygen link meta param source "
    "track wbr ";
static const char raw_names[] = " script style textarea xmp iframe noembed noframes plaintext ";
/* what a browser shows as blocks, tables, lists, or apart from running text */
static const char block_names[] =
    " article aside base blockquote body button caption center col colgroup dd details dialog dir "
    "div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header "
    "hgroup hr html legend li link main menu meta nav noscript ol optgroup option p pre search "
    "section select summary table tbody td tfoot th thead title tr ul ";
/* one thing in a sentence, which is not in its language */
static const char kept_names[] = " code kbd math samp svg time tt var ";
static const char untouched_names[] =
    " address applet audio canvas embed iframe listing noembed noframes object plaintext textarea "
    "video xmp ";
static const char hidden_names[] = " script style template ";

static bool is_in(const char *list, pk_text name) {
    enum { LONGEST = 12 };
    char word[LONGEST + 3] = " ";
    if (name.size == 0 || name.size > LONGEST) return false;
    for (size_t i = 0; i < name.size; i++) word[i + 1] = (char)tolower((unsigned char)name.data[i]);
    word[name.size + 1] = ' ';
    return !memchr(word + 1, ' ', name.size) && strstr(list, word) != NULL;
}

bool pk_html_is_void(pk_text name) { return is_in(void_names, name); }
bool pk_html_has_raw_text(pk_text name) { return is_in(raw_names, name); }

pk_html_class pk_html_class_of(pk_text name) {
    if (pk_html_same_name(name, (pk_text){ "br", 2 })) return PK_HTML_LINE;
    return is_in(untouched_names, name) ? PK_HTML_UNTOUCHED
           : is_in(block_names, name)   ? PK_HTML_BLOCK
           : is_in(kept_names, name)    ? PK_HTML_KEPT
           : is_in(hidden_names, name)  ? PK_HTML_HIDDEN
                                        : PK_HTML_INLINE;
}

/* U+00A0 to U+00FF, in order; these are also known without a semicolon */
static const char latin[] =
    "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn "
    "sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave "
    "Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml "
    "ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN "
    "szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave "
    "iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute "
    "ucirc uuml yacute thorn yuml ";

typedef struct named {
    const char *name;
    int32_t     code;
} named;
static const named others[] = {
    { "amp", '&' },       { "lt", '<' },        { "gt", '>' },       { "quot", '"' },
    { "apos", '\'' },     { "OElig", 0x152 },   { "oelig", 0x153 },  { "Scaron", 0x160 },
    { "scaron", 0x161 },  { "Yuml", 0x178 },    { "ensp", 0x2002 },  { "emsp", 0x2003 },
    { "thinsp", 0x2009 }, { "zwnj", 0x200C },   { "zwj", 0x200D },   { "lrm", 0x200E },
    { "rlm", 0x200F },    { "ndash", 0x2013 },  { "mdash", 0x2014 }, { "lsquo", 0x2018 },
    { "rsquo", 0x2019 },  { "sbquo", 0x201A },  { "ldquo", 0x201C }, { "rdquo", 0x201D },
    { "bdquo", 0x201E },  { "dagger", 0x2020 }, { "bull", 0x2022 },  { "hellip", 0x2026 },
    { "permil", 0x2030 }, { "prime", 0x2032 },  { "Prime", 0x2033 }, { "lsaquo", 0x2039 },
    { "rsaquo", 0x203A }, { "euro", 0x20AC },   { "trade", 0x2122 }, { "larr", 0x2190 },
    { "rarr", 0x2192 },   { "minus", 0x2212 },  { "ne", 0x2260 },    { "le", 0x2264 },
    { "ge", 0x2265 },     { "hearts", 0x2665 }, { "check", 0x2713 }, { "star", 0x2606 },
};

static int32_t latin_code(const char *name, size_t size) {
    int32_t code = 0xA0;
    for (const char *at = latin; *at; code++) {
        const char *end = strchr(at, ' ');
        if ((size_t)(end - at) == size && memcmp(at, name, size) == 0) return code;
        at = end + 1;
    }
    return -1;
}

static int32_t other_code(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i].name) == size && memcmp(others[i].name, name, size) == 0)
            return others[i].code;
    return -1;
}

/* &#8364; or &#x20AC;. A number that is no character is left to others. */
static size_t numeric(const char *text, size_t size, int32_t *code) {
    enum { MOST_DIGITS = 7 };
    const bool hex = size > 2 && (text[2] == 'x' || text[2] == 'X');
    size_t     at = 2 + hex;
    int32_t    value = 0;
    while (at < size && at < (size_t)2 + hex + MOST_DIGITS && isxdigit((unsigned char)text[at])) {
        const char c = text[at];
        if (!hex && !isdigit((unsigned char)c)) break;
        value =
            value * (hex ? 16 : 10) + (isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
        at++;
    }
    if (at == (size_t)2 + hex || at >= size || text[at] != ';') return 0;
    const bool character = value >= 0xA0 && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
    *code = character || (value >= ' ' && value < 0x7F) ? value : -1;
    return at + 1;
}

size_t pk_html_reference(const char *text, size_t size, int32_t *code) {
    enum { LONGEST = 32 };
    size_t at = 1;
    if (size < 3 || text[0] != '&') return 0;
    if (text[1] == '#') return numeric(text, size, code);
    while (at < size && at <= LONGEST && isalnum((unsigned char)text[at])) at++;
    const bool closed = at < size && text[at] == ';';
    if (at == 1 || at > LONGEST) return 0;
    *code = latin_code(text + 1, at - 1);
    if (*code < 0) {
        *code = other_code(text + 1, at - 1);
        if (!closed && (*code < 0 || *code > '>' || *code == '\'')) return 0;
    }
    if (!closed && at < size && text[at] == '=') return 0; /* of an address */
    return at + closed;
}
