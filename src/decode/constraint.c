/* constraint.c - bans and penalties on the next token.
 *
 * n-grams and penalty follow the definitions of Hugging Face's generate(): a token that would
 * complete an n-gram already in the history is banned; the penalty divides a positive score by p
 * and multiplies a negative one. A token that is banned is not penalised as well. Bytes that
 * continue a character are exempt from both: without them the character would be cut in two.
 *
 * A list (pk_special) has three parts: [penalised | banned | suppressed]. The first two are banned
 * in the ask. Targets are the first part, or the whole list where sums have to be corrected. */
#include "decode/constraint.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

const char *const pk_unk_choices[] = { PK_UNK_MAP(PK_CHOICE_WORD) NULL };

int32_t pk_constraint_max_length(const pk_constraint_options *opt, const pk_source *src) {
    const int32_t most =
        src->model->max_positions > src->max_length ? src->model->max_positions : src->max_length;
    if (opt->max_length <= 0) return src->max_length;
    return opt->max_length < most ? opt->max_length : most;
}

/* the user's penalty, else the model's where the rules follow the model, else none */
static float penalty_of(const pk_constraint_options *opt, const pk_source *src, bool of_model) {
    const float p = opt->repetition_penalty > 0 ? opt->repetition_penalty
                    : of_model                  ? src->model->repetition_penalty
                                                : 1;
    return p > 0 ? p : 1;
}

pk_status pk_constraint_begin(pk_constraint *c, const pk_constraint_options *opt,
                              const pk_source *src, pk_constraint_rules rules) {
    *c = (pk_constraint){
        .rules = rules,
        .ngram = opt->no_repeat_ngram >= 0 ? opt->no_repeat_ngram
                 : rules.of_model          ? src->model->no_repeat_ngram
                                           : 0,
        .penalty = penalty_of(opt, src, rules.of_model),
        .min_length = opt->min_length >= 0 ? opt->min_length : rules.min_length,
        .max_length = pk_constraint_max_length(opt, src),
        .eos = src->model->eos,
        .unk = opt->unk == PK_UNK_BAN || (opt->unk == PK_UNK_AUTO && rules.ban_unk)
                   ? src->model->unk
                   : PK_NO_TOKEN,
        .suppressed = src->model->suppressed,
        .n_suppressed = src->model->n_suppressed,
        .continuation = src->model->continuation,
        .n_continuation = src->model->n_continuation,
        .left_out = src->model->renormalise,
        .vocab = src->model->vocab,
    };
    if (src->n_prefix >= c->max_length)
        PK_FAIL(PK_ARGUMENT,
                "the output must begin with %d tokens but may have only %d: "
                "shorten the prefix or raise max_length",
                (int)src->n_prefix, (int)c->max_length);
    /* Their log-probabilities are needed in two cases: to take them out of a sum that they are in,
     * or to get the full sum back from one that they were left out of. */
    c->lists_suppressed =
        rules.renormalise && (!c->left_out || (c->penalty != 1 && !rules.on_logits));
    c->room = 2 + c->n_suppressed; /* eos and unk */
    if (c->ngram <= 0 && c->penalty == 1) return PK_OK;
    c->room += c->max_length;
    return PK_TAKE(&c->seen, (size_t)(c->vocab + 31) / 32);
}

void pk_constraint_end(pk_constraint *c) {
    pk_memory_give(c->seen);
    c->seen = NULL;
}

static bool suppressed(const pk_constraint *c, int32_t token) {
    for (int32_t i = 0; i < c->n_suppressed; i++)
        if (c->suppressed[i] == token) return true;
    return false;
}

/* a byte that continues a character */
static bool continues_character(const pk_constraint *c, int32_t token) {
    return token >= c->continuation && token - c->continuation < c->n_continuation;
}

