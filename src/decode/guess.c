/* guess.c - where guesses come from.
 *
 * A draft, the source and the model's own predictions are texts that are read along with the
 * output. Where to read on: the longest sequence of the last output tokens (up to four) is
 * looked up in the text. If it occurs several times, the occurrence nearest to the expected
 * position wins. If it does not occur, the last token is taken for a substitution: reading goes
 * on one token further. */
#include "decode/guess.h"

#include <stdlib.h>
#include <string.h>

enum {
    LONGEST_MATCH = 4, /* output tokens compared with a text */
    NEAR = 3,          /* a match this far from the expected position still counts as near */
    PROBE_AFTER = 64,  /* passes without a guess, then one is tried */
    PADS_OF_SHIFT = 2, /* pads in a window whose other guesses are the model's predictions */
};
#define UNLIKELY 0.01f /* no further guesses once they are all right this rarely */

const char *const pk_init_choices[] = { PK_INIT_MAP(PK_CHOICE_WORD) NULL };

/* which sources each `init` may use, as bits */
static const uint32_t sources_of[] = {
    [PK_INIT_AUTO] = (1u << PK_GUESS_SOURCES) - 1,
    [PK_INIT_PAD] = 1u << PK_GUESS_SHIFT | 1u << PK_GUESS_PAD,
    [PK_INIT_COPY] = 1u << PK_GUESS_COPY,
    [PK_INIT_SHIFT] = 1u << PK_GUESS_SHIFT | 1u << PK_GUESS_PAD,
    [PK_INIT_NGRAM] = 1u << PK_GUESS_NGRAM,
    [PK_INIT_DRAFT] = 1u << PK_GUESS_DRAFT,
    [PK_INIT_LEXICON] = 1u << PK_GUESS_LEXICON,
};

int32_t pk_guess_padding(const pk_conventions *model) {
    if (model->start >= 0) return model->start; /* Marian's models pad with it */
    return model->unk >= 0 ? model->unk : model->eos;
}

/* a draft comes from the caller: an id out of range would be read behind the table */
static pk_status check_draft(const pk_source *src) {
    for (int32_t i = 0; i < src->n_draft; i++)
        if (src->draft[i] < 0 || src->draft[i] >= src->model->vocab)
            PK_FAIL(PK_ARGUMENT,
                    "token %d of the draft is %d, but the vocabulary has %d: "
                    "encode the draft with this model's target vocabulary",
                    (int)i + 1, (int)src->draft[i], (int)src->model->vocab);
    return PK_OK;
}

/* source tokens without the end symbol and a language symbol beside it */
static int32_t text_length(const pk_source *src) {
    int32_t n = src->n_tokens;
    for (int32_t i = n - 1; i >= 0 && i >= src->n_tokens - 2; i--)
        if (src->token[i] == src->model->eos) n = i;
    return n;
}

pk_status pk_guess_begin(pk_guess *g, int32_t init, const pk_source *src) {
    PK_TRY(check_draft(src));
    g->init = init;
    g->vocab = src->model->vocab;
    g->eos = src->model->eos;
    g->pad = pk_guess_padding(src->model);
    g->ngrams = src->ngrams;
    pk_rates_begin(&g->own);
    g->rates = g->ngrams ? &g->ngrams->rates : &g->own;
    /* what follows the free prefix (a language) is the text */
    g->cursor[PK_GUESS_DRAFT] = (pk_cursor){ .token = src->draft,
                                             .n = src->draft ? src->n_draft : 0,
                                             .when = src->n_free_prefix };
    g->cursor[PK_GUESS_COPY] = (pk_cursor){ .token = src->token,
                                            .n = src->token ? text_length(src) : 0,
                                            .when = src->n_free_prefix };
    g->cursor[PK_GUESS_SHIFT] = (pk_cursor){ .token = g->predicted };
    if (!src->lexicon || !(sources_of[init] >> PK_GUESS_LEXICON & 1)) return PK_OK;
    return pk_lexicon_draft_open(src->lexicon, src->token, src->token ? text_length(src) : 0,
                                 src->model->vocab, src->model->eos, &g->table);
}

void pk_guess_end(pk_guess *g) { pk_lexicon_draft_close(&g->table); }

