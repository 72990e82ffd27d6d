/* lexicon_fuzz.c - any bytes as a model's table of candidates: an error of one line, or look-ups
 * that stay inside it. */
#include "fuzz_help.h"
#include "lexicon/lexicon.h"
#include "lexicon/lexicon_draft.h"

static void look_up(const pk_lexicon *l, pk_lexicon_by by) {
    const int32_t        source[] = { 0, 1, l->source_vocab - 1, l->source_vocab, -1 };
    pk_lexicon_finder    f;
    pk_lexicon_candidate got[16];
    float                share[5];
    for (int32_t n = 1; n <= 5; n++) {
        const pk_lexicon_query q = { l, by, source, n };
        LAW(pk_lexicon_finder_open(&q, 8, &f) == PK_OK);
        for (int32_t t = 0; t < 8; t++) {
            const int32_t found = pk_lexicon_find(&f, t, 16, got);
            LAW(found >= 0 && found <= 16 && pk_lexicon_length(l, n) >= 1);
            for (int32_t i = 0; i < found; i++)
                LAW(got[i].token >= 0 && got[i].token < l->target_vocab);
            pk_lexicon_align(&q, t, 1, share);
        }
        pk_lexicon_finder_close(&f);
    }
}

static void draft(const pk_lexicon *l) {
    const int32_t    source[] = { 0, 1, l->source_vocab - 1 }, output[] = { 0, 1, 2, 3 };
    pk_lexicon_draft d;
    float            share;
    LAW(pk_lexicon_draft_open(l, source, 3, l->target_vocab, 0, &d) == PK_OK);
    for (int32_t n = 0; n < 4; n++) {
        const int32_t token = pk_lexicon_draft_next(&d, output, n, 0, &share);
        LAW(token >= -1 && token < l->target_vocab && share >= 0 && share <= 1);
    }
    pk_lexicon_draft_close(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_lexicon l;
    void      *copy = NULL;
    LAW(pk_memory_take(size, 1, &copy) == PK_OK); /* aligned, as in a file */
    memcpy(copy, data, size);
    const pk_status status = pk_lexicon_read(copy, size, &l);
    if (status == PK_OK) look_up(&l, PK_LEXICON_BY_NEIGHBOURS);
    if (status == PK_OK) look_up(&l, PK_LEXICON_BY_DISTANCES);
    if (status == PK_OK) draft(&l);
    pk_memory_give(copy);
    fuzz_check_end(status);
    return 0;
}
