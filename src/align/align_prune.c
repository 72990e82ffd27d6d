/* align_prune.c - drops the entries of trained rows whose probability is next to 0: most of
 * them. */
#include "align/align_prune.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

typedef struct entry {
    uint32_t word;
    float    prob;
} entry;

static int compare_words(const void *a, const void *b) {
    const uint32_t x = ((const entry *)a)->word, y = ((const entry *)b)->word;
    return x < y ? -1 : x > y;
}

/* the entries of a row above the floor; how many there are */
static size_t keep_row(const pk_align_rows *rows, uint32_t row, entry *kept) {
    size_t n = 0;
    for (uint64_t e = rows->entry[row]; e < rows->entry[row + 1]; e++)
        if (rows->prob[e] > PK_ALIGN_FLOOR) kept[n++] = (entry){ rows->word[e], rows->prob[e] };
    return n;
}

/* counted first, so that the table takes no more memory than it needs */
static size_t count_kept(const pk_align_rows *rows) {
    size_t n = 0;
    for (uint64_t e = 0; e < rows->entry[rows->n]; e++) n += rows->prob[e] > PK_ALIGN_FLOOR;
    return n;
}

/* row[w] is where row w begins; pk_memory_take zeroed it, so row[0] is 0 */
static pk_status fill(const pk_align_rows *rows, entry *kept, pk_align_table *out) {
    const size_t n = count_kept(rows);
    uint64_t    *row;
    uint32_t    *word;
    float       *prob;
    PK_TRY(PK_TAKE(&row, (size_t)rows->n + 1));
    out->row = row;
    PK_TRY(PK_TAKE(&word, n));
    out->word = word;
    PK_TRY(PK_TAKE(&prob, n));
    out->prob = prob;
    for (uint32_t w = 0; w < rows->n; w++) {
        const size_t size = keep_row(rows, w, kept);
        qsort(kept, size, sizeof *kept, compare_words);
        for (size_t i = 0; i < size; i++) {
            word[row[w] + i] = kept[i].word;
            prob[row[w] + i] = kept[i].prob;
        }
        row[w + 1] = row[w] + size;
    }
    return PK_OK;
}

/* null keeps an entry for every word; those below the floor are raised to it */
static pk_status copy_null(const float *null, size_t n, pk_align_table *out) {
    float *copy;
    PK_TRY(PK_TAKE(&copy, n));
    out->null = copy;
    for (size_t i = 0; i < n; i++) copy[i] = null[i] > PK_ALIGN_FLOOR ? null[i] : PK_ALIGN_FLOOR;
    return PK_OK;
}

pk_status pk_align_prune(const pk_align_rows *rows, const float *null, size_t n_generated,
                         pk_align_table *out) {
    entry *kept;
    *out = (pk_align_table){ .n_given = rows->n, .n_generated = (uint32_t)n_generated };
    PK_TRY(PK_TAKE(&kept, n_generated)); /* a row holds a word once */
    pk_status status = fill(rows, kept, out);
    if (status == PK_OK) status = copy_null(null, n_generated, out);
    pk_memory_give(kept);
    if (status != PK_OK) pk_align_table_free(out);
    return status;
}
