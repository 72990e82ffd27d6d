/* recipe_parts.h - within the recipe: the list as a table, and values on their way into a recipe.
 *
 * Whatever the values come from, each key passes through pk_recipe_give(), which checks it. */
#ifndef PK_RECIPE_RECIPE_PARTS_H
#define PK_RECIPE_RECIPE_PARTS_H
#include "recipe/recipe.h"

extern const pk_option pk_recipe_keys[]; /* ends with a NULL name; recipe_table.c */
#define PK_RECIPE_ONE(...) +1
enum { PK_RECIPE_N_KEYS = 0 PK_RECIPE_MAP(PK_RECIPE_ONE) };
bool pk_recipe_is_fixed(const pk_option *key); /* may not differ when a training goes on */

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
#endif
