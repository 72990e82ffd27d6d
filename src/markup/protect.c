/* protect.c - the usual spans, each by a small reader of what begins at a byte.
 *
 * A reader returns how many bytes belong to its span, 0 for none, and looks at no more than MOST
 * bytes, or at what it returns. Spans do not overlap: the first that begins wins. */
#include "markup/protect.h"

#include <ctype.h>
#include <string.h>
#include <unicode/uchar.h>

#include "markup/word_list.h"
#include "text/utf8.h"

enum { MOST = 256 }; /* bytes of a placeholder, a tag or code */

static bool   alnum(char c) { return isalnum((unsigned char)c) != 0; }
static bool   alpha(char c) { return isalpha((unsigned char)c) != 0; }
static bool   digit(char c) { return isdigit((unsigned char)c) != 0; }
static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* signs at the end of an address that belong to the sentence; a bracket that it opened stays */
static size_t without_end_signs(const char *t, size_t n) {
    size_t opened = 0, closed = 0;
    for (size_t i = 0; i < n; i++) opened += t[i] == '(', closed += t[i] == ')';
    while (n > 0 && strchr(".,;:!?'\"*_)]", t[n - 1])) {
        if (t[n - 1] == ')' && closed-- <= opened) break;
        n--;
    }
    return n;
}

/* up to white space, a quotation mark, or a sign that no address has */
static size_t address_size(const char *t, size_t n) {
    size_t  at = 0;
    int32_t c;
    while (at < n) {
        const size_t size = pk_utf8_next(t + at, n - at, &c);
        if (c < 0x21 || c == 0x7F || pk_utf8_is_space(c) || (c < 128 && strchr("<>\"`{}|\\^", c)) ||
            (c >= 0x2018 && c <= 0x201F) || c == 0xAB || c == 0xBB || c == 0xFFFC)
            break;
        at += size;
    }
    return without_end_signs(t, at);
}

/* https://..., mailto:..., www.... */
static size_t url(const char *t, size_t n) {
    enum { LONGEST_SCHEME = 16 };
    size_t at = 0;
    if (!alpha(t[0])) return 0;
    while (at < n && at < LONGEST_SCHEME && (alnum(t[at]) || strchr("+.-", t[at]))) at++;
    const bool scheme = n - at > 3 && memcmp(t + at, "://", 3) == 0;
    const bool mail = at == 6 && n - at > 3 && strncasecmp(t, "mailto:", 7) == 0;
    const bool www = n > 6 && strncasecmp(t, "www.", 4) == 0 && alnum(t[4]);
    if (!scheme && !mail && !www) return 0;
    const size_t size = address_size(t, n);
    return size > at + (scheme ? 3 : mail ? 1 : 0) || www ? size : 0;
}

static size_t domain_size(const char *t, size_t n) {
    size_t at = 0, dots = 0, label = 0;
    for (; at < n; at++) {
        if (t[at] == '.' && label && at + 1 < n && alnum(t[at + 1]))
            dots++, label = 0;
        else if (alnum(t[at]) || (t[at] == '-' && label))
            label++;
        else
            break;
    }
    while (at > 0 && t[at - 1] == '-') at--;
    return dots ? at : 0;
}

static size_t name_size(const char *t, size_t n) {
    size_t at = 0;
    enum { LONGEST = 64 };
    while (at < n && at <= LONGEST && (alnum(t[at]) || strchr("._%+-", t[at] ? t[at] : ' '))) at++;
    return at;
}

/* name@host.tld */
static size_t mail(const char *t, size_t n) {
    const size_t name = alnum(t[0]) ? name_size(t, n) : 0;
    if (!name || name >= n || t[name] != '@') return 0;
    const size_t host = domain_size(t + name + 1, n - name - 1);
    return host ? name + 1 + host : 0;
}

/* @name and @name@host.tld */
static size_t mention(const char *t, size_t n) {
    size_t at = 1;
    if (t[0] != '@') return 0;
    while (at < n &&
           (alnum(t[at]) || t[at] == '_' || (t[at] == '.' && at + 1 < n && alnum(t[at + 1]))))
        at++;
    if (at == 1) return 0;
    if (at < n && t[at] == '@') {
        const size_t host = domain_size(t + at + 1, n - at - 1);
        if (host) at += 1 + host;
    }
    return at;
}

/* #word: letters, digits and _ of any script, and at least one letter */
static size_t hashtag(const char *t, size_t n) {
    size_t  at = 1;
    bool    letter = false;
    int32_t c;
    if (t[0] != '#') return 0;
    while (at < n) {
        const size_t size = pk_utf8_next(t + at, n - at, &c);
        if (!pk_is_word_sign(c)) break;
        letter |= u_isalpha(c);
        at += size;
    }
    return letter ? at : 0;
}

