/* info.c - `pronk info`: what a model says of itself, as a table or as JSON.
 *
 * The library describes a model as JSON; nested objects become dotted names in the table. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "table.h"

/* a value as people write it; the caller frees */
static char *scalar(const json_t *value) {
    if (json_is_string(value)) return strdup(json_string_value(value));
    if (json_is_boolean(value)) return strdup(json_is_true(value) ? "yes" : "no");
    if (json_is_null(value)) return strdup("-");
    return json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
}

/* scalars of a list side by side; the caller frees */
static char *listed(const json_t *list) {
    char         *text = strdup("");
    size_t        i;
    const json_t *item;
    json_array_foreach(list, i, item) {
        char *one = scalar(item), *longer = NULL;
        if (asprintf(&longer, "%s%s%s", text ? text : "", i ? ", " : "", one ? one : "?") < 0)
            longer = NULL;
        free(one);
        free(text);
        text = longer;
    }
    return text;
}

/* a row for each value that is no object; `above` is the dotted name of the object */
static void add_rows(pk_table *table, const char *above, json_t *object) {
    const char *key;
    json_t     *value;
    json_object_foreach(object, key, value) {
        char name[256];
        snprintf(name, sizeof name, "%s%s%s", above, *above ? "." : "", key);
        if (json_is_object(value)) {
            add_rows(table, name, value);
            continue;
        }
        char *text = json_is_array(value) ? listed(value) : scalar(value);
        pk_table_add(table, "%s", name);
        pk_table_add(table, "%s", text ? text : "?");
        free(text);
    }
}

/* what the file keeps as numbers, by name; the library names the first two itself */
static void name_choices(json_t *description) {
    static const char *const stopping[] = { "no", "yes", "never" };
    json_t                  *config = json_object_get(description, "config");
    const json_int_t         n = json_integer_value(json_object_get(config, "early_stopping"));
    json_object_set(config, "family", json_object_get(description, "family"));
    json_object_set(config, "act", json_object_get(description, "activation"));
    if (n >= 0 && n < 3) json_object_set_new(config, "early_stopping", json_string(stopping[n]));
}

/* JSON as it is, or as a table of dotted names and values */
static int print_description(const pk_cli *c, const char *text) {
    json_error_t error;
    json_t      *description = json_loads(text, 0, &error);
    if (!description) return pk_cli_fail(c, "the model's description is not JSON: %s", error.text);
    name_choices(description);
    if (c->json) {
        json_dumpf(description, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        putchar('\n');
    } else {
        pk_table table = { .columns = 2 };
        add_rows(&table, "", description);
        pk_table_print(&table, false);
        pk_table_free(&table);
    }
    json_decref(description);
    return PK_EXIT_OK;
}

int pk_cli_info(pk_cli *c) {
    pk_model *model = NULL;
    char     *text = NULL;
    if (!c->operand.n) c->own_model = pk_cli_default_model();
    c->model = c->operand.n ? c->operand.item[0] : c->own_model;
    if (!c->model) return pk_cli_usage(c, "no model: name one, pronk info MODEL");
    int code = pk_cli_open_model(c, c->model, &model);
    if (code) return code;
    code = pk_inputs_refuse(c, NULL);
    pk_status status = code ? PK_OK : pk_model_describe(model, &text);
    if (!code) code = status == PK_OK ? print_description(c, text) : pk_cli_fail_status(c, status);
    pk_free(text);
    pk_model_close(model);
    return code;
}
