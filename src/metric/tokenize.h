/* tokenize.h - the tokenizers of BLEU, each equal to sacreBLEU's of the same name.
 *
 * A tokenizer rewrites a line (already stripped at its end) so that its tokens are the pieces
 * between white space. It is given a second list to write into; the two are swapped as needed. */
#ifndef PK_METRIC_TOKENIZE_H
#define PK_METRIC_TOKENIZE_H
#include <stdbool.h>

#include "metric/points.h"

typedef pk_status (*pk_tokenizer)(pk_points *line, pk_points *spare);

/* "13a", "none", "char", "intl" or "zh"; NULL is "13a" */
pk_status pk_tokenizer_find(const char *name, pk_tokenizer *out);

pk_status pk_tokenize_13a(pk_points *line, pk_points *spare);
pk_status pk_tokenize_intl(pk_points *line, pk_points *spare);
pk_status pk_tokenize_zh(pk_points *line, pk_points *spare);

/* ---- Rewriting passes that tokenizers are made of. Each works like a global regular-expression
 * substitution: left to right, matches do not overlap, what was written is not looked at again. */
typedef bool (*pk_point_class)(int32_t point);

/* "c" -> " c " */
pk_status pk_pass_apart(pk_points *line, pk_points *spare, pk_point_class which);
/* "ab" -> "a b " */
pk_status pk_pass_split_after(pk_points *line, pk_points *spare, pk_point_class a,
                              pk_point_class b);
/* "ab" -> " a b" */
pk_status pk_pass_split_before(pk_points *line, pk_points *spare, pk_point_class a,
                               pk_point_class b);
/* the ASCII text `from` -> `to`, which is not longer */
void pk_pass_replace(pk_points *line, const char *from, const char *to);
/* what 13a and zh share: ASCII symbols stand alone, and so do periods, commas and dashes except
 * within numbers */
pk_status pk_pass_western(pk_points *line, pk_points *spare);
#endif
