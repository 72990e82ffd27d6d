/* detect_table.h - what was learned about languages: a table that is part of the library.
 *
 * It has a group for each script, with the languages that are written so. An n-gram that a group
 * knows has a row with a small number for each of these languages; the sums of the rows of a text
 * say how much it looks like each. All is integers, so that results are the same everywhere. The
 * file, detect.table, is made by tools/train_detect.c, and docs/detection.md says what it holds. */
#ifndef PK_DETECT_TABLE_H
#define PK_DETECT_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PK_DETECT_WAYS = 4,      /* an n-gram is in one of so many entries */
    PK_DETECT_LANGUAGES = 48 /* of a group, at most */
};

typedef struct pk_detect_group {
    int32_t        script; /* ICU's UScriptCode */
    int32_t        n;      /* languages */
    uint32_t       n_sets; /* of PK_DETECT_WAYS entries each */
    const uint8_t *language;
    const uint8_t *entry; /* two bytes each: fingerprint and, lowest, factor; 0: free */
    const uint8_t *row;   /* half a byte for each language */
    const uint8_t *next;  /* where the next group begins */
} pk_detect_group;

/* numbers in rows and biases are logarithms of odds times this */
#define PK_DETECT_SCALE 1024.0
/* Sums of n rows are divided by the square root of n: n-grams overlap, so that twice as many do not
 * say twice as much. */
#define PK_DETECT_POWER 0.5

/* the groups of the library's own table, one by one; false at the end. Begin with all zeros */
bool        pk_detect_group_next(pk_detect_group *group);
const char *pk_detect_group_code(const pk_detect_group *group, int32_t language); /* "en" */
int32_t     pk_detect_group_bias(const pk_detect_group *group, int32_t language);

/* what is stored of an n-gram to know it by: 12 bits, never 0 */
static inline uint32_t pk_detect_fingerprint(uint64_t hash) {
    const uint32_t top = (uint32_t)(hash >> 52);
    return top ? top : 1;
}
/* a row's numbers are -7 to 7 times one of 16 factors, half an octave apart */
int32_t pk_detect_factor(uint32_t which);
/* adds the row of an n-gram to sums of all the group's languages; false where it is not known */
bool pk_detect_group_add(const pk_detect_group *group, uint64_t hash, int32_t *sum);
#endif
