/* align_links.c - Pharaoh's format, in and out. */
#include "align/align_links.h"

#include "base/memory.h"

pk_status pk_align_links_add(pk_align_links *l, uint32_t source, uint32_t target) {
    PK_TRY(PK_RESERVE(&l->link, l->n + 1, &l->room));
    l->link[l->n++] = (pk_align_link){ source, target };
    return PK_OK;
}

void pk_align_links_free(pk_align_links *l) {
    pk_memory_give(l->link);
    *l = (pk_align_links){ 0 };
}

/* a number of at least one digit; false: there is none, or it is too large */
static bool parse_number(const char **at, const char *end, uint32_t *out) {
    const char *begin = *at;
    for (*out = 0; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        *out = *out * 10 + (uint32_t)(**at - '0');
        if (*out >= PK_ALIGN_MOST_POSITIONS) return false;
    }
    return *at > begin;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

pk_status pk_align_links_parse(pk_text line, pk_align_links *l) {
    const char *at = line.data, *end = line.data + line.size;
    l->n = 0;
    for (;;) {
        uint32_t source, target;
        while (at < end && is_space(*at)) at++;
        if (at == end) return PK_OK;
        const char *begin = at;
        const bool  good = parse_number(&at, end, &source) && at < end && *at++ == '-' &&
                          parse_number(&at, end, &target) && (at == end || is_space(*at));
        if (!good)
            PK_FAIL(PK_FORMAT, "no link like 3-4, each below %d: `%.*s`", PK_ALIGN_MOST_POSITIONS,
                    (int)(end - begin < 20 ? end - begin : 20), begin);
        PK_TRY(pk_align_links_add(l, source, target));
    }
}

/* much faster than printf, which counts for millions of links */
static void add_number(pk_buffer *out, uint32_t n) {
    char   digits[10];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    pk_buffer_add(out, digits + at, sizeof digits - at);
}

void pk_align_links_print(const pk_align_links *l, pk_buffer *out) {
    for (size_t i = 0; i < l->n; i++) {
        if (i) pk_buffer_add(out, " ", 1);
        add_number(out, l->link[i].source);
        pk_buffer_add(out, "-", 1);
        add_number(out, l->link[i].target);
    }
}
