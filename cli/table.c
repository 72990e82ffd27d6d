/* table.c - lays out cells in columns as wide as their widest cell, in characters, not bytes. */
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* in characters */
static size_t width(const char *text) {
    size_t n = 0;
    for (; *text; text++) n += (*text & 0xc0) != 0x80; /* all but UTF-8 continuation bytes */
    return n;
}

void pk_table_add(pk_table *t, const char *format, ...) {
    va_list arguments;
    char   *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    t->cell = pk_cli_grow(t->cell, t->n + 1, sizeof *t->cell);
    t->cell[t->n++] = text;
}

static const char *cell(const pk_table *t, size_t i) { return t->cell[i] ? t->cell[i] : "?"; }

static size_t column_width(const pk_table *t, size_t column) {
    size_t widest = 0;
    for (size_t i = column; i < t->n; i += t->columns)
        if (width(cell(t, i)) > widest) widest = width(cell(t, i));
    return widest;
}

/* right: all columns but the first are aligned to the right, as numbers are */
void pk_table_print(const pk_table *t, bool right) {
    for (size_t i = 0; i < t->n; i++) {
        size_t column = i % t->columns;
        bool   last = column + 1 == t->columns || i + 1 == t->n;
        int    space = (int)(column_width(t, column) - width(cell(t, i)));
        if (right && column > 0)
            printf("%*s%s", space, "", cell(t, i));
        else
            printf("%s%*s", cell(t, i), last ? 0 : space, "");
        fputs(last ? "\n" : "  ", stdout);
    }
}

void pk_table_free(pk_table *t) {
    for (size_t i = 0; i < t->n; i++) free(t->cell[i]);
    free(t->cell);
    *t = (pk_table){ 0 };
}
