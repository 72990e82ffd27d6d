/* tokenize_13a.c - the tokenizer of NIST's mteval-v13a script, the default of WMT and of sacreBLEU.
 *
 * Entities are undone one after the other, in this order: "&amp;lt;" becomes "<". */
#include <string.h>

#include "metric/tokenize.h"

/* The rules that split at a period need a neighbour on both sides: each end gets a space. */
static pk_status pad(pk_points *line) {
    PK_TRY(pk_points_reserve(line, line->n + 2));
    memmove(line->point + 1, line->point, line->n * sizeof *line->point);
    line->point[0] = ' ';
    line->point[line->n + 1] = ' ';
    line->n += 2;
    return PK_OK;
}

pk_status pk_tokenize_13a(pk_points *line, pk_points *spare) {
    pk_pass_replace(line, "<skipped>", "");
    pk_pass_replace(line, "-\n", ""); /* a word hyphenated at the end of a line */
    pk_pass_replace(line, "\n", " ");
    pk_pass_replace(line, "&quot;", "\"");
    pk_pass_replace(line, "&amp;", "&");
    pk_pass_replace(line, "&lt;", "<");
    pk_pass_replace(line, "&gt;", ">");
    PK_TRY(pad(line));
    return pk_pass_western(line, spare);
}
