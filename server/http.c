/* http.c - HTTP: connections, their limits and times, requests in and answers out. */
#include "http.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access.h"
#include "certificate.h"
#include "log.h"
#include "page.h"
#include "problem.h"
#include "routes.h"
#include "seconds.h"
#include "stream.h"
#include "visits.h"

/* bytes of a connection for headers (and a query string); of all bodies together; of a body that is too
 * long but is read to its end, so that the client comes to read the answer */
enum { HEADER_ROOM = 64 << 10, FIRST_BODY = 4 << 10 };
#define ALL_BODIES   ((int64_t)256 << 20)
#define MOST_SKIPPED ((uint64_t)256 << 20)

/* where connections come in, with one certificate; it has a thread of its own */
typedef struct door {
    struct door       *older;
    struct MHD_Daemon *daemon;
    int                fd; /* of all doors for the same address and port */
    pk_certificate     certificate;
} door;

struct pk_http {
    pk_server *server;
    door      *doors; /* the newest takes connections, the others serve those that they have */
    _Atomic(struct MHD_Daemon *) newest;
    bool                         accepting;
    pk_visits                    visits;
    _Atomic int64_t              bodies; /* bytes */
};

/* ---- a request comes in ---- */

/* the first line is there; what it returns is the exchange for all that follows */
static void *begin_exchange(void *user, const char *uri, struct MHD_Connection *c) {
    pk_http                        *h = user;
    const char                     *query = strchr(uri, '?');
    pk_exchange                    *x = pk_exchange_new(h->server);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (!x || !info || !info->socket_context) return pk_exchange_free(x), NULL;
    x->visit = info->socket_context;
    if (query) x->request.query = strdup(query + 1);
    pk_visits_set(&h->visits, x->visit, PK_PHASE_READING, NULL);
    pk_metrics_begin(h->server->metrics);
    return x;
}

static char *copy_header(struct MHD_Connection *c, const char *name) {
    const char *value = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
    return value ? strdup(value) : NULL;
}

/* proxies may each add a header of their own: together they are one list */
static enum MHD_Result add_forwarded(void *user, enum MHD_ValueKind kind, const char *name,
                                     const char *value) {
    char **list = user, *longer = NULL;
    (void)kind;
    if (strcasecmp(name, "X-Forwarded-For") || !value) return MHD_YES;
    if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "", value) < 0) return MHD_NO;
    free(*list);
    *list = longer;
    return MHD_YES;
}

static void read_headers(pk_exchange *x, struct MHD_Connection *c) {
    pk_http_request                *r = &x->request;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    r->content_type = copy_header(c, "Content-Type");
    r->origin = copy_header(c, "Origin");
    r->authorization = copy_header(c, "Authorization");
    r->accept_language = copy_header(c, "Accept-Language");
    r->if_none_match = copy_header(c, "If-None-Match");
    MHD_get_connection_values(c, MHD_HEADER_KIND, add_forwarded, &r->forwarded);
    pk_address_of(info ? info->client_addr : NULL, r->forwarded, &x->server->proxies, x->address);
}

/* the path below the prefix; NULL: it is not below it */
static const char *below_prefix(const pk_exchange *x, const char *path) {
    const size_t n = strlen(x->server->prefix);
    if (strncmp(path, x->server->prefix, n) || (n && path[n] && path[n] != '/')) return NULL;
    return path[n] ? path + n : "/";
}

static void find_route(pk_exchange *x, const char *method, const char *path) {
    const pk_route *other;
    const char     *below = below_prefix(x, path);
    if (!below) {
        x->answer.location = x->server->prefix;
        return pk_exchange_fail(x, 301, "Moved Permanently");
    }
    x->route = pk_route_find(method, below, &other);
    if (x->route) return;
    x->route = other;
    if (other && !strcmp(method, "OPTIONS"))
        pk_exchange_answer_text(x, "text/html; charset=utf-8", "");
    else if (other)
        pk_exchange_fail(x, 405, "Method Not Allowed");
    else
        pk_exchange_fail(x, 404, "Not Found");
}

static void refuse_body(pk_exchange *x) {
    pk_exchange_fail(x, 413, "Invalid request: the body exceeds %d bytes", PK_MOST_BODY);
}

