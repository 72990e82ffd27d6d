/* align_model_fuzz.c - any bytes as a saved alignment model: refused with one line, or a model that
 * aligns. Hashes are set right first, so that what lies behind them is tried and not only they;
 * an even first byte leaves them as they are. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/align/align_file.c" /* for the header */
#include "base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LAW(holds) ((holds) ? (void)0 : abort())

/* sizes as the header has them, hashes as they should be */
static void seal(unsigned char *data, size_t size) {
    pk_align_model m = { 0 };
    header         h;
    part           list[MOST_PARTS];
    if (size < sizeof h) return;
    memcpy(h.magic, data, sizeof h.magic);
    memcpy(&h, data, sizeof h);
    memcpy(h.magic, magic, sizeof magic);
    h.version = VERSION;
    h.size = size;
    find_parts(&h, data, size, &m);
    bool         all = true;
    const size_t n = list_parts(&h, &m, list);
    for (size_t i = 0; i < n; i++) all = all && (*list[i].data || !list[i].size);
    size_t bytes = sizeof h;
    for (size_t i = 0; i < n && bytes <= size; i++)
        bytes = list[i].size > size ? SIZE_MAX / 2 : bytes + filled_up(list[i].size);
    if (all && bytes <= size) h.parts = hash_parts(list, n);
    h.checksum = pk_token_hash(&h, offsetof(header, checksum));
    memcpy(data, &h, sizeof h);
}

static void align_something(const pk_align_model *m) {
    static const char *const source[] = { "", "a b", "s1 s2 s3 s1", "x" };
    pk_align_worker          w = { 0 };
    for (int direction = 0; direction < 2; direction++)
        for (int i = 0; i < 4; i++) {
            const pk_text pair[2] = { { source[i], strlen(source[i]) }, { "t1 t2 a", 7 } };
            pk_align_use  use;
            if (pk_align_model_use(m, NULL, direction == 1, &use) != PK_OK) continue;
            LAW(pk_align_text_pair(m, use, pair, &w) == PK_OK);
            for (size_t k = 0; k < w.links.n; k++) LAW(w.links.link[k].source < 4);
        }
    pk_align_worker_free(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned char *copy;
    pk_align_model m;
    if (size == 0) return 0;
    LAW(PK_TAKE(&copy, size) == PK_OK);
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 1) seal(copy, size - 1);
    if (pk_align_model_read(copy, size - 1, &m) == PK_OK) {
        align_something(&m);
        pk_spm_close(m.spm);
    } else {
        LAW(*pk_last_error() && !strchr(pk_last_error(), '\n'));
    }
    pk_memory_give(copy);
    LAW(pk_memory_alive() == 0);
    return 0;
}
