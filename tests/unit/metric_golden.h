/* metric_golden.h - reads tests/data/metric/NAME.tsv, what tools/make_metric_golden.py wrote.
 *
 * A table is rows of fields; \xHH is undone, so a field may hold any bytes. */
#ifndef PK_TESTS_METRIC_GOLDEN_H
#define PK_TESTS_METRIC_GOLDEN_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { GOLDEN_FIELDS = 24 };
typedef struct golden_row {
    pk_text field[GOLDEN_FIELDS];
    size_t  n;
} golden_row;
typedef struct golden_table {
    char       *bytes;
    golden_row *row;
    size_t      n;
} golden_table;

static inline size_t golden_unescape(char *text, size_t size) {
    size_t kept = 0;
    for (size_t i = 0; i < size; kept++) {
        if (text[i] == '\\' && i + 3 < size) {
            const char hex[3] = { text[i + 2], text[i + 3], 0 };
            text[kept] = (char)strtol(hex, NULL, 16);
            i += 4;
        } else {
            text[kept] = text[i++];
        }
    }
    text[kept] = '\0';
    return kept;
}

static inline char *golden_read(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s: not found; run tests from the repository root", path);
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(size + 1);
    assert_int_equal(fread(bytes, 1, size, file), size);
    bytes[size] = '\0';
    fclose(file);
    return bytes;
}

static inline golden_table golden_open(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "tests/data/metric/%s.tsv", name);
    golden_table table = { .bytes = golden_read(path) };
    for (char *line = table.bytes; *line;) {
        char *end = strchr(line, '\n');
        *end = '\0';
        table.row = realloc(table.row, (table.n + 1) * sizeof *table.row);
        golden_row *row = &table.row[table.n++];
        row->n = 0;
        for (char *field = line; field;) {
            char *tab = strchr(field, '\t');
            if (tab) *tab = '\0';
            assert_true(row->n < GOLDEN_FIELDS);
            row->field[row->n++] = (pk_text){ field, golden_unescape(field, strlen(field)) };
            field = tab ? tab + 1 : NULL;
        }
        line = end + 1;
    }
    assert_true(table.n > 0);
    return table;
}

static inline void golden_close(golden_table *table) {
    free(table->bytes);
    free(table->row);
}

/* one column as the texts of a corpus; free() it */
static inline pk_text *golden_column(const golden_table *table, size_t column) {
    pk_text *text = malloc(table->n * sizeof *text);
    for (size_t i = 0; i < table->n; i++) text[i] = table->row[i].field[column];
    return text;
}

static inline double golden_number(const golden_row *row, size_t i) {
    return strtod(row->field[i].data, NULL);
}

static inline size_t golden_index(const golden_row *row, size_t i) {
    return (size_t)strtoull(row->field[i].data, NULL, 10);
}

/* every bit equal */
static inline void assert_same_double(double found, double expected, const char *what) {
    if (memcmp(&found, &expected, sizeof found)) fail_msg("%s: %a, not %a", what, found, expected);
}
#endif
