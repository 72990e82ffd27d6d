/* loops.c - repetition of a period: a run of tokens each of which equals the one p before it. */
#include "markup/loops.h"

#include <string.h>

enum { LONGEST_PERIOD = 16, TIMES = 3, LEAST = 8 };

static bool repeats_tokens(const int32_t *token, int32_t n) {
    for (int32_t p = 1; p <= LONGEST_PERIOD && p < n; p++) {
        int32_t run = 0;
        for (int32_t i = p; i < n; i++) {
            run = token[i] == token[i - p] ? run + 1 : 0;
            if (run >= TIMES * p && run >= LEAST) return true;
        }
    }
    return false;
}

/* the same of bytes, where a period is that of a phrase */
static bool repeats_text(pk_text t) {
    for (size_t p = 1; p <= 64 && p < t.size; p++) {
        size_t run = 0;
        for (size_t i = p; i < t.size; i++) {
            run = t.data[i] == t.data[i - p] ? run + 1 : 0;
            if (run >= 2 * p && run >= LEAST) return true;
        }
    }
    return false;
}

bool pk_loops(const int32_t *token, int32_t n, int32_t eos, pk_text source) {
    if (n < 1) return false;
    if (token[n - 1] != eos) return true;
    return repeats_tokens(token, n - 1) && !repeats_text(source);
}
