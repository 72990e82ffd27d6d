/* recipe_values.c - how values get into a recipe.
 *
 * Every value is checked against its line of the list; a message names the key, where it stood, and
 * what the key takes. Paths become absolute, so that a copy of a recipe means the same anywhere. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "recipe/recipe_parts.h"
#include "text/utf8.h"

pk_status pk_recipe_fail(const pk_recipe_reader *r, pk_status code, size_t line, const char *format,
                         ...) {
    char    text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!r->file) PK_FAIL(code, "--set: %s", text);
    PK_FAIL(code, "%s, line %zu: %s", r->file, line, text);
}

/* ---- Names ---- */

/* Levenshtein distance; names of the list are short */
static size_t distance(const char *a, const char *b) {
    enum { LONGEST = 63 };
    size_t row[LONGEST + 1], n = strlen(b);
    if (strlen(a) > LONGEST || n > LONGEST) return LONGEST;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const size_t change = diagonal + (a[i - 1] != b[j - 1]), drop = row[j] + 1;
            diagonal = row[j];
            row[j] = row[j - 1] + 1;
            if (drop < row[j]) row[j] = drop;
            if (change < row[j]) row[j] = change;
        }
    }
    return row[n];
}

/* what follows the last dot: a name whose section was forgotten is only that */
static const char *last_part(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static const char *nearest(const char *name) {
    const char *best = NULL;
    size_t      least = strlen(name) / 3 + 2; /* names that differ more are not suggested */
    for (const pk_option *k = pk_recipe_keys; k->name; k++) {
        const bool   elsewhere = !strcmp(last_part(k->name), last_part(name));
        const size_t d = elsewhere ? 1 : distance(name, k->name);
        if (d < least) least = d, best = k->name;
    }
    return best;
}

/* a key whose name goes on after this and a dot, or NULL */
static const char *first_in(const char *section) {
    const size_t n = strlen(section);
    for (const pk_option *k = pk_recipe_keys; k->name; k++)
        if (!strncmp(k->name, section, n) && k->name[n] == '.') return k->name;
    return NULL;
}

bool pk_recipe_is_section(const char *name) { return first_in(name) != NULL; }

/* a key that does not exist: the message suggests one that does */
static pk_status unknown(const pk_recipe_reader *r, const char *name, size_t line) {
    const char *near = nearest(name);
    if (first_in(name))
        return pk_recipe_fail(r, PK_ARGUMENT, line, "%s is a section: give its keys, such as %s",
                              name, first_in(name));
    if (near)
        return pk_recipe_fail(r, PK_ARGUMENT, line, "there is no key '%.80s'; did you mean %s?",
                              name, near);
    return pk_recipe_fail(r, PK_ARGUMENT, line, "there is no key '%.80s'", name);
}

static const pk_option *find(const char *name) { return pk_options_find(pk_recipe_keys, name); }

bool pk_recipe_takes_list(const char *name) {
    const pk_option *k = find(name);
    return k && pk_option_is_list(k);
}

pk_status pk_recipe_not_section(const pk_recipe_reader *r, const char *name, size_t line) {
    if (!find(name)) return unknown(r, name, line);
    return pk_recipe_fail(r, PK_ARGUMENT, line, "%s takes a value, it is no section", name);
}

/* ---- Values ---- */

/* The text as it is kept: of a path the absolute one. */
static pk_status set(pk_recipe_reader *r, const pk_option *k, const char *value) {
    if (!pk_option_is_path(k) || !*value || *value == '/')
        return pk_option_set(k, value, strlen(value), r->recipe);
    pk_buffer path = { 0 };
    pk_buffer_print(&path, "%s/%s", strcmp(r->folder, "/") ? r->folder : "",
                    value + (strncmp(value, "./", 2) ? 0 : 2));
    pk_status status = pk_buffer_status(&path);
    if (status == PK_OK) status = pk_option_set(k, path.data, path.size, r->recipe);
    pk_buffer_free(&path);
    return status;
}

static pk_status refuse(const pk_recipe_reader *r, const pk_option *k, size_t line,
                        const char *value) {
    pk_buffer takes = { 0 };
    pk_option_describe(k, &takes);
    const pk_status status = pk_recipe_fail(r, PK_ARGUMENT, line, "%s takes %s, not '%.80s'",
                                            k->name, takes.data ? takes.data : "another", value);
    pk_buffer_free(&takes);
    return status;
}

/* one value, or one item of a list */
static pk_status give_one(pk_recipe_reader *r, const pk_option *k, size_t line, const char *value) {
    if (!pk_option_accepts(k, value, strlen(value))) return refuse(r, k, line, value);
    if (pk_option_is_list(k) && !*value)
        return pk_recipe_fail(r, PK_ARGUMENT, line, "an item of %s is empty", k->name);
    return set(r, k, value);
}

/* what is written must be readable again, and the folder is part of a path */
static pk_status check_text(const pk_recipe_reader *r, const pk_option *k, size_t line,
                            const pk_texts *value) {
    bool valid = !r->folder || pk_utf8_valid(r->folder, strlen(r->folder));
    for (size_t i = 0; i < value->n; i++)
        valid = valid && pk_utf8_valid(value->item[i], strlen(value->item[i]));
    if (valid) return PK_OK;
    return pk_recipe_fail(r, PK_ARGUMENT, line, "the value of %s is not valid UTF-8", k->name);
}

/* In a file each key may be given once. --set passes line 0, "not yet": there the last one
 * counts. */
pk_status pk_recipe_give(pk_recipe_reader *r, const char *name, size_t line, const pk_texts *value,
                         bool list) {
    const pk_option *k = find(name);
    if (!k) return unknown(r, name, line);
    size_t *seen = &r->line[k - pk_recipe_keys];
    if (*seen)
        return pk_recipe_fail(r, PK_ARGUMENT, line, "%s is given twice, first in line %zu", k->name,
                              *seen);
    *seen = line;
    PK_TRY(check_text(r, k, line, value));
    if (pk_option_is_list(k))
        pk_texts_free((pk_texts *)((char *)r->recipe + k->offset));
    else if (list || value->n != 1)
        return pk_recipe_fail(r, PK_ARGUMENT, line, "%s takes one value, not a list", k->name);
    for (size_t i = 0; i < value->n; i++) PK_TRY(give_one(r, k, line, value->item[i]));
    return PK_OK;
}
