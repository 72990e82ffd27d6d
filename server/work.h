/* work.h - threads that take exchanges from a queue and do their next action.
 *
 * Whatever may take long happens here and not in the HTTP thread: reading fields, opening models,
 * handing texts to a translator, writing answers. No action waits for a translation. */
#ifndef PK_SERVER_WORK_H
#define PK_SERVER_WORK_H
#include "exchange.h"

typedef struct pk_work pk_work;
pk_work               *pk_work_open(int threads); /* NULL: no memory or no threads */
void                   pk_work_push(pk_work *w, pk_exchange *x);
void                   pk_work_close(pk_work *w); /* when nothing is queued any more */
#endif
