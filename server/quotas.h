/* quotas.h - how many requests a client may make in a minute (an hour, a day), and who broke that too often.
 *
 * A client is a text: an API key, or an address. A window moves by its sixtieth part: a minute by whole
 * seconds. Memory is bounded: of very many clients the one that was seen longest ago is forgotten. */
#ifndef PK_SERVER_QUOTAS_H
#define PK_SERVER_QUOTAS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pk_quotas pk_quotas;
/* most: clients that are remembered. n windows of so many seconds, the shortest first. NULL: no memory */
pk_quotas *pk_quotas_open(size_t most, const int64_t *seconds, size_t n);
void       pk_quotas_close(pk_quotas *l);

/* counts one request and is 0; or counts nothing and is how many seconds to wait; *broken is the first window
   that is full. most: for each window, -1: any number. now: seconds of a clock that does not go back; for all
   of these */
int pk_quotas_take(pk_quotas *l, const char *client, const int64_t *most, double now,
                   size_t *broken);
/* the rest of what a request cost, known later: it counts, and refuses nothing. Who has no limit is not counted */
void pk_quotas_charge(pk_quotas *l, const char *client, int64_t cost, double now);
/* a limit was broken; one such offence is forgiven every ten minutes */
void pk_quotas_report(pk_quotas *l, const char *address, double now);
bool pk_quotas_banned(pk_quotas *l, const char *address, int64_t threshold, double now);
/* characters that a client has had translated, and how many it has */
void    pk_quotas_add_characters(pk_quotas *l, const char *client, int64_t n);
int64_t pk_quotas_characters(pk_quotas *l, const char *client);
#endif