/* %s, %1$s, %-5.2f, %lu, %(name)s, %1; not what follows a number: "50%" */
static size_t percent(const char *t, size_t n) {
    size_t at = 1;
    if (t[0] != '%' || n < 2) return 0;
    if (t[1] == '(') {
        const char *end = memchr(t, ')', least(n, MOST));
        at = end ? (size_t)(end - t) + 1 : n;
    }
    const size_t number = at;
    while (at < n && digit(t[at])) at++;
    const bool only_number = at > number;
    if (at < n && t[at] == '$' && only_number) at++;
    while (at < n && strchr("-+#0'123456789.*hlLqjzt", t[at] ? t[at] : ' ')) at++;
    const bool conversion = at < n && t[at] && strchr("diouxXeEfFgGaAcCsSpn@", t[at]);
    if (conversion && (at + 1 >= n || !alnum(t[at + 1]))) return at + 1;
    at = number;
    while (at < n && digit(t[at])) at++;
    return t[1] != '(' && at > number && at - number <= 2 && (at >= n || !alpha(t[at])) ? at : 0;
}

/* {name}, ${name}, #{name}, {{ name }} */
static size_t braces(const char *t, size_t n) {
    const size_t sign = t[0] == '$' || t[0] == '#';
    if (n < sign + 3 || t[sign] != '{') return 0;
    const bool  twice = t[sign + 1] == '{';
    const char *end = memchr(t, '}', least(n, MOST));
    if (!end) return 0;
    const size_t from = sign + 1 + twice, to = (size_t)(end - t);
    if (to <= from || memchr(t + from, '{', to - from) || memchr(t + from, '\n', to - from))
        return 0;
    if (twice) return to + 1 < n && t[to + 1] == '}' ? to + 2 : 0;
    for (size_t i = from; i < to; i++)
        if (isspace((unsigned char)t[i])) return 0;
    return to + 1;
}

/* <x id="1"/>, <b>, </b> */
static size_t tag(const char *t, size_t n) {
    if (t[0] != '<' || n < 3 || !(alpha(t[1]) || (t[1] == '/' && alpha(t[2])))) return 0;
    for (size_t at = 1; at < n && at < MOST; at++) {
        if (t[at] == '<' || t[at] == '\n') return 0;
        if (t[at] == '>') return at + 1;
    }
    return 0;
}

/* `code`, ``code`` on one line */
static size_t backticks(const char *t, size_t n) {
    size_t run = 0;
    while (run < n && t[run] == '`') run++;
    if (!run || run > MOST) return run;
    for (size_t at = run, found = 0; at < n && at < MOST && t[at] != '\n'; at++) {
        found = t[at] == '`' ? found + 1 : 0;
        if (found == run && (at + 1 >= n || t[at + 1] != '`')) return at + 1;
    }
    return 0;
}

/* a picture, with what is joined to it: most vocabularies do not have them */
static size_t picture(const char *t, size_t n) {
    int32_t c;
    size_t  at = 0;
    if ((unsigned char)t[0] < 0xE2) return 0;
    while (at < n) {
        const size_t size = pk_utf8_next(t + at, n - at, &c);
        const bool   shown = c > 0x2000 && u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC);
        const bool   joined = at && (c == 0x200D || c == 0xFE0F || (c >= 0x1F3FB && c <= 0x1F3FF) ||
                                   (c >= 0x1F1E6 && c <= 0x1F1FF));
        if (!shown && !joined && !(c >= 0x1F1E6 && c <= 0x1F1FF)) break;
        at += size;
    }
    return at;
}

/* the span that begins here; before: the byte in front of it */
static size_t span_size(const char *t, size_t n, char before) {
    const bool apart = !alnum(before) && !(before & 0x80); /* no word is cut in two */
    size_t     size = 0;
    switch (t[0]) {
    case '%': return digit(before) ? 0 : percent(t, n);
    case '{': return braces(t, n);
    case '$': return braces(t, n);
    case '<': return tag(t, n);
    case '`': return backticks(t, n);
    case '@': return apart ? mention(t, n) : 0;
    case '#': size = braces(t, n); return size ? size : apart && before != '&' ? hashtag(t, n) : 0;
    default: break;
    }
    if (apart) size = url(t, n);
    if (!size && apart) size = mail(t, n);
    return size ? size : picture(t, n);
}

/* A word that is no address is passed over in one step, so that it is looked at once. */
pk_status pk_protect_usual(const char *text, size_t size, pk_byte_ranges *out) {
    char before = ' ';
    for (size_t at = 0; at < size;) {
        const size_t n = span_size(text + at, size - at, before);
        if (n) PK_TRY(pk_byte_ranges_add(out, at, at + n));
        size_t step = n;
        if (!n && alnum(text[at])) {
            step = 1;
            while (at + step < size && alnum(text[at + step])) step++;
        } else if (!n) {
            int32_t c;
            step = pk_utf8_next(text + at, size - at, &c);
        }
        at += step;
        before = n ? ' ' : text[at - 1];
    }
    return PK_OK;
}
