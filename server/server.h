/* server.h - what the program knows of the server: run it, and manage its keys. */
#ifndef PK_SERVER_H
#define PK_SERVER_H
#include <stddef.h>

#include "pronk.h"
#include "settings.h"

typedef struct pk_server_options {
    const pk_settings *settings;
    const char        *model; /* a single one, where settings name no folder; with its languages */
    const char        *from, *to; /* or NULL: as the model or its name says */
    const char        *type;      /* numbers to compute with */
    /* how to decode; languages, limits and cache are filled in for each model */
    pk_translator_options translator;
    bool                  quiet; /* no warnings */
} pk_server_options;

enum {
    PK_ERROR_ROOM = 512
}; /* of every `error` below: one line, filled in where 0 is not returned */

/* serves until SIGTERM or SIGINT, then answers what was accepted. 0: ended in order */
int pk_serve(const pk_server_options *options, char *error);
/* `add`, `remove` or `list` keys (LibreTranslate's table of SQLite); prints to standard output */
int pk_keys_command(const pk_settings *settings, const char *const *word, size_t n, char *error);
#endif
