/* recipe_text.c - recipes as text: a copy in YAML, what differs between two, and the help.
 *
 * A copy holds every key and reads back the same: texts are quoted, numbers are as short as they
 * can be without loss. */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "recipe/recipe_parts.h"
#include "text/utf8.h"

/* ---- A copy ---- */

/* what a YAML reader would refuse or fold stands as an escape */
static bool must_escape(int32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           (c >= 0xfffe && c <= 0xffff);
}

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

static void write_choice(pk_buffer *out, const char *choices, int32_t index) {
    while (index--) choices = strchr(choices, '|') + 1;
    pk_buffer_add(out, choices, strcspn(choices, "|"));
}

static void write_value(pk_buffer *out, const pk_recipe_key *k, const void *field) {
    switch (k->kind) {
    case PK_RECIPE_TEXT:
    case PK_RECIPE_PATH: write_text(out, *(char *const *)field); break;
    case PK_RECIPE_TEXTS:
    case PK_RECIPE_PATHS:
    case PK_RECIPE_FLOATS: write_list(out, field); break;
    case PK_RECIPE_INT: pk_buffer_print(out, "%lld", (long long)*(const int64_t *)field); break;
    case PK_RECIPE_FLOAT: pk_recipe_add_number(out, *(const double *)field); break;
    case PK_RECIPE_CHOICE: write_choice(out, k->choices, *(const int32_t *)field); break;
    case PK_RECIPE_FLAG: pk_buffer_add_text(out, *(const bool *)field ? "true" : "false"); break;
    }
}

/* how much of a name is its section; 0: it has none */
static size_t section_length(const char *name) {
    const char *dot = strchr(name, '.');
    return dot ? (size_t)(dot - name) : 0;
}

void pk_recipe_write(const pk_recipe *r, pk_buffer *yaml) {
    const char *before = "";
    for (const pk_recipe_key *k = pk_recipe_keys; k->name; before = (k++)->name) {
        const size_t n = section_length(k->name);
        const bool   same = n && section_length(before) == n && !strncmp(before, k->name, n);
        if (n && !same) pk_buffer_print(yaml, "%.*s:\n", (int)n, k->name);
        pk_buffer_print(yaml, "%s%s: ", n ? "  " : "", k->name + (n ? n + 1 : 0));
        write_value(yaml, k, pk_recipe_field(r, k));
        pk_buffer_add_text(yaml, "\n");
    }
}

/* ---- Two recipes ---- */

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool same_text(const pk_recipe_key *k, const char *a, const char *b) {
    const bool path = k->kind == PK_RECIPE_PATH || k->kind == PK_RECIPE_PATHS;
    return !strcmp(path ? last_part(a) : a, path ? last_part(b) : b);
}

static bool same_list(const pk_recipe_key *k, const pk_texts *a, const pk_texts *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!same_text(k, a->item[i], b->item[i])) return false;
    return true;
}

static bool same_value(const pk_recipe_key *k, const void *a, const void *b) {
    switch (k->kind) {
    case PK_RECIPE_INT: return *(const int64_t *)a == *(const int64_t *)b;
    case PK_RECIPE_FLOAT: return *(const double *)a == *(const double *)b;
    case PK_RECIPE_CHOICE: return *(const int32_t *)a == *(const int32_t *)b;
    case PK_RECIPE_FLAG: return *(const bool *)a == *(const bool *)b;
    case PK_RECIPE_TEXT:
    case PK_RECIPE_PATH: return same_text(k, *(char *const *)a, *(char *const *)b);
    default: return same_list(k, a, b);
    }
}

static pk_status differs(const pk_recipe_key *k, const void *before, const void *now) {
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
    for (const pk_recipe_key *k = pk_recipe_keys; k->name; k++) {
        const void *a = pk_recipe_field(before, k), *b = pk_recipe_field(now, k);
        if (k->fixed && !same_value(k, a, b)) return differs(k, a, b);
    }
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

static void add_range(pk_buffer *out, const pk_recipe_key *k) {
    pk_recipe_add_number(out, k->lowest);
    pk_buffer_add_text(out, "..");
    pk_recipe_add_number(out, k->highest);
}

/* "train.rate: 0..1 (0.0007)" */
static void add_heading(pk_buffer *out, const pk_recipe_key *k) {
    pk_buffer_print(out, "%s: ", k->name);
    switch (k->kind) {
    case PK_RECIPE_TEXT: pk_buffer_add_text(out, "TEXT"); break;
    case PK_RECIPE_PATH: pk_buffer_add_text(out, "PATH"); break;
    case PK_RECIPE_TEXTS: pk_buffer_add_text(out, "TEXT or [TEXT, ...]"); break;
    case PK_RECIPE_PATHS: pk_buffer_add_text(out, "PATH or [PATH, ...]"); break;
    case PK_RECIPE_FLOATS: pk_buffer_add_text(out, "[NUMBER, ...]"); break;
    case PK_RECIPE_CHOICE: pk_buffer_add_text(out, k->choices); break;
    case PK_RECIPE_FLAG: pk_buffer_add_text(out, "true|false"); break;
    default: add_range(out, k); break;
    }
    if (k->text && *k->text) pk_buffer_print(out, " (%s)", k->text);
    if (k->kind < PK_RECIPE_INT) return;
    pk_buffer_add_text(out, " (");
    if (k->kind == PK_RECIPE_CHOICE)
        write_choice(out, k->choices, (int32_t)k->number);
    else if (k->kind == PK_RECIPE_FLAG)
        pk_buffer_add_text(out, k->number != 0 ? "true" : "false");
    else
        pk_recipe_add_number(out, k->number);
    pk_buffer_add_text(out, ")");
}

void pk_recipe_help(pk_buffer *out) {
    for (const pk_recipe_key *k = pk_recipe_keys; k->name; k++) {
        add_heading(out, k);
        pk_buffer_add_text(out, "\n");
        add_wrapped(out, k->help);
    }
}

pk_status pk_recipe_text(char **out) {
    pk_buffer text = { 0 };
    pk_recipe_help(&text);
    const pk_status status = pk_buffer_take(&text, out, NULL);
    if (status != PK_OK) pk_buffer_free(&text);
    return status;
}
