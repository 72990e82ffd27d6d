/* inputs.h - what a verb has opened for reading: no output may be one of these files.
 *
 * Files are identified by device and inode, so links count too. Text and models are added where
 * they are opened. Before the first byte is written, also to standard output, pk_inputs_refuse()
 * checks. */
#ifndef PK_CLI_INPUTS_H
#define PK_CLI_INPUTS_H
#include "cli.h"

struct stat;

typedef struct pk_cli_opened {
    struct {
        uint64_t device, inode;
    } * file;
    const pk_model **model; /* borrowed: open until the verb is done */
    size_t           n, n_models;
} pk_cli_opened;

void pk_inputs_add_file(const pk_cli *c, const struct stat *about);
/* for what the library opens; NULL, and what is not there, is passed over */
void pk_inputs_add_path(const pk_cli *c, const char *path);
void pk_inputs_add_model(const pk_cli *c, const pk_model *model);
/* whether a file is one of them; path NULL: standard output */
bool pk_inputs_have(const pk_cli *c, const char *path);
/* 0, or an exit code where the output is one of them; path NULL or "-": standard output */
int pk_inputs_refuse(const pk_cli *c, const char *path);
/* 0, or an exit code where two outputs are one file, also one that does not exist yet */
int  pk_outputs_refuse_same(const pk_cli *c, const char *a, const char *b);
void pk_inputs_free(pk_cli_opened *opened);
#endif
