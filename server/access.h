/* access.h - who may ask: bans, rate and keys, in LibreTranslate's order. */
#ifndef PK_SERVER_ACCESS_H
#define PK_SERVER_ACCESS_H
#include "exchange.h"

/* reads the fields and sets the client and its limits; false: it was refused, and that is the answer */
bool pk_access_check(pk_exchange *x);
/* a request of several texts costs as many; one has been counted */
void pk_access_charge(pk_exchange *x, size_t texts);
/* the limit on characters of one text, or -1 */
int64_t pk_access_char_limit(const pk_exchange *x);
/* refuses arrays and texts that are too large; false: that is the answer */
bool pk_access_check_batch(pk_exchange *x, size_t n);
bool pk_access_check_text(pk_exchange *x, const char *text, size_t size);
#endif
