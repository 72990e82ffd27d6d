/* state.h - all that lives as long as the server. */
#ifndef PK_SERVER_STATE_H
#define PK_SERVER_STATE_H
#include <regex.h>
#include <stdatomic.h>

#include "address.h"
#include "glossaries.h"
#include "keys.h"
#include "metrics.h"
#include "models.h"
#include "quotas.h"
#include "windows.h"

typedef struct pk_server {
    const pk_settings *settings;
    pk_work           *work;
    pk_models         *models;
    pk_quotas         *quotas;
    pk_windows         windows; /* of who has no key */
    pk_glossaries     *glossaries;
    pk_keys           *keys;   /* NULL: everybody may, without a key */
    regex_t            origin; /* from where no key is needed, where has_origin */
    bool               has_origin;
    pk_proxies         proxies;
    pk_metrics        *metrics;
    const char        *prefix; /* of every path; "" or "/prefix" */
    struct pk_http    *http;
    atomic_bool        draining; /* connections are closed after the next answer */
} pk_server;

/* gives an exchange with its answer back to the HTTP thread (http.c); it is no longer the caller's */
void pk_state_resume(pk_exchange *x);
#endif
