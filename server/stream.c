/* stream.c - POST /translate/stream: sentences as they come, in order, as server-sent events. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "libre.h"
#include "live.h"
#include "plain_text.h"
#include "routes.h"
#include "translation.h"
#include "work.h"

enum { MOST_TILES = 64, BLOCK = 16 << 10 }; /* of a call; bytes that are copied at a time */

void pk_stream_free(pk_stream *s) {
    if (!s) return;
    free(s->text);
    free(s->body);
    free(s);
}

/* ---- events ---- */

static void print_event(FILE *out, const char *kind, json_t *data) {
    char *text = data ? json_dumps(data, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (*kind) fprintf(out, "event: %s\n", kind);
    fprintf(out, "data: %s\n\n", text ? text : "{\"error\":\"out of memory\"}");
    free(text);
    json_decref(data);
}

/* a sentence: where it stands in its text, and what it was translated into */
static json_t *sentence(const pk_exchange *x, size_t k) {
    const pk_translation *t = x->translation;
    const pk_tiling      *l = t->live;
    const pk_tile        *tile = &l->tile[l->first + k];
    const pk_text         text = pk_translation_text(t, k);
    const size_t          end = tile->begin + pk_text_characters(t->text[k].data, t->text[k].size);
    json_t               *made =
        json_pack("{sIs[II]so}", "text", (json_int_t)tile->text, "source", (json_int_t)tile->begin,
                  (json_int_t)end, "translatedText", json_stringn(text.data, text.size));
    if (made && l->alignment) json_object_set_new(made, "links", pk_live_links(t, l->first + k, 0));
    return made;
}

/* what a call gave, as the answer: the HTTP thread sends it */
static void render(pk_exchange *x) {
    const pk_translation *t = x->translation;
    pk_stream            *s = x->stream;
    char                 *text = NULL;
    size_t                size;
    FILE                 *out = open_memstream(&text, &size);
    if (!out) return pk_exchange_fail(x, 503, "out of memory");
    if (t->detected && !s->at)
        print_event(out, "", json_pack("{so}", "detectedLanguage", pk_libre_language(t)));
    for (size_t k = 0; k < t->n; k++) print_event(out, "", sentence(x, k));
    s->at += t->n;
    s->over = s->at == s->n;
    if (s->over) print_event(out, "end", json_object());
    if (fclose(out))
        pk_exchange_fail(x, 503, "out of memory");
    else
        pk_exchange_answer_text(x, "text/event-stream", text);
    free(text);
}

/* ---- the next tiles ---- */

/* the translation's texts are borrowed from the stream's here, and its own afterwards */
static bool take_chunk(pk_exchange *x) {
    pk_translation *t = x->translation;
    pk_stream      *s = x->stream;
    const size_t    left = s->n - s->at;
    t->n = s->chunk < left ? s->chunk : left;
    t->live->first = s->at;
    memcpy(t->text, s->text + s->at, t->n * sizeof *t->text);
    s->chunk = s->chunk * 2 < MOST_TILES ? s->chunk * 2 : MOST_TILES;
    return t->n > 0;
}

static bool start(pk_exchange *x) {
    pk_translation *t = x->translation;
    pk_stream      *s = calloc(1, sizeof *s);
    if (!s || !t->live) return free(s), false;
    x->stream = s;
    s->text = t->text;
    s->n = t->n;
    s->chunk = 1;
    t->text = calloc(MOST_TILES, sizeof *t->text);
    return t->text && take_chunk(x);
}

/* ---- sending ---- */

/* the answer of the last call becomes what is sent; an error is the last event */
static void take_answer(pk_exchange *x) {
    pk_stream      *s = x->stream;
    pk_http_answer *a = &x->answer;
    char           *text = a->body;
    free(s->body);
    s->body = NULL;
    if (a->status != 200) {
        s->over = true;
        if (asprintf(&text, "event: error\ndata: %s\n\n", a->body ? a->body : "{}") < 0)
            text = NULL;
        free(a->body);
    }
    a->body = NULL;
    a->type = NULL; /* it is taken */
    s->body = text;
    s->size = text ? strlen(text) : 0;
    s->sent = 0;
    if (!text) s->over = true;
}

/* the HTTP thread wants more, and there is none: a worker makes it */
static void go_on(pk_exchange *x) {
    x->answer = (pk_http_answer){ 0 };
    take_chunk(x);
    pk_translation_again(x);
    pk_http_suspend(x);
    pk_work_push(x->server->work, x);
}

static ssize_t read_more(void *user, uint64_t position, char *out, size_t room) {
    pk_exchange *x = user;
    pk_stream   *s = x->stream;
    (void)position;
    if (x->answer.type) take_answer(x);
    if (s->sent == s->size && s->over) return MHD_CONTENT_READER_END_OF_STREAM;
    if (s->sent == s->size) return go_on(x), 0;
    pk_http_sending(x);
    const size_t n = s->size - s->sent < room ? s->size - s->sent : room;
    memcpy(out, s->body + s->sent, n);
    s->sent += n;
    return (ssize_t)n;
}

struct MHD_Response *pk_stream_respond(pk_exchange *x) {
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_more, x, NULL);
    if (!r) return NULL;
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(r, "X-Accel-Buffering", "no"); /* a proxy may not keep events back */
    return r;
}

void pk_stream_translate(pk_exchange *x) {
    if (!pk_libre_read(x, true)) return;
    x->translation->render = render;
    pk_translation_begin(x);
    if (!pk_live_cut(x) || start(x)) return;
    pk_exchange_fail(x, 503, "out of memory");
}
