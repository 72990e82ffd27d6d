/* average.c - `pronk average`: several models become one. */
#include <sys/stat.h>

#include "cli.h"

int pk_cli_average(pk_cli *c) {
    struct stat about;
    pk_status   status = pk_model_average(c->operand.item, c->operand.n, c->output, c->type);
    if (status != PK_OK) return pk_cli_fail_status(c, status);
    if (!stat(c->output, &about) && S_ISREG(about.st_mode))
        pk_cli_warn(c, "%s: mean of %zu model%s, %.1f MB", c->output, c->operand.n,
                    c->operand.n == 1 ? "" : "s", (double)about.st_size / 1e6);
    return PK_EXIT_OK;
}
