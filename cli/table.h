/* table.h - text in columns: the first to the left, the others where the caller says. */
#ifndef PK_CLI_TABLE_H
#define PK_CLI_TABLE_H
#include <stdbool.h>
#include <stddef.h>

typedef struct pk_table {
    size_t columns, n; /* n cells so far, row by row */
    char **cell;
} pk_table;

void pk_table_add(pk_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pk_table_print(const pk_table *t, bool right); /* to standard output */
void pk_table_free(pk_table *t);
#endif
