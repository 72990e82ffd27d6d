/* servable.c - opening and closing a model and its translators, within the bound on memory. */
#include "servable.h"

#include <dirent.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory_use.h"
#include "problem.h"
#include "seconds.h"

enum { MIB = 1 << 20, CACHE_MIB = 64, LIVE_CACHE_MIB = 16 };

/* bytes of the files in a folder, and of those in folders within it */
static uint64_t folder_bytes(const char *path, int deeper) {
    uint64_t       bytes = 0;
    struct dirent *d;
    DIR           *folder = opendir(path);
    while (folder && (d = readdir(folder))) {
        struct stat file;
        char       *name = NULL;
        if (d->d_name[0] != '.' && asprintf(&name, "%s/%s", path, d->d_name) > 0 &&
            !stat(name, &file)) {
            if (S_ISREG(file.st_mode)) bytes += (uint64_t)file.st_size;
            if (S_ISDIR(file.st_mode) && deeper) bytes += folder_bytes(name, deeper - 1);
        }
        free(name);
    }
    if (folder) closedir(folder);
    return bytes;
}

static uint64_t size_of(const pk_servable *e) {
    return S_ISDIR(e->file.st_mode) ? folder_bytes(e->path, 1) : (uint64_t)e->file.st_size;
}

/* the open servable that nobody uses and that was last used before this time, longest ago; NULL: none */
static pk_servable *find_idle(pk_models *m, double before) {
    pk_servable *oldest = NULL;
    for (size_t i = 0; i < m->n; i++) {
        pk_servable *e = m->servable[i];
        if (e->state != PK_SERVABLE_OPEN || e->users || e->used_at >= before) continue;
        if (!oldest || e->used_at < oldest->used_at) oldest = e;
    }
    return oldest;
}

/* under the lock: takes all out of a servable, which is then shut, and remembers what it has done */
static void take_apart(pk_models *m, pk_servable *e, pk_servable *out) {
    *out = (pk_servable){ .model = e->model };
    for (int d = 0; d < PK_N_DECODINGS; d++) {
        pk_stats stats = { 0 };
        out->translator[d] = e->translator[d];
        if (e->translator[d]) pk_translator_stats(e->translator[d], &stats);
        m->past.sentences += stats.sentences;
        m->past.source_tokens += stats.source_tokens;
        m->past.target_tokens += stats.target_tokens;
        m->past.looped += stats.looped;
        m->past.mended += stats.mended;
        e->translator[d] = NULL;
    }
    e->model = NULL;
    e->state = PK_SERVABLE_SHUT;
}

/* closing takes its time: not under the lock */
static void close_parts(pk_servable *e) {
    for (int d = 0; d < PK_N_DECODINGS; d++) pk_translator_close(e->translator[d]);
    pk_model_close(e->model);
    malloc_trim(0);
}

void pk_servable_shut(pk_models *m, pk_servable *e) {
    pk_servable parts;
    pthread_mutex_lock(&m->lock);
    take_apart(m, e, &parts);
    pthread_mutex_unlock(&m->lock);
    close_parts(&parts);
}

/* closes the idlest servable that was last used before this time; false: there is none */
static bool shut_idle(pk_models *m, double before) {
    pk_servable parts;
    pthread_mutex_lock(&m->lock);
    pk_servable *e = find_idle(m, before);
    if (e) take_apart(m, e, &parts);
    pthread_mutex_unlock(&m->lock);
    if (e) close_parts(&parts);
    return e != NULL;
}

void pk_models_tick(pk_models *m) {
    const int64_t idle = m->options->settings->idle;
    if (idle > 0)
        while (shut_idle(m, pk_seconds() - (double)idle)) continue;
}

void pk_servable_trim(pk_models *m, double before) {
    while (pk_memory_used() > m->memory && shut_idle(m, before)) continue;
}

/* closes others until there is room for what this one will take */
static bool make_room(pk_models *m, const pk_servable *e) {
    const uint64_t wanted = e->bytes ? e->bytes : size_of(e) + size_of(e) / 2;
    while (pk_memory_used() + wanted > m->memory)
        if (!shut_idle(m, pk_seconds())) return false;
    return true;
}

/* "all" and sizes; a list of keys, as LibreTranslate has it, caches for everybody */
static int64_t cache_bytes(const char *text) {
    if (!text || !*text || !strcmp(text, "off")) return 0;
    char         *end;
    const int64_t mib = strtoll(text, &end, 10);
    return (*end || mib < 0 || mib > INT64_MAX / MIB ? CACHE_MIB : mib) * MIB;
}

