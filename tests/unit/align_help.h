/* align_help.h - what the tests of alignment share: made-up pairs, and pk_align() with its lines
 * kept as one text. */
#ifndef PK_TESTS_ALIGN_HELP_H
#define PK_TESTS_ALIGN_HELP_H
#include "data_help.h"

static inline uint32_t dice(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*seed >> 8) * below >> 24);
}

/* n pairs `source ||| target`: words s0 .. s19, frequent ones first, each translated as t of its
 * number, sometimes left out, now and then with another word between */
static inline void add_pairs(pk_buffer *out, uint32_t n, uint32_t seed) {
    for (uint32_t pair = 0; pair < n; pair++) {
        uint32_t length = 1 + dice(&seed, 9), word[16], m = 0, target[32];
        for (uint32_t i = 0; i < length; i++) {
            word[i] = dice(&seed, 1 + dice(&seed, 20));
            if (dice(&seed, 8)) target[m++] = word[i];
            if (!dice(&seed, 6)) target[m++] = 90 + dice(&seed, 3);
        }
        if (m == 0) target[m++] = word[0];
        for (uint32_t i = 0; i < length; i++) pk_buffer_print(out, "s%u ", word[i]);
        pk_buffer_add_text(out, "|||");
        for (uint32_t j = 0; j < m; j++) pk_buffer_print(out, " t%u", target[j]);
        pk_buffer_add_text(out, "\n");
    }
}

static inline int keep_lines(void *user, const char *lines, size_t size) {
    pk_buffer_add(user, lines, size);
    return 0;
}

/* user and write are set here; the text is the caller's */
static inline pk_status align_to(pk_align_options o, pk_align_report *report, pk_buffer *lines) {
    o.size = sizeof o;
    o.write = keep_lines;
    o.user = lines;
    pk_buffer_clear(lines);
    pk_buffer_add(lines, "", 0);
    return pk_align(&o, report);
}
#endif
