/* options.c - tables of named options: defaults, parsing, help.
 *
 * Numbers are read without regard to the locale. An option whose default lies outside its own range
 * is "unset" until named: its owner decides what it is then, and the help says "auto". */
#include "base/options.h"

#include <stdint.h>
#include <string.h>

typedef struct piece {
    const char *text;
    size_t      size;
} piece; /* a part of the text being parsed */

static bool same(piece p, const char *name) {
    return strlen(name) == p.size && memcmp(p.text, name, p.size) == 0;
}

static bool unset_by_default(const pk_option *o) {
    return o->kind != PK_OPTION_CHOICE && (o->normal < o->lowest || o->normal > o->highest);
}

static void store(const pk_option *o, double value, void *fields) {
    char *at = (char *)fields + o->offset;
    if (o->kind == PK_OPTION_FLOAT)
        memcpy(at, &(float){ (float)value }, sizeof(float));
    else
        memcpy(at, &(int32_t){ (int32_t)value }, sizeof(int32_t));
}

/* [-]digits[.digits], at most 15 digits: exact until the one division at the end */
static bool read_number(piece p, bool whole, double *out) {
    size_t     i = 0, digits = 0;
    double     scale = 1;
    int64_t    value = 0;
    const bool negative = p.size && p.text[0] == '-';
    bool       fraction = false;
    for (i = negative; i < p.size; i++) {
        const char c = p.text[i];
        if (c == '.' && !fraction && !whole) {
            fraction = true;
            continue;
        }
        if (c < '0' || c > '9' || ++digits > 15) return false;
        value = value * 10 + (c - '0');
        if (fraction) scale *= 10;
    }
    *out = (negative ? -1.0 : 1.0) * (double)value / scale;
    return digits > 0;
}

/* "0..32", "no|yes" : what an option takes */
static void print_range(const pk_option *o, pk_buffer *out) {
    if (o->kind == PK_OPTION_CHOICE)
        for (int i = 0; o->choices[i]; i++)
            pk_buffer_print(out, "%s%s", i ? "|" : "", o->choices[i]);
    else
        pk_buffer_print(out, "%g..%g", o->lowest, o->highest);
}

static pk_status refuse_value(const pk_option *o, piece value, const char *owner) {
    pk_buffer range = { 0 };
    print_range(o, &range);
    const pk_status status =
        pk_fail_with(PK_ARGUMENT, "%s: %s=%.*s is not possible; %s takes %s%s", owner, o->name,
                     (int)(value.size < 64 ? value.size : 64), value.text, o->name,
                     range.data ? range.data : "another value",
                     o->kind == PK_OPTION_INT ? ", a whole number" : "");
    pk_buffer_free(&range);
    return status;
}

static pk_status set(const pk_option *o, piece value, const char *owner, void *fields) {
    double number = 0;
    if (o->kind == PK_OPTION_CHOICE) {
        for (int i = 0; o->choices[i]; i++)
            if (same(value, o->choices[i])) {
                store(o, i, fields);
                return PK_OK;
            }
        return refuse_value(o, value, owner);
    }
    if (unset_by_default(o) && same(value, "auto")) {
        store(o, o->normal, fields);
        return PK_OK;
    }
    if (!read_number(value, o->kind == PK_OPTION_INT, &number) || number < o->lowest ||
        number > o->highest)
        return refuse_value(o, value, owner);
    store(o, number, fields);
    return PK_OK;
}

static pk_status refuse_name(const pk_option *table, piece name, const char *owner) {
    pk_buffer known = { 0 };
    for (const pk_option *o = table; o->name; o++)
        pk_buffer_print(&known, "%s%s", o == table ? "" : ", ", o->name);
    const pk_status status = pk_fail_with(PK_ARGUMENT, "%s has no option '%.*s'; it has: %s", owner,
                                          (int)(name.size < 64 ? name.size : 64), name.text,
                                          known.data ? known.data : "none");
    pk_buffer_free(&known);
    return status;
}

static pk_status parse_one(const pk_option *table, piece item, const char *owner, uint64_t *given,
                           void *fields) {
    const char *equals = memchr(item.text, '=', item.size);
    const piece name = { item.text, equals ? (size_t)(equals - item.text) : item.size };
    for (const pk_option *o = table; o->name; o++) {
        if (!same(name, o->name)) continue;
        if (!equals)
            PK_FAIL(PK_ARGUMENT, "%s: option %s needs a value: %s=...", owner, o->name, o->name);
        const uint64_t bit = UINT64_C(1) << ((o - table) & 63);
        if (*given & bit) PK_FAIL(PK_ARGUMENT, "%s: option %s is given twice", owner, o->name);
        *given |= bit;
        return set(o, (piece){ equals + 1, item.size - name.size - 1 }, owner, fields);
    }
    return refuse_name(table, name, owner);
}

void pk_options_defaults(const pk_option *table, void *fields) {
    for (const pk_option *o = table; o->name; o++) store(o, o->normal, fields);
}

pk_status pk_options_parse(const pk_option *table, const char *text, const char *owner,
                           void *fields) {
    uint64_t given = 0;
    if (!*text) return PK_OK;
    for (;;) {
        const size_t size = strcspn(text, ",");
        PK_TRY(parse_one(table, (piece){ text, size }, owner, &given, fields));
        if (!text[size]) return PK_OK;
        text += size + 1;
    }
}

void pk_options_help(const pk_option *table, pk_buffer *out) {
    for (const pk_option *o = table; o->name; o++) {
        pk_buffer line = { 0 };
        pk_buffer_print(&line, "%s=", o->name);
        print_range(o, &line);
        if (o->kind == PK_OPTION_CHOICE)
            pk_buffer_print(&line, " (%s)", o->choices[(int)o->normal]);
        else if (unset_by_default(o))
            pk_buffer_add_text(&line, " (auto)");
        else
            pk_buffer_print(&line, " (%g)", o->normal);
        pk_buffer_print(out, "    %-44s %s\n", line.data ? line.data : "", o->help);
        out->failed |= line.failed;
        pk_buffer_free(&line);
    }
}
