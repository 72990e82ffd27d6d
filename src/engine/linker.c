/* linker.c - tokens become words of the alignment, which links them. */
#include "engine/linker.h"

#include "base/memory.h"

pk_status pk_linker_open(const pk_saved_lexicon *saved, pk_linker *out) {
    *out = (pk_linker){ 0 };
    if (pthread_mutex_init(&out->lock, NULL)) PK_FAIL(PK_NO_MEMORY, "no memory for a lock");
    out->saved = saved;
    return pk_align_model_use(&saved->align, NULL, false, &out->use);
}

void pk_linker_close(pk_linker *l) {
    if (l->saved) pthread_mutex_destroy(&l->lock);
    pk_align_worker_free(&l->worker);
    for (int side = 0; side < 2; side++) pk_memory_give(l->word[side]);
    *l = (pk_linker){ 0 };
}

pk_status pk_linker_link(pk_linker *l, const pk_ids *source, const pk_ids *target,
                         const pk_align_links **out) {
    const pk_ids *const side[2] = { source, target };
    const int32_t known[2] = { l->saved->lexicon.source_vocab, l->saved->lexicon.target_vocab };
    uint32_t      n[2];
    for (int s = 0; s < 2; s++) {
        n[s] = (uint32_t)side[s]->n;
        PK_TRY(PK_RESERVE(&l->word[s], side[s]->n + 1, &l->room[s]));
        for (size_t i = 0; i < side[s]->n; i++) {
            const int32_t token = side[s]->id[i];
            l->word[s][i] = token < known[s] ? l->saved->word[s][token] : PK_ALIGN_NO_WORD;
        }
    }
    *out = &l->worker.links;
    return pk_align_pair(&l->saved->align, l->use,
                         (const uint32_t *const[2]){ l->word[0], l->word[1] }, n, &l->worker);
}
