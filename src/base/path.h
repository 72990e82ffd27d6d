/* path.h - folders, and names of files in them. */
#ifndef PK_BASE_PATH_H
#define PK_BASE_PATH_H
#include <stdbool.h>

#include "base/status.h"

/* "folder/name", in a block that the caller gives back */
pk_status pk_path_in(const char *folder, const char *name, char **out);
/* whether the folder has something of that name; takes no memory */
bool pk_path_has(const char *folder, const char *name);
/* makes a folder and those above it, where they are not there yet */
pk_status pk_path_make_folder(const char *path);
#endif
