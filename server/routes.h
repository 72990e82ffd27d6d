/* routes.h - every endpoint, once: what is served where, under which limits, and what it is for.
 *
 * /spec is made from this list too. */
#ifndef PK_SERVER_ROUTES_H
#define PK_SERVER_ROUTES_H
#include "exchange.h"

typedef struct pk_route_field { /* a list ends with a NULL name */
    const char *name;
    const char *schema; /* JSON */
    bool        required;
    const char *help;
} pk_route_field;

typedef struct pk_route {      /* the list ends with a NULL path */
    const char *method, *path; /* a path that ends in a slash, other than /, is for all below it */
    void (*handle)(pk_exchange *x);  /* answers, or begins a translation */
    bool                  limited;   /* by keys, rate and bans; reads fields; done by a worker */
    const char           *error_key; /* NULL: "error" */
    const char           *summary;   /* NULL: not in /spec */
    const pk_route_field *fields;
    const char           *schema; /* of the answer, JSON */
} pk_route;

extern const pk_route pk_routes[];
/* the route, or NULL; *other: there is one of another method there */
const pk_route *pk_route_find(const char *method, const char *path, const pk_route **other);

/* the handlers */
void pk_libre_translate(pk_exchange *x);
void pk_stream_translate(pk_exchange *x);
void pk_libre_detect(pk_exchange *x);
void pk_libre_languages(pk_exchange *x);
void pk_libre_settings(pk_exchange *x);
void pk_libre_health(pk_exchange *x);
void pk_libre_no_files(pk_exchange *x);
void pk_libre_no_download(pk_exchange *x);
void pk_libre_no_suggestions(pk_exchange *x);
void pk_deepl_translate(pk_exchange *x);
void pk_deepl_languages(pk_exchange *x);
void pk_deepl_usage(pk_exchange *x);
void pk_page_answer(pk_exchange *x);
void pk_spec_answer(pk_exchange *x);
void pk_metrics_answer(pk_exchange *x);
#endif
