/* guesses.c - how many passes a strategy takes, without a model: the greedy outputs are known,
 * so an ask on the right path can be answered, and one on a wrong path is answered with a
 * useless token (a real model often predicts something useful there, so real counts are a little
 * better).
 *
 *   make build/bench/guesses
 *   tools/simulate_drafts.py MODEL TEST.src TEST.ref OUTPUTS.jsonl > ids
 *   build/bench/guesses ids reference jacobi:window=16 0.02
 *
 *   build/bench/guesses ids none jacobi:init=lexicon,window=16 0.02 MODEL LEXICON
 *
 * ids: three lines of numbers a sentence: source, reference, greedy output. The second argument
 * says what the draft is: none, reference, source, own. The fourth is the cost of one more ask. LEXICON
 * is what `pronk align -m MODEL --save` wrote. RATES=1 prints how often each kind of guess was right;
 * SUCCESSORS=0 makes the lexicon forget what follows what. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "decode/guess.h"
#include "decode/strategy.h"
#include "engine/saved_lexicon.h"

enum { LONGEST = 1024, VOCAB = 1 << 20, EOS = 0, NONSENSE = VOCAB - 2, START = VOCAB - 1 };

typedef struct line {
    int32_t token[LONGEST], n;
} line;

typedef struct totals {
    double tokens, passes, asks, cost;
} totals;

static int read_line(FILE *f, line *out) {
    static char text[1 << 16];
    if (!fgets(text, sizeof text, f)) return 0;
    out->n = 0;
    for (char *at = text, *end; out->n < LONGEST - 2; at = end) {
        const long value = strtol(at, &end, 10);
        if (end == at) break;
        out->token[out->n++] = (int32_t)value;
    }
    return 1;
}

/* answers a pass from the known output; kept: tokens in the history */
static void serve(const line *truth, pk_pass *pass, int32_t kept, pk_candidate *said) {
    static int32_t right[LONGEST];
    for (int32_t i = 1; i <= pass->n; i++) {
        const pk_ask *ask = &pass->ask[i];
        const int32_t token = ask->pos ? truth->token[ask->pos - 1] : START;
        right[i] = (ask->parent ? right[ask->parent] : ask->pos == kept) && ask->pos < truth->n &&
                   ask->token == token;
        said[i] = (pk_candidate){ right[i] ? truth->token[ask->pos] : NONSENSE, 0 };
        pass->answer[i] = (pk_answer){ .top = &said[i] };
    }
}

/* decodes one sentence whose output is known: only passes and asks are counted */
static void decode(const char *spec, const pk_source *src, const line *truth, const float *cost,
                   totals *t) {
    static pk_ask       ask[LONGEST];
    static pk_answer    answer[LONGEST];
    static pk_candidate said[LONGEST];
    const pk_strategy  *by;
    void               *state;
    int32_t             tip[4], kept = 0;
    if (pk_strategy_parse(spec, &by, &state) || by->begin(by, state, src)) {
        fprintf(stderr, "%s\n", pk_last_error());
        exit(1);
    }
    for (pk_verdict v = { .room = 4, .tip = tip }; !v.done;) {
        pk_pass pass = { .room = 128, .ask = ask, .answer = answer, .n_cost = 128, .cost = cost };
        v.n_hypotheses = 0;
        by->propose(state, &pass);
        serve(truth, &pass, kept, said);
        by->absorb(state, &pass, &v);
        if (!v.done) kept = tip[0] ? ask[tip[0]].pos + 1 : 0;
        if (pass.probe) continue;
        t->passes++;
        t->asks += pass.n;
        t->cost += (double)cost[pass.n];
    }
    pk_hypothesis h;
    by->result(state, &h, 1);
    if (h.n != truth->n || memcmp(h.token, truth->token, (size_t)h.n * sizeof *h.token) != 0) {
        fprintf(stderr, "not greedy's output\n");
        exit(1);
    }
    t->tokens += h.n;
    by->end(state);
    pk_memory_give(state);
}

/* the lexicon of the command line, or NULL */
static const pk_lexicon *open_lexicon(int n, char **argument) {
    static pk_saved_lexicon saved;
    pk_model               *model;
    if (n < 7) return NULL;
    if (pk_model_open(argument[5], NULL, &model) ||
        pk_saved_lexicon_open(model, argument[6], &saved)) {
        fprintf(stderr, "%s\n", pk_last_error());
        exit(1);
    }
    const char *successors = getenv("SUCCESSORS");
    if (successors && *successors == '0') saved.lexicon.next_first = NULL;
    return &saved.lexicon;
}

int main(int n, char **argument) {
    static line          source, reference, output;
    static float         cost[128];
    totals               t = { 0 };
    const pk_conventions model = {
        .vocab = VOCAB, .eos = EOS, .start = START, .unk = 1, .max_positions = 512
    };
    pk_ngrams  *ngrams;
    FILE       *f = n > 3 ? fopen(argument[1], "r") : NULL;
    const float slope = n > 4 ? strtof(argument[4], NULL) : 0.02f;
    if (!f || pk_ngrams_open(PK_NGRAMS_BITS, &ngrams)) return 1;
    const pk_lexicon *lexicon = open_lexicon(n, argument);
    for (int w = 1; w < 128; w++) cost[w] = 1 + slope * (float)(w - 1);
    while (read_line(f, &source) && read_line(f, &reference) && read_line(f, &output)) {
        source.token[source.n++] = output.token[output.n] = EOS;
        pk_source   src = { .model = &model,
                            .n_tokens = source.n,
                            .token = source.token,
                            .max_length = 512,
                            .n_best = 1,
                            .lexicon = lexicon,
                            .ngrams = ngrams };
        const line *draft = argument[2][0] == 'r'   ? &reference
                            : argument[2][0] == 's' ? &source
                            : argument[2][0] == 'o' ? &output
                                                    : NULL;
        if (draft) src.draft = draft->token;
        if (draft) src.n_draft = draft == &source ? draft->n - 1 : draft->n; /* without its end */
        output.n++;                                                          /* with its end */
        decode(argument[3], &src, &output, cost, &t);
    }
    printf(
        "%-9s %-32s cost %.3f: %.4f x fewer passes, %.2f asks a pass, %.3f x faster at that cost\n",
        argument[2], argument[3], (double)slope, t.tokens / t.passes, t.asks / t.passes,
        t.tokens / t.cost);
    for (int k = 0; k < PK_GUESS_KINDS && getenv("RATES"); k++)
        printf("%.3f%c", (double)pk_rates_of(&ngrams->rates, k),
               k % PK_GUESS_STRENGTHS == PK_GUESS_STRENGTHS - 1 ? '\n' : ' ');
    fclose(f);
    pk_ngrams_close(ngrams);
    return 0;
}
