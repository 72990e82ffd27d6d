/* access.c - who may ask: bans, rate and keys, in LibreTranslate's order. */
#include "access.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "plain_text.h"
#include "routes.h"
#include "seconds.h"
#include "state.h"

/* DeepL's clients send their key in a header. A key that is no text is a wrong one. NULL: none */
static const char *given_key(const pk_exchange *x) {
    static const char begin[] = "DeepL-Auth-Key ";
    const char       *header = x->request.authorization, *name = "api_key";
    if (x->route->error_key) {
        if (header && !strncasecmp(header, begin, sizeof begin - 1))
            return header + sizeof begin - 1;
        name = "auth_key";
    }
    if (pk_fields_is_missing(&x->request.fields, name)) return NULL;
    const char *text = pk_fields_text(&x->request.fields, name);
    return text ? text : "";
}

static bool is_libre(const pk_exchange *x) { return !x->route->error_key; }

/* a key that is right counts for itself, and everybody else by address: made-up keys are no way around
 * a limit */
static bool set_client(pk_exchange *x, const char *key, bool *known) {
    const pk_settings *s = x->server->settings;
    char               address[PK_ADDRESS_ROOM];
    pk_address_client(x->address, address);
    x->limits = (pk_key_limits){ s->req_limit, 0 };
    *known = x->server->keys && key && pk_keys_find(x->server->keys, key, &x->limits);
    x->client = strdup(*known ? key : address);
    if (!x->client) pk_exchange_fail(x, 503, "out of memory");
    return x->client != NULL;
}

static bool check_rate(pk_exchange *x, bool known) {
    pk_server     *s = x->server;
    int64_t        own[PK_MOST_WINDOWS];
    char           window[32];
    size_t         broken = 0;
    const int64_t *most = known ? own : s->windows.most;
    if (known) pk_windows_of_key(&s->windows, x->limits.requests, own);
    const int wait = pk_quotas_take(s->quotas, x->client, most, pk_seconds(), &broken);
    if (!wait) return true;
    x->answer.retry_after = wait;
    pk_quotas_report(s->quotas, x->address, pk_seconds());
    pk_windows_name(&s->windows, broken, window, sizeof window);
    pk_exchange_fail(x, 429, "Slowdown: %" PRId64 " per %s", most[broken], window);
    return false;
}

static bool check_ban(pk_exchange *x) {
    pk_server *s = x->server;
    if (!pk_quotas_banned(s->quotas, x->address, s->settings->flood_threshold, pk_seconds()))
        return true;
    pk_exchange_fail(x, 403, "Too many request limits violations");
    return false;
}

/* where the operator named an origin, others need a key */
static bool check_key(pk_exchange *x, const char *key, bool known) {
    pk_server  *s = x->server;
    const char *link = s->settings->key_link, *origin = x->request.origin;
    if (!s->keys || known) return true;
    if (key) {
        pk_exchange_fail(x, 403, "Invalid API key");
        return false;
    }
    if (!s->has_origin || regexec(&s->origin, origin ? origin : "", 0, NULL, 0) == 0) return true;
    if (link && *link)
        pk_exchange_fail(x, is_libre(x) ? 400 : 403, "Visit %s to get an API key", link);
    else
        pk_exchange_fail(x, is_libre(x) ? 400 : 403,
                         "Please contact the server operator to get an API key");
    return false;
}

static bool check_fields(pk_exchange *x, pk_fields_status status) {
    switch (status) {
    case PK_FIELDS_OK: return true;
    case PK_FIELDS_NOT_OBJECT: pk_exchange_fail(x, 400, "Invalid JSON format"); break;
    case PK_FIELDS_TOO_MANY: pk_exchange_fail(x, 413, "Invalid request: too many values"); break;
    case PK_FIELDS_NO_MEMORY: pk_exchange_fail(x, 503, "out of memory"); break;
    case PK_FIELDS_BROKEN:
        pk_exchange_fail(x, 400,
                         "The browser (or proxy) sent a request that this server could not "
                         "understand.");
    }
    return false;
}

bool pk_access_check(pk_exchange *x) {
    pk_http_request       *r = &x->request;
    bool                   known;
    const pk_fields_status fields =
        pk_fields_read(&r->fields, r->content_type, r->query, r->body, r->body_size);
    const char *key = fields == PK_FIELDS_OK ? given_key(x) : NULL;
    return set_client(x, key, &known) && check_rate(x, known) && check_ban(x) &&
           check_fields(x, fields) && check_key(x, key, known);
}

void pk_access_charge(pk_exchange *x, size_t texts) {
    if (texts < 2) return;
    pk_quotas_charge(x->server->quotas, x->client, (int64_t)texts - 1, pk_seconds());
}

int64_t pk_access_char_limit(const pk_exchange *x) {
    return x->limits.characters ? x->limits.characters : x->server->settings->char_limit;
}

static bool check_size(pk_exchange *x, size_t size, int64_t limit) {
    if (limit < 0 || size <= (size_t)limit) return true;
    pk_exchange_fail(x, 400, "Invalid request: request (%zu) exceeds text limit (%" PRId64 ")",
                     size, limit);
    return false;
}

bool pk_access_check_batch(pk_exchange *x, size_t n) {
    return check_size(x, n, x->server->settings->batch_limit);
}

bool pk_access_check_text(pk_exchange *x, const char *text, size_t size) {
    const int64_t limit = pk_access_char_limit(x);
    return limit < 0 || check_size(x, pk_text_characters(text, size), limit);
}
