/* keys_test.c - API keys: made by the command, read by the server, also from LibreTranslate's tables. */
#include "check.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../server/keys.h"
#include "../../server/server.h"

static char folder[64], path[128];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/pronk-keys-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/db/keys.db", folder);
    return 0;
}

static int remove_folder(void **state) {
    char below[96];
    (void)state;
    unlink(path);
    snprintf(below, sizeof below, "%s/db", folder);
    rmdir(below);
    return rmdir(folder);
}

/* what a command prints goes nowhere */
static int command(pk_settings s, char *error, const char *a, const char *b) {
    const char *word[] = { a, b };
    s.keys_path = path;
    const int out = dup(STDOUT_FILENO);
    fflush(stdout);
    assert_non_null(freopen("/dev/null", "w", stdout));
    const int code = pk_keys_command(&s, word, b ? 2 : 1, error);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    return code;
}

static void keys_are_added_found_and_removed(void **state) {
    char          error[PK_ERROR_ROOM];
    pk_key_limits limits;
    pk_settings   s = { .req_limit = -1, .char_limit = -1, .key = "one" };
    pk_keys      *k = pk_keys_open(path);
    (void)state;
    assert_true(pk_keys_read(k, error)); /* no file: no keys */
    assert_false(pk_keys_find(k, "one", &limits));
    assert_false(pk_keys_changed(k));
    assert_int_equal(command(s, error, "add", "7"), 0);
    s.key = "two", s.char_limit = 99;
    assert_int_equal(command(s, error, "add", NULL), 0);
    assert_true(pk_keys_changed(k));
    assert_true(pk_keys_read(k, error));
    assert_false(pk_keys_changed(k));
    assert_true(pk_keys_find(k, "one", &limits));
    assert_int_equal(limits.requests, 7);
    assert_int_equal(limits.characters, 0);
    assert_true(pk_keys_find(k, "two", &limits));
    assert_int_equal(limits.requests, -1);
    assert_int_equal(limits.characters, 99);
    assert_false(pk_keys_find(k, "three", &limits));
    assert_int_equal(command(s, error, "remove", "one"), 0);
    assert_int_equal(command(s, error, "remove", "one"), 1);
    assert_string_equal(error, "there is no such key");
    assert_true(pk_keys_read(k, error));
    assert_false(pk_keys_find(k, "one", &limits));
    pk_keys_close(k);
}

static void wrong_commands_are_refused(void **state) {
    char        error[PK_ERROR_ROOM];
    pk_settings s = { 0 };
    (void)state;
    assert_int_equal(command(s, error, "ad", NULL), 2);
    assert_int_equal(command(s, error, "remove", NULL), 2);
    assert_int_equal(command(s, error, "list", "x"), 2);
    assert_int_equal(command(s, error, "add", "many"), 1);
    assert_non_null(strstr(error, "many"));
}

/* keys have limits of characters since a later version; what cannot be read changes nothing */
static void old_and_broken_tables(void **state) {
    char          error[PK_ERROR_ROOM];
    pk_key_limits limits;
    sqlite3      *db;
    pk_keys      *k = pk_keys_open(path);
    (void)state;
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE api_keys (api_key TEXT, req_limit INTEGER); INSERT "
                                  "INTO api_keys VALUES ('old', 5)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    assert_true(pk_keys_read(k, error));
    assert_true(pk_keys_find(k, "old", &limits));
    assert_int_equal(limits.requests, 5);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("this is no database, and it is long enough to see that", f);
    fclose(f);
    assert_false(pk_keys_read(k, error));
    assert_non_null(strstr(error, path));
    assert_true(pk_keys_find(k, "old", &limits));
    pk_keys_close(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_added_found_and_removed),
        cmocka_unit_test(wrong_commands_are_refused),
        cmocka_unit_test(old_and_broken_tables),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
