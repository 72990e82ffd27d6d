/* folder_lock.h - one training in an output folder at a time. */
#ifndef PK_TRAIN_FOLDER_LOCK_H
#define PK_TRAIN_FOLDER_LOCK_H
#include "base/status.h"

/* Locks FOLDER/lock, or fails when another training holds it. *fd is -1 where the file system has
 * no locks. Programs that only read in the folder need no lock. */
pk_status pk_folder_lock(const char *folder, int *fd);
void      pk_folder_unlock(int fd); /* accepts -1 */
#endif