/* Greedy search is jacobi with drafts: the same output in fewer passes. Sentences that a request does not
 * change come from the cache. */
static void make_live(pk_translator_options *o, char *decode, size_t room) {
    static const char greedy[] = "greedy";
    const size_t      n = sizeof greedy - 1;
    if (!o->decode) o->decode = "jacobi";
    if (!strncmp(o->decode, greedy, n) && (!o->decode[n] || o->decode[n] == ':')) {
        snprintf(decode, room, "jacobi%s", o->decode + n);
        o->decode = decode;
    }
    if (o->cache_bytes < LIVE_CACHE_MIB * MIB) o->cache_bytes = LIVE_CACHE_MIB * MIB;
}

static pk_status open_translator(pk_models *m, pk_servable *e, pk_decoding d, pk_translator **out) {
    char                  decode[256];
    const pk_settings    *s = m->options->settings;
    pk_translator_options o = m->options->translator;
    o.size = sizeof o;
    o.from = e->own.from;
    o.to = e->own.to;
    o.max_waiting = s->queue;
    o.cache_bytes = cache_bytes(s->translation_cache);
    o.retry_loops = 1;
    o.alignment = d != PK_DECODING_PLAIN;
    if (d == PK_DECODING_LIVE) make_live(&o, decode, sizeof decode);
    if (d == PK_DECODING_BEAM || d == PK_DECODING_WIDE) {
        o.n_best = d == PK_DECODING_BEAM ? PK_BEAM : PK_WIDE_BEAM;
        snprintf(decode, sizeof decode, "beam:size=%d", (int)o.n_best);
        o.decode = decode;
    }
    return pk_translator_open(e->model, &o, out);
}

static pk_status open_missing(pk_models *m, pk_servable *e, pk_decoding d) {
    pk_status status = PK_OK;
    if (!e->model) {
        const pk_model_options o = { .size = sizeof o, .type = m->options->type };
        status = pk_model_open(e->path, &o, &e->model);
        if (status == PK_OK && !e->chosen)
            pk_servable_ask_model(e->model, &e->own); /* names may be wrong */
    }
    if (status == PK_OK && !e->translator[d]) {
        pk_translator *made = NULL; /* others may count the stats of translators that are open */
        status = open_translator(m, e, d, &made);
        pthread_mutex_lock(&m->lock);
        e->translator[d] = made;
        pthread_mutex_unlock(&m->lock);
    }
    return status;
}

/* what waited may go on: it finds the servable open, or tries to open it */
static void end_opening(pk_models *m, pk_servable *e) {
    e->state = e->model ? PK_SERVABLE_OPEN : PK_SERVABLE_SHUT;
    e->used_at = pk_seconds();
    for (pk_exchange *x = e->parked, *next; x; x = next) {
        next = x->next;
        pk_work_push(m->work, x);
    }
    e->parked = NULL;
}

/* how much memory it takes is learned from the first time: files may be packed, weights unpacked. What
 * others gave back to make room for it is not to be taken off. */
static pk_use open_within_bound(pk_models *m, pk_servable *e, pk_decoding d, char *error) {
    const bool   first = !e->model;
    const double begin = pk_seconds();
    if (first && !make_room(m, e)) {
        pk_problem(error, "%s: there is no room for it within --memory", e->path);
        return PK_USE_FULL;
    }
    const uint64_t before = pk_memory_used();
    if (open_missing(m, e, d) != PK_OK) {
        pk_problem(error, "%s", pk_last_error());
        return PK_USE_FAILED;
    }
    const uint64_t after = pk_memory_used();
    if (first && after > before && (!e->bytes || after - before < e->bytes))
        e->bytes = after - before; /* the least: others take memory at the same time */
    pk_servable_trim(m, pk_seconds());
    if (first) pk_log("opened %s in %.1f s", e->path, pk_seconds() - begin);
    return PK_USE_READY;
}

pk_use pk_servable_open(pk_models *m, pk_servable *e, pk_decoding d, char *error) {
    const pk_use use = open_within_bound(m, e, d, error);
    pthread_mutex_lock(&m->lock);
    e->users += use == PK_USE_READY;
    end_opening(m, e);
    pthread_mutex_unlock(&m->lock);
    return use;
}
