/* log.h - lines for the operator, on standard error. No text, query string or key is ever in them. */
#ifndef PK_SERVER_LOG_H
#define PK_SERVER_LOG_H
#include "exchange.h"

/* before any thread is started. quiet: nothing but requests; requests: a line for each */
void pk_log_open(bool quiet, bool requests);
void pk_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* one exchange that has ended: who, what (the route, not what the client wrote), how, how long */
void pk_log_request(const pk_exchange *x, int status);
#endif
