/* points.c - decoding, lower case and white space of one line.
 *
 * Gives code points that are valid scalar values: never a surrogate, so the way to UTF-16 and back
 * that ICU needs for lower case loses nothing. */
#include "metric/points.h"

#include <stdbool.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include "base/memory.h"
#include "text/utf8.h"

pk_status pk_points_reserve(pk_points *p, size_t room) {
    return PK_RESERVE(&p->point, room, &p->room);
}

pk_status pk_points_read(pk_points *p, pk_text text) {
    /* ICU and the counts of a line are 32 bits wide; lower case may triple a line's length */
    if (text.size > INT32_MAX / 4) {
        PK_FAIL(PK_ARGUMENT, "a line of %zu bytes is too long to evaluate (at most %d)", text.size,
                INT32_MAX / 4);
    }
    PK_TRY(pk_points_reserve(p, text.size));
    size_t n = 0;
    for (size_t i = 0; i < text.size;) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (byte < 0x80) {
            p->point[n++] = byte;
            i++;
        } else {
            i += pk_utf8_next(text.data + i, text.size - i, &p->point[n++]);
        }
    }
    p->n = n;
    return PK_OK;
}

/* most lines are: they need no ICU */
static bool all_ascii(const pk_points *p) {
    int32_t any = 0;
    for (size_t i = 0; i < p->n; i++) any |= p->point[i];
    return any < 0x80;
}

static void lower_ascii(pk_points *p) {
    for (size_t i = 0; i < p->n; i++) {
        if (p->point[i] >= 'A' && p->point[i] <= 'Z') p->point[i] += 'a' - 'A';
    }
}

/* ICU maps case in UTF-16 only; wide: room for 2 units a point */
static int32_t to_utf16(const pk_points *p, UChar *wide) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) U16_APPEND_UNSAFE(wide, n, p->point[i]);
    return (int32_t)n;
}

/* surrogate pairs become one code point */
static pk_status from_utf16(pk_points *p, const UChar *wide, int32_t n) {
    PK_TRY(pk_points_reserve(p, (size_t)n));
    p->n = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t c = wide[i];
        if (U16_IS_LEAD(wide[i])) c = U16_GET_SUPPLEMENTARY(c, wide[++i]);
        p->point[p->n++] = c;
    }
    return PK_OK;
}

/* Whether a sigma is final depends on its neighbours, so the line is mapped as a whole. */
pk_status pk_points_lower(pk_points *p) {
    if (all_ascii(p)) {
        lower_ascii(p);
        return PK_OK;
    }
    UChar    *upper = NULL, *lower = NULL;
    pk_status status;
    PK_GOTO(PK_TAKE(&upper, 2 * p->n));
    const int32_t n = to_utf16(p, upper);
    /* no code point's lower case is more than three UTF-16 units (Unicode SpecialCasing) */
    const int32_t room = 3 * n;
    PK_GOTO(PK_TAKE(&lower, (size_t)room));
    UErrorCode    error = U_ZERO_ERROR;
    const int32_t size = u_strToLower(lower, room, upper, n, "", &error);
    if (U_FAILURE(error)) {
        status = pk_fail_with(PK_NO_MEMORY, "lower case: %s", u_errorName(error));
        goto done;
    }
    status = from_utf16(p, lower, size);
done:
    pk_memory_give(upper);
    pk_memory_give(lower);
    return status;
}

void pk_points_strip_end(pk_points *p) {
    while (p->n && pk_utf8_is_space(p->point[p->n - 1])) p->n--;
}

void pk_points_strip_start(pk_points *p) {
    size_t first = 0;
    while (first < p->n && pk_utf8_is_space(p->point[first])) first++;
    for (size_t i = first; i < p->n; i++) p->point[i - first] = p->point[i];
    p->n -= first;
}

void pk_points_free(pk_points *p) {
    pk_memory_give(p->point);
    *p = (pk_points){ 0 };
}
