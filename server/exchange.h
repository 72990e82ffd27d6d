/* exchange.h - one request and its answer, from the first byte to the last.
 *
 * It belongs to one thread at a time: the HTTP thread while bytes move, then one of the workers
 * (work.h), then a translator, a worker again, and at last the HTTP thread. Only `gone` and `call` may
 * be touched by another: the one that looks for clients that vanished. */
#ifndef PK_SERVER_EXCHANGE_H
#define PK_SERVER_EXCHANGE_H
#include <pthread.h>

#include "address.h"
#include "fields.h"
#include "keys.h"
#include "pronk.h"
#include "settings.h"

typedef struct pk_exchange pk_exchange;

typedef struct pk_http_request { /* what came; NULL: not there */
    char     *query, *content_type, *origin, *authorization, *accept_language, *forwarded;
    char     *if_none_match;
    char     *body;
    size_t    body_size, body_room;
    pk_fields fields;
} pk_http_request;

typedef struct pk_http_answer {
    int         status; /* 0: none yet */
    const char *type;   /* of the content; not owned */
    char       *body;
    size_t      size;
    int         retry_after; /* seconds; 0: no such header */
    const char *location;    /* where to go instead; not owned; NULL: no such header */
    char        tag[20];     /* of a file of the page (page.c), quoted; "": it is none */
} pk_http_answer;

struct pk_exchange {
    struct pk_server      *server;
    const struct pk_route *route; /* NULL: there is nothing at that path */
    pk_http_request        request;
    pk_http_answer         answer;
    char                   address[PK_ADDRESS_ROOM]; /* where it comes from */
    char                  *client;                   /* whom it counts for: a key or an address */
    pk_key_limits          limits;                   /* of that client */
    struct pk_translation *translation;              /* NULL: nothing is being translated */
    struct pk_stream      *stream;                   /* NULL: the answer comes as a whole */
    double                 began;
    void (*action)(pk_exchange *x); /* what a worker does next with it */
    pk_exchange *next;              /* in a queue, of one kind or another */

    pthread_mutex_t lock; /* of these two */
    pk_call        *call; /* NULL: the translator has nothing of it */
    bool            gone; /* the client is, and nobody wants the answer */

    struct pk_visit *visit;     /* http.c's part: the connection, */
    bool             begun;     /* whether its headers have been looked at, */
    char             method[8]; /* and how it asks, cut off if that is long */
};

/* answers; the first one counts. JSON is taken over (NULL: no memory); errors are {"error": ...} or what
   the route calls them */
void pk_exchange_answer(pk_exchange *x, int status, json_t *json);
void pk_exchange_fail(pk_exchange *x, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void pk_exchange_answer_text(pk_exchange *x, const char *type, const char *text);
/* an exchange is made when its first line is there, and freed when all is sent or lost */
pk_exchange *pk_exchange_new(struct pk_server *server);
void         pk_exchange_free(pk_exchange *x);
#endif
