/* address.c - who a request comes from, behind proxies that are trusted. */
#include "address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

static void from_ipv4(const void *address, pk_subnet *out) {
    memset(out->byte, 0, 10);
    memset(out->byte + 10, 0xFF, 2);
    memcpy(out->byte + 12, address, 4);
    out->bits = 128;
}

/* one address, without a port */
static bool parse(const char *text, pk_subnet *out) {
    struct in_addr four;
    if (inet_pton(AF_INET, text, &four) == 1) {
        from_ipv4(&four, out);
        return true;
    }
    out->bits = 128;
    return inet_pton(AF_INET6, text, out->byte) == 1;
}

/* "10.0.0.0/8" */
static bool parse_network(char *text, pk_subnet *out) {
    char *slash = strchr(text, '/'), *end = NULL;
    if (slash) *slash = '\0';
    if (!parse(text, out)) return false;
    if (!slash) return true;
    const int  whole = strchr(text, ':') ? 128 : 32;
    const long bits = strtol(slash + 1, &end, 10);
    if (end == slash + 1 || *end || bits < 0 || bits > whole) return false;
    out->bits = (int)bits + 128 - whole;
    return true;
}

bool pk_proxies_read(pk_proxies *p, const char *list, char *error) {
    char *copy = strdup(list ? list : ""), *rest = copy;
    bool  right = copy != NULL;
    *p = (pk_proxies){ 0 };
    for (char *one; right && (one = strsep(&rest, ", "));) {
        if (!*one) continue;
        pk_subnet *grown = realloc(p->item, (p->n + 1) * sizeof *grown);
        if (grown) p->item = grown;
        right = grown && parse_network(one, &grown[p->n]);
        if (right) p->n++;
    }
    free(copy);
    return right ||
           pk_problem(error, "--trusted-proxy takes addresses and networks (10.0.0.0/8), with "
                             "commas between them");
}

void pk_proxies_free(pk_proxies *p) {
    free(p->item);
    *p = (pk_proxies){ 0 };
}

static bool is_within(const pk_subnet *address, const pk_subnet *network) {
    const int whole = network->bits / 8, rest = network->bits % 8;
    if (memcmp(address->byte, network->byte, (size_t)whole)) return false;
    return !rest || (address->byte[whole] ^ network->byte[whole]) >> (8 - rest) == 0;
}

static bool is_trusted(const pk_proxies *p, const pk_subnet *address) {
    for (size_t i = 0; i < p->n; i++)
        if (is_within(address, &p->item[i])) return true;
    return false;
}

/* addresses that came as IPv4 look like it */
static void print(const pk_subnet *address, char out[PK_ADDRESS_ROOM]) {
    static const unsigned char four[12] = { [10] = 0xFF, [11] = 0xFF };
    const bool                 is_four = !memcmp(address->byte, four, sizeof four);
    inet_ntop(is_four ? AF_INET : AF_INET6, address->byte + (is_four ? 12 : 0), out,
              PK_ADDRESS_ROOM);
}

/* the last of a list of addresses, cut off it; some proxies add a port, and brackets to IPv6 */
static bool take_last(char *list, pk_subnet *out) {
    char *comma = strrchr(list, ',');
    char *one = comma ? comma + 1 : list;
    one += strspn(one, " \t[");
    one[strcspn(one, " \t]")] = '\0';
    char *colon = strchr(one, ':');
    if (colon && !strchr(colon + 1, ':')) *colon = '\0';
    const bool right = parse(one, out);
    *(comma ? comma : list) = '\0';
    return right;
}

void pk_address_of(const struct sockaddr *peer, const char *forwarded, const pk_proxies *p,
                   char out[PK_ADDRESS_ROOM]) {
    pk_subnet address = { { 0 }, 128 }, next;
    if (peer && peer->sa_family == AF_INET)
        from_ipv4(&((const struct sockaddr_in *)peer)->sin_addr, &address);
    else if (peer && peer->sa_family == AF_INET6)
        memcpy(address.byte, &((const struct sockaddr_in6 *)peer)->sin6_addr, 16);
    char *list = strdup(forwarded ? forwarded : "");
    while (list && *list && is_trusted(p, &address) && take_last(list, &next)) address = next;
    free(list);
    print(&address, out);
}

void pk_address_client(const char *address, char out[PK_ADDRESS_ROOM]) {
    pk_subnet parsed;
    snprintf(out, PK_ADDRESS_ROOM, "%s", address);
    if (!strchr(address, ':') || !parse(address, &parsed)) return;
    memset(parsed.byte + 8, 0, 8);
    inet_ntop(AF_INET6, parsed.byte, out, PK_ADDRESS_ROOM);
    strncat(out, "/64", PK_ADDRESS_ROOM - strlen(out) - 1);
}
