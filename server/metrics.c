/* metrics.c - counters for Prometheus, and the page that shows them. */
#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_use.h"
#include "routes.h"
#include "state.h"

/* the last one is for paths that are not served */
enum { MOST_ROUTES = 32, MOST_STATUS = 16 };

typedef struct tally {
    int      status; /* 0: not used */
    uint64_t n;
    double   seconds;
} tally;

struct pk_metrics {
    pthread_mutex_t lock;
    tally           route[MOST_ROUTES + 1][MOST_STATUS];
    uint64_t        in_flight, texts, bytes, gone;
};

pk_metrics *pk_metrics_open(void) {
    pk_metrics *m = calloc(1, sizeof *m);
    if (m) pthread_mutex_init(&m->lock, NULL);
    return m;
}

void pk_metrics_close(pk_metrics *m) {
    if (!m) return;
    pthread_mutex_destroy(&m->lock);
    free(m);
}

void pk_metrics_begin(pk_metrics *m) {
    pthread_mutex_lock(&m->lock);
    m->in_flight++;
    pthread_mutex_unlock(&m->lock);
}

void pk_metrics_end(pk_metrics *m, const pk_exchange *x, int status, double seconds) {
    const size_t at = x->route ? (size_t)(x->route - pk_routes) : MOST_ROUTES;
    pthread_mutex_lock(&m->lock);
    m->in_flight--;
    tally *t = m->route[at < MOST_ROUTES ? at : MOST_ROUTES];
    for (int i = 0; i < MOST_STATUS; i++, t++) {
        if (t->status && t->status != status) continue;
        t->status = status;
        t->n++;
        t->seconds += seconds;
        break;
    }
    pthread_mutex_unlock(&m->lock);
}

void pk_metrics_add_text(pk_metrics *m, size_t texts, size_t bytes) {
    pthread_mutex_lock(&m->lock);
    m->texts += texts;
    m->bytes += bytes;
    pthread_mutex_unlock(&m->lock);
}

void pk_metrics_add_gone(pk_metrics *m) {
    pthread_mutex_lock(&m->lock);
    m->gone++;
    pthread_mutex_unlock(&m->lock);
}

/* ---- the page ---- */

static void print_head(FILE *out, const char *name, const char *kind, const char *help) {
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void print_number(FILE *out, const char *name, const char *kind, const char *help,
                         uint64_t n) {
    print_head(out, name, kind, help);
    fprintf(out, "%s %" PRIu64 "\n", name, n);
}

/* the name is LibreTranslate's, so that its dashboards go on working; two labels are gone */
static void print_requests(FILE *out, const pk_metrics *m) {
    static const char name[] = "libretranslate_http_request_duration_seconds";
    print_head(out, name, "summary", "Time spent on request");
    for (size_t i = 0; i <= MOST_ROUTES; i++)
        for (const tally *t = m->route[i]; t < m->route[i] + MOST_STATUS && t->status; t++) {
            const char *path = i < MOST_ROUTES ? pk_routes[i].path : "other";
            fprintf(out, "%s_count{endpoint=\"%s\",status=\"%d\"} %" PRIu64 "\n", name, path,
                    t->status, t->n);
            fprintf(out, "%s_sum{endpoint=\"%s\",status=\"%d\"} %.6f\n", name, path, t->status,
                    t->seconds);
        }
}

static void print_models(FILE *out, pk_models *models) {
    pk_models_stats stats;
    pk_models_count(models, &stats);
    print_number(out, "pronk_models", "gauge", "Models that are served", stats.known);
    print_number(out, "pronk_models_open", "gauge", "Of those, in memory", stats.open);
    print_number(out, "pronk_sentences_total", "counter", "Sentences decoded", stats.sentences);
    print_number(out, "pronk_source_tokens_total", "counter", "Tokens read", stats.source_tokens);
    print_number(out, "pronk_target_tokens_total", "counter", "Tokens written",
                 stats.target_tokens);
    print_number(out, "pronk_loops_total", "counter",
                 "Sentences decoded again: the first output repeated itself or did not end",
                 stats.looped);
    print_number(out, "pronk_loops_mended_total", "counter",
                 "Of those: the second output did not loop", stats.mended);
}

static char *page(pk_server *s) {
    char  *text = NULL;
    size_t size;
    FILE  *out = open_memstream(&text, &size);
    if (!out) return NULL;
    pthread_mutex_lock(&s->metrics->lock);
    const pk_metrics copy = *s->metrics;
    pthread_mutex_unlock(&s->metrics->lock);
    print_requests(out, &copy);
    print_number(out, "libretranslate_http_requests_in_flight", "gauge", "Active requests",
                 copy.in_flight);
    print_number(out, "pronk_texts_total", "counter", "Texts to translate", copy.texts);
    print_number(out, "pronk_text_bytes_total", "counter", "Bytes of those", copy.bytes);
    print_number(out, "pronk_vanished_total", "counter", "Clients that did not wait", copy.gone);
    print_models(out, s->models);
    print_number(out, "process_resident_memory_bytes", "gauge", "Memory", pk_memory_used());
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* as long as the wrong token, and not a bit longer: the time shows nothing */
static bool is_token(const char *given, const char *token) {
    static const char begin[] = "Bearer ";
    unsigned          differ = 0;
    if (!given || strncmp(given, begin, sizeof begin - 1)) return false;
    given += sizeof begin - 1;
    const size_t n = strlen(given), m = strlen(token);
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)given[i] ^ (unsigned char)token[m ? i % m : 0];
    return n == m && !differ;
}

void pk_metrics_answer(pk_exchange *x) {
    const pk_settings *s = x->server->settings;
    if (!s->metrics) return pk_exchange_fail(x, 404, "Not Found");
    if (s->metrics_token && *s->metrics_token &&
        !is_token(x->request.authorization, s->metrics_token))
        return pk_exchange_fail(x, 401, "Unauthorized");
    char *text = page(x->server);
    pk_exchange_answer_text(x, "text/plain; version=0.0.4; charset=utf-8", text ? text : "");
    free(text);
}
