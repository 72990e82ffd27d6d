/* token_list.h - the model's own list of tokens: id -> name by index, name -> id by hash.
 * Names stay where they are, in the borrowed block; opening costs one pass over it. */
#ifndef PK_VOCAB_TOKEN_LIST_H
#define PK_VOCAB_TOKEN_LIST_H
#include "base/memory.h"

typedef struct pk_token_list {
    const char *names; /* borrowed: each followed by a NUL byte */
    uint32_t   *start; /* of each name [n + 1] */
    int32_t    *slot;  /* ids by hash, -1: free [mask + 1] */
    uint32_t    mask;
    int32_t     n;
} pk_token_list;

/* Empty names are unused ids; of equal names the first is found. PK_FORMAT when the block
 * is empty, not UTF-8 or without its last NUL. */
pk_status pk_token_list_open(const char *names, size_t size, pk_token_list *out);
void      pk_token_list_close(pk_token_list *list);
int32_t pk_token_list_find(const pk_token_list *list, const char *name, size_t size); /* -1: none */
const char *pk_token_list_name(const pk_token_list *list, int32_t id); /* "?": out of range */
#endif
