/* fill.h - stage two of hybrid-regressive translation: candidates whose every k-th token is known,
 * as blocks with masks between, filled in one pass. */
#ifndef PK_DECODE_FILL_H
#define PK_DECODE_FILL_H
#include "decode/constraint.h"
#include "decode/output.h"

typedef struct pk_filling { /* one candidate */
    pk_output out;          /* in the end cut at its end symbol */
    int32_t   n;            /* positions */
    int32_t   ask;          /* the first ask of its block */
} pk_filling;

typedef struct pk_fill {
    pk_source     src;
    int32_t       k, mask; /* chunk size; the token of a mask */
    float         length_penalty;
    pk_constraint constraint;
    pk_special    bans[2]; /* of masks where the output may end; where it may not */
    pk_filling   *list;    /* (room); once finished, best first */
    int32_t       n, room;
} pk_fill;

/* src, k, mask, length_penalty and room are set; longest: positions of a candidate. End it also
 * when this fails. */
pk_status pk_fill_begin(pk_fill *f, const pk_constraint_options *options, int32_t longest);
void      pk_fill_end(pk_fill *f); /* may be called at any time, and again */
/* takes what stage one found, at most `room`; returns how many masks there are */
int32_t pk_fill_take(pk_fill *f, const pk_hypothesis *found, int32_t n);
void    pk_fill_propose(pk_fill *f, pk_pass *pass);
void    pk_fill_absorb(pk_fill *f, const pk_pass *pass);
/* scores, cuts and sorts the candidates; also without a pass, where there are no masks */
void pk_fill_finish(pk_fill *f);
#endif
