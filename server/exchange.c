/* exchange.c - one request and its answer: making, answering, freeing. */
#include "exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "routes.h"
#include "seconds.h"
#include "stream.h"
#include "translation.h"

pk_exchange *pk_exchange_new(struct pk_server *server) {
    pk_exchange *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    x->server = server;
    x->began = pk_seconds();
    pthread_mutex_init(&x->lock, NULL);
    return x;
}

void pk_exchange_free(pk_exchange *x) {
    if (!x) return;
    pk_http_request *r = &x->request;
    pk_translation_free(x);
    pk_stream_free(x->stream);
    pk_fields_free(&r->fields);
    char *const text[] = { r->if_none_match, r->query,          r->content_type, r->origin,
                           r->authorization, r->forwarded,      r->body,         x->answer.body,
                           x->client,        r->accept_language };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) free(text[i]);
    pthread_mutex_destroy(&x->lock);
    free(x);
}

/* what a client gets where there is no memory for more */
static void answer_nothing(pk_exchange *x) {
    x->answer = (pk_http_answer){ .status = 503, .type = "application/json" };
}

void pk_exchange_answer(pk_exchange *x, int status, json_t *json) {
    pk_http_answer *a = &x->answer;
    if (!a->status) {
        char *text =
            json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
        if (text)
            *a = (pk_http_answer){ .status = status,
                                   .type = "application/json",
                                   .body = text,
                                   .size = strlen(text),
                                   .retry_after = a->retry_after,
                                   .location = a->location };
        else
            answer_nothing(x);
    }
    json_decref(json);
}

void pk_exchange_answer_text(pk_exchange *x, const char *type, const char *text) {
    char *copy = strdup(text);
    if (x->answer.status) return free(copy);
    if (!copy) return answer_nothing(x);
    x->answer = (pk_http_answer){ .status = 200, .type = type, .body = copy, .size = strlen(copy) };
}

/* messages may quote what the client sent; what is not UTF-8 there cannot be quoted */
void pk_exchange_fail(pk_exchange *x, int status, const char *format, ...) {
    char    text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *key = x->route && x->route->error_key ? x->route->error_key : "error";
    json_t     *message = json_string(text);
    if (!message) message = json_string("Invalid request");
    pk_exchange_answer(x, status, json_pack("{so}", key, message));
}