/* bytes that the client says will come; 0: it does not say */
static uint64_t announced(struct MHD_Connection *c) {
    const char *text = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");
    return text ? strtoull(text, NULL, 10) : 0;
}

static enum MHD_Result send_answer(pk_exchange *x);

/* headers are there. An answer that is known already waits for the end of the body, unless the client
 * would rather not send it */
static enum MHD_Result begin(pk_exchange *x, struct MHD_Connection *c, const char *method,
                             const char *path) {
    read_headers(x, c);
    snprintf(x->method, sizeof x->method, "%s", method);
    find_route(x, method, path);
    const uint64_t size = announced(c);
    if (size > PK_MOST_BODY) refuse_body(x);
    x->begun = true;
    const bool asks = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Expect") != NULL;
    return x->answer.status && ((asks && size) || size > MOST_SKIPPED) ? send_answer(x) : MHD_YES;
}

/* room for n bytes more, in steps: what is only announced takes no memory */
static bool grow_body(pk_http *h, pk_http_request *r, size_t n) {
    size_t room = r->body_room ? r->body_room : FIRST_BODY;
    while (room < r->body_size + n) room *= 2;
    if (room == r->body_room) return true;
    const int64_t more = (int64_t)(room - r->body_room);
    char         *grown = NULL;
    if (h->bodies + more <= ALL_BODIES) grown = realloc(r->body, room);
    if (!grown) return false;
    h->bodies += more;
    r->body = grown;
    r->body_room = room;
    return true;
}

static void free_body(pk_http *h, pk_http_request *r) {
    h->bodies -= (int64_t)r->body_room;
    free(r->body);
    r->body = NULL;
    r->body_room = 0;
}

static void add_body(pk_exchange *x, const char *data, size_t n) {
    pk_http_request *r = &x->request;
    pk_http         *h = x->server->http;
    if (x->answer.status) {
        r->body_size += n; /* only counted */
        return;
    }
    if (n > PK_MOST_BODY - r->body_size) {
        refuse_body(x);
    } else if (!grow_body(h, r, n)) {
        x->answer.retry_after = 5;
        pk_exchange_fail(x, 503, "the server is out of memory for now");
    } else {
        memcpy(r->body + r->body_size, data, n);
    }
    r->body_size += n;
    if (x->answer.status) free_body(h, r);
}

/* ---- work ---- */

/* what a worker does first: a handler answers, or begins a translation, which has the next action */
static void first_action(pk_exchange *x) {
    pthread_mutex_lock(&x->lock);
    const bool gone = x->gone;
    pthread_mutex_unlock(&x->lock);
    if (gone) pk_exchange_fail(x, 503, "cancelled");
    const bool may = !gone && pk_access_check(x);
    free(x->request.body); /* it is read; its room stays counted: the fields take as much */
    x->request.body = NULL;
    if (!may) return pk_state_resume(x);
    x->route->handle(x);
    if (x->answer.status) return pk_state_resume(x);
    assert(x->action != first_action);
    x->action(x);
}

void pk_http_suspend(pk_exchange *x) {
    pk_visits_set(&x->server->http->visits, x->visit, PK_PHASE_WORKING, x);
    MHD_suspend_connection(x->visit->connection);
}

void pk_http_sending(pk_exchange *x) {
    pk_visits_set(&x->server->http->visits, x->visit, PK_PHASE_SENDING, NULL);
}

/* the request is whole */
static enum MHD_Result answer(pk_exchange *x) {
    if (x->answer.status || x->action) return send_answer(x);
    if (!x->route->limited) {
        x->route->handle(x);
        return send_answer(x);
    }
    x->action = first_action;
    pk_http_suspend(x);
    pk_work_push(x->server->work, x);
    return MHD_YES;
}

void pk_state_resume(pk_exchange *x) { MHD_resume_connection(x->visit->connection); }

/* ---- an answer goes out ---- */

