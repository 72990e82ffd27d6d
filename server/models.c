/* models.c - the list of models that are served: who translates what, and who holds which. */
#include "models.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory_use.h"
#include "problem.h"
#include "seconds.h"
#include "servable.h"

static const char pivot[] = "en";

/* ---- which languages a list of servables has ---- */

static int add_code(pk_languages *l, const char *code) {
    const int at = pk_languages_find(l, code);
    if (at >= 0) return at;
    strcpy(l->code[l->n], code);
    return (int)l->n++;
}

static int by_name(const void *a, const void *b) {
    const bool first = !strcmp(a, pivot), second = !strcmp(b, pivot);
    char       one[PK_NAME_ROOM], two[PK_NAME_ROOM];
    if (first || second) return second - first;
    pk_language_name(a, "en", one);
    pk_language_name(b, "en", two);
    return strcmp(one, two);
}

/* every language is also a way to itself, as in Argos Translate */
static void add_ways(pk_servable *const *servable, size_t n, pk_languages *l) {
    const int center = pk_languages_find(l, pivot);
    for (size_t i = 0; i < n; i++) {
        const int from = pk_languages_find(l, servable[i]->pair.from);
        l->way[(size_t)from * l->n + (size_t)pk_languages_find(l, servable[i]->pair.to)] = true;
    }
    for (size_t i = 0; i < l->n; i++)
        for (size_t j = 0; j < l->n; j++)
            if (i == j || (center >= 0 && l->way[i * l->n + (size_t)center] &&
                           l->way[(size_t)center * l->n + j]))
                l->way[i * l->n + j] = true;
}

static bool list_languages(pk_servable *const *servable, size_t n, pk_languages *out, char *error) {
    *out = (pk_languages){ .code = calloc(2 * n + 1, sizeof *out->code) };
    for (size_t i = 0; out->code && i < n; i++) {
        add_code(out, servable[i]->pair.from);
        add_code(out, servable[i]->pair.to);
    }
    if (out->code) qsort(out->code, out->n, sizeof *out->code, by_name);
    if (out->code) out->way = calloc(out->n * out->n + 1, sizeof *out->way);
    if (!out->way) return pk_languages_free(out), pk_problem(error, "out of memory");
    add_ways(servable, n, out);
    return true;
}

pk_models *pk_models_open(const pk_server_options *o, pk_work *work, char *error) {
    pk_models *m = calloc(1, sizeof *m);
    if (!m) return pk_problem(error, "out of memory"), NULL;
    m->options = o;
    m->work = work;
    m->memory = (uint64_t)o->settings->memory << 20;
    if (!m->memory) m->memory = pk_memory_there() / 5 * 4;
    pthread_mutex_init(&m->lock, NULL);
    m->servable = pk_models_scan(o, &m->n, error);
    if (m->servable && list_languages(m->servable, m->n, &m->languages, error)) return m;
    pk_models_close(m);
    return NULL;
}

/* takes a servable apart that is in no list and in nobody's hands */
static void discard(pk_models *m, pk_servable *e) {
    pk_servable_shut(m, e);
    pk_servable_free(e);
}

void pk_models_close(pk_models *m) {
    if (!m) return;
    for (size_t i = 0; i < m->n; i++) discard(m, m->servable[i]);
    free(m->servable);
    pk_languages_free(&m->languages);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- rescan ---- */

static bool is_same(const pk_servable *a, const pk_servable *b) {
    return !strcmp(a->path, b->path) && a->file.st_ino == b->file.st_ino &&
           a->file.st_dev == b->file.st_dev && a->file.st_size == b->file.st_size &&
           a->file.st_mtim.tv_sec == b->file.st_mtim.tv_sec &&
           a->file.st_mtim.tv_nsec == b->file.st_mtim.tv_nsec &&
           !memcmp(&a->pair, &b->pair, sizeof a->pair);
}

/* servables of the old list that are still right take the place of their like in the new one */
static void keep_same(pk_servable **old, size_t n_old, pk_servable **list, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n_old; j++) {
            if (!old[j] || !is_same(old[j], list[i])) continue;
            pk_servable_free(list[i]);
            list[i] = old[j];
            old[j] = NULL;
            break;
        }
}

static void free_list(pk_servable **list, size_t n) {
    for (size_t i = 0; i < n; i++) pk_servable_free(list[i]);
    free(list);
}