/* adds a token once; its bit in `seen` says whether it is in the list already */
static void add(const pk_constraint *c, pk_special *out, int32_t token) {
    if (token < 0 || token >= c->vocab) return; /* a start symbol may be PK_NO_TOKEN */
    if (suppressed(c, token) || continues_character(c, token)) return;
    uint32_t *word = &c->seen[token / 32], bit = UINT32_C(1) << (token % 32);
    if (*word & bit) return;
    *word |= bit;
    out->token[out->n++] = token;
}

/* Bans every token that would complete an n-gram a second time. The last size - 1 tokens are the
 * beginning of the next n-gram; where they occurred before, the token behind them is banned. */
static void add_ngrams(const pk_constraint *c, const int32_t *history, int32_t n, pk_special *out) {
    const int32_t size = c->ngram;
    if (size <= 0 || n < size) return;
    const int32_t *suffix = history + n + 1 - size;
    for (int32_t i = 0; i + size <= n; i++)
        if (memcmp(history + i, suffix, (size_t)(size - 1) * sizeof *history) == 0)
            add(c, out, history[i + size - 1]);
}

/* Bans were collected first, because they win over penalties. Reversing the list brings the
 * penalised tokens to the front. */
static void penalised_first(pk_special *out, int32_t n_banned) {
    out->n_penalised = out->n - n_banned;
    for (int32_t i = 0, j = out->n - 1; i < j; i++, j--) {
        const int32_t token = out->token[i];
        out->token[i] = out->token[j];
        out->token[j] = token;
    }
}

/* The part of pk_constraint_list that reads the history: n-grams and the penalty. The bans that
 * do not depend on it are in the list already. */
static void look_back(const pk_constraint *c, const int32_t *history, int32_t n, pk_special *out) {
    if (!c->rules.with_start)
        history++;
    else
        n++;
    for (int32_t i = 0; i < out->n; i++)
        c->seen[out->token[i] / 32] |= UINT32_C(1) << (out->token[i] % 32);
    add_ngrams(c, history, n, out);
    const int32_t n_banned = out->n;
    for (int32_t i = 0; c->penalty != 1 && i < n; i++) add(c, out, history[i]);
    /* only the words that were touched are cleared: the vocabulary is large, the list short */
    for (int32_t i = 0; i < out->n; i++) c->seen[out->token[i] / 32] = 0;
    penalised_first(out, n_banned);
}

void pk_constraint_list(const pk_constraint *c, const int32_t *history, int32_t n,
                        pk_special *out) {
    const bool no_eos = n + 1 < c->min_length; /* the end symbol would be token n + 1 */
    out->n = out->n_penalised = 0;
    if (no_eos && !suppressed(c, c->eos)) out->token[out->n++] = c->eos;
    if (c->unk != PK_NO_TOKEN && !(no_eos && c->unk == c->eos) && !suppressed(c, c->unk))
        out->token[out->n++] = c->unk;
    if (c->seen) look_back(c, history, n, out);
    out->n_suppressed = c->lists_suppressed ? c->n_suppressed : 0;
    for (int32_t i = 0; i < out->n_suppressed; i++) out->token[out->n++] = c->suppressed[i];
    assert(out->n <= c->room);
}

void pk_constraint_ask(const pk_constraint *c, const pk_special *special, pk_ask *ask) {
    ask->ban = special->token;
    ask->n_ban = special->n - special->n_suppressed; /* the session adds those itself */
    ask->target = special->token;
    ask->n_target = c->rules.renormalise ? special->n : special->n_penalised;
    ask->logp |= ask->n_target > 0;
}

/* Log-probability of penalised token i after the penalty. Logits and log-probabilities differ by a
 * constant; it matters here because a penalty depends on the sign of what it is applied to. */
static float penalised(const pk_constraint *c, float full, const pk_answer *a, int32_t i) {
    const float to_full = c->rules.on_logits ? a->log_sum : full;
    const float was = a->target_logp[i] + to_full;
    const float is = was < 0 ? was * c->penalty : was / c->penalty;
    return c->rules.on_logits ? is - a->log_sum : is;
}

/* Probability mass of the first n listed tokens. The tokens that the answer is normalised over have
 * mass 1 together; listed ones may be among them (all tokens) or come on top of it (left_out). */
