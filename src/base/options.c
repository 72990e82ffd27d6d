/* options.c - tables of named options: defaults, "name=value,...", help.
 *
 * A table is the only list of its options: reading, range checks, defaults and help all come from
 * it. How a single value is read and printed is in option_value.c. */
#include "base/options.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

typedef struct piece {
    const char *text;
    size_t      size;
} piece; /* a part of the text being parsed */

static bool same(piece p, const char *name) {
    return strlen(name) == p.size && memcmp(p.text, name, p.size) == 0;
}

/* how much of a text a message shows, for "%.*s" */
static int shown(piece p) { return (int)(p.size < 64 ? p.size : 64); }

pk_status pk_options_defaults(const pk_option *table, void *fields) {
    for (const pk_option *o = table; o->name; o++) PK_TRY(pk_option_set_default(o, fields));
    return PK_OK;
}

void pk_options_free(const pk_option *table, void *fields) {
    for (const pk_option *o = table; o->name; o++) {
        void *field = (char *)fields + o->offset;
        if (pk_option_is_list(o)) pk_texts_free(field);
        if (!pk_option_is_text(o)) continue;
        pk_memory_give(*(char **)field);
        *(char **)field = NULL;
    }
}

const pk_option *pk_options_find(const pk_option *table, const char *name) {
    for (const pk_option *o = table; o->name; o++)
        if (strcmp(o->name, name) == 0) return o;
    return NULL;
}

/* ---- "name=value,..." ---- */

/* the message says what the option takes */
static pk_status refuse_value(const pk_option *o, piece value, const char *owner) {
    pk_buffer range = { 0 };
    pk_option_print_range(o, &range);
    const pk_status status = pk_fail_with(
        PK_ARGUMENT, "%s: %s=%.*s is not possible; %s takes %s%s", owner, o->name, shown(value),
        value.text, o->name, range.data ? range.data : "another value",
        o->kind == PK_OPTION_INT || o->kind == PK_OPTION_LONG ? ", a whole number" : "");
    pk_buffer_free(&range);
    return status;
}

/* the message lists the names there are */
static pk_status refuse_name(const pk_option *table, piece name, const char *owner) {
    pk_buffer known = { 0 };
    for (const pk_option *o = table; o->name; o++)
        pk_buffer_print(&known, "%s%s", o == table ? "" : ", ", o->name);
    const pk_status status = pk_fail_with(PK_ARGUMENT, "%s has no option '%.*s'; it has: %s", owner,
                                          shown(name), name.text, known.data ? known.data : "none");
    pk_buffer_free(&known);
    return status;
}

/* one "name=value"; given: bits of the options seen so far */
static pk_status parse_one(const pk_option *table, piece item, const char *owner, uint64_t *given,
                           void *fields) {
    const char *equals = memchr(item.text, '=', item.size);
    const piece name = { item.text, equals ? (size_t)(equals - item.text) : item.size };
    for (const pk_option *o = table; o->name; o++) {
        if (!same(name, o->name)) continue;
        if (!equals)
            PK_FAIL(PK_ARGUMENT, "%s: option %s needs a value: %s=...", owner, o->name, o->name);
        assert(o - table < 64); /* `given` has a bit for each */
        const uint64_t bit = UINT64_C(1) << ((o - table) & 63);
        if (*given & bit) PK_FAIL(PK_ARGUMENT, "%s: option %s is given twice", owner, o->name);
        *given |= bit;
        const piece value = { equals + 1, item.size - name.size - 1 };
        if (!pk_option_accepts(o, value.text, value.size)) return refuse_value(o, value, owner);
        return pk_option_set(o, value.text, value.size, fields);
    }
    return refuse_name(table, name, owner);
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

pk_status pk_options_make(const pk_option *table, size_t size, const char *text, const char *owner,
                          void **fields) {
    PK_TRY(pk_memory_take(1, size, fields));
    pk_status status = pk_options_defaults(table, *fields);
    if (status == PK_OK) status = pk_options_parse(table, text, owner, *fields);
    if (status == PK_OK) return PK_OK;
    pk_options_free(table, *fields);
    pk_memory_give(*fields);
    *fields = NULL;
    return status;
}

/* ---- for people ---- */

void pk_options_help(const pk_option *table, pk_buffer *out) {
    for (const pk_option *o = table; o->name; o++) {
        pk_buffer line = { 0 };
        pk_buffer_print(&line, "%s=", o->name);
        pk_option_print_range(o, &line);
        pk_option_print_default(o, &line);
        pk_buffer_print(out, "    %-44s %s\n", line.data ? line.data : "", o->help);
        out->failed |= line.failed;
        pk_buffer_free(&line);
    }
}