bool pk_models_rescan(pk_models *m, char *error) {
    size_t        n;
    pk_languages  languages;
    pk_servable **list = pk_models_scan(m->options, &n, error);
    if (!list) return false;
    if (!list_languages(list, n, &languages, error)) return free_list(list, n), false;
    pthread_mutex_lock(&m->lock);
    pk_languages_free(&m->languages);
    m->languages = languages;
    pk_servable **old = m->servable;
    const size_t  n_old = m->n;
    keep_same(old, n_old, list, n);
    m->servable = list;
    m->n = n;
    for (size_t i = 0; i < n_old; i++) { /* held ones are taken apart by who drops them last */
        if (!old[i]) continue;
        old[i]->retired = true;
        if (old[i]->held) old[i] = NULL;
    }
    pthread_mutex_unlock(&m->lock);
    for (size_t i = 0; i < n_old; i++)
        if (old[i]) discard(m, old[i]);
    free(old);
    return true;
}

/* ---- finding and holding ---- */

static pk_servable *find(pk_models *m, const char *from, const char *to) {
    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->servable[i]->pair.from, from) && !strcmp(m->servable[i]->pair.to, to))
            return m->servable[i];
    return NULL;
}

size_t pk_models_find(pk_models *m, const char *from, const char *to, pk_servable *leg[2]) {
    size_t n = 1;
    pthread_mutex_lock(&m->lock);
    leg[0] = find(m, from, to);
    leg[1] = NULL;
    if (!leg[0]) {
        leg[0] = find(m, from, pivot);
        leg[1] = find(m, pivot, to);
        n = leg[0] && leg[1] ? 2 : 0;
    }
    for (size_t i = 0; i < n; i++) leg[i]->held++;
    pthread_mutex_unlock(&m->lock);
    return n;
}

void pk_models_drop(pk_models *m, pk_servable *e) {
    pthread_mutex_lock(&m->lock);
    const bool last = --e->held == 0 && e->retired;
    pthread_mutex_unlock(&m->lock);
    if (last) discard(m, e);
}

/* the one who finds it shut opens it; until that is done, others who need what is missing are parked */
pk_use pk_models_use(pk_models *m, pk_servable *e, pk_decoding d, pk_exchange *x,
                     pk_translator **out) {
    char   error[PK_ERROR_ROOM];
    pk_use use = PK_USE_READY;
    pthread_mutex_lock(&m->lock);
    const bool open = e->translator[d] != NULL, wait = !open && e->state == PK_SERVABLE_OPENING;
    if (open) {
        e->users++;
    } else if (wait) {
        x->next = e->parked;
        e->parked = x;
    } else {
        e->state = PK_SERVABLE_OPENING;
    }
    pthread_mutex_unlock(&m->lock);
    if (wait) return PK_USE_WAIT;
    if (!open) use = pk_servable_open(m, e, d, error);
    if (use != PK_USE_READY)
        pk_log("%s", error);
    else
        *out = e->translator[d]; /* stays while there are users */
    return use;
}

const pk_model *pk_models_model(const pk_servable *e) { return e->model; }

void pk_models_leave(pk_models *m, pk_servable *e) {
    const double now = pk_seconds();
    pthread_mutex_lock(&m->lock);
    e->users--;
    e->used_at = now;
    const bool others = m->n > 1;
    pthread_mutex_unlock(&m->lock);
    if (others) pk_servable_trim(m, now);
}

/* ---- what there is ---- */

bool pk_models_languages(pk_models *m, pk_languages *out) {
    pthread_mutex_lock(&m->lock);
    const pk_languages *l = &m->languages;
    *out = (pk_languages){ .n = l->n,
                           .code = calloc(l->n + 1, sizeof *l->code),
                           .way = calloc(l->n * l->n + 1, sizeof *l->way) };
    const bool done = out->code && out->way;
    if (done) {
        memcpy(out->code, l->code, l->n * sizeof *l->code);
        memcpy(out->way, l->way, l->n * l->n * sizeof *l->way);
    }
    pthread_mutex_unlock(&m->lock);
    if (!done) pk_languages_free(out);
    return done;
}

void pk_languages_free(pk_languages *l) {
    free(l->code);
    free(l->way);
    *l = (pk_languages){ 0 };
}

int pk_languages_find(const pk_languages *l, const char *code) {
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->code[i], code)) return (int)i;
    return -1;
}

/* under the lock nobody takes a translator away to close it */
void pk_models_count(pk_models *m, pk_models_stats *out) {
    pthread_mutex_lock(&m->lock);
    *out = m->past;
    out->known = m->n;
    for (size_t i = 0; i < m->n; i++) {
        out->open += m->servable[i]->state == PK_SERVABLE_OPEN;
        for (int d = 0; d < PK_N_DECODINGS; d++) {
            pk_stats stats = { 0 };
            if (m->servable[i]->translator[d])
                pk_translator_stats(m->servable[i]->translator[d], &stats);
            out->sentences += stats.sentences;
            out->source_tokens += stats.source_tokens;
            out->target_tokens += stats.target_tokens;
            out->looped += stats.looped;
            out->mended += stats.mended;
        }
    }
    pthread_mutex_unlock(&m->lock);
}
