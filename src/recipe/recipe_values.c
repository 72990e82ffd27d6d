/* recipe_values.c - the list of recipe.h as a table, and how values get into a recipe.
 *
 * Every value is checked against its line of the list; a message names the key, where it stood, and
 * what the key takes. Paths become absolute, so that a copy of a recipe means the same anywhere. */
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "recipe/recipe_parts.h"
#include "text/utf8.h"

// clang-format off
#define RESUME_FIXED true
#define RESUME_FREE  false
#define NORMAL_TEXT(x)   .text = x
#define NORMAL_PATH(x)   .text = x
#define NORMAL_TEXTS(x)  .text = x
#define NORMAL_PATHS(x)  .text = x
#define NORMAL_FLOATS(x) .text = x
#define NORMAL_INT(x)    .number = x
#define NORMAL_FLOAT(x)  .number = x
#define NORMAL_CHOICE(x) .number = x
#define NORMAL_FLAG(x)   .number = x
#define KEY(kind_, resume, field, key, normal, lowest_, highest_, choices_, help_)              \
    { .name = key, .choices = choices_, .help = help_, .kind = PK_RECIPE_##kind_,               \
      .fixed = RESUME_##resume, NORMAL_##kind_(normal), .lowest = lowest_, .highest = highest_, \
      .offset = offsetof(pk_recipe, field) },
const pk_recipe_key pk_recipe_keys[] = { PK_RECIPE_MAP(KEY) { .name = NULL } };
// clang-format on

bool pk_recipe_is_list(const pk_recipe_key *k) {
    return k->kind == PK_RECIPE_TEXTS || k->kind == PK_RECIPE_PATHS || k->kind == PK_RECIPE_FLOATS;
}

const void *pk_recipe_field(const pk_recipe *r, const pk_recipe_key *k) {
    return (const char *)r + k->offset;
}

/* room for one more: there is always room for a power of two */
static pk_status texts_grow(pk_texts *t) {
    if (t->n & (t->n - 1)) return PK_OK;
    return PK_GROW(&t->item, t->n ? 2 * t->n : 1);
}

pk_status pk_texts_add(pk_texts *t, const char *text, size_t size) {
    PK_TRY(texts_grow(t));
    PK_TRY(pk_memory_copy_text(text, size, &t->item[t->n]));
    t->n++;
    return PK_OK;
}

void pk_texts_free(pk_texts *t) {
    for (size_t i = 0; i < t->n; i++) pk_memory_give(t->item[i]);
    pk_memory_give(t->item);
    *t = (pk_texts){ 0 };
}

void pk_recipe_set_number(pk_recipe *r, const pk_recipe_key *k, double value) {
    void *at = (char *)r + k->offset;
    switch (k->kind) {
    case PK_RECIPE_INT: *(int64_t *)at = (int64_t)value; break;
    case PK_RECIPE_FLOAT: *(double *)at = value; break;
    case PK_RECIPE_CHOICE: *(int32_t *)at = (int32_t)value; break;
    default: *(bool *)at = value != 0; break;
    }
}

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

/* ---- Numbers ---- */

bool pk_recipe_number(const char *text, double *out) {
    char *end;
    if (!*text || text[strspn(text, "0123456789+-.eE")]) return false;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) return false;
    *out = strtod_l(text, &end, plain);
    freelocale(plain);
    return !*end && isfinite(*out);
}

void pk_recipe_add_number(pk_buffer *out, double value) {
    char   text[40];
    double again = NAN;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        char *comma = strchr(text, ','); /* the host program may have set a locale */
        if (comma) *comma = '.';
        if (pk_recipe_number(text, &again) && again == value) break;
    }
    pk_buffer_add_text(out, text);
}

/* ---- Names ---- */

/* edits between two names; names of the list are short */
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

/* what follows the last dot: somebody who forgets a section writes that */
static const char *last_part(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static const char *nearest(const char *name) {
    const char *best = NULL;
    size_t      least = strlen(name) / 3 + 2; /* further away it is no help */
    for (const pk_recipe_key *k = pk_recipe_keys; k->name; k++) {
        const bool   elsewhere = !strcmp(last_part(k->name), last_part(name));
        const size_t d = elsewhere ? 1 : distance(name, k->name);
        if (d < least) least = d, best = k->name;
    }
    return best;
}

/* a key whose name goes on after this and a dot, or NULL */
static const char *first_in(const char *section) {
    const size_t n = strlen(section);
    for (const pk_recipe_key *k = pk_recipe_keys; k->name; k++)
        if (!strncmp(k->name, section, n) && k->name[n] == '.') return k->name;
    return NULL;
}

bool pk_recipe_is_section(const char *name) { return first_in(name) != NULL; }

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

static const pk_recipe_key *find(const char *name) {
    for (const pk_recipe_key *k = pk_recipe_keys; k->name; k++)
        if (!strcmp(k->name, name)) return k;
    return NULL;
}

bool pk_recipe_takes_list(const char *name) {
    const pk_recipe_key *k = find(name);
    return k && pk_recipe_is_list(k);
}

pk_status pk_recipe_not_section(const pk_recipe_reader *r, const char *name, size_t line) {
    if (!find(name)) return unknown(r, name, line);
    return pk_recipe_fail(r, PK_ARGUMENT, line, "%s takes a value, it is no section", name);
}

/* ---- Values ---- */

/* "a whole number from 1 to 8": what a key takes */
static void describe(const pk_recipe_key *k, pk_buffer *out) {
    if (k->kind == PK_RECIPE_CHOICE) pk_buffer_print(out, "one of %s", k->choices);
    if (k->kind == PK_RECIPE_FLAG) pk_buffer_add_text(out, "true or false");
    if (k->kind != PK_RECIPE_INT && k->kind != PK_RECIPE_FLOAT && k->kind != PK_RECIPE_FLOATS)
        return;
    pk_buffer_add_text(out, k->kind == PK_RECIPE_INT ? "a whole number from " : "a number from ");
    pk_recipe_add_number(out, k->lowest);
    pk_buffer_add_text(out, " to ");
    pk_recipe_add_number(out, k->highest);
}

static pk_status refuse(const pk_recipe_reader *r, const pk_recipe_key *k, size_t line,
                        const char *value) {
    pk_buffer takes = { 0 };
    describe(k, &takes);
    const pk_status status = pk_recipe_fail(r, PK_ARGUMENT, line, "%s takes %s, not '%.80s'",
                                            k->name, takes.data ? takes.data : "another", value);
    pk_buffer_free(&takes);
    return status;
}

/* the index of a choice in "a|b|c", or -1 */
static int32_t choice_of(const char *choices, const char *value) {
    const size_t n = strlen(value);
    int32_t      i = 0;
    for (const char *at = choices;; at = strchr(at, '|') + 1, i++) {
        if (strcspn(at, "|") == n && !memcmp(at, value, n)) return i;
        if (!strchr(at, '|')) return -1;
    }
}

/* the words YAML has for it; -1: none of them */
static int flag_of(const char *value) {
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };
    for (int i = 0; i < 8; i++)
        if (!strcasecmp(value, words[i])) return i % 2;
    return -1;
}

