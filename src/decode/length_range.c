/* length_range.c - see length_range.h. */
#include "decode/length_range.h"

#include "lexicon/lexicon.h"

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

pk_length_range pk_length_range_of(const pk_source *src, int32_t delta) {
    pk_length_range r = { .n_source = src->n_tokens };
    if (r.n_source && src->token[r.n_source - 1] == src->model->eos) r.n_source--;
    const int32_t expected = r.n_source ? pk_lexicon_length(src->lexicon, r.n_source) : 0;
    r.longest = larger(smaller(expected + delta, src->max_length - 1), src->n_prefix);
    r.shortest = smaller(larger(larger(expected - delta, 1), src->n_prefix), r.longest);
    return r;
}
