/* http.h - HTTP: connections, their limits and times, requests in and answers out (libmicrohttpd).
 *
 * One thread moves bytes, and another for each older certificate that connections still have. An exchange that needs work is suspended there and resumed with its answer,
 * so that no thread waits for a translation. Requests are bounded: body, headers, number, time. */
#ifndef PK_SERVER_HTTP_H
#define PK_SERVER_HTTP_H
#include "state.h"

enum { PK_MOST_BODY = 8 << 20 }; /* bytes */

typedef struct pk_http pk_http;
/* begins to serve, as s->http; takes the socket over. false: `error` says why */
bool pk_http_open(pk_server *s, int fd, char *error);
int  pk_http_socket(const pk_http *h); /* that it listens on */
/* reads certificate and key again, for new connections. false: `error` says why, and the old pair stays */
bool pk_http_renew(pk_http *h, char *error);
/* what must be done several times a second: who vanished, who is too slow */
void pk_http_tick(pk_http *h);
/* no more connections: those that there are get their answers and are closed then */
void pk_http_stop_accepting(pk_http *h);
/* nothing is on its way any more, and nobody begins anything */
bool pk_http_is_quiet(pk_http *h);
/* every translation on its way is cancelled */
void pk_http_cancel_all(pk_http *h);
void pk_http_close(pk_http *h); /* when it is quiet */

/* for answers that come in pieces (stream.c), from the HTTP thread: a worker has the exchange until it resumes it;
   the next piece is being sent */
void pk_http_suspend(pk_exchange *x);
void pk_http_sending(pk_exchange *x);
#endif
