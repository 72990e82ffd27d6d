/* checkpoint_files.h - within checkpoints: one file, wherever it lies. */
#ifndef PK_TRAIN_CHECKPOINT_FILES_H
#define PK_TRAIN_CHECKPOINT_FILES_H
#include "train/checkpoint.h"

pk_status pk_checkpoint_write(const char *path, const pk_parameters *p, const pk_train_state *s,
                              const pk_recipe *r);
#endif
