/* detect_table.h - what was learned about languages: a table that is part of the library.
 *
 * A class is a language in one of its scripts. An n-gram that is known has a row of PK_DETECT_WIDTH
 * small numbers; the sum of the rows of a text, times the numbers of a class, says how much the text
 * looks like that class. All is integers, so that results are the same everywhere. The file,
 * detect.table, is made by tools/train_detect.c, and docs/detection.md says what it holds. */
#ifndef PK_DETECT_TABLE_H
#define PK_DETECT_TABLE_H
#include <stddef.h>
#include <stdint.h>

enum {
    PK_DETECT_WIDTH = 16,
    PK_DETECT_WAYS = 4, /* an n-gram is in one of so many places */
    PK_DETECT_MOST_CLASSES = 192,
    PK_DETECT_CODE = 8,          /* bytes of a language's code, with zeros behind it */
    PK_DETECT_CLASS_SCALE = 1024 /* numbers of a class are stored times this */
};

typedef struct pk_detect_class {
    const char *code; /* "en" */
    int32_t     script;
    int32_t     bias;
    int32_t     weight[PK_DETECT_WIDTH];
} pk_detect_class;

typedef struct pk_detect_table {
    int32_t        n_classes;
    uint32_t       n_sets; /* of PK_DETECT_WAYS places each */
    double         scale;  /* of the rows' numbers */
    double         power;  /* sums of n rows are divided by n to this */
    const uint8_t *classes;
    const uint8_t *fingerprint; /* two bytes a place, 0: free */
    const int8_t  *row;         /* PK_DETECT_WIDTH a place */
} pk_detect_table;

/* the library's own */
void pk_detect_table_get(pk_detect_table *out);
void pk_detect_table_class(const pk_detect_table *t, int32_t i, pk_detect_class *out);
/* what is stored of an n-gram to know it by; never 0 */
static inline uint32_t pk_detect_fingerprint(uint64_t hash) {
    const uint32_t top = (uint32_t)(hash >> 48);
    return top ? top : 1;
}
/* the row of an n-gram, or NULL where it is not known */
const int8_t *pk_detect_table_find(const pk_detect_table *t, uint64_t hash);
#endif
