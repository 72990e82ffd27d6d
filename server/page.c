/* page.c - the page at /: its files, which the build makes part of the program (Makefile). */
#include "page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "routes.h"
#include "state.h"

/* every file of the page, once: its name in C, where it is served, what it is */
#define PAGE_MAP(X)                                              \
    X(index_html, "/", "text/html; charset=utf-8")               \
    X(page_css, "/page.css", "text/css; charset=utf-8")          \
    X(page_js, "/page.js", "text/javascript; charset=utf-8")     \
    X(live_js, "/live.js", "text/javascript; charset=utf-8")     \
    X(words_js, "/words.js", "text/javascript; charset=utf-8")   \
    X(server_js, "/server.js", "text/javascript; charset=utf-8") \
    X(passes_js, "/passes.js", "text/javascript; charset=utf-8") \
    X(icon_svg, "/icon.svg", "image/svg+xml")

#define PAGE_EXTERN(name, path, type)       \
    extern const unsigned char pk_##name[]; \
    extern const unsigned long pk_##name##_size;
PAGE_MAP(PAGE_EXTERN)

typedef struct page_file {
    const char          *path, *type, *data;
    const unsigned long *size;
} page_file;

#define PAGE_FILE(name, path, type) { path, type, (const char *)pk_##name, &pk_##name##_size },
static const page_file files[] = { PAGE_MAP(PAGE_FILE) };

static const page_file *find(const char *path) {
    size_t i = 0;
    while (strcmp(files[i].path, path)) i++; /* every route of this handler has its file */
    return &files[i];
}

void pk_page_headers(struct MHD_Response *r, const char *tag) {
    static const char *const header[][2] = {
        { "Content-Security-Policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
          "'self'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
        { "X-Content-Type-Options", "nosniff" },
        { "X-Frame-Options", "DENY" },
        { "Referrer-Policy", "no-referrer" },
        { "Cross-Origin-Opener-Policy", "same-origin" },
        { "Cache-Control", "no-cache" }, /* kept, but the tag is asked about */
    };
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        MHD_add_response_header(r, header[i][0], header[i][1]);
    MHD_add_response_header(r, MHD_HTTP_HEADER_ETAG, tag);
}

/* The page is found at /prefix as well as at /prefix/, so what it refers to is named with the prefix; without
 * one it is named as it is, so that a proxy may add one of its own. */
static char *with_prefix(const page_file *f, const char *prefix) {
    static const char mark[] = "=\"@/"; /* of attributes */
    const size_t      n = sizeof mark - 1;
    char             *text = NULL;
    size_t            size;
    FILE             *out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (const char *at = f->data, *end = f->data + *f->size; at < end;) {
        const char *next = memmem(at, (size_t)(end - at), mark, n);
        fwrite(at, 1, (size_t)((next ? next : end) - at), out);
        if (next) fprintf(out, "=\"%s%s", prefix, *prefix ? "/" : "");
        at = next ? next + n : end;
    }
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

static void make_tag(const char *text, char out[20]) {
    uint64_t h = 0xCBF29CE484222325u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001B3u;
    snprintf(out, 20, "\"%016" PRIx64 "\"", h);
}

void pk_page_answer(pk_exchange *x) {
    const page_file *f = find(x->route->path);
    if (x->server->settings->disable_web_ui) return pk_exchange_fail(x, 404, "Not Found");
    char *text = with_prefix(f, x->server->prefix);
    if (!text) return pk_exchange_fail(x, 503, "out of memory");
    const char *known = x->request.if_none_match;
    char        tag[20];
    make_tag(text, tag);
    const bool same = known && strstr(known, tag);
    pk_exchange_answer_text(x, f->type, same ? "" : text);
    if (same) x->answer.status = 304;
    memcpy(x->answer.tag, tag, sizeof tag);
    free(text);
}
