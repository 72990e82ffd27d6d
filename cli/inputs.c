/* inputs.c - the files that were opened for reading, against the one that is to be written. */
#include "inputs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* a terminal or a socket may be both */
static bool can_be_lost(const struct stat *about) {
    return !S_ISCHR(about->st_mode) && !S_ISSOCK(about->st_mode);
}

void pk_inputs_add_file(const pk_cli *c, const struct stat *about) {
    pk_cli_opened *o = c->opened;
    if (!o || !can_be_lost(about)) return;
    o->file = pk_cli_grow(o->file, o->n + 1, sizeof *o->file);
    o->file[o->n].device = (uint64_t)about->st_dev;
    o->file[o->n++].inode = (uint64_t)about->st_ino;
}

void pk_inputs_add_path(const pk_cli *c, const char *path) {
    struct stat about;
    if (path && !stat(path, &about)) pk_inputs_add_file(c, &about);
}

void pk_inputs_add_model(const pk_cli *c, const pk_model *model) {
    pk_cli_opened *o = c->opened;
    if (!o) return;
    o->model = pk_cli_grow(o->model, o->n_models + 1, sizeof *o->model);
    o->model[o->n_models++] = model;
}

/* a model may be a folder of several files: the library knows which it reads */
static bool was_opened(const pk_cli_opened *o, uint64_t device, uint64_t inode) {
    for (size_t i = 0; i < o->n; i++)
        if (o->file[i].device == device && o->file[i].inode == inode) return true;
    for (size_t i = 0; i < o->n_models; i++)
        if (pk_model_reads(o->model[i], device, inode)) return true;
    return false;
}

bool pk_inputs_have(const pk_cli *c, const char *path) {
    struct stat about;
    return c->opened && (path ? stat(path, &about) : fstat(STDOUT_FILENO, &about)) == 0 &&
           can_be_lost(&about) &&
           was_opened(c->opened, (uint64_t)about.st_dev, (uint64_t)about.st_ino);
}

int pk_inputs_refuse(const pk_cli *c, const char *path) {
    const bool standard = !path || !strcmp(path, "-");
    if (!pk_inputs_have(c, standard ? NULL : path)) return 0;
    return pk_cli_fail(c, "%s is also an input: write to another file",
                       standard ? "standard output" : path);
}

/* Where the last part of a path does not exist, glibc's realpath() fails and has resolved it. */
static bool same_new_file(const char *a, const char *b) {
    char whole[2][PATH_MAX] = { "", "" };
    if (realpath(a, whole[0]) || realpath(b, whole[1])) return false;
    return whole[0][0] && strcmp(whole[0], whole[1]) == 0;
}

int pk_outputs_refuse_same(const pk_cli *c, const char *a, const char *b) {
    struct stat one, other;
    if (!a || !b) return 0;
    const bool both = stat(a, &one) == 0 && stat(b, &other) == 0;
    if (both ? !can_be_lost(&one) || one.st_dev != other.st_dev || one.st_ino != other.st_ino
             : !same_new_file(a, b))
        return 0;
    return pk_cli_fail(c, "%s is also another output: write to another file", b);
}

void pk_inputs_free(pk_cli_opened *opened) {
    free(opened->file);
    free(opened->model);
    *opened = (pk_cli_opened){ 0 };
}
