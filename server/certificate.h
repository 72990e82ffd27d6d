/* certificate.h - the certificate and the private key for TLS, read from files.
 *
 * A pair that was read is one that libmicrohttpd takes: what is broken is found before anything changes. */
#ifndef PK_SERVER_CERTIFICATE_H
#define PK_SERVER_CERTIFICATE_H
#include "settings.h"

typedef struct pk_certificate {
    char *chain, *key; /* PEM; NULL: no TLS */
} pk_certificate;

/* nothing where TLS is off; false: `error` says why, and there is nothing to free */
bool pk_certificate_read(const pk_settings *s, pk_certificate *out, char *error);
bool pk_certificate_equal(const pk_certificate *a, const pk_certificate *b);
void pk_certificate_free(pk_certificate *c);
#endif
