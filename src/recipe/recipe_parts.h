/* recipe_parts.h - within the recipe: the list as a table, and values on their way into a recipe.
 *
 * Whatever the values come from, each key passes through pk_recipe_give(), which checks it. */
#ifndef PK_RECIPE_RECIPE_PARTS_H
#define PK_RECIPE_RECIPE_PARTS_H
#include "recipe/recipe.h"

typedef enum pk_recipe_kind {
    PK_RECIPE_TEXT,
    PK_RECIPE_TEXTS,
    PK_RECIPE_PATH,
    PK_RECIPE_PATHS,
    PK_RECIPE_FLOATS,
    PK_RECIPE_INT,
    PK_RECIPE_FLOAT,
    PK_RECIPE_CHOICE,
    PK_RECIPE_FLAG,
} pk_recipe_kind;

typedef struct pk_recipe_key { /* one line of the list; ends with a NULL name */
    const char    *name, *choices, *help;
    pk_recipe_kind kind;
    bool           fixed;  /* may not differ when a training goes on */
    const char    *text;   /* default of TEXT and PATH */
    double         number; /* default of the others */
    double         lowest, highest;
    size_t         offset; /* of the field in pk_recipe */
} pk_recipe_key;
extern const pk_recipe_key pk_recipe_keys[];
#define PK_RECIPE_ONE(...) +1
enum { PK_RECIPE_N_KEYS = 0 PK_RECIPE_MAP(PK_RECIPE_ONE) };

bool        pk_recipe_is_list(const pk_recipe_key *k); /* TEXTS, PATHS, FLOATS */
const void *pk_recipe_field(const pk_recipe *r, const pk_recipe_key *k);
/* INT, FLOAT, CHOICE and FLAG; not checked */
void pk_recipe_set_number(pk_recipe *r, const pk_recipe_key *k, double value);

typedef struct pk_recipe_reader {
    pk_recipe  *recipe;
    const char *file;                   /* for messages; NULL: values come from --set */
    char       *folder;                 /* relative paths count from here */
    size_t      line[PK_RECIPE_N_KEYS]; /* where each key was given; 0: not yet */
} pk_recipe_reader;
/* sets a key to n values, which came from that line; list: they stood in a list */
pk_status pk_recipe_give(pk_recipe_reader *r, const char *name, size_t line, const pk_texts *value,
                         bool list);
/* whether there are keys that begin with name and a dot */
bool pk_recipe_is_section(const char *name);
bool pk_recipe_takes_list(const char *name); /* whether there is such a key, of a list */
/* a map was given for what is no section */
pk_status pk_recipe_not_section(const pk_recipe_reader *r, const char *name, size_t line);
/* "FILE, line N: " or "--set: " before what went wrong */
pk_status pk_recipe_fail(const pk_recipe_reader *r, pk_status code, size_t line, const char *format,
                         ...) __attribute__((format(printf, 4, 5)));
/* hands every key of a YAML text to pk_recipe_give(); recipe_yaml.c */
pk_status pk_recipe_read_yaml(pk_recipe_reader *r, const char *text, size_t size);

pk_status pk_texts_add(pk_texts *t, const char *text, size_t size); /* a copy */
void      pk_texts_free(pk_texts *t);
/* a number whatever the locale: digits, sign, point and exponent, nothing else */
bool pk_recipe_number(const char *text, double *out);
void pk_recipe_add_number(pk_buffer *out, double value); /* as short as reads back the same */
#endif
