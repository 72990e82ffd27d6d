/* align_prune.h - from the rows of a training to a table to look words up in. */
#ifndef PK_ALIGN_PRUNE_H
#define PK_ALIGN_PRUNE_H
#include "align/align_rows.h"
#include "align/align_table.h"

/* Keeps the entries above PK_ALIGN_FLOOR, which is what all others count as, and sorts each row.
 * null: [n_generated]. The tension and p_null are the caller's to set. */
pk_status pk_align_prune(const pk_align_rows *rows, const float *null, size_t n_generated,
                         pk_align_table *out);
#endif