static double mass_of(const pk_answer *a, int32_t n) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += exp((double)a->target_logp[i]);
    return sum;
}

/* Three normalisations meet here, each a constant that is added to log-probabilities:
 *   the answer's:  over all tokens, or (left_out) over those not banned
 *   full:          over all tokens; penalties are defined on it
 *   search:        over the allowed tokens after the penalties; what the search compares */
pk_weights pk_constraint_weights(const pk_constraint *c, const pk_special *special,
                                 const pk_answer *a) {
    pk_weights w = { 0 };
    if (!c->rules.renormalise || special->n == 0) return w;
    const double ours = mass_of(a, special->n - special->n_suppressed);
    const double listed = mass_of(a, special->n);
    if (c->left_out) w.model = (float)-log1p(ours);
    if (c->left_out && !c->rules.on_logits) w.full = (float)-log1p(listed);
    double mass = c->left_out ? exp((double)w.full) : 1 - listed;
    if (mass < 1e-9) mass = 1e-9; /* rounding, when next to nothing is allowed */
    for (int32_t i = 0; i < special->n_penalised; i++)
        mass += exp((double)penalised(c, w.full, a, i));
    w.norm = (float)log(mass);
    w.search = w.full - w.norm;
    return w;
}

float pk_constraint_weigh(const pk_constraint *c, const pk_weights *w, const pk_answer *a,
                          int32_t i) {
    return penalised(c, w->full, a, i) - w->norm;
}

/* Ties go to the lower token id, as in the device's list of the best. */
pk_candidate pk_constraint_best(const pk_constraint *c, const pk_special *special,
                                const pk_answer *a) {
    const pk_weights weights = pk_constraint_weights(c, special, a);
    pk_candidate     choice = { a->top[0].token, a->top[0].logp + weights.model };
    float            value = a->top[0].logp + weights.search;
    if (choice.token == PK_NO_TOKEN || !(value > -INFINITY)) {
        value = -INFINITY;
        choice.token = PK_NO_TOKEN;
    }
    for (int32_t i = 0; i < special->n_penalised; i++) {
        const float   weighed = pk_constraint_weigh(c, &weights, a, i);
        const int32_t token = special->token[i];
        if (weighed > value || (weighed == value && token < choice.token && weighed > -INFINITY)) {
            choice = (pk_candidate){ token, a->target_logp[i] + weights.model };
            value = weighed;
        }
    }
    return choice;
}

/* Best tokens first, then the penalised ones, as the search compares them; own: as the model
 * does. */
static float compared(const pk_constraint *c, const pk_special *special, const pk_weights *w,
                      const pk_answer *a, int32_t i, int32_t beta, pk_candidate *own) {
    if (i < beta) {
        *own = (pk_candidate){ a->top[i].token, a->top[i].logp + w->model };
        return own->token == PK_NO_TOKEN ? -INFINITY : a->top[i].logp + w->search;
    }
    *own = (pk_candidate){ special->token[i - beta], a->target_logp[i - beta] + w->model };
    return pk_constraint_weigh(c, w, a, i - beta);
}

pk_candidate pk_constraint_tolerate(const pk_constraint *c, const pk_special *special,
                                    const pk_answer *a, int32_t token, int32_t beta, float tau,
                                    pk_candidate best) {
    const pk_weights weights = pk_constraint_weights(c, special, a);
    const int32_t    n = beta + special->n_penalised;
    pk_candidate     own, found = { PK_NO_TOKEN, 0 };
    float            value = -INFINITY, most = -INFINITY;
    int32_t          better = 0;
    for (int32_t i = 0; i < n; i++) {
        const float v = compared(c, special, &weights, a, i, beta, &own);
        if (v > most) most = v;
        if (own.token == token && v > -INFINITY) value = v, found = own;
    }
    for (int32_t i = 0; i < n; i++)
        better += compared(c, special, &weights, a, i, beta, &own) > value;
    return found.token != PK_NO_TOKEN && better < beta && most - value <= tau ? found : best;
}
