/* checkpoint_files.c - the checkpoints of a folder: lists them, resumes from the newest one that
 * can be read, removes old ones. The number in a file's name is its update. There is no other file
 * that says which is the last, so nothing can contradict the folder. */
#include "train/checkpoint_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"

#define PREFIX       "checkpoint-"
#define SUFFIX       ".safetensors"
#define HALF_WRITTEN ".part" /* base/file_writer.h's ending until a file is whole */

typedef struct numbers {
    int64_t *of;
    size_t   n, room;
} numbers;

static pk_status path_of_number(const char *folder, int64_t number, char **out) {
    char name[64];
    snprintf(name, sizeof name, PREFIX "%" PRId64 SUFFIX, number);
    return pk_path_in(folder, name, out);
}

/* "checkpoint-12.safetensors" -> 12; -1: something else */
static int64_t number_of(const char *name) {
    char *end;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) return -1;
    const char     *digits = name + strlen(PREFIX);
    const long long n = strtoll(digits, &end, 10);
    return end > digits && n >= 0 && strcmp(end, SUFFIX) == 0 ? n : -1;
}

/* what a process left that was killed while it wrote */
static bool is_half_written(const char *name) {
    const size_t n = strlen(name), m = strlen(HALF_WRITTEN);
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && n > m &&
           strcmp(name + n - m, HALF_WRITTEN) == 0;
}

static pk_status add_number(numbers *list, int64_t number) {
    PK_TRY(PK_RESERVE(&list->of, list->n + 1, &list->room));
    list->of[list->n++] = number;
    return PK_OK;
}

static int newest_first(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* a file that cannot be removed stays; that is no failure */
static pk_status remove_file(const char *folder, const char *name) {
    char *path;
    PK_TRY(pk_path_in(folder, name, &path));
    unlink(path);
    pk_memory_give(path);
    return PK_OK;
}

/* The updates of all checkpoints, newest first; a folder that does not exist has none. tidy: also
 * removes half-written files. */
static pk_status list_folder(const char *folder, bool tidy, numbers *out) {
    DIR      *dir = opendir(folder);
    pk_status status = PK_OK;
    *out = (numbers){ 0 };
    if (!dir && errno == ENOENT) return PK_OK;
    if (!dir) PK_FAIL(PK_IO, "%s: %s", folder, strerror(errno));
    for (struct dirent *e; status == PK_OK && (e = readdir(dir));) {
        const int64_t number = number_of(e->d_name);
        if (number >= 0) status = add_number(out, number);
        if (tidy && is_half_written(e->d_name)) status = remove_file(folder, e->d_name);
    }
    closedir(dir);
    if (out->n) qsort(out->of, out->n, sizeof *out->of, newest_first);
    return status;
}

pk_status pk_checkpoint_count(const char *output, size_t *n) {
    numbers         list;
    const pk_status status = list_folder(output, true, &list);
    *n = list.n;
    pk_memory_give(list.of);
    return status;
}

/* all but the newest `keep` */
static pk_status remove_old(const char *folder, size_t keep) {
    numbers   list;
    pk_status status = list_folder(folder, false, &list);
    for (size_t i = keep; status == PK_OK && i < list.n; i++) {
        char *path;
        status = path_of_number(folder, list.of[i], &path);
        if (status != PK_OK) break;
        unlink(path);
        pk_memory_give(path);
    }
    pk_memory_give(list.of);
    return status;
}

pk_status pk_checkpoint_save(const char *output, const pk_parameters *p, const pk_train_state *s,
                             const pk_recipe *r) {
    char *path;
    PK_TRY(path_of_number(output, s->update, &path));
    pk_status status = pk_checkpoint_write(path, p, s, r);
    pk_memory_give(path);
    if (status == PK_OK) status = remove_old(output, (size_t)r->save_keep);
    return status;
}

/* After a damaged file the next older one is tried. A file of another training is an error: going
 * on from an older one would hide it. */
static bool is_damage(pk_status status) { return status == PK_FORMAT || status == PK_IO; }

/* loads the newest that can be read; what happened to the others is added to `said` */
static pk_status try_each(const char *folder, const numbers *list, pk_parameters *p,
                          pk_train_state *s, const pk_recipe *r, pk_buffer *said) {
    pk_status status = PK_OK;
    for (size_t i = 0; i < list->n; i++) {
        char *path;
        PK_TRY(path_of_number(folder, list->of[i], &path));
        status = pk_checkpoint_load(path, p, s, r);
        if (status != PK_OK) pk_fail_context("%s", path);
        if (status == PK_OK)
            pk_buffer_print(said, "going on from %s\n", path);
        else if (is_damage(status))
            pk_buffer_print(said, "left out: %s\n", pk_last_error());
        pk_memory_give(path);
        if (!is_damage(status)) return status;
    }
    return status;
}

pk_status pk_checkpoint_resume(const char *output, pk_parameters *p, pk_train_state *s,
                               const pk_recipe *r, bool *found, pk_buffer *said) {
    numbers   list;
    pk_status status = list_folder(output, true, &list);
    *found = list.n > 0;
    if (status == PK_OK && list.n) status = try_each(output, &list, p, s, r, said);
    pk_memory_give(list.of);
    return status == PK_OK ? pk_buffer_status(said) : status;
}
