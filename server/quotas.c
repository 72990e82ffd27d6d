/* quotas.c - how many requests a client may make in a minute (an hour, a day), and who broke that too often. */
#include "quotas.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plain_text.h"

enum {
    PARTS = 60,
    FORGIVE = 600,
    SLOTS = 4096
}; /* of a window; seconds; of the table, a power of two */

typedef struct window {
    int64_t  part;         /* the last one that is counted in `count` */
    int64_t  total;        /* of all of them */
    uint32_t count[PARTS]; /* requests of each part, at part % PARTS */
} window;

typedef struct bucket {
    struct bucket *next;          /* in its slot of the table */
    struct bucket *newer, *older; /* all, by when they were last seen */
    int64_t        characters;
    double         offence_at; /* when the last offence was made or forgiven */
    int64_t        offences;
    char          *client;
    window         window[]; /* as many as the quotas have; then the client's text */
} bucket;

struct pk_quotas {
    pthread_mutex_t lock;
    size_t          n, most;
    bucket         *newest, *oldest;
    bucket         *slot[SLOTS];
    size_t          n_windows;
    int64_t         seconds[]; /* of a part of each window */
};

pk_quotas *pk_quotas_open(size_t most, const int64_t *seconds, size_t n) {
    pk_quotas *l = calloc(1, sizeof *l + n * sizeof *seconds);
    if (!l) return NULL;
    pthread_mutex_init(&l->lock, NULL);
    l->most = most ? most : 1;
    l->n_windows = n;
    for (size_t i = 0; i < n; i++) l->seconds[i] = seconds[i] / PARTS;
    return l;
}

