/* certificate.c - the certificate and the private key for TLS, read from files. */
#include "certificate.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

/* the text of a file; the caller frees; NULL: `error` */
static char *read_text(const char *path, const char *option, char *error) {
    enum { MOST = 1 << 20 };
    char *text = NULL;
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!path) return pk_problem(error, "--ssl needs %s FILE", option), NULL;
    if (file && (text = calloc(1, MOST)))
        if (!fread(text, 1, MOST - 1, file)) errno = ENODATA;
    if (!text || !*text) {
        pk_problem(error, "%s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    }
    if (file) fclose(file);
    return text;
}

static enum MHD_Result refuse(void *user, struct MHD_Connection *c, const char *path,
                              const char *method, const char *version, const char *data, size_t *n,
                              void **context) {
    (void)user, (void)c, (void)path, (void)method, (void)version, (void)data, (void)n;
    (void)context;
    return MHD_NO;
}

/* a server that nobody can reach is only started with a pair that belongs together */
static bool is_usable(const pk_certificate *c) {
    struct MHD_Daemon *d = MHD_start_daemon(MHD_USE_TLS | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
                                            refuse, NULL, MHD_OPTION_HTTPS_MEM_CERT, c->chain,
                                            MHD_OPTION_HTTPS_MEM_KEY, c->key, MHD_OPTION_END);
    if (d) MHD_stop_daemon(d);
    return d != NULL;
}

bool pk_certificate_read(const pk_settings *s, pk_certificate *out, char *error) {
    *out = (pk_certificate){ 0 };
    if (!s->ssl) return true;
    out->chain = read_text(s->certificate, "--ssl-cert", error);
    out->key = out->chain ? read_text(s->private_key, "--ssl-key", error) : NULL;
    if (out->key && is_usable(out)) return true;
    if (out->key)
        pk_problem(error, "%s and %s are no certificate and its key, as PEM", s->certificate,
                   s->private_key);
    pk_certificate_free(out);
    return false;
}

bool pk_certificate_equal(const pk_certificate *a, const pk_certificate *b) {
    if (!a->chain || !b->chain) return a->chain == b->chain;
    return !strcmp(a->chain, b->chain) && !strcmp(a->key, b->key);
}

void pk_certificate_free(pk_certificate *c) {
    free(c->chain);
    free(c->key);
    *c = (pk_certificate){ 0 };
}