/* what browsers want to know before they let a page of another site have the answer */
static void add_cors(struct MHD_Response *r) {
    static const char *const header[][2] = {
        { "Access-Control-Allow-Origin", "*" },
        { "Access-Control-Allow-Headers", "Authorization, Content-Type" },
        { "Access-Control-Expose-Headers", "Authorization" },
        { "Access-Control-Allow-Methods", "GET, POST" },
        { "Access-Control-Allow-Credentials", "true" },
        { "Access-Control-Max-Age", "1728000" },
    };
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        MHD_add_response_header(r, header[i][0], header[i][1]);
}

/* behind the next answer: at the end, or where the certificate is no longer the one */
static bool must_close(const pk_exchange *x) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->visit->connection, MHD_CONNECTION_INFO_DAEMON);
    return x->server->draining || (info && info->daemon != x->server->http->newest);
}

static void add_headers(const pk_exchange *x, struct MHD_Response *r) {
    char                  seconds[16], allow[32];
    const pk_http_answer *a = &x->answer;
    add_cors(r);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
    if (a->retry_after) {
        snprintf(seconds, sizeof seconds, "%d", a->retry_after);
        MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (x->route && (a->status == 405 || (!a->size && a->status != 304))) {
        const bool get = !strcmp(x->route->method, "GET");
        snprintf(allow, sizeof allow, "%s, OPTIONS", get ? "GET, HEAD" : x->route->method);
        MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, allow);
    }
    if (a->tag[0]) pk_page_headers(r, a->tag);
    if (a->location) MHD_add_response_header(r, MHD_HTTP_HEADER_LOCATION, a->location);
    if (a->status == 401) MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (must_close(x)) MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
}

static enum MHD_Result send_answer(pk_exchange *x) {
    static char     nothing[] = "";
    pk_http_answer *a = &x->answer;
    const bool      streams = x->stream && a->status == 200;
    pk_http_sending(x);
    free_body(x->server->http, &x->request);
    struct MHD_Response *r =
        streams   ? pk_stream_respond(x)
        : a->body ? MHD_create_response_from_buffer(a->size, a->body, MHD_RESPMEM_MUST_FREE)
                  : MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
    if (!r) return MHD_NO;
    if (!streams) a->body = NULL; /* the response frees it */
    add_headers(x, r);
    const enum MHD_Result done = MHD_queue_response(x->visit->connection, (unsigned)a->status, r);
    MHD_destroy_response(r);
    return done;
}

/* ---- callbacks of libmicrohttpd ---- */

static enum MHD_Result handle(void *user, struct MHD_Connection *c, const char *path,
                              const char *method, const char *version, const char *data, size_t *n,
                              void **context) {
    pk_exchange *x = *context;
    (void)user;
    (void)version;
    if (!x) return MHD_NO;
    if (!x->begun) return begin(x, c, method, path);
    if (!*n) return answer(x);
    add_body(x, data, *n);
    *n = 0;
    return MHD_YES;
}

/* all is sent, or lost */
static void end_exchange(void *user, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode code) {
    pk_http     *h = user;
    pk_exchange *x = *context;
    (void)c;
    *context = NULL;
    if (!x) return;
    const int status = code == MHD_REQUEST_TERMINATED_COMPLETED_OK ? x->answer.status : 499;
    pk_metrics_end(h->server->metrics, x, status, pk_seconds() - x->began);
    pk_log_request(x, status);
    free_body(h, &x->request);
    pk_visits_set(&h->visits, x->visit, PK_PHASE_IDLE, NULL);
    pk_exchange_free(x);
}

static void connection_changed(void *user, struct MHD_Connection *c, void **context,
                               enum MHD_ConnectionNotificationCode code) {
    pk_http *h = user;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = info ? pk_visits_add(&h->visits, c, info->connect_fd) : NULL;
    } else if (*context) {
        pk_visits_remove(&h->visits, *context);
        *context = NULL;
    }
}

/* ---- open and close ---- */

static struct MHD_Daemon *start(pk_http *h, const door *d) {
    struct MHD_OptionItem secure[] = {
        { MHD_OPTION_HTTPS_MEM_CERT, 0, d->certificate.chain },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, d->certificate.key },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
        { MHD_OPTION_END, 0, NULL },
    };
    struct MHD_OptionItem plain[] = { { MHD_OPTION_END, 0, NULL } };
    const bool            tls = d->certificate.chain != NULL;
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
                           (tls ? MHD_USE_TLS : 0u);
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handle, h, MHD_OPTION_LISTEN_SOCKET, d->fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)h->server->settings->connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_ROOM, MHD_OPTION_CONNECTION_TIMEOUT, 60u,
        MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, h, MHD_OPTION_NOTIFY_COMPLETED, end_exchange,
        h, MHD_OPTION_NOTIFY_CONNECTION, connection_changed, h, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY, tls ? secure : plain, MHD_OPTION_END);
}

