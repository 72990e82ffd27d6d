/* settings.h - what an operator can set; the list of options is in cli/serve_verb.c.
 *
 * Every option there is also a variable LT_NAME of the environment, as in LibreTranslate. A limit of
 * -1 is none. Strings are borrowed; NULL: not given. */
#ifndef PK_SERVER_SETTINGS_H
#define PK_SERVER_SETTINGS_H
#include <stdbool.h>
#include <stdint.h>

#define PK_DEFAULT_HOST "127.0.0.1"
#define PK_DEFAULT_KEYS "db/api_keys.db"
enum { PK_MOST_DECAY = 22 }; /* windows of 23 hours at the most: the next is a day */

typedef struct pk_settings {
    const char *host;
    int64_t     port;
    const char *models;    /* a folder */
    const char *load_only; /* "en,de": only pairs of these languages */
    const char *url_prefix;
    bool        disable_web_ui, disable_files_translation;
    /* limits; req_limit is per minute and client, flood_threshold how often it may be broken */
    int64_t     char_limit, req_limit, batch_limit, alternatives_limit, flood_threshold;
    int64_t     hourly_limit, daily_limit; /* requests of a client; not above 0: any number */
    int64_t     hourly_decay;              /* further windows of hours, see windows.c */
    bool        api_keys;
    const char *keys_path, *key_link, *key_origin;
    const char *key;               /* `keys add` and `keys remove` */
    const char *glossaries;        /* "NAME=FILE,NAME=FILE" */
    const char *translation_cache; /* "all", "off" or MiB */
    bool        ssl;
    const char *certificate, *private_key; /* PEM files */
    bool        metrics;
    const char *metrics_token;
    const char *trusted_proxy; /* "127.0.0.1,10.0.0.0/8" */
    bool        access_log;
    int64_t     queue;       /* sentences that may wait */
    int64_t     timeout;     /* seconds a translation may take */
    int64_t     idle;        /* seconds after which a model that nobody uses is closed; 0: never */
    int64_t     memory;      /* MiB in all; 0: most of the machine's */
    int64_t     connections; /* at a time */
} pk_settings;
#endif
