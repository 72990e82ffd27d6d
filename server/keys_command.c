/* keys_command.c - `pronk serve keys add|remove|list`: the only part that writes the table. */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "problem.h"

enum { KEY_ROOM = 37 };

/* a random UUID (version 4), as LibreTranslate makes them */
static bool make_key(char key[KEY_ROOM]) {
    unsigned char r[16];
    if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r) return false;
    r[6] = (unsigned char)((r[6] & 0x0F) | 0x40);
    r[8] = (unsigned char)((r[8] & 0x3F) | 0x80);
    char *to = key;
    for (int i = 0; i < 16; i++)
        to += sprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", r[i]);
    return true;
}

/* the folder of the path, where it is only one that is missing */
static void make_folder(const char *path) {
    char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
    if (slash && slash != copy) {
        *slash = '\0';
        mkdir(copy, 0700);
    }
    free(copy);
}

static int open_table(const char *path, bool create, sqlite3 **db) {
    static const char table[] =
        "CREATE TABLE IF NOT EXISTS api_keys (\"api_key\" TEXT NOT NULL, "
        "\"req_limit\" INTEGER NOT NULL, \"char_limit\" INTEGER DEFAULT NULL, "
        "PRIMARY KEY(\"api_key\"))";
    if (create) make_folder(path);
    const int flags = create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
    int       code = sqlite3_open_v2(path, db, flags, NULL);
    if (code == SQLITE_OK) code = sqlite3_busy_timeout(*db, 5000);
    if (code == SQLITE_OK && create) code = sqlite3_exec(*db, table, NULL, NULL, NULL);
    return code;
}

/* runs a statement with a key and up to two numbers; 0 is NULL */
static int run(sqlite3 *db, const char *sql, const char *key, const int64_t number[2]) {
    sqlite3_stmt *s = NULL;
    int           code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (code == SQLITE_OK) code = sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    for (int i = 0; number && i < 2 && code == SQLITE_OK; i++)
        code =
            i && !number[i] ? sqlite3_bind_null(s, i + 2) : sqlite3_bind_int64(s, i + 2, number[i]);
    if (code == SQLITE_OK) code = sqlite3_step(s);
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int print_row(void *user, int n, char **value, char **name) {
    (void)user;
    (void)name;
    printf("%s: %s%s%s\n", value[0], value[1], n > 2 && value[2] ? ", characters: " : "",
           n > 2 && value[2] ? value[2] : "");
    return 0;
}

static bool add(sqlite3 *db, const char *key, const int64_t number[2]) {
    return run(db,
               "INSERT OR REPLACE INTO api_keys (api_key, req_limit, char_limit) VALUES (?, ?, ?)",
               key, number) == SQLITE_OK &&
           printf("%s\n", key) > 0;
}

static bool whole_number(const char *text, int64_t *out) {
    char *end;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && *out >= -1;
}

/* words: add [LIMIT], remove KEY, list */
static bool do_command(const pk_settings *s, const char *const *word, size_t n, sqlite3 *db,
                       char *error) {
    int64_t number[2] = { s->req_limit, s->char_limit < 0 ? 0 : s->char_limit };
    char    made[KEY_ROOM];
    if (!strcmp(word[0], "list"))
        return sqlite3_exec(db, "SELECT * FROM api_keys ORDER BY api_key", print_row, NULL, NULL) ==
               SQLITE_OK;
    if (!strcmp(word[0], "remove")) {
        const char *key = n > 1 ? word[1] : s->key;
        const bool done = run(db, "DELETE FROM api_keys WHERE api_key = ?", key, NULL) == SQLITE_OK;
        return done && !sqlite3_changes(db) ? pk_problem(error, "there is no such key") : done;
    }
    if (n > 1 && !whole_number(word[1], &number[0]))
        return pk_problem(error, "'%s' is no number of requests a minute", word[1]);
    if (!s->key && !make_key(made)) return pk_problem(error, "no random numbers for a key");
    return add(db, s->key ? s->key : made, number);
}

static bool is_command(const pk_settings *s, const char *const *word, size_t n) {
    if (!n) return false;
    if (!strcmp(word[0], "add")) return n <= 2;
    if (!strcmp(word[0], "list")) return n == 1;
    return !strcmp(word[0], "remove") && (n == 2 || (n == 1 && s->key));
}

int pk_keys_command(const pk_settings *settings, const char *const *word, size_t n, char *error) {
    sqlite3 *db = NULL;
    *error = '\0';
    if (!is_command(settings, word, n))
        return pk_problem(error, "keys takes add [LIMIT], remove KEY or list"), 2;
    bool done = open_table(settings->keys_path, !strcmp(word[0], "add"), &db) == SQLITE_OK &&
                do_command(settings, word, n, db, error);
    if (!done && !*error) pk_problem(error, "%s: %s", settings->keys_path, sqlite3_errmsg(db));
    sqlite3_close(db);
    return done ? 0 : 1;
}