/* how many tokens just before position p of the text are the last ones of the output too */
static int32_t match(const pk_cursor *text, int32_t p, const int32_t *output, int32_t n) {
    int32_t m = 0;
    while (m < LONGEST_MATCH && m < p && m < n && text->token[p - 1 - m] == output[n - 1 - m]) m++;
    return m;
}

/* evidence for reading on at `at` after n output tokens, the last m of which match the text
 * there */
static int32_t strength(int32_t m, int32_t at, int32_t expected, int32_t n) {
    if (m > 1) return m > 2 ? PK_GUESS_MORE : PK_GUESS_TWO;
    if (m == 1) return abs(at - expected) > NEAR ? PK_GUESS_ONE_FAR : PK_GUESS_ONE_NEAR;
    return n ? PK_GUESS_NOTHING : PK_GUESS_BEGINNING;
}

/* moves the cursor to where to read on after n output tokens; returns the evidence for it */
static int32_t find(pk_cursor *text, const int32_t *output, int32_t n) {
    const int32_t expected = text->at + n - text->when;
    int32_t       longest = 0, at = expected;
    for (int32_t p = 1; p <= text->n; p++) {
        const int32_t m = match(text, p, output, n);
        if (m > longest || (m && m == longest && abs(p - expected) < abs(at - expected))) {
            longest = m;
            at = p;
        }
    }
    text->at = at;
    text->when = n;
    return strength(longest, at, expected, n);
}

/* the next token of a text */
static pk_suggestion read_on(pk_cursor *text, int32_t source, const int32_t *output, int32_t n) {
    const int32_t reason = text->n ? find(text, output, n) : 0;
    const bool    inside = text->at >= 0 && text->at < text->n;
    return (pk_suggestion){ inside ? text->token[text->at] : PK_NO_TOKEN,
                            source * PK_GUESS_STRENGTHS + reason };
}

/* the successor of the last three tokens, or else of the last two */
static pk_suggestion from_ngrams(const pk_guess *g, const int32_t *history, int32_t n) {
    for (int32_t order = PK_NGRAMS_HIGHEST; g->ngrams && order >= PK_NGRAMS_LOWEST; order--) {
        int32_t       votes;
        const int32_t token = pk_ngrams_next(g->ngrams, order, history, n, &votes);
        const int32_t seen = (order == 2 ? PK_GUESS_SEEN_TWO : PK_GUESS_SEEN_THREE) + (votes > 1);
        if (token != PK_NO_TOKEN)
            return (pk_suggestion){ token, PK_GUESS_NGRAM * PK_GUESS_STRENGTHS + seen };
    }
    return (pk_suggestion){ PK_NO_TOKEN, 0 };
}

static pk_suggestion from_lexicon(pk_guess *g, const int32_t *output, int32_t n, int32_t ahead) {
    float         share;
    const int32_t token =
        g->table.lexicon ? pk_lexicon_draft_next(&g->table, output, n, ahead, &share) : -1;
    if (token < 0) return (pk_suggestion){ PK_NO_TOKEN, 0 };
    const int32_t step = (int32_t)(share * PK_GUESS_STRENGTHS);
    const int32_t strength = step < PK_GUESS_STRENGTHS ? step : PK_GUESS_STRENGTHS - 1;
    return (pk_suggestion){ token, PK_GUESS_LEXICON * PK_GUESS_STRENGTHS + strength };
}

/* what one source suggests after n output tokens, the last `ahead` of which are guesses
 * themselves */
static pk_suggestion suggest(pk_guess *g, pk_cursor *cursor, int32_t source, const int32_t *history,
                             int32_t n, int32_t ahead) {
    pk_suggestion s = { PK_NO_TOKEN, 0 };
    if (!(sources_of[g->init] >> source & 1)) return s;
    if (source == PK_GUESS_NGRAM)
        s = from_ngrams(g, history, n + 1);
    else if (source == PK_GUESS_LEXICON)
        s = from_lexicon(g, history + 1, n, ahead);
    else if (source != PK_GUESS_PAD)
        s = read_on(&cursor[source], source, history + 1, n);
    else if (g->init == PK_INIT_PAD || ahead < PADS_OF_SHIFT)
        s = (pk_suggestion){ g->pad, PK_GUESS_PAD * PK_GUESS_STRENGTHS };
    if (s.token >= g->vocab) s.token = PK_NO_TOKEN; /* another vocabulary on the source side */
    return s;
}

