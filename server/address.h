/* address.h - who a request comes from, behind proxies that are trusted. */
#ifndef PK_SERVER_ADDRESS_H
#define PK_SERVER_ADDRESS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { PK_ADDRESS_ROOM = 64 };

typedef struct pk_subnet { /* an address and how many of its bits count; IPv4 as ::ffff:a.b.c.d */
    unsigned char byte[16];
    int           bits;
} pk_subnet;

typedef struct pk_proxies {
    pk_subnet *item;
    size_t     n;
} pk_proxies;

/* "127.0.0.1,10.0.0.0/8,fd00::/8", or NULL: none; false: `error` says what is wrong with it */
bool pk_proxies_read(pk_proxies *p, const char *list, char *error);
void pk_proxies_free(pk_proxies *p);
/* Where the peer is trusted, the last address of `forwarded` (X-Forwarded-For, may be NULL) that is not
   counts: what a client writes itself stands before those. */
void pk_address_of(const struct sockaddr *peer, const char *forwarded, const pk_proxies *p,
                   char out[PK_ADDRESS_ROOM]);
/* the client whose requests are counted together: an IPv6 network of 64 bits is one */
void pk_address_client(const char *address, char out[PK_ADDRESS_ROOM]);
#endif
