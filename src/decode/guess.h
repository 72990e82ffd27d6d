/* guess.h - guesses at the tokens that come next, for strategies that check several at once.
 *
 * Five sources: a draft the caller gave, the n-grams of this document, what the model said beyond
 * its last wrong guess, the source sentence, padding. Each says at each place what it thinks comes
 * next and how much speaks for it; the kind that was right most often wins. */
#ifndef PK_DECODE_GUESS_H
#define PK_DECODE_GUESS_H
#include "decode/ngrams.h"
#include "decode/strategy.h"

enum { PK_GUESS_MOST = 63 }; /* guesses in one pass */
enum pk_init {
    PK_INIT_AUTO,
    PK_INIT_PAD,
    PK_INIT_COPY,
    PK_INIT_SHIFT,
    PK_INIT_NGRAM,
    PK_INIT_DRAFT
};
extern const char *const pk_init_choices[];

/* A text to read on in. It finds its place again by the last tokens of the output. */
typedef struct pk_cursor {
    const int32_t *token; /* (n) */
    int32_t        n;
    int32_t        at, when; /* token[at] was expected to follow `when` output tokens */
} pk_cursor;

typedef struct pk_suggestion {
    int32_t token; /* PK_NO_TOKEN: nothing to say */
    int32_t kind;
} pk_suggestion;

typedef struct pk_guess { /* for one sentence */
    int32_t    init, vocab, eos, pad;
    pk_cursor  cursor[PK_GUESS_SOURCES]; /* of draft, shift and copy */
    int32_t    said[PK_GUESS_MOST];
    pk_ngrams *ngrams; /* borrowed, or NULL */
    pk_rates  *rates;  /* of the document, or own */
    pk_rates   own;
    /* of the pass in flight */
    int32_t       n; /* places something was said about */
    pk_suggestion suggestion[PK_GUESS_MOST][PK_GUESS_SOURCES];
} pk_guess;

/* the token that stands for "nothing known yet" */
int32_t pk_guess_padding(const pk_conventions *model);
/* a draft with tokens that are not in the vocabulary is refused */
pk_status pk_guess_begin(pk_guess *g, int32_t init, const pk_source *src);
/* Writes guesses behind history[0 .. n], at most `room` of them, and returns how many. With width 0
 * as many as are worth their cost, otherwise width - 1, or all there are. */
int32_t pk_guess_fill(pk_guess *g, int32_t *history, int32_t n, int32_t room, int32_t width,
                      const pk_pass *pass);
/* history[n + 1 .. now] have become certain; said: what the model would say after those, had its
 * first wrong guess been right */
void pk_guess_learn(pk_guess *g, const int32_t *history, int32_t n, int32_t now,
                    const int32_t *said, int32_t n_said);
/* the output is finished: start symbol and n tokens */
void pk_guess_finish(pk_guess *g, const int32_t *history, int32_t n);
#endif
