/* quotas.c - how many requests a client may make in a minute, and who broke that too often. */
#include "quotas.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plain_text.h"

enum {
    WINDOW = 60,
    FORGIVE = 600,
    SLOTS = 4096
}; /* seconds; seconds; of the table, a power of two */

typedef struct bucket {
    struct bucket *next;          /* in its slot of the table */
    struct bucket *newer, *older; /* all, by when they were last seen */
    int64_t        second;        /* the last one that is counted in `count` */
    int64_t        characters;
    double         offence_at; /* when the last offence was made or forgiven */
    int64_t        offences;
    uint32_t       count[WINDOW]; /* requests of each second, at second % WINDOW */
    int64_t        total;         /* of all of them */
    char           client[];
} bucket;

struct pk_quotas {
    pthread_mutex_t lock;
    size_t          n, most;
    bucket         *newest, *oldest;
    bucket         *slot[SLOTS];
};

pk_quotas *pk_quotas_open(size_t most) {
    pk_quotas *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    pthread_mutex_init(&l->lock, NULL);
    l->most = most ? most : 1;
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

/* the client's bucket, made if need be; NULL: no memory, and then nothing is limited */
static bucket *get(pk_quotas *l, const char *client, double now) {
    bucket *b = find(l, client);
    if (b) {
        unlink_age(l, b);
    } else {
        if (l->n >= l->most) forget(l, l->oldest);
        b = calloc(1, sizeof *b + strlen(client) + 1);
        if (!b) return NULL;
        strcpy(b->client, client);
        b->second = (int64_t)now;
        bucket **slot = slot_of(l, client);
        b->next = *slot;
        *slot = b;
        l->n++;
    }
    link_newest(l, b);
    return b;
}

/* seconds that have left the window are no longer counted */
static void move_window(bucket *b, int64_t second) {
    if (second - b->second >= WINDOW) {
        memset(b->count, 0, sizeof b->count);
        b->total = 0;
        b->second = second;
    }
    while (b->second < second) {
        uint32_t *count = &b->count[++b->second % WINDOW];
        b->total -= *count;
        *count = 0;
    }
}

static void count(bucket *b, int64_t n) {
    uint32_t     *at = &b->count[b->second % WINDOW];
    const int64_t room = (int64_t)UINT32_MAX - *at;
    if (n > room) n = room;
    *at += (uint32_t)n;
    b->total += n;
}

/* seconds until enough requests have left the window for one more */
static int wait_for_room(const bucket *b, int64_t per_minute) {
    int64_t total = b->total;
    int     seconds = 1;
    for (; seconds < WINDOW; seconds++) {
        total -= b->count[(b->second + seconds) % WINDOW];
        if (total < per_minute) break;
    }
    return seconds;
}

int pk_quotas_take(pk_quotas *l, const char *client, int64_t per_minute, double now) {
    int seconds = 0;
    if (per_minute < 0) return 0;
    pthread_mutex_lock(&l->lock);
    bucket *b = get(l, client, now);
    if (b) {
        move_window(b, (int64_t)now);
        if (b->total >= per_minute)
            seconds = wait_for_room(b, per_minute);
        else
            count(b, 1);
    }
    pthread_mutex_unlock(&l->lock);
    return seconds;
}

void pk_quotas_charge(pk_quotas *l, const char *client, int64_t cost, double now) {
    if (cost <= 0) return;
    pthread_mutex_lock(&l->lock);
    bucket *b = get(l, client, now);
    if (b) {
        move_window(b, (int64_t)now);
        count(b, cost);
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
    bucket *b = get(l, address, now);
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

void pk_quotas_add_characters(pk_quotas *l, const char *client, int64_t n, double now) {
    pthread_mutex_lock(&l->lock);
    bucket *b = get(l, client, now);
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