void pk_quotas_close(pk_quotas *l) {
    if (!l) return;
    for (bucket *b = l->newest, *older; b; b = older) {
        older = b->older;
        free(b);
    }
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* the table's size is bounded, and chains of a full one are 16 long */
static bucket **slot_of(pk_quotas *l, const char *client) {
    const uint64_t h = pk_text_hash(client);
    return &l->slot[(h ^ h >> 32) & (SLOTS - 1)];
}

static bucket *find(pk_quotas *l, const char *client) {
    bucket *b = *slot_of(l, client);
    while (b && strcmp(b->client, client)) b = b->next;
    return b;
}

static void unlink_age(pk_quotas *l, bucket *b) {
    *(b->newer ? &b->newer->older : &l->newest) = b->older;
    *(b->older ? &b->older->newer : &l->oldest) = b->newer;
}

static void link_newest(pk_quotas *l, bucket *b) {
    b->newer = NULL;
    b->older = l->newest;
    *(l->newest ? &l->newest->newer : &l->oldest) = b;
    l->newest = b;
}

static void forget(pk_quotas *l, bucket *b) {
    bucket **at = slot_of(l, b->client);
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    unlink_age(l, b);
    free(b);
    l->n--;
}

static bucket *make(pk_quotas *l, const char *client) {
    const size_t size = sizeof(bucket) + l->n_windows * sizeof(window);
    bucket      *b = calloc(1, size + strlen(client) + 1);
    if (!b) return NULL;
    b->client = strcpy((char *)b + size, client);
    bucket **slot = slot_of(l, client);
    b->next = *slot;
    *slot = b;
    l->n++;
    return b;
}

/* the client's bucket, made if need be; NULL: no memory, and then nothing is limited */
static bucket *get(pk_quotas *l, const char *client) {
    bucket *b = find(l, client);
    if (b) {
        unlink_age(l, b);
    } else {
        if (l->n >= l->most) forget(l, l->oldest);
        if (!(b = make(l, client))) return NULL;
    }
    link_newest(l, b);
    return b;
}

/* parts that have left the window are no longer counted */
static void move(window *w, int64_t part) {
    if (part - w->part >= PARTS) {
        memset(w->count, 0, sizeof w->count);
        w->total = 0;
        w->part = part;
    }
    while (w->part < part) {
        uint32_t *count = &w->count[++w->part % PARTS];
        w->total -= *count;
        *count = 0;
    }
}

static void move_all(const pk_quotas *l, bucket *b, double now) {
    for (size_t i = 0; i < l->n_windows; i++) move(&b->window[i], (int64_t)now / l->seconds[i]);
}

static void count(window *w, int64_t n) {
    uint32_t     *at = &w->count[w->part % PARTS];
    const int64_t room = (int64_t)UINT32_MAX - *at;
    if (n > room) n = room;
    *at += (uint32_t)n;
    w->total += n;
}

/* the part in which enough requests have left the window for one more */
static int64_t part_with_room(const window *w, int64_t most) {
    int64_t total = w->total;
    int     parts = 1;
    for (; parts < PARTS; parts++) {
        total -= w->count[(w->part + parts) % PARTS];
        if (total < most) break;
    }
    return w->part + parts;
}

/* how long until all windows have room; 0: they have */
static int wait_for_room(const pk_quotas *l, const bucket *b, const int64_t *most, double now,
                         size_t *broken) {
    double wait = 0;
    for (size_t i = l->n_windows; i-- > 0;) {
        const window *w = &b->window[i];
        if (most[i] < 0 || w->total < most[i]) continue;
        *broken = i;
        wait = fmax(wait, fmax(1, (double)(part_with_room(w, most[i]) * l->seconds[i]) - now));
    }
    return (int)ceil(wait);
}

static bool is_limited(const pk_quotas *l, const int64_t *most) {
    bool limited = false;
    for (size_t i = 0; i < l->n_windows; i++) limited |= most[i] >= 0;
    return limited;
}

int pk_quotas_take(pk_quotas *l, const char *client, const int64_t *most, double now,
                   size_t *broken) {
    int seconds = 0;
    if (!is_limited(l, most)) return 0;
    pthread_mutex_lock(&l->lock);
    bucket *b = get(l, client);
    if (b) {
        move_all(l, b, now);
        seconds = wait_for_room(l, b, most, now, broken);
        for (size_t i = 0; i < l->n_windows && !seconds; i++) count(&b->window[i], 1);
    }
    pthread_mutex_unlock(&l->lock);
    return seconds;
}

void pk_quotas_charge(pk_quotas *l, const char *client, int64_t cost, double now) {
    if (cost <= 0) return;
    pthread_mutex_lock(&l->lock);
    bucket *b = find(l, client);
    if (b) {
        move_all(l, b, now);
        for (size_t i = 0; i < l->n_windows; i++) count(&b->window[i], cost);
    }
    pthread_mutex_unlock(&l->lock);
}

/* offences as they stand at this time */
static int64_t offences(bucket *b, double now) {
    while (b->offences > 0 && now - b->offence_at >= FORGIVE) {
        b->offences--;
        b->offence_at += FORGIVE;
    }
    return b->offences;
}

void pk_quotas_report(pk_quotas *l, const char *address, double now) {
    pthread_mutex_lock(&l->lock);
    bucket *b = get(l, address);
    if (b) {
        if (offences(b, now) == 0) b->offence_at = now;
        b->offences++;
    }
    pthread_mutex_unlock(&l->lock);
}

/* of more offences than make a ban none counts: it ends ten minutes after the last */
bool pk_quotas_banned(pk_quotas *l, const char *address, int64_t threshold, double now) {
    bool banned = false;
    if (threshold <= 0) return false;
    pthread_mutex_lock(&l->lock);
    bucket *b = find(l, address);
    if (b) {
        if (b->offences > threshold) b->offences = threshold;
        banned = offences(b, now) >= threshold;
    }
    pthread_mutex_unlock(&l->lock);
    return banned;
}

void pk_quotas_add_characters(pk_quotas *l, const char *client, int64_t n) {
    pthread_mutex_lock(&l->lock);
    bucket *b = get(l, client);
    if (b) b->characters += n;
    pthread_mutex_unlock(&l->lock);
}

int64_t pk_quotas_characters(pk_quotas *l, const char *client) {
    pthread_mutex_lock(&l->lock);
    const bucket *b = find(l, client);
    const int64_t n = b ? b->characters : 0;
    pthread_mutex_unlock(&l->lock);
    return n;
}
