/* metrics.h - counters for Prometheus. No address and no key is part of them. */
#ifndef PK_SERVER_METRICS_H
#define PK_SERVER_METRICS_H
#include "exchange.h"

typedef struct pk_metrics pk_metrics;
pk_metrics               *pk_metrics_open(void); /* NULL: no memory */
void                      pk_metrics_close(pk_metrics *m);
void                      pk_metrics_begin(pk_metrics *m);
/* an exchange that was begun has ended */
void pk_metrics_end(pk_metrics *m, const pk_exchange *x, int status, double seconds);
/* texts for translation, and their bytes */
void pk_metrics_add_text(pk_metrics *m, size_t texts, size_t bytes);
void pk_metrics_add_gone(pk_metrics *m); /* a client vanished before its answer */
#endif
