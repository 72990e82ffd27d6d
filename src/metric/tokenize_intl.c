/* tokenize_intl.c - the international tokenizer of NIST's mteval-v14 script.
 *
 * Punctuation stands alone unless a number is on both sides; symbols always do. There is no padding
 * as in 13a, so a period that ends the line after a number stays with it: so does the original.
 * General categories are ICU's; code points newer than its Unicode version count as unassigned. */
#include <unicode/uchar.h>

#include "metric/tokenize.h"

static bool is_number(int32_t c) { return (U_GET_GC_MASK(c) & U_GC_N_MASK) != 0; }
static bool is_not_number(int32_t c) { return !is_number(c); }
static bool is_punctuation(int32_t c) { return (U_GET_GC_MASK(c) & U_GC_P_MASK) != 0; }
static bool is_symbol(int32_t c) { return (U_GET_GC_MASK(c) & U_GC_S_MASK) != 0; }

pk_status pk_tokenize_intl(pk_points *line, pk_points *spare) {
    PK_TRY(pk_pass_split_after(line, spare, is_not_number, is_punctuation));
    PK_TRY(pk_pass_split_before(line, spare, is_punctuation, is_not_number));
    return pk_pass_apart(line, spare, is_symbol);
}
