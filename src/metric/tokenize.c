/* tokenize.c - finding a tokenizer by name, the two trivial ones, and the passes all share.
 *
 * A pass reserves the longest line it could write before it begins, so its loop cannot fail. */
#include "metric/tokenize.h"

#include <string.h>

/* the tokens are already separated by white space */
static pk_status tokenize_none(pk_points *line, pk_points *spare) {
    (void)line, (void)spare;
    return PK_OK;
}

static bool is_any(int32_t point) { return (void)point, true; }

/* every character is a token */
static pk_status tokenize_char(pk_points *line, pk_points *spare) {
    return pk_pass_apart(line, spare, is_any);
}

pk_status pk_tokenizer_find(const char *name, pk_tokenizer *out) {
    static const struct {
        const char  *name;
        pk_tokenizer tokenize;
    } list[] = {
        { "13a", pk_tokenize_13a },   { "none", tokenize_none }, { "char", tokenize_char },
        { "intl", pk_tokenize_intl }, { "zh", pk_tokenize_zh },
    };
    if (!name) name = "13a";
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (strcmp(name, list[i].name)) continue;
        *out = list[i].tokenize;
        return PK_OK;
    }
    PK_FAIL(PK_ARGUMENT, "no tokenizer is named \"%s\": choose 13a, none, char, intl or zh", name);
}

static void swap(pk_points *a, pk_points *b) {
    const pk_points kept = *a;
    *a = *b;
    *b = kept;
}

pk_status pk_pass_apart(pk_points *line, pk_points *spare, pk_point_class which) {
    PK_TRY(pk_points_reserve(spare, 3 * line->n));
    int32_t *out = spare->point;
    for (size_t i = 0; i < line->n; i++) {
        const int32_t c = line->point[i];
        if (which(c)) {
            *out++ = ' ';
            *out++ = c;
            *out++ = ' ';
        } else {
            *out++ = c;
        }
    }
    spare->n = (size_t)(out - spare->point);
    swap(line, spare);
    return PK_OK;
}

/* Puts a space between a and b, and another one before the pair (`before`) or behind it. */
static pk_status split_pairs(pk_points *line, pk_points *spare, pk_point_class a, pk_point_class b,
                             bool before) {
    PK_TRY(pk_points_reserve(spare, 2 * line->n));
    int32_t *out = spare->point;
    for (size_t i = 0; i < line->n; i++) {
        const int32_t c = line->point[i];
        if (i + 1 == line->n || !a(c) || !b(line->point[i + 1])) {
            *out++ = c;
            continue;
        }
        if (before) *out++ = ' ';
        *out++ = c;
        *out++ = ' ';
        *out++ = line->point[++i];
        if (!before) *out++ = ' ';
    }
    spare->n = (size_t)(out - spare->point);
    swap(line, spare);
    return PK_OK;
}

pk_status pk_pass_split_after(pk_points *line, pk_points *spare, pk_point_class a,
                              pk_point_class b) {
    return split_pairs(line, spare, a, b, false);
}

pk_status pk_pass_split_before(pk_points *line, pk_points *spare, pk_point_class a,
                               pk_point_class b) {
    return split_pairs(line, spare, a, b, true);
}

static bool starts_with(const int32_t *point, size_t n, const char *text) {
    for (size_t i = 0; text[i]; i++) {
        if (i == n || point[i] != text[i]) return false;
    }
    return true;
}

void pk_pass_replace(pk_points *line, const char *from, const char *to) {
    const size_t from_size = strlen(from), to_size = strlen(to);
    size_t       kept = 0;
    for (size_t i = 0; i < line->n;) {
        if (!starts_with(line->point + i, line->n - i, from)) {
            line->point[kept++] = line->point[i++];
            continue;
        }
        for (size_t k = 0; k < to_size; k++) line->point[kept++] = to[k];
        i += from_size;
    }
    line->n = kept;
}

static bool is_digit(int32_t c) { return c >= '0' && c <= '9'; }
static bool is_not_digit(int32_t c) { return !is_digit(c); }
static bool is_point_or_comma(int32_t c) { return c == '.' || c == ','; }
static bool is_dash(int32_t c) { return c == '-'; }

/* the ASCII characters other than letters and digits, less ' , - . and the controls */
static bool is_symbol(int32_t c) {
    if (c < ' ' || c > '~') return false;
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) return false;
    return c != '\'' && c != ',' && c != '-' && c != '.';
}

/* The four substitutions of mteval-v13a, in its order: symbols; "x." and "x," without a digit x;
 * ".x" and ",x" without a digit x; a dash behind a digit. */
pk_status pk_pass_western(pk_points *line, pk_points *spare) {
    PK_TRY(pk_pass_apart(line, spare, is_symbol));
    PK_TRY(pk_pass_split_after(line, spare, is_not_digit, is_point_or_comma));
    PK_TRY(pk_pass_split_before(line, spare, is_point_or_comma, is_not_digit));
    return pk_pass_split_after(line, spare, is_digit, is_dash);
}
