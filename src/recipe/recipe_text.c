/* recipe_text.c - recipes as text: a copy in YAML, what differs between two, and the help.
 *
 * A copy holds every key and reads back the same: texts are quoted, numbers are as short as they
 * can be without loss. */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "recipe/recipe_parts.h"
#include "text/text_change.h"
#include "text/utf8.h"

/* ---- A copy ---- */

/* what a YAML reader would refuse or fold stands as an escape */
static bool must_escape(int32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           (c >= 0xfffe && c <= 0xffff);
}

/* a YAML text in double quotes, which can hold anything */
static void write_text(pk_buffer *out, const char *text) {
    size_t left = strlen(text);
    pk_buffer_add_text(out, "\"");
    while (left) {
        int32_t      c;
        const size_t n = pk_utf8_next(text, left, &c);
        if (c == '"' || c == '\\')
            pk_buffer_print(out, "\\%c", (char)c);
        else if (must_escape(c))
            pk_buffer_print(out, "\\u%04x", (unsigned)c);
        else
            pk_buffer_add(out, text, n);
        text += n;
        left -= n;
    }
    pk_buffer_add_text(out, "\"");
}

static void write_list(pk_buffer *out, const pk_texts *list) {
    pk_buffer_add_text(out, "[");
    for (size_t i = 0; i < list->n; i++) {
        if (i) pk_buffer_add_text(out, ", ");
        write_text(out, list->item[i]);
    }
    pk_buffer_add_text(out, "]");
}

static void write_value(pk_buffer *out, const pk_option *k, const pk_recipe *r) {
    const void *field = (const char *)r + k->offset;
    if (pk_option_is_text(k))
        write_text(out, *(char *const *)field);
    else if (pk_option_is_list(k))
        write_list(out, field);
    else
        pk_option_print_value(k, r, out);
}

/* how much of a name is its section; 0: it has none */
static size_t section_length(const char *name) {
    const char *dot = strchr(name, '.');
    return dot ? (size_t)(dot - name) : 0;
}

void pk_recipe_write(const pk_recipe *r, pk_buffer *yaml) {
    const char *before = "";
    for (const pk_option *k = pk_recipe_keys; k->name; before = (k++)->name) {
        const size_t n = section_length(k->name);
        const bool   same = n && section_length(before) == n && !strncmp(before, k->name, n);
        if (n && !same) pk_buffer_print(yaml, "%.*s:\n", (int)n, k->name);
        pk_buffer_print(yaml, "%s%s: ", n ? "  " : "", k->name + (n ? n + 1 : 0));
        write_value(yaml, k, r);
        pk_buffer_add_text(yaml, "\n");
    }
}

/* ---- Two recipes ---- */

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* of paths only the name of the file: a training may move to another folder */
static bool same_text(const pk_option *k, const char *a, const char *b) {
    const bool path = pk_option_is_path(k);
    return !strcmp(path ? last_part(a) : a, path ? last_part(b) : b);
}

static bool same_list(const pk_option *k, const pk_texts *a, const pk_texts *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!same_text(k, a->item[i], b->item[i])) return false;
    return true;
}

/* numbers by value, texts and lists by content */
static bool same_value(const pk_option *k, const pk_recipe *a, const pk_recipe *b) {
    const void *x = (const char *)a + k->offset, *y = (const char *)b + k->offset;
    if (pk_option_is_list(k)) return same_list(k, x, y);
    if (pk_option_is_text(k)) return same_text(k, *(char *const *)x, *(char *const *)y);
    return pk_option_number(k, a) == pk_option_number(k, b);
}

/* the error for a FIXED key: what it was and what it is now */
static pk_status differs(const pk_option *k, const pk_recipe *before, const pk_recipe *now) {
    pk_buffer was = { 0 }, is = { 0 };
    write_value(&was, k, before);
    write_value(&is, k, now);
    const pk_status status = pk_fail_with(
        PK_ARGUMENT,
        "%s was %.120s and is %.120s now: this training cannot go on so; set it back, or begin a "
        "new one in another output folder",
        k->name, was.data ? was.data : "?", is.data ? is.data : "?");
    pk_buffer_free(&was);
    pk_buffer_free(&is);
    return status;
}

pk_status pk_recipe_compatible(const pk_recipe *before, const pk_recipe *now) {
    for (const pk_option *k = pk_recipe_keys; k->name; k++)
        if (pk_recipe_is_fixed(k) && !same_value(k, before, now)) return differs(k, before, now);
    return PK_OK;
}

/* ---- Help ---- */

enum { WIDTH = 75, INDENT = 4 };

/* words of text, broken at WIDTH, every line indented */
static void add_wrapped(pk_buffer *out, const char *text) {
    size_t at = 0;
    while (*text) {
        const size_t n = strcspn(text, " ");
        const bool   breaks = at == 0 || at + 1 + n > WIDTH;
        if (breaks)
            pk_buffer_print(out, "%s%*s", at ? "\n" : "", INDENT, "");
        else
            pk_buffer_add_text(out, " ");
        at = (breaks ? INDENT : at + 1) + n;
        pk_buffer_add(out, text, n);
        text += n + (text[n] != 0);
    }
    pk_buffer_add_text(out, "\n");
}

/* "train.rate: 0..1 (0.0007)", and below it what it is */
void pk_recipe_help(pk_buffer *out) {
    for (const pk_option *k = pk_recipe_keys; k->name; k++) {
        pk_buffer_print(out, "%s: ", k->name);
        pk_option_print_range(k, out);
        pk_option_print_default(k, out);
        pk_buffer_add_text(out, "\n");
        add_wrapped(out, k->help);
    }
    pk_buffer_add_text(out, "Changes of text (data.change):\n");
    pk_text_changes_help(out);
    pk_buffer_add_text(out, "\n");
}
