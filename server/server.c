/* server.c - the server as a whole: opens its parts, waits for signals, drains, closes. Read first.
 *
 * A request goes: http.c (bytes in) -> work.c -> access.c (may it?) -> a handler of routes.c ->
 * translation.c (models.c, then the library) -> the handler's render -> http.c (bytes out).
 * SIGTERM and SIGINT: answer what was accepted, then end. SIGHUP: look at models, keys and certificate again. */
#include "server.h"

#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "http.h"
#include "listen.h"
#include "log.h"
#include "problem.h"
#include "seconds.h"

enum { WORKERS = 4, MOST_CLIENTS = 65536, SPARE_FILES = 256, TICK_MS = 200, DRAIN_SECONDS = 75 };

/* ---- opening ---- */

/* as many files as the system allows: each connection is one */
static bool raise_file_limit(const pk_settings *s, char *error) {
    struct rlimit limit;
    const rlim_t  wanted = (rlim_t)s->connections + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return true;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted) return true;
    return pk_problem(error,
                      "%" PRId64 " connections need %ju files, and the system allows %ju: see "
                      "--connections",
                      s->connections, (uintmax_t)wanted, (uintmax_t)limit.rlim_cur);
}

/* the pattern must match from the beginning on */
static bool open_origin(pk_server *s, char *error) {
    const char *pattern = s->settings->key_origin;
    char       *anchored = NULL;
    if (!s->settings->api_keys || !pattern || !*pattern) return true;
    if (asprintf(&anchored, "^(%s)", pattern) < 0) return pk_problem(error, "out of memory");
    s->has_origin = regcomp(&s->origin, anchored, REG_EXTENDED | REG_NOSUB) == 0;
    free(anchored);
    return s->has_origin || pk_problem(error, "--require-api-key-origin is no regular expression");
}

static bool open_keys(pk_server *s, char *error) {
    if (!s->settings->api_keys) return true;
    s->keys = pk_keys_open(s->settings->keys_path);
    if (!s->keys) return pk_problem(error, "out of memory");
    if (access(s->settings->keys_path, F_OK) != 0)
        pk_log("%s is not there yet: `pronk serve keys add` makes it", s->settings->keys_path);
    return pk_keys_read(s->keys, error);
}

static bool open_parts(pk_server *s, const pk_server_options *o, char *error) {
    s->settings = o->settings;
    pk_windows_init(&s->windows, s->settings);
    s->quotas = pk_quotas_open(MOST_CLIENTS / s->windows.n, s->windows.seconds, s->windows.n);
    s->metrics = pk_metrics_open();
    s->work = pk_work_open(WORKERS);
    if (!s->quotas || !s->metrics || !s->work) return pk_problem(error, "out of memory");
    if (!raise_file_limit(s->settings, error) || !open_origin(s, error) || !open_keys(s, error) ||
        !pk_proxies_read(&s->proxies, s->settings->trusted_proxy, error))
        return false;
    s->glossaries = pk_glossaries_open(s->settings->glossaries, error);
    if (!s->glossaries) return false;
    s->models = pk_models_open(o, s->work, error);
    if (!s->models) return false;
    const int fd = pk_listen(s->settings, error);
    return fd >= 0 && pk_http_open(s, fd, error);
}

static void close_parts(pk_server *s) {
    pk_http_close(s->http);
    pk_work_close(s->work);
    pk_models_close(s->models);
    pk_glossaries_close(s->glossaries);
    pk_keys_close(s->keys);
    pk_quotas_close(s->quotas);
    pk_metrics_close(s->metrics);
    pk_proxies_free(&s->proxies);
    if (s->has_origin) regfree(&s->origin);
}

/* ---- running ---- */

static void reload(pk_server *s, bool models) {
    char error[PK_ERROR_ROOM], text[64];
    if (models) {
        snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%.0f", pk_seconds() * 1e6);
        pk_notify(text);
        if (!pk_models_rescan(s->models, error)) pk_log("models stay as they were: %s", error);
    }
    if (s->keys && (models || pk_keys_changed(s->keys)) && !pk_keys_read(s->keys, error))
        pk_log("keys stay as they were: %s", error);
    if (models && !pk_http_renew(s->http, error))
        pk_log("the certificate stays as it was: %s", error);
    if (models) pk_log("models, keys and certificate were read again");
    if (models) pk_notify("READY=1");
}

/* the next signal, or 0 after a moment */
static int next_signal(const sigset_t *set) {
    const struct timespec moment = { .tv_nsec = TICK_MS * 1000000L };
    const int             got = sigtimedwait(set, NULL, &moment);
    return got > 0 ? got : 0;
}

static void serve(pk_server *s, const sigset_t *set) {
    for (double next = 0;;) {
        const int got = next_signal(set);
        if (got == SIGTERM || got == SIGINT) return;
        if (got == SIGHUP) reload(s, true);
        pk_http_tick(s->http);
        if (pk_seconds() < next) continue;
        next = pk_seconds() + 1;
        pk_models_tick(s->models);
        reload(s, false);
    }
}

/* A second signal, or too long a wait, ends what is on its way. */
static void drain(pk_server *s, const sigset_t *set) {
    const double begin = pk_seconds();
    pk_notify("STOPPING=1");
    pk_log("ending: what was accepted is answered");
    pk_http_stop_accepting(s->http);
    while (!pk_http_is_quiet(s->http)) {
        const int got = next_signal(set);
        pk_http_tick(s->http);
        if (got == SIGTERM || got == SIGINT || pk_seconds() - begin > DRAIN_SECONDS)
            pk_http_cancel_all(s->http);
    }
}

static void say_ready(const pk_server *s, int fd, const char *decode) {
    char         name[128];
    pk_languages l;
    pk_listen_name(fd, s->settings, name, sizeof name);
    const bool known = pk_models_languages(s->models, &l);
    pk_log("listening on %s%s, %zu languages, decoding: %s", name, s->prefix, known ? l.n : 0,
           decode ? decode : "greedy");
    if (known) pk_languages_free(&l);
    pk_notify("READY=1");
}

/* LibreTranslate takes "prefix" and "/prefix"; a slash at its end would be one too many */
static char *make_prefix(const char *text) {
    char *prefix = NULL;
    if (!text) text = "";
    text += *text == '/';
    if (asprintf(&prefix, "%s%s", *text ? "/" : "", text) < 0) return NULL;
    const size_t n = strlen(prefix);
    if (n && prefix[n - 1] == '/') prefix[n - 1] = '\0';
    return prefix;
}

/* What a model leaves goes back to the system, and what the next one takes comes fresh from it: by itself the
 * allocator would keep ever larger blocks, and clearing one of those for a session touches all of it. */
static void set_allocator(void) {
    enum { OWN_BLOCK = 128 << 10 }; /* bytes from which a block is a mapping of its own */
    mallopt(M_MMAP_THRESHOLD, OWN_BLOCK);
}

/* signals are blocked before there are threads, which inherit that: only this one takes them */
int pk_serve(const pk_server_options *options, char *error) {
    pk_server s = { 0 };
    sigset_t  set;
    char     *prefix = make_prefix(options->settings->url_prefix);
    s.prefix = prefix ? prefix : "";
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    set_allocator();
    json_object_seed(0);
    sqlite3_initialize();
    pk_log_open(options->quiet, options->settings->access_log);
    const bool open = open_parts(&s, options, error);
    if (open) {
        say_ready(&s, pk_http_socket(s.http), options->translator.decode);
        serve(&s, &set);
        drain(&s, &set);
    }
    close_parts(&s);
    free(prefix);
    return open ? 0 : 1;
}
