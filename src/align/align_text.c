/* align_text.c - reads pairs and cuts sentences into words.
 *
 * White space is ASCII's, as fast_align's; a line end never gets here. `|||` separates the
 * sides where it is a word of its own, and only the first counts. */
#include "align/align_text.h"

#include <string.h>
#include <sys/stat.h>

pk_status pk_align_reader_open(const char *source, const char *target, pk_align_reader *out) {
    *out = (pk_align_reader){ .path = { source, target } };
    pk_status status = pk_text_reader_open(source, &out->reader[0]);
    if (status == PK_OK && target) status = pk_text_reader_open(target, &out->reader[1]);
    if (status != PK_OK) pk_align_reader_close(out);
    return status;
}

void pk_align_reader_close(pk_align_reader *r) {
    for (int side = 0; side < 2; side++) pk_text_reader_close(r->reader[side]);
    *r = (pk_align_reader){ 0 };
}

pk_status pk_align_reader_side(pk_align_reader *r, int side, pk_text *line) {
    return pk_text_reader_next(r->reader[side], &line->data, &line->size);
}

/* space, tab, newline, vertical tab, form feed, carriage return */
static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* "source ||| target" -> two texts */
static pk_status split_sides(const pk_align_reader *r, pk_text line, pk_text pair[2]) {
    const char *begin = line.data, *end = line.data + line.size;
    for (const char *at = begin; (at = memmem(at, (size_t)(end - at), "|||", 3)) != NULL; at++) {
        if ((at > begin && !is_space(at[-1])) || (at + 3 < end && !is_space(at[3]))) continue;
        pair[0] = (pk_text){ begin, (size_t)(at - begin) };
        pair[1] = (pk_text){ at + 3, (size_t)(end - at - 3) };
        return PK_OK;
    }
    PK_FAIL(PK_FORMAT, "%s: line %llu has no `|||` between source and target", r->path[0],
            (unsigned long long)r->lines);
}

pk_status pk_align_same_lines(const char *const path[2], uint64_t source, uint64_t target) {
    if (source == target) return PK_OK;
    PK_FAIL(PK_FORMAT, "%s has %llu lines and %s has %llu: there must be one for each", path[0],
            (unsigned long long)source, path[1], (unsigned long long)target);
}

/* one side ended first: what the other one still has is counted for the message */
static pk_status count_rest(pk_align_reader *r, const pk_text pair[2]) {
    uint64_t lines[2] = { r->lines, r->lines };
    for (int side = 0; side < 2; side++)
        for (pk_text line = pair[side]; line.data; lines[side]++)
            PK_TRY(pk_align_reader_side(r, side, &line));
    return pk_align_same_lines(r->path, lines[0], lines[1]);
}

pk_status pk_align_reader_next(pk_align_reader *r, pk_text pair[2]) {
    for (int side = 0; side < (r->path[1] ? 2 : 1); side++)
        PK_TRY(pk_align_reader_side(r, side, &pair[side]));
    if (r->path[1]) {
        if (!pair[0].data != !pair[1].data) return count_rest(r, pair);
        r->lines++;
        return PK_OK;
    }
    r->lines++;
    return pair[0].data ? split_sides(r, pair[0], pair) : PK_OK;
}

/* 0 for pipes and the like */
static pk_status count_lines(const char *path, uint64_t *lines) {
    struct stat     about;
    pk_align_reader r;
    pk_text         line;
    *lines = 0;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) return PK_OK;
    PK_TRY(pk_align_reader_open(path, NULL, &r));
    pk_status status = pk_align_reader_side(&r, 0, &line);
    for (; status == PK_OK && line.data; ++*lines) status = pk_align_reader_side(&r, 0, &line);
    pk_align_reader_close(&r);
    return status;
}

pk_status pk_align_check_lines(const char *const path[2]) {
    uint64_t    lines[2];
    struct stat about;
    for (int side = 0; side < 2; side++)
        if (stat(path[side], &about) == 0 && !S_ISREG(about.st_mode)) return PK_OK;
    for (int side = 0; side < 2; side++) PK_TRY(count_lines(path[side], &lines[side]));
    return pk_align_same_lines(path, lines[0], lines[1]);
}

static pk_status split_words(pk_text text, pk_spm_visit visit, void *user) {
    for (size_t at = 0, begin; at < text.size; at++) {
        while (at < text.size && is_space(text.data[at])) at++;
        for (begin = at; at < text.size && !is_space(text.data[at]);) at++;
        if (at > begin) PK_TRY(visit(user, text.data + begin, at - begin, begin));
    }
    return PK_OK;
}

pk_status pk_align_segment(pk_spm *spm, pk_text text, pk_spm_visit visit, void *user) {
    return spm ? pk_spm_encode(spm, text.data, text.size, visit, user)
               : split_words(text, visit, user);
}
