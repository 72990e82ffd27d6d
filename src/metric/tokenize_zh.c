/* tokenize_zh.c - every Chinese character is a token; the rest is split as in 13a, without its
 * padding and its entities.
 *
 * What counts as Chinese is sacreBLEU's list, faults included, since the figures must be equal. */
#include "metric/tokenize.h"

// clang-format off
static const struct { int32_t first, last; } chinese[] = {
    { 0x3400, 0x4DB5 },                         /* ideographs, extension A */
    { 0x4E00, 0x9FBB },                         /* ideographs */
    { 0xF900, 0xFA2D }, { 0xFA30, 0xFA6A }, { 0xFA70, 0xFAD9 },  /* compatibility ideographs */
    /* Extension B and the compatibility supplement were meant here (U+20000 to U+2A6D6, U+2F800 to
     * U+2FA1D), but are written there with four-digit escapes: the bounds are strings of two
     * characters, U+2000 and "0" to U+2A6D and "6", and compare as strings do. Dashes, quotation
     * marks, arrows and mathematical symbols are "Chinese" by this, extension B is not. */
    { 0x2001, 0x2A6D }, { 0x2F81, 0x2FA1 },
    { 0xFF00, 0xFFEF },                         /* full-width and half-width forms */
    { 0x2E80, 0x2EFF }, { 0x2F00, 0x2FDF },     /* radicals */
    { 0x2FF0, 0x2FFF },                         /* description of structure */
    { 0x3000, 0x303F },                         /* punctuation */
    { 0x3100, 0x312F }, { 0x31A0, 0x31BF },     /* bopomofo */
    { 0x31C0, 0x31EF },                         /* strokes */
    { 0x3200, 0x33FF },                         /* enclosed and compatibility letters */
    { 0xFE10, 0xFE1F }, { 0xFE30, 0xFE4F },     /* vertical forms */
    { 0x2600, 0x27BF },                         /* symbols and dingbats */
};
// clang-format on

static bool is_chinese(int32_t c) {
    if (c <= 0x2000) return false;
    for (size_t i = 0; i < sizeof chinese / sizeof *chinese; i++) {
        if (c >= chinese[i].first && c <= chinese[i].last) return true;
    }
    return false;
}

pk_status pk_tokenize_zh(pk_points *line, pk_points *spare) {
    /* this matters: without a neighbour, a period that begins the line stays with what follows */
    pk_points_strip_start(line);
    PK_TRY(pk_pass_apart(line, spare, is_chinese));
    return pk_pass_western(line, spare);
}
