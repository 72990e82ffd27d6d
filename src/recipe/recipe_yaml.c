/* recipe_yaml.c - YAML as recipes use it: maps of keys, a level of sections, texts and lists of
 * texts.
 *
 * libyaml gives events, and what a recipe has no use for (aliases, tags, lists in lists, several
 * documents) is refused as it comes: nothing hostile can make memory or depth grow. libyaml
 * allocates by itself (not through base/memory.h); what it holds is given back in every case. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/memory.h"
#include "recipe/recipe_parts.h"

enum { LONGEST_NAME = 128 };

typedef struct yaml {
    pk_recipe_reader *r;
    const char       *text;
    size_t            size;
    yaml_parser_t     parser;
    yaml_event_t      event; /* the present one; given back by the next */
} yaml;

static size_t line_of(const yaml *y) { return y->event.start_mark.line + 1; }

/* libyaml's own error, with the line */
static pk_status fail_parse(const yaml *y) {
    const yaml_parser_t *p = &y->parser;
    size_t               line = p->problem_mark.line + 1;
    if (p->error == YAML_MEMORY_ERROR) PK_FAIL(PK_NO_MEMORY, "out of memory while reading YAML");
    if (p->error == YAML_READER_ERROR) { /* bytes that are no text: it only knows where */
        line = 1;
        for (size_t i = 0; i < p->problem_offset && i < y->size; i++) line += y->text[i] == '\n';
    }
    return pk_recipe_fail(y->r, PK_FORMAT, line, "this is not valid YAML: %s",
                          p->problem ? p->problem : "unknown error");
}

static pk_status refuse_event(const yaml *y, const char *what) {
    return pk_recipe_fail(y->r, PK_FORMAT, line_of(y), "%s", what);
}

/* Refuses aliases, anchors and tags. Types are known from the list of keys, so tags are not
 * needed. */
static pk_status check_properties(const yaml *y) {
    const yaml_event_t  *e = &y->event;
    const unsigned char *anchor = NULL, *tag = NULL;
    if (e->type == YAML_ALIAS_EVENT)
        return refuse_event(y, "aliases (*name) are not possible in a recipe: write it out");
    if (e->type == YAML_SCALAR_EVENT) anchor = e->data.scalar.anchor, tag = e->data.scalar.tag;
    if (e->type == YAML_SEQUENCE_START_EVENT)
        anchor = e->data.sequence_start.anchor, tag = e->data.sequence_start.tag;
    if (e->type == YAML_MAPPING_START_EVENT)
        anchor = e->data.mapping_start.anchor, tag = e->data.mapping_start.tag;
    if (anchor)
        return refuse_event(y, "anchors (&name) are not possible in a recipe: write it out");
    if (tag) return refuse_event(y, "tags (!name) are not possible in a recipe");
    return PK_OK;
}

/* the next event; the one before is freed */
static pk_status next(yaml *y) {
    yaml_event_delete(&y->event);
    y->event = (yaml_event_t){ 0 };
    if (!yaml_parser_parse(&y->parser, &y->event)) return fail_parse(y);
    return check_properties(y);
}

static bool is(const yaml *y, yaml_event_type_t type) { return y->event.type == type; }

static const char *scalar(const yaml *y) { return (const char *)y->event.data.scalar.value; }

/* `key:` with nothing behind it, and the words YAML has for that */
static bool is_null(const yaml *y) {
    return is(y, YAML_SCALAR_EVENT) && y->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!*scalar(y) || !strcmp(scalar(y), "~") || !strcmp(scalar(y), "null"));
}

/* C texts end at a NUL, YAML's do not */
static pk_status check_scalar(const yaml *y) {
    if (strlen(scalar(y)) != y->event.data.scalar.length)
        return refuse_event(y, "a NUL character is not possible in a recipe");
    return PK_OK;
}

static pk_status add_scalar(const yaml *y, pk_texts *value) {
    PK_TRY(check_scalar(y));
    return pk_texts_add(value, scalar(y), strlen(scalar(y)));
}

static pk_status read_items(yaml *y, pk_texts *value) {
    for (;;) {
        PK_TRY(next(y));
        if (is(y, YAML_SEQUENCE_END_EVENT)) return PK_OK;
        if (!is(y, YAML_SCALAR_EVENT))
            return refuse_event(y, "a list may hold texts and numbers only");
        PK_TRY(add_scalar(y, value));
    }
}

/* nothing behind the colon counts as an empty text */
static pk_status collect_value(yaml *y, bool list, pk_texts *value) {
    if (list) return read_items(y, value);
    if (!is_null(y)) return add_scalar(y, value);
    return pk_texts_add(value, "", 0);
}

/* a scalar, a list or nothing; nothing clears a list and leaves a section as it is */
static pk_status give_value(yaml *y, const char *name, size_t line) {
    const bool list = is(y, YAML_SEQUENCE_START_EVENT), nothing = is_null(y);
    pk_texts   value = { 0 };
    if (nothing && pk_recipe_is_section(name)) return PK_OK;
    pk_status status = collect_value(y, list, &value);
    if (status == PK_OK && nothing && pk_recipe_takes_list(name)) pk_texts_free(&value);
    if (status == PK_OK) status = pk_recipe_give(y->r, name, line, &value, list);
    pk_texts_free(&value);
    return status;
}

/* prefix: "data." or ""; sections hold no sections, which bounds the depth */
static pk_status read_map(yaml *y, const char *prefix) {
    for (;;) {
        char name[LONGEST_NAME], section[LONGEST_NAME + 1];
        PK_TRY(next(y));
        if (is(y, YAML_MAPPING_END_EVENT)) return PK_OK;
        if (!is(y, YAML_SCALAR_EVENT)) return refuse_event(y, "a key must be a plain word");
        PK_TRY(check_scalar(y));
        snprintf(name, sizeof name, "%s%s", prefix, scalar(y));
        const size_t line = line_of(y);
        PK_TRY(next(y));
        if (!is(y, YAML_MAPPING_START_EVENT)) {
            PK_TRY(give_value(y, name, line));
        } else if (pk_recipe_is_section(name)) {
            snprintf(section, sizeof section, "%s.", name);
            PK_TRY(read_map(y, section));
        } else {
            return pk_recipe_not_section(y->r, name, line);
        }
    }
}

/* stream, document, a map, and their ends; nothing else */
static pk_status read_document(yaml *y) {
    PK_TRY(next(y)); /* the stream begins */
    PK_TRY(next(y));
    if (is(y, YAML_STREAM_END_EVENT)) return PK_OK; /* an empty file: all defaults */
    PK_TRY(next(y));
    if (is(y, YAML_MAPPING_START_EVENT))
        PK_TRY(read_map(y, ""));
    else if (!is_null(y))
        return refuse_event(y, "a recipe holds lines of the form `key: value`");
    PK_TRY(next(y)); /* the document ends */
    PK_TRY(next(y));
    if (!is(y, YAML_STREAM_END_EVENT))
        return refuse_event(y, "a recipe is one document: leave out the line of dashes");
    return PK_OK;
}

pk_status pk_recipe_read_yaml(pk_recipe_reader *r, const char *text, size_t size) {
    yaml y = { .r = r, .text = text, .size = size };
    if (!yaml_parser_initialize(&y.parser)) PK_FAIL(PK_NO_MEMORY, "out of memory for YAML");
    yaml_parser_set_input_string(&y.parser, (const unsigned char *)text, size);
    const pk_status status = read_document(&y);
    yaml_event_delete(&y.event);
    yaml_parser_delete(&y.parser);
    return status;
}
