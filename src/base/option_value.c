/* option_value.c - the value of one option: read, checked, stored, printed.
 *
 * Whatever is neither text nor list goes through a double, so that reading, range checks, printing
 * and comparing exist once. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/options.h"

bool pk_option_is_text(const pk_option *o) {
    return o->kind == PK_OPTION_TEXT || o->kind == PK_OPTION_PATH;
}

bool pk_option_is_list(const pk_option *o) {
    return o->kind == PK_OPTION_TEXTS || o->kind == PK_OPTION_PATHS || o->kind == PK_OPTION_NUMBERS;
}

bool pk_option_is_path(const pk_option *o) {
    return o->kind == PK_OPTION_PATH || o->kind == PK_OPTION_PATHS;
}

static bool is_whole(const pk_option *o) {
    return o->kind == PK_OPTION_INT || o->kind == PK_OPTION_LONG;
}

static bool is_number(const pk_option *o) {
    return is_whole(o) || o->kind == PK_OPTION_FLOAT || o->kind == PK_OPTION_DOUBLE;
}

static bool is_auto(const pk_option *o, double value) {
    if (o->kind == PK_OPTION_CHOICE) return value == PK_CHOICE_AUTO;
    return is_number(o) && (value < o->lowest || value > o->highest);
}

static bool may_choose(const pk_option *o, int i) { return !o->only || o->only >> i & 1; }

/* ---- text to number ---- */

static bool same(const char *word, const char *value, size_t size) {
    return strlen(word) == size && memcmp(word, value, size) == 0;
}

static bool read_choice(const pk_option *o, const char *value, size_t size, double *out) {
    for (int i = 0; o->choices[i]; i++)
        if (may_choose(o, i) && same(o->choices[i], value, size)) {
            *out = i;
            return true;
        }
    return false;
}

/* the words YAML has for it */
static bool read_flag(const char *value, size_t size, double *out) {
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };
    for (int i = 0; i < 8; i++)
        if (strlen(words[i]) == size && strncasecmp(words[i], value, size) == 0) {
            *out = i % 2;
            return true;
        }
    return false;
}

/* the text as a number, within the range; "auto" where that is the default */
static bool read_value(const pk_option *o, const char *value, size_t size, double *out) {
    if (is_auto(o, o->normal) && same("auto", value, size)) {
        *out = o->normal;
        return true;
    }
    if (o->kind == PK_OPTION_CHOICE) return read_choice(o, value, size, out);
    if (o->kind == PK_OPTION_FLAG) return read_flag(value, size, out);
    return pk_number_parse(value, size, out) && *out >= o->lowest && *out <= o->highest &&
           (!is_whole(o) || *out == floor(*out));
}

bool pk_option_accepts(const pk_option *o, const char *value, size_t size) {
    double     number;
    const bool any = (pk_option_is_text(o) || pk_option_is_list(o)) && o->kind != PK_OPTION_NUMBERS;
    return any || read_value(o, value, size, &number);
}

/* ---- into the field and out of it ---- */

/* by the kind's C type */
static void store(const pk_option *o, double value, void *field) {
    switch (o->kind) {
    case PK_OPTION_INT:
    case PK_OPTION_CHOICE: *(int32_t *)field = (int32_t)value; break;
    case PK_OPTION_LONG: *(int64_t *)field = (int64_t)value; break;
    case PK_OPTION_FLOAT: *(float *)field = (float)value; break;
    case PK_OPTION_DOUBLE: *(double *)field = value; break;
    default: *(bool *)field = value != 0; break;
    }
}

double pk_option_number(const pk_option *o, const void *fields) {
    const void *field = (const char *)fields + o->offset;
    switch (o->kind) {
    case PK_OPTION_INT:
    case PK_OPTION_CHOICE: return *(const int32_t *)field;
    case PK_OPTION_LONG: return (double)*(const int64_t *)field;
    case PK_OPTION_FLOAT: return (double)*(const float *)field;
    case PK_OPTION_DOUBLE: return *(const double *)field;
    default: return *(const bool *)field;
    }
}

