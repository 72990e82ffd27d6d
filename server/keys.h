/* keys.h - API keys: LibreTranslate's table api_keys(api_key, req_limit, char_limit) of SQLite.
 *
 * The server reads the whole table into memory and never writes: at start, on SIGHUP, and when the
 * file has changed. What was read last stays where a later reading fails. */
#ifndef PK_SERVER_KEYS_H
#define PK_SERVER_KEYS_H
#include <stdbool.h>
#include <stdint.h>

typedef struct pk_key_limits {
    int64_t requests;   /* a minute; -1: any number */
    int64_t characters; /* 0: as for everybody; -1: any number */
} pk_key_limits;

typedef struct pk_keys pk_keys;
/* path is borrowed; NULL: no memory. Nothing is read yet */
pk_keys *pk_keys_open(const char *path);
void     pk_keys_close(pk_keys *k);
/* reads the table anew; a file that is not there, or is empty, has no keys. false: `error` says why */
bool pk_keys_read(pk_keys *k, char *error);
/* whether the file is another than the one that was read last */
bool pk_keys_changed(const pk_keys *k);
bool pk_keys_find(pk_keys *k, const char *key, pk_key_limits *out);
#endif
