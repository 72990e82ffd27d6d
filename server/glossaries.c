/* glossaries.c - terms of a request: its own, or those of a glossary that the operator named. */
#include "glossaries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"
#include "routes.h"
#include "state.h"
#include "translation.h"

enum { MOST_INLINE = 64 << 10, MOST_FILE = 64 << 20 }; /* bytes */

struct pk_glossaries {
    struct named {
        char        *name;
        pk_glossary *terms;
    } * named;
    size_t n;
};

/* ---- those that were named at start ---- */

/* the whole file; NULL: it cannot be read, or is far too large */
static char *read_file(const char *path, size_t *size) {
    char *text = malloc(MOST_FILE + 1);
    FILE *file = text ? fopen(path, "rb") : NULL;
    *size = file ? fread(text, 1, MOST_FILE + 1, file) : 0;
    const bool done = file && !ferror(file) && *size <= MOST_FILE;
    if (file) fclose(file);
    if (done) return text;
    free(text);
    return NULL;
}

/* "NAME=FILE", n bytes of it */
static bool add(pk_glossaries *g, const char *item, size_t n, char *error) {
    char  *copy = strndup(item, n), *path = copy ? strchr(copy, '=') : NULL;
    size_t size;
    if (!path || path == copy) {
        pk_problem(error, "--glossary: '%s' is not NAME=FILE", copy ? copy : "");
        return free(copy), false;
    }
    *path++ = '\0';
    g->named[g->n].name = copy; /* its own from here on */
    struct named *one = &g->named[g->n++];
    char         *text = read_file(path, &size);
    if (!text) return pk_problem(error, "--glossary: %s cannot be read", path);
    const pk_status status = pk_glossary_open((pk_text){ text, size }, &one->terms);
    free(text);
    return status == PK_OK || pk_problem(error, "--glossary: %s: %s", path, pk_last_error());
}

static bool add_all(pk_glossaries *g, const char *spec, char *error) {
    size_t most = 1;
    for (const char *c = spec; *c; c++) most += *c == ',';
    g->named = calloc(most, sizeof *g->named);
    if (!g->named) return pk_problem(error, "out of memory");
    while (*spec) {
        const size_t n = strcspn(spec, ",");
        if (!add(g, spec, n, error)) return false;
        spec += n + (spec[n] == ',');
    }
    return true;
}

pk_glossaries *pk_glossaries_open(const char *spec, char *error) {
    pk_glossaries *g = calloc(1, sizeof *g);
    if (!g) return pk_problem(error, "out of memory"), NULL;
    if (add_all(g, spec ? spec : "", error)) return g;
    pk_glossaries_close(g);
    return NULL;
}

void pk_glossaries_close(pk_glossaries *g) {
    if (!g) return;
    for (size_t i = 0; i < g->n; i++) {
        free(g->named[i].name);
        pk_glossary_close(g->named[i].terms);
    }
    free(g->named);
    free(g);
}

const pk_glossary *pk_glossaries_find(const pk_glossaries *g, const char *name) {
    for (size_t i = 0; i < g->n; i++)
        if (!strcmp(g->named[i].name, name)) return g->named[i].terms;
    return NULL;
}

/* ---- those of a request ---- */

static bool is_term(const char *text) { return text && *text && !strpbrk(text, "\t\r\n"); }

/* {"term": "translation"} as lines of TSV; the caller frees; NULL: it is something else */
static char *print_terms(const json_t *object) {
    char       *text = NULL;
    const char *term;
    json_t     *value;
    size_t      size;
    bool        right = true;
    FILE       *out = open_memstream(&text, &size);
    if (!out) return NULL;
    json_object_foreach((json_t *)object, term, value) {
        const char *into = json_string_value(value);
        right = right && is_term(term) && is_term(into);
        if (right) fprintf(out, "%s\t%s\n", term, into);
    }
    if (!fclose(out) && right) return text;
    free(text);
    return NULL;
}

static bool read_inline(pk_exchange *x, const json_t *given) {
    char *text = json_is_object(given)   ? print_terms(given)
                 : json_is_string(given) ? strdup(json_string_value(given))
                                         : NULL;
    bool  right = text != NULL;
    if (!right)
        pk_exchange_fail(x, 400, "Invalid request: glossary parameter is no object of terms");
    if (right && strlen(text) > MOST_INLINE) {
        pk_exchange_fail(x, 400, "Invalid request: glossary is for at most %d bytes", MOST_INLINE);
        right = false;
    }
    if (right &&
        pk_glossary_open((pk_text){ text, strlen(text) }, &x->translation->own_terms) != PK_OK) {
        pk_exchange_fail(x, 400, "Invalid request: glossary: %s", pk_last_error());
        right = false;
    }
    free(text);
    x->translation->terms = x->translation->own_terms;
    return right;
}

static bool read_name(pk_exchange *x) {
    const char *name = pk_fields_text(&x->request.fields, "glossary_id");
    x->translation->terms = name ? pk_glossaries_find(x->server->glossaries, name) : NULL;
    if (!x->translation->terms) pk_exchange_fail(x, 404, "Glossary not found");
    return x->translation->terms != NULL;
}

bool pk_glossaries_read(pk_exchange *x) {
    const pk_fields *f = &x->request.fields;
    const bool       own = !x->route->error_key && !pk_fields_is_missing(f, "glossary");
    const bool       named = !pk_fields_is_missing(f, "glossary_id");
    if (own && named) {
        pk_exchange_fail(x, 400, "Invalid request: give glossary or glossary_id, not both");
        return false;
    }
    if (own) return read_inline(x, pk_fields_get(f, "glossary"));
    return !named || read_name(x);
}
