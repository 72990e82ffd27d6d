/* stored_list.h - what the readers of this folder share: closing the list, counting elements. */
#ifndef PK_CHECKPOINT_STORED_LIST_H
#define PK_CHECKPOINT_STORED_LIST_H
#include <stdbool.h>

#include "checkpoint/stored.h"

/* elements and bytes of a shape; false when a dimension is negative or a product overflows */
bool pk_stored_elements(const int64_t *dim, int32_t n_dims, size_t each, size_t *n, size_t *bytes);
/* sorts by name; fails when a name is there twice */
pk_status pk_stored_sort(pk_stored *s);
#endif