/* a newest door; takes the certificate over, and the socket where it succeeds */
static bool open_door(pk_http *h, int fd, pk_certificate *certificate, char *error) {
    door *d = calloc(1, sizeof *d);
    if (d) {
        *d = (door){ .older = h->doors, .fd = fd, .certificate = *certificate };
        d->daemon = start(h, d);
    }
    if (!d || !d->daemon) {
        pk_certificate_free(certificate);
        free(d);
        return pk_problem(error, "the server could not be started");
    }
    h->doors = d;
    h->newest = d->daemon;
    return true;
}

static void free_door(door *d) {
    MHD_stop_daemon(d->daemon);
    if (d->fd >= 0) close(d->fd);
    pk_certificate_free(&d->certificate);
    free(d);
}

bool pk_http_open(pk_server *s, int fd, char *error) {
    pk_certificate certificate;
    pk_http       *h = calloc(1, sizeof *h);
    if (!h) return pk_problem(error, "out of memory");
    h->server = s;
    h->accepting = true;
    s->http = h; /* requests may come before this returns */
    pk_visits_init(&h->visits);
    if (pk_certificate_read(s->settings, &certificate, error) &&
        open_door(h, fd, &certificate, error))
        return true;
    close(fd);
    s->http = NULL;
    pk_http_close(h);
    return false;
}

/* The new door is open before the old one is shut: nobody finds both closed. */
bool pk_http_renew(pk_http *h, char *error) {
    door          *old = h->doors;
    pk_certificate certificate;
    if (!pk_certificate_read(h->server->settings, &certificate, error)) return false;
    if (pk_certificate_equal(&certificate, &old->certificate)) {
        pk_certificate_free(&certificate);
        return true;
    }
    const int fd = fcntl(old->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        pk_certificate_free(&certificate);
        return pk_problem(error, "%s", strerror(errno));
    }
    if (!open_door(h, fd, &certificate, error)) return false;
    MHD_quiesce_daemon(old->daemon);
    return true;
}

/* doors that nobody is inside of any more */
static void close_old_doors(pk_http *h) {
    for (door **at = &h->doors->older; *at;) {
        door                       *d = *at;
        const union MHD_DaemonInfo *info =
            MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
        if (!info || info->num_connections) {
            at = &d->older;
            continue;
        }
        *at = d->older;
        free_door(d);
    }
}

int pk_http_socket(const pk_http *h) { return h->doors->fd; }

void pk_http_tick(pk_http *h) {
    for (size_t n = pk_visits_look(&h->visits, pk_seconds()); n; n--)
        pk_metrics_add_gone(h->server->metrics);
    close_old_doors(h);
}

/* Connections that the system has taken already, but not we, would be lost with the socket: with a
 * shorter list to wait in, those are accepted first. */
void pk_http_stop_accepting(pk_http *h) {
    const struct timespec moment = { .tv_nsec = 50000000 };
    if (!h->accepting) return;
    listen(h->doors->fd, 0);
    nanosleep(&moment, NULL);
    h->accepting = false;
    h->server->draining = true;
    MHD_quiesce_daemon(h->doors->daemon);
    for (door *d = h->doors; d; d = d->older) {
        close(d->fd);
        d->fd = -1;
    }
}

bool pk_http_is_quiet(pk_http *h) { return pk_visits_are_idle(&h->visits, pk_seconds(), 0.5); }

void pk_http_cancel_all(pk_http *h) { pk_visits_cancel_all(&h->visits); }

void pk_http_close(pk_http *h) {
    if (!h) return;
    if (h->doors) pk_http_stop_accepting(h);
    for (door *d = h->doors, *older; d; d = older) {
        older = d->older;
        free_door(d);
    }
    pk_visits_free(&h->visits);
    free(h);
}
