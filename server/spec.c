/* spec.c - GET /spec: the list of routes as an OpenAPI document (version 3.0).
 *
 * Its title is LibreTranslate's name: by it clients know that a server speaks this API. */
#include <ctype.h>
#include <string.h>

#include "pronk.h"
#include "routes.h"
#include "state.h"

static json_t *schema_of(const char *text) { return json_loads(text, JSON_DECODE_ANY, NULL); }

/* fields of a GET are parameters */
static json_t *parameters(const pk_route_field *f) {
    json_t *list = json_array();
    for (; f->name; f++)
        json_array_append_new(list, json_pack("{sssssbsoss}", "name", f->name, "in", "query",
                                              "required", f->required, "schema",
                                              schema_of(f->schema), "description", f->help));
    return list;
}

/* fields of a POST are a body, of one kind or another */
static json_t *body(const pk_route_field *f) {
    static const char *const kinds[] = { "application/json", "application/x-www-form-urlencoded",
                                         "multipart/form-data" };
    json_t *properties = json_object(), *required = json_array(), *content = json_object();
    for (; f->name; f++) {
        json_t *schema = schema_of(f->schema);
        json_object_set_new(schema, "description", json_string(f->help));
        json_object_set_new(properties, f->name, schema);
        if (f->required) json_array_append_new(required, json_string(f->name));
    }
    json_t *schema = json_pack("{ssso}", "type", "object", "properties", properties);
    if (json_array_size(required))
        json_object_set_new(schema, "required", required);
    else
        json_decref(required); /* an empty list is not allowed */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        json_object_set_new(content, kinds[i], json_pack("{sO}", "schema", schema));
    json_decref(schema);
    return json_pack("{so}", "content", content);
}

static json_t *answer(const char *description, json_t *schema) {
    return json_pack("{sss{s{so}}}", "description", description, "content", "application/json",
                     "schema", schema);
}

static json_t *answers(const pk_route *r) {
    const char              *key = r->error_key ? r->error_key : "error";
    json_t                  *all = json_pack("{so}", "200", answer("Done", schema_of(r->schema)));
    static const char *const refused[][2] = { { "400", "Invalid request" },
                                              { "403", "Not allowed" },
                                              { "429", "Slow down: too many requests" } };
    for (size_t i = 0; r->limited && i < sizeof refused / sizeof *refused; i++) {
        json_t *schema =
            json_pack("{sss{s{ss}}}", "type", "object", "properties", key, "type", "string");
        json_object_set_new(all, refused[i][0], answer(refused[i][1], schema));
    }
    return all;
}

static json_t *operation(const pk_route *r) {
    char   id[64] = "";
    size_t n = 0;
    for (const char *c = r->path; *c && n + 1 < sizeof id; c++)
        if (*c != '/' || n) id[n++] = (char)(isalnum((unsigned char)*c) ? *c : '_');
    json_t *made =
        json_pack("{sssssoso}", "operationId", id, "summary", r->summary, "responses", answers(r),
                  "tags", json_pack("[s]", strncmp(r->path, "/v2/", 4) ? "translate" : "deepl"));
    if (!strcmp(r->method, "POST"))
        json_object_set_new(made, "requestBody", body(r->fields));
    else
        json_object_set_new(made, "parameters", parameters(r->fields));
    return made;
}

void pk_spec_answer(pk_exchange *x) {
    const char *prefix = x->server->prefix;
    json_t     *paths = json_object();
    for (const pk_route *r = pk_routes; r->path; r++)
        if (r->summary)
            json_object_set_new(
                paths, r->path,
                json_pack("{so}", strcmp(r->method, "POST") ? "get" : "post", operation(r)));
    pk_exchange_answer(x, 200,
                       json_pack("{sss{sssssss{ss}}s[{ss}]so}", "openapi", "3.0.3", "info", "title",
                                 "LibreTranslate", "version", PK_VERSION_TEXT, "description",
                                 "Machine translation by Pronk, with LibreTranslate's API.",
                                 "license", "name", "MIT", "servers", "url", *prefix ? prefix : "/",
                                 "paths", paths));
}