static bool in_range(const pk_recipe_key *k, const char *value, double *out) {
    return pk_recipe_number(value, out) && *out >= k->lowest && *out <= k->highest;
}

static pk_status give_one(pk_recipe_reader *r, const pk_recipe_key *k, size_t line,
                          const char *value) {
    double number = -1;
    bool   good;
    if (k->kind == PK_RECIPE_CHOICE)
        good = (number = choice_of(k->choices, value)) >= 0;
    else if (k->kind == PK_RECIPE_FLAG)
        good = (number = flag_of(value)) >= 0;
    else
        good =
            in_range(k, value, &number) && (k->kind == PK_RECIPE_FLOAT || number == floor(number));
    if (!good) return refuse(r, k, line, value);
    pk_recipe_set_number(r->recipe, k, number);
    return PK_OK;
}

/* a copy of a text; of a path, the absolute one */
static pk_status copy_value(const pk_recipe_reader *r, const pk_recipe_key *k, const char *value,
                            char **out) {
    const bool path = k->kind == PK_RECIPE_PATH || k->kind == PK_RECIPE_PATHS;
    if (!path || !*value || *value == '/') return pk_memory_copy_text(value, strlen(value), out);
    if (!strncmp(value, "./", 2)) value += 2;
    const size_t n = strlen(r->folder) + strlen(value) + 2;
    PK_TRY(PK_TAKE(out, n));
    snprintf(*out, n, "%s/%s", strcmp(r->folder, "/") ? r->folder : "", value);
    return PK_OK;
}

static pk_status give_text(pk_recipe_reader *r, const pk_recipe_key *k, const char *value) {
    char **at = (char **)((char *)r->recipe + k->offset), *copy = NULL;
    PK_TRY(copy_value(r, k, value, &copy));
    pk_memory_give(*at);
    *at = copy;
    return PK_OK;
}

static pk_status give_list(pk_recipe_reader *r, const pk_recipe_key *k, size_t line,
                           const pk_texts *value) {
    pk_texts *list = (pk_texts *)((char *)r->recipe + k->offset);
    double    number;
    pk_texts_free(list);
    for (size_t i = 0; i < value->n; i++) {
        if (k->kind == PK_RECIPE_FLOATS && !in_range(k, value->item[i], &number))
            return refuse(r, k, line, value->item[i]);
        if (!*value->item[i])
            return pk_recipe_fail(r, PK_ARGUMENT, line, "an item of %s is empty", k->name);
        PK_TRY(texts_grow(list));
        PK_TRY(copy_value(r, k, value->item[i], &list->item[list->n]));
        list->n++;
    }
    return PK_OK;
}

/* what is written must be readable again, and the folder is part of a path */
static pk_status check_text(const pk_recipe_reader *r, const pk_recipe_key *k, size_t line,
                            const pk_texts *value) {
    bool valid = !r->folder || pk_utf8_valid(r->folder, strlen(r->folder));
    for (size_t i = 0; i < value->n; i++)
        valid = valid && pk_utf8_valid(value->item[i], strlen(value->item[i]));
    if (valid) return PK_OK;
    return pk_recipe_fail(r, PK_ARGUMENT, line, "the value of %s is not valid UTF-8", k->name);
}

pk_status pk_recipe_give(pk_recipe_reader *r, const char *name, size_t line, const pk_texts *value,
                         bool list) {
    const pk_recipe_key *k = find(name);
    if (!k) return unknown(r, name, line);
    size_t *seen = &r->line[k - pk_recipe_keys];
    if (*seen)
        return pk_recipe_fail(r, PK_ARGUMENT, line, "%s is given twice, first in line %zu", k->name,
                              *seen);
    *seen = line;
    PK_TRY(check_text(r, k, line, value));
    if (pk_recipe_is_list(k)) return give_list(r, k, line, value);
    if (list || value->n != 1)
        return pk_recipe_fail(r, PK_ARGUMENT, line, "%s takes one value, not a list", k->name);
    if (k->kind == PK_RECIPE_TEXT || k->kind == PK_RECIPE_PATH)
        return give_text(r, k, value->item[0]);
    return give_one(r, k, line, value->item[0]);
}
