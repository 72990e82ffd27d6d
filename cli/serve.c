/* serve.c - `pronk serve`: the server, and the keys that it asks for. */
#include <stdio.h>
#include <string.h>

#include "options_table.h"

/* errors speak of options; the user may have set a variable instead */
static int fail(const pk_cli *c, int code, const char *error) {
    char text[PK_ERROR_ROOM];
    pk_cli_name_variables(c, error, text, sizeof text);
    return code == PK_EXIT_USAGE ? pk_cli_usage(c, "%s", text) : pk_cli_fail(c, "%s", text);
}

static int manage_keys(pk_cli *c) {
    char      error[PK_ERROR_ROOM] = "";
    const int code = pk_keys_command(&c->serve, c->operand.item + 1, c->operand.n - 1, error);
    return code ? fail(c, code, error) : PK_EXIT_OK;
}

/* a folder of models, one model, or Pronk's own */
static int choose_model(pk_cli *c) {
    if (c->serve.models && c->model)
        return fail(c, PK_EXIT_USAGE, "give --models or --model, not both");
    if (c->serve.models || c->model) return 0;
    c->model = c->own_model = pk_cli_default_model();
    return c->model
               ? 0
               : pk_cli_usage(c, "no model: give one with -m MODEL, or a folder with --models DIR");
}

int pk_cli_serve(pk_cli *c) {
    char          error[PK_ERROR_ROOM] = "";
    pk_cli_models none = { 0 };
    if (!c->serve.host) c->serve.host = PK_DEFAULT_HOST;
    if (!c->serve.keys_path) c->serve.keys_path = PK_DEFAULT_KEYS;
    if (c->operand.n && !strcmp(c->operand.item[0], "keys")) return manage_keys(c);
    if (c->operand.n) return pk_cli_usage(c, "unexpected argument '%s'", c->operand.item[0]);
    const int code = choose_model(c);
    if (code) return code;
    const pk_server_options options = {
        .settings = &c->serve,
        .model = c->model,
        .from = c->from,
        .to = c->to,
        .type = c->type,
        .translator = pk_cli_translator_options(c, &none, c->decode),
        .quiet = c->quiet,
    };
    return pk_serve(&options, error) ? fail(c, PK_EXIT_FAILED, error) : PK_EXIT_OK;
}
