/* shortlist.h - the tokens that a translation may consist of: what a lexicon gives for the tokens
 * of its source, and tokens that may stand in any.
 *
 * A list is a function of the sentence alone, so no batch changes it. */
#ifndef PK_LEXICON_SHORTLIST_H
#define PK_LEXICON_SHORTLIST_H
#include "lexicon/lexicon.h"

typedef struct pk_shortlist_size {
    int32_t each;    /* translations of a source token that are listed */
    int32_t common;  /* the most common tokens: always listed */
    int32_t longest; /* tokens of a list: a sentence that needs more gets fewer of each */
} pk_shortlist_size;
enum { PK_SHORTLIST_EACH = 128 };
#define PK_SHORTLIST_SIZE ((pk_shortlist_size){ PK_SHORTLIST_EACH, 2500, 6144 })
/* the same of what is drafted, which need not be right */
#define PK_SHORTLIST_DRAFT_SIZE ((pk_shortlist_size){ 24, 500, 2048 })

typedef struct pk_shortlist {
    const pk_lexicon *lexicon;
    pk_shortlist_size size;
    int32_t           n_tokens; /* of the target vocabulary */
    int32_t           longest;  /* list there can be: all that must be in one has room */
    bool              copies;   /* source tokens are target tokens too, and stand in the list */
    uint8_t          *always;   /* [n_tokens] 1: listed for every sentence */
    int32_t           n_always;
} pk_shortlist;

typedef struct pk_shortlist_needs {
    pk_shortlist_size size;

    int32_t n_tokens, eos;
    int32_t most_given; /* tokens of a source and a prefix together: a list has room for these */
    bool    copies;
    /* [n_tokens] 1: listed in any case; the end symbol and the most common tokens are added. NULL:
     * none */
    const uint8_t *always;
} pk_shortlist_needs;
pk_status pk_shortlist_open(const pk_lexicon *l, const pk_shortlist_needs *needs,
                            pk_shortlist *out);
void      pk_shortlist_close(pk_shortlist *s);

/* what a list is made for */
typedef struct pk_shortlist_request {
    const int32_t *source, *prefix; /* prefix: the output begins with it, so it is listed */
    int32_t        n_source, n_prefix;
} pk_shortlist_request;
/* The list, rising, into out[longest]; returns its length. listed: [n_tokens] zeros, and again
 * after. */
int32_t pk_shortlist_find(const pk_shortlist *s, const pk_shortlist_request *q, uint8_t *listed,
                          int32_t *out);
#endif