/* How likely a suggestion is right. A pad is never right, but an ask behind it yields a prediction
 * for the next pass: so it is rated as such predictions are. */
static float worth(const pk_guess *g, const pk_suggestion *s) {
    const int32_t pad = PK_GUESS_PAD * PK_GUESS_STRENGTHS,
                  predicted = PK_GUESS_SHIFT * PK_GUESS_STRENGTHS;
    return pk_rates_of(g->rates, s->kind == pad ? predicted : s->kind);
}

/* asks all sources about one position; returns the best suggestion, or NULL. All are recorded, so
 * that all can be judged later. */
static const pk_suggestion *best_of_sources(pk_guess *g, pk_cursor *cursor, const int32_t *history,
                                            int32_t n, int32_t ahead) {
    const pk_suggestion *best = NULL;
    for (int32_t source = 0; source < PK_GUESS_SOURCES; source++) {
        pk_suggestion *s = &g->suggestion[ahead][source];
        *s = suggest(g, cursor, source, history, n + ahead, ahead);
        if (s->token == PK_NO_TOKEN) continue;
        if (!best || (source != PK_GUESS_PAD && worth(g, s) > worth(g, best))) best = s;
    }
    return best;
}

/* After many passes without a guess one is tried: the rate of predictions is only learnt by
 * asking. */
static bool probe(pk_guess *g, int32_t width) {
    g->rates->quiet = width ? 0 : g->rates->quiet + 1;
    if (g->rates->quiet < PROBE_AFTER || !(sources_of[g->init] >> PK_GUESS_PAD & 1)) return false;
    g->rates->quiet = 0;
    return true;
}

int32_t pk_guess_fill(pk_guess *g, int32_t *history, int32_t n, int32_t room, int32_t width,
                      const pk_pass *pass) {
    /* a copy moves on with the guesses; the sentence's own cursors move with certain tokens only */
    pk_cursor cursor[PK_GUESS_SOURCES];
    float     rate[PK_GUESS_MOST], chance = 1;
    int32_t   most = width && width - 1 < room ? width - 1 : room, found = 0;
    if (most > PK_GUESS_MOST) most = PK_GUESS_MOST;
    for (g->n = 0; found == g->n && g->n < most && (width || chance > UNLIKELY); g->n++) {
        if (g->n == 1) memcpy(cursor, g->cursor, sizeof cursor);
        pk_cursor           *from = g->n ? cursor : g->cursor;
        const pk_suggestion *best = best_of_sources(g, from, history, n, g->n);
        if (!best || best->token == g->eos) continue; /* after the end there is nothing to ask */
        history[n + found + 1] = best->token;
        rate[found] = worth(g, best);
        chance *= rate[found++];
    }
    if (width) return found;
    const int32_t asked = pk_rates_width(rate, found, pass->cost, pass->n_cost);
    return probe(g, asked) && found ? 1 : asked;
}

void pk_guess_learn(pk_guess *g, const int32_t *history, int32_t n, int32_t now,
                    const int32_t *predicted, int32_t n_predicted) {
    /* every source is judged at every position that has become certain, asked about or not */
    for (int32_t i = 0; i < g->n && n + i < now; i++)
        for (int32_t source = 0; source < PK_GUESS_PAD; source++) {
            const pk_suggestion *s = &g->suggestion[i][source];
            if (s->token != PK_NO_TOKEN)
                pk_rates_judge(g->rates, s->kind, s->token == history[n + i + 1]);
        }
    if (n_predicted == 0) return;
    memcpy(g->predicted, predicted, (size_t)n_predicted * sizeof *predicted);
    g->cursor[PK_GUESS_SHIFT] = (pk_cursor){ .token = g->predicted, .n = n_predicted, .when = now };
}

void pk_guess_finish(pk_guess *g, const int32_t *history, int32_t n) {
    if (g->ngrams) pk_ngrams_learn(g->ngrams, history, n + 1);
}
