/* keys.c - API keys in memory, read from LibreTranslate's table. */
#include "keys.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "problem.h"

typedef struct key {
    char         *text;
    pk_key_limits limits;
} key;

typedef struct key_list {
    key   *item;
    size_t n;
} key_list;

struct pk_keys {
    const char     *path;
    pthread_mutex_t lock; /* of `list` */
    key_list        list; /* sorted by text */
    struct stat     read; /* the file at that time; zeros: there was none */
};

static void free_list(key_list *list) {
    for (size_t i = 0; i < list->n; i++) free(list->item[i].text);
    free(list->item);
    *list = (key_list){ 0 };
}

pk_keys *pk_keys_open(const char *path) {
    pk_keys *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->path = path;
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

void pk_keys_close(pk_keys *k) {
    if (!k) return;
    free_list(&k->list);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

static int by_text(const void *a, const void *b) {
    return strcmp(((const key *)a)->text, ((const key *)b)->text);
}

/* the row that a statement stands at; false: no memory */
static bool add_row(key_list *list, sqlite3_stmt *s) {
    const char *text = (const char *)sqlite3_column_text(s, 0);
    key        *grown = realloc(list->item, (list->n + 1) * sizeof *grown);
    if (!grown) return false;
    list->item = grown;
    grown[list->n] = (key){ strdup(text ? text : ""),
                            { sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2) } };
    return grown[list->n++].text != NULL;
}

/* databases older than character limits have no such column */
static int prepare(sqlite3 *db, sqlite3_stmt **s) {
    int code =
        sqlite3_prepare_v2(db, "SELECT api_key, req_limit, char_limit FROM api_keys", -1, s, NULL);
    if (code == SQLITE_ERROR)
        code = sqlite3_prepare_v2(db, "SELECT api_key, req_limit, NULL FROM api_keys", -1, s, NULL);
    return code;
}

static bool read_rows(sqlite3 *db, key_list *list) {
    sqlite3_stmt *s = NULL;
    int           code = prepare(db, &s);
    if (code == SQLITE_OK)
        while ((code = sqlite3_step(s)) == SQLITE_ROW)
            if (!add_row(list, s)) code = SQLITE_NOMEM;
    sqlite3_finalize(s);
    return code == SQLITE_DONE;
}

static bool read_file(const char *path, key_list *list, char *error) {
    sqlite3   *db = NULL;
    const bool open = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK;
    if (open) sqlite3_busy_timeout(db, 1000);
    const bool done = open && read_rows(db, list);
    if (!done) pk_problem(error, "%s: keys could not be read: %s", path, sqlite3_errmsg(db));
    sqlite3_close(db);
    if (list->n) qsort(list->item, list->n, sizeof *list->item, by_text);
    return done;
}

bool pk_keys_read(pk_keys *k, char *error) {
    key_list    list = { 0 };
    struct stat now = { 0 };
    if (stat(k->path, &now) != 0) {
        if (errno != ENOENT) return pk_problem(error, "%s: %s", k->path, strerror(errno));
        memset(&now, 0, sizeof now);
    } else if (now.st_size && !read_file(k->path, &list, error)) {
        free_list(&list);
        k->read = now; /* not again before it changes */
        return false;
    }
    pthread_mutex_lock(&k->lock);
    key_list old = k->list;
    k->list = list;
    pthread_mutex_unlock(&k->lock);
    k->read = now;
    free_list(&old);
    return true;
}

bool pk_keys_changed(const pk_keys *k) {
    struct stat now;
    if (stat(k->path, &now) != 0) memset(&now, 0, sizeof now);
    return now.st_ino != k->read.st_ino || now.st_size != k->read.st_size ||
           now.st_mtim.tv_sec != k->read.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != k->read.st_mtim.tv_nsec;
}

bool pk_keys_find(pk_keys *k, const char *text, pk_key_limits *out) {
    pthread_mutex_lock(&k->lock);
    const key  wanted = { .text = (char *)text };
    const key *found =
        k->list.n ? bsearch(&wanted, k->list.item, k->list.n, sizeof wanted, by_text) : NULL;
    if (found) *out = found->limits;
    pthread_mutex_unlock(&k->lock);
    return found != NULL;
}
