/* text_change.c - letters one by one, by Unicode's simple mappings; and a sharp s in capitals.
 *
 * Simple mappings keep the number of letters, but for the sharp s, which has become SS in capitals
 * for as long as there are texts. */
#include "text/text_change.h"

#include <stdbool.h>
#include <string.h>
#include <unicode/uchar.h>

#include "text/utf8.h"

enum { SHARP_S = 0xDF };

static const char *const words[] = {
#define X(name, word, help) word,
    PK_TEXT_CHANGES(X)
#undef X
};

const char *pk_text_change_word(pk_text_change change) { return words[change]; }

void pk_text_changes_help(pk_buffer *out) {
#define X(name, word, help) pk_buffer_print(out, "  %-8s %s\n", word, help);
    PK_TEXT_CHANGES(X)
#undef X
}

pk_status pk_text_change_find(const char *word, pk_text_change *out) {
    pk_buffer known = { 0 };
    for (int i = 0; i < PK_N_TEXT_CHANGES; i++)
        if (strcmp(word, words[i]) == 0) {
            *out = (pk_text_change)i;
            return PK_OK;
        }
    for (int i = 0; i < PK_N_TEXT_CHANGES; i++)
        pk_buffer_print(&known, "%s%s", i ? ", " : "", words[i]);
    const pk_status status = pk_fail_with(PK_ARGUMENT, "no change of text is called \"%s\": %s",
                                          word, known.data ? known.data : "");
    pk_buffer_free(&known);
    return status;
}

/* code point by code point: a byte is no letter */
static void add_upper(const char *line, size_t size, pk_buffer *out) {
    int32_t c;
    for (size_t at = 0; at < size;) {
        at += pk_utf8_next(line + at, size - at, &c);
        if (c == SHARP_S)
            pk_buffer_add(out, "SS", 2);
        else
            pk_utf8_add(out, u_toupper(c));
    }
}

static void add_lower(const char *line, size_t size, pk_buffer *out) {
    int32_t c;
    for (size_t at = 0; at < size;) {
        at += pk_utf8_next(line + at, size - at, &c);
        pk_utf8_add(out, u_tolower(c));
    }
}

/* a word begins behind white space or a hyphen, not behind an apostrophe */
static void add_title(const char *line, size_t size, pk_buffer *out) {
    int32_t c;
    bool    begins = true;
    for (size_t at = 0; at < size;) {
        at += pk_utf8_next(line + at, size - at, &c);
        pk_utf8_add(out, begins ? u_totitle(c) : c);
        begins = pk_utf8_is_space(c) || c == '-' || (begins && !u_isalnum(c));
    }
}

/* "..." and ".." are not full stops */
static size_t bare_size(const char *line, size_t size) {
    while (size && (line[size - 1] == ' ' || line[size - 1] == '\t')) size--;
    const bool stop = size > 1 && line[size - 1] == '.' && line[size - 2] != '.';
    return stop ? size - 1 : size;
}

void pk_text_change_add(pk_text_change change, int side, const char *line, size_t size,
                        pk_buffer *out) {
    if (change == PK_TEXT_UPPER)
        add_upper(line, size, out);
    else if (change == PK_TEXT_TITLE && side == 0)
        add_title(line, size, out);
    else if (change == PK_TEXT_LOWER && side == 0)
        add_lower(line, size, out);
    else
        pk_buffer_add(out, line, change == PK_TEXT_BARE ? bare_size(line, size) : size);
}
