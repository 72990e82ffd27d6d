/* hash.c - bytes become a number, eight at a time. */
#include "base/hash.h"

#include <string.h>

#define ODD 0xD6E8FEB86659FD93u /* bits well mixed */

uint64_t pk_hash(const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    uint64_t             h = PK_GOLDEN ^ size;
    for (; size; at += 8) {
        uint64_t     eight = 0;
        const size_t n = size < 8 ? size : 8;
        memcpy(&eight, at, n);
        h = (h ^ eight) * ODD;
        h ^= h >> 32;
        size -= n;
    }
    h *= ODD;
    return h ^ h >> 32;
}

static uint64_t add_word(uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * PK_GOLDEN;
    return sum ^ sum >> 29;
}

uint64_t pk_checksum_add(uint64_t sum, const void *bytes, size_t size) {
    const char *at = bytes;
    uint64_t    word;
    for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = add_word(sum, word);
    }
    word = 0;
    if (size) memcpy(&word, at, size);
    return add_word(sum, word + ((uint64_t)size << 56));
}
