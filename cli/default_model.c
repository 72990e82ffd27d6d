/* default_model.c - the model that comes with Pronk: used where none is named.
 *
 * $PRONK_MODEL if it is set; else models/en-de.pronk of the source tree whose build/ or
 * build/checked/ the program lies in, or where `make install` puts it. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const char *const paths[] = { "../models/en-de.pronk", "../../models/en-de.pronk",
                                     "../share/pronk/models/en-de.pronk" };

char *pk_cli_default_model(void) {
    char        program[PATH_MAX], path[PATH_MAX + 64];
    const char *wanted = getenv("PRONK_MODEL");
    if (wanted && *wanted) return strdup(wanted);
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) return NULL;
    program[n] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash) return NULL;
    *slash = '\0';
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(path, sizeof path, "%s/%s", program, paths[i]);
        if (access(path, R_OK) == 0) return strdup(path);
    }
    return NULL;
}
