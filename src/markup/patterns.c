/* patterns.c - the user's patterns, by ICU's regular expressions, with a bound on their time. */
#include <string.h>
#include <unicode/uregex.h>
#include <unicode/utext.h>

#include "markup/protect.h"

enum { MOST_STEPS = 2000, MOST_STACK = 8 << 20 }; /* about milliseconds; bytes */

struct pk_patterns {
    size_t               n;
    URegularExpression **of;
};

static pk_status open_one(const char *pattern, URegularExpression **out) {
    UErrorCode  code = U_ZERO_ERROR;
    UParseError at;
    UText       view = UTEXT_INITIALIZER;
    if (!pattern) PK_FAIL(PK_ARGUMENT, "a pattern is NULL");
    utext_openUTF8(&view, pattern, -1, &code);
    *out = uregex_openUText(&view, 0, &at, &code);
    utext_close(&view);
    if (code == U_MEMORY_ALLOCATION_ERROR) PK_FAIL(PK_NO_MEMORY, "out of memory in ICU");
    if (U_FAILURE(code))
        PK_FAIL(PK_ARGUMENT, "'%.60s' is no regular expression: %s", pattern, u_errorName(code));
    uregex_setTimeLimit(*out, MOST_STEPS, &code);
    uregex_setStackLimit(*out, MOST_STACK, &code);
    return PK_OK;
}

pk_status pk_patterns_open(const char *const *pattern, size_t n, pk_patterns **out) {
    pk_patterns *p;
    *out = NULL;
    if (n && !pattern) PK_FAIL(PK_ARGUMENT, "%zu patterns, but the list is NULL", n);
    PK_TRY(PK_TAKE(&p, 1));
    pk_status status = PK_TAKE(&p->of, n);
    for (; status == PK_OK && p->n < n; p->n++) {
        status = open_one(pattern[p->n], &p->of[p->n]);
        if (status != PK_OK) break;
    }
    if (status != PK_OK)
        pk_patterns_close(p);
    else
        *out = p;
    return status;
}

static pk_status find(URegularExpression *re, UText *text, pk_byte_ranges *out) {
    UErrorCode code = U_ZERO_ERROR;
    uregex_setUText(re, text, &code);
    while (U_SUCCESS(code) && uregex_findNext(re, &code)) {
        const int64_t begin = uregex_start64(re, 0, &code), end = uregex_end64(re, 0, &code);
        if (U_SUCCESS(code) && end > begin)
            PK_TRY(pk_byte_ranges_add(out, (size_t)begin, (size_t)end));
    }
    if (code == U_MEMORY_ALLOCATION_ERROR) PK_FAIL(PK_NO_MEMORY, "out of memory in ICU");
    if (U_FAILURE(code))
        PK_FAIL(PK_ARGUMENT, "a pattern to protect takes too long or fails: %s", u_errorName(code));
    return PK_OK;
}

pk_status pk_patterns_find(pk_patterns *p, const char *text, size_t size, pk_byte_ranges *out) {
    UText      view = UTEXT_INITIALIZER;
    UErrorCode code = U_ZERO_ERROR;
    pk_status  status = PK_OK;
    if (!p || !p->n) return PK_OK;
    utext_openUTF8(&view, text, (int64_t)size, &code);
    if (U_FAILURE(code)) status = pk_fail_with(PK_NO_MEMORY, "out of memory in ICU");
    for (size_t i = 0; i < p->n && status == PK_OK; i++) status = find(p->of[i], &view, out);
    utext_close(&view);
    return status;
}

void pk_patterns_close(pk_patterns *p) {
    if (!p) return;
    for (size_t i = 0; p->of && i < p->n; i++) uregex_close(p->of[i]);
    pk_memory_give(p->of);
    pk_memory_give(p);
}
