/* ids.h - a growing list of token ids. */
#ifndef PK_BASE_IDS_H
#define PK_BASE_IDS_H
#include "base/memory.h"

typedef struct pk_ids {
    int32_t *id;
    size_t   n, room;
} pk_ids;

static inline pk_status pk_ids_add(pk_ids *list, int32_t id) {
    PK_TRY(PK_RESERVE(&list->id, list->n + 1, &list->room));
    list->id[list->n++] = id;
    return PK_OK;
}

static inline void pk_ids_free(pk_ids *list) {
    pk_memory_give(list->id);
    *list = (pk_ids){ 0 };
}
#endif
