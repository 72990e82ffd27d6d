/* greedy.h - what greedy search remembers of one sentence, for strategies that have it as a part of
 * theirs: they fill in the options and call the functions of pk_strategy_greedy. */
#ifndef PK_DECODE_GREEDY_H
#define PK_DECODE_GREEDY_H
#include "decode/chain.h"
#include "decode/constraint.h"

typedef struct pk_greedy {
    pk_constraint_options options;
    pk_source             src;
    pk_constraint         constraint;
    pk_special            special; /* of the ask in flight */
    pk_chain              prefix;
    pk_output             out;
    int32_t              *history; /* (max_length + 1) start symbol, then output */
} pk_greedy;
#endif
