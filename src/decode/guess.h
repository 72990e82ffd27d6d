/* guess.h - guesses at the tokens that come next, for strategies that check several at once.
 *
 * Six sources: a draft the caller gave (draft), the n-grams of this document (ngram), what the
 * model predicted behind its last wrong guess (shift), the source sentence (copy), a table of
 * translations (lexicon), padding (pad). For each position each source suggests a token and says
 * how strong its evidence is. The kind of suggestion that was right most often wins. */
#ifndef PK_DECODE_GUESS_H
#define PK_DECODE_GUESS_H
#include "decode/ngrams.h"
#include "decode/strategy.h"
#include "lexicon/lexicon_draft.h"

enum { PK_GUESS_MOST = 63 }; /* guesses in one pass */
#define PK_INIT_MAP(X)        \
    X(PK_INIT_AUTO, "auto")   \
    X(PK_INIT_PAD, "pad")     \
    X(PK_INIT_COPY, "copy")   \
    X(PK_INIT_SHIFT, "shift") \
    X(PK_INIT_NGRAM, "ngram") \
    X(PK_INIT_DRAFT, "draft") \
    X(PK_INIT_LEXICON, "lexicon")
enum pk_init { PK_INIT_MAP(PK_CHOICE_CONSTANT) };
extern const char *const pk_init_choices[];

/* A text that is read along with the output; the position in it follows the last output tokens. */
typedef struct pk_cursor {
    const int32_t *token; /* (n) */
    int32_t        n;
    int32_t        at, when; /* token[at] was expected to follow `when` output tokens */
} pk_cursor;

typedef struct pk_suggestion {
    int32_t token; /* PK_NO_TOKEN: none */
    int32_t kind;  /* source * PK_GUESS_STRENGTHS + strength, see guess_rates.h */
} pk_suggestion;

typedef struct pk_guess { /* for one sentence */
    int32_t          init, vocab, eos, pad;
    pk_cursor        cursor[PK_GUESS_SOURCES]; /* of draft, shift and copy */
    int32_t          predicted[PK_GUESS_MOST]; /* the text of the cursor for shift */
    pk_ngrams       *ngrams;                   /* borrowed, or NULL */
    pk_rates        *rates;                    /* of the document, or own */
    pk_rates         own;
    pk_lexicon_draft table; /* zeroed: there is no lexicon, or it is not to be used */
    /* of the pass in flight */
    int32_t       n; /* positions with suggestions */
    pk_suggestion suggestion[PK_GUESS_MOST][PK_GUESS_SOURCES];
} pk_guess;

/* the input token for "not known yet" */
int32_t pk_guess_padding(const pk_conventions *model);
/* a draft with tokens that are not in the vocabulary is refused */
pk_status pk_guess_begin(pk_guess *g, int32_t init, const pk_source *src);
void      pk_guess_end(pk_guess *g); /* may be called at any time, and again */
/* Writes guesses behind history[0 .. n], at most `room` of them, and returns how many. With width 0
 * as many as are worth their cost, otherwise width - 1, or all there are. */
int32_t pk_guess_fill(pk_guess *g, int32_t *history, int32_t n, int32_t room, int32_t width,
                      const pk_pass *pass);
/* history[n + 1 .. now] have become certain; predicted: what the model would output after those if
 * its first wrong guess had been right */
void pk_guess_learn(pk_guess *g, const int32_t *history, int32_t n, int32_t now,
                    const int32_t *predicted, int32_t n_predicted);
/* the output is finished: start symbol and n tokens */
void pk_guess_finish(pk_guess *g, const int32_t *history, int32_t n);
#endif
