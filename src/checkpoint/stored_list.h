/* stored_list.h - what the readers of this folder share: closing the list, counting elements. */
#ifndef PK_CHECKPOINT_STORED_LIST_H
#define PK_CHECKPOINT_STORED_LIST_H
#include <stdbool.h>

#include "checkpoint/stored.h"

/* elements and bytes of a shape; false when a dimension is negative or a product overflows */
bool pk_stored_elements(const int64_t *dim, int32_t n_dims, size_t each, size_t *n, size_t *bytes);
/* sorts by name; fails when a name is there twice */
pk_status pk_stored_sort(pk_stored *s);
/* maps a file and reads it; the mapping then belongs to the list. Errors name the path. */
typedef pk_status pk_stored_reader(const unsigned char *data, size_t size, pk_stored *out);
pk_status         pk_stored_open_with(const char *path, pk_stored_reader *read, pk_stored *out);
#endif