static pk_status set_text(const char *value, size_t size, char **field) {
    char *copy;
    PK_TRY(pk_memory_copy_text(value, size, &copy));
    pk_memory_give(*field);
    *field = copy;
    return PK_OK;
}

pk_status pk_option_set(const pk_option *o, const char *value, size_t size, void *fields) {
    void  *field = (char *)fields + o->offset;
    double number = o->normal;
    if (pk_option_is_list(o)) return pk_texts_add(field, value, size);
    if (pk_option_is_text(o)) return set_text(value, size, field);
    read_value(o, value, size, &number);
    store(o, number, field);
    return PK_OK;
}

pk_status pk_option_set_default(const pk_option *o, void *fields) {
    void *field = (char *)fields + o->offset;
    if (pk_option_is_list(o))
        *(pk_texts *)field = (pk_texts){ 0 };
    else if (pk_option_is_text(o))
        return pk_memory_copy_text(o->text, strlen(o->text), field);
    else
        store(o, o->normal, field);
    return PK_OK;
}

/* ---- for people ---- */

/* so that read_value() reads it back */
static void print_number(const pk_option *o, double value, pk_buffer *out) {
    if (is_auto(o, value))
        pk_buffer_add_text(out, "auto");
    else if (o->kind == PK_OPTION_CHOICE)
        pk_buffer_add_text(out, o->choices[(int)value]);
    else if (o->kind == PK_OPTION_FLAG)
        pk_buffer_add_text(out, value != 0 ? "true" : "false");
    else if (is_whole(o))
        pk_buffer_print(out, "%.0f", value);
    else
        pk_number_print(out, value);
}

void pk_option_print_value(const pk_option *o, const void *fields, pk_buffer *out) {
    print_number(o, pk_option_number(o, fields), out);
}

/* "one|two", only those that may be chosen */
static void print_words(const pk_option *o, pk_buffer *out) {
    const char *between = "";
    if (is_auto(o, o->normal)) pk_buffer_add_text(out, "auto"), between = "|";
    for (int i = 0; o->choices[i]; i++) {
        if (!may_choose(o, i)) continue;
        pk_buffer_print(out, "%s%s", between, o->choices[i]);
        between = "|";
    }
}

static void print_bounds(const pk_option *o, const char *between, pk_buffer *out) {
    pk_number_print(out, o->lowest);
    pk_buffer_add_text(out, between);
    pk_number_print(out, o->highest);
}

void pk_option_print_range(const pk_option *o, pk_buffer *out) {
    switch (o->kind) {
    case PK_OPTION_TEXT: pk_buffer_add_text(out, "TEXT"); break;
    case PK_OPTION_PATH: pk_buffer_add_text(out, "PATH"); break;
    case PK_OPTION_TEXTS: pk_buffer_add_text(out, "TEXT or [TEXT, ...]"); break;
    case PK_OPTION_PATHS: pk_buffer_add_text(out, "PATH or [PATH, ...]"); break;
    case PK_OPTION_NUMBERS: pk_buffer_add_text(out, "[NUMBER, ...]"); break;
    case PK_OPTION_CHOICE: print_words(o, out); break;
    case PK_OPTION_FLAG: pk_buffer_add_text(out, "true|false"); break;
    default: print_bounds(o, "..", out); break;
    }
}

void pk_option_describe(const pk_option *o, pk_buffer *out) {
    if (o->kind == PK_OPTION_CHOICE) {
        pk_buffer_add_text(out, "one of ");
        print_words(o, out);
    } else if (o->kind == PK_OPTION_FLAG) {
        pk_buffer_add_text(out, "true or false");
    } else {
        pk_buffer_add_text(out, is_whole(o) ? "a whole number from " : "a number from ");
        print_bounds(o, " to ", out);
    }
}

void pk_option_print_default(const pk_option *o, pk_buffer *out) {
    if (pk_option_is_list(o) || (pk_option_is_text(o) && !*o->text)) return;
    pk_buffer_add_text(out, " (");
    if (pk_option_is_text(o))
        pk_buffer_add_text(out, o->text);
    else
        print_number(o, o->normal, out);
    pk_buffer_add_text(out, ")");
}
