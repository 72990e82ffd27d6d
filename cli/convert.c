/* convert.c - `pronk convert`: a model folder becomes one .pronk file, and a drafter one with a lexicon. */
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

int pk_cli_convert(pk_cli *c) {
    const char *from = c->operand.item[0], *to = c->operand.item[1];
    struct stat about;
    if (!stat(to, &about) && S_ISDIR(about.st_mode))
        return pk_cli_fail(c, "cannot write %s: it is a folder; name a file, model.pronk say", to);
    pk_model *model = NULL;
    const int code = c->model ? pk_cli_open_model(c, c->model, &model) : 0;
    if (code) return code;
    const pk_status status = pk_model_convert(
        from, to,
        PK_OPTIONS(pk_convert_options, .type = c->type, .lexicon = c->lexicon, .model = model));
    pk_model_close(model);
    if (status != PK_OK) return pk_cli_fail_status(c, status);
    if (!stat(to, &about) && S_ISREG(about.st_mode))
        pk_cli_warn(c, "%s: %.1f MB", to, (double)about.st_size / 1e6);
    return PK_EXIT_OK;
}
