/* visits.h - the connections that are open, what each is at, and since when.
 *
 * libmicrohttpd knows only how long a connection has been silent, and nothing of one that is suspended.
 * Here every connection has a time by which its present phase must be over. */
#ifndef PK_SERVER_VISITS_H
#define PK_SERVER_VISITS_H
#include <microhttpd.h>

#include "exchange.h"

typedef enum pk_phase {
    PK_PHASE_IDLE,    /* no request has begun */
    PK_PHASE_READING, /* a request is coming in */
    PK_PHASE_WORKING, /* it is being answered: suspended */
    PK_PHASE_SENDING, /* the answer goes out */
} pk_phase;

typedef struct pk_visit {
    struct pk_visit       *next, *previous;
    struct MHD_Connection *connection;
    int                    fd;
    pk_phase               phase;
    double                 since;
    pk_exchange           *exchange; /* WORKING: whose it is */
} pk_visit;

typedef struct pk_visits {
    pthread_mutex_t lock;
    pk_visit       *first;
    size_t          n;
    struct pollfd  *poll; /* room to look at all of them */
    size_t          room;
} pk_visits;

void pk_visits_init(pk_visits *v);
void pk_visits_free(pk_visits *v);
/* NULL: no memory */
pk_visit *pk_visits_add(pk_visits *v, struct MHD_Connection *c, int fd);
void      pk_visits_remove(pk_visits *v, pk_visit *one);
/* exchange: for WORKING, NULL otherwise */
void pk_visits_set(pk_visits *v, pk_visit *one, pk_phase phase, pk_exchange *exchange);
/* cuts off who takes too long; stops the work of who has gone, and says how many that were */
size_t pk_visits_look(pk_visits *v, double now);
void   pk_visits_cancel_all(pk_visits *v);
/* all have been idle for this many seconds */
bool pk_visits_are_idle(pk_visits *v, double now, double seconds);
#endif
