/* task_hrt.c - hybrid-regressive translation (Wang et al. 2022): every k-th token one after the
 * other, then all others at once, by the same decoder.
 *
 * Each pair gives two samples, which do not see each other. A share of the pairs that grows during
 * the training, most x (t/T)^lambda, gives the two stages: Skip-AT and Skip-CMLM. The others give
 * the auxiliary tasks, plain left to right and plain masked filling: without them half of the
 * tokens would never be an input. With most = 1 these end at zero, and the model does `hrt`
 * alone. */
#include <math.h>
#include <stdio.h>

#include "task/samples.h"
#include "task/task_list.h"

enum { MOST_K = 8, SHARES = 1 << 24 };

typedef struct options {
    int32_t k, k_max, lengths;
    float   most, lambda, weight;
    bool    auxiliary, all_sizes;
} options;

// clang-format off
static const pk_option table[] = {
    { "k", "chunk size: tokens for each step of the first stage",
      PK_OPTION_INT, 2, 2, MOST_K, NULL, offsetof(options, k) },
    { "k_max", "all sizes from k to this one are learned; auto: k alone",
      PK_OPTION_INT, 2, 0, MOST_K, NULL, offsetof(options, k_max) },
    { "all_sizes", "a pair gives the stages of all sizes, not of one that is drawn",
      PK_OPTION_FLAG, 0, 0, 0, NULL, offsetof(options, all_sizes) },
    { "most", "share of pairs for the two stages at the end; below 1: also at",
      PK_OPTION_FLOAT, 0.01, 1, 1, NULL, offsetof(options, most) },
    { "lambda", "the share is most x (part of the training done)^lambda",
      PK_OPTION_FLOAT, 0.01, 1, 100, NULL, offsetof(options, lambda) },
    { "auxiliary", "whether other pairs are learned left to right and with masks",
      PK_OPTION_FLAG, 0, 1, 0, NULL, offsetof(options, auxiliary) },
    { "lengths", "longest length learned, for cmlm; auto: 256 where most is below 1",
      PK_OPTION_INT, 0, -1, PK_MOST_LENGTHS, NULL, offsetof(options, lengths) },
    { "length_weight", "weight of the question for the length, a token's being 1",
      PK_OPTION_FLOAT, 0, 1, 1000, NULL, offsetof(options, weight) },
    { 0 },
};
// clang-format on

static int32_t largest_k(const options *o) { return o->k_max > o->k ? o->k_max : o->k; }

/* whether the auxiliary tasks stay to the end, so that its models can do them */
static bool stay(const options *o) { return o->auxiliary && o->most < 1; }

static int32_t lengths_of(const options *o) {
    if (!stay(o)) return 0;
    return o->lengths < 0 ? PK_USUAL_LENGTHS : o->lengths;
}

static const char *also(const void *p) {
    const options *o = p;
    if (!stay(o)) return "";
    return lengths_of(o) ? "at cmlm" : "at";
}

/* the mask, a start symbol for each k, lengths */
static bool tokens(const void *p, int32_t i, pk_task_token *out) {
    const options *o = p;
    const int32_t  sizes = largest_k(o) - o->k + 1;
    *out = (pk_task_token){ .name = "<mask>" };
    if (i == PK_MASK_TOKEN) return true;
    if (i <= sizes)
        snprintf(out->name, sizeof out->name, "<bos:%d>", o->k + i - 1);
    else
        pk_sample_length_token(i - 1 - sizes, out);
    return i <= sizes + lengths_of(o);
}

/* token at a position of the target, from 1; the end symbol is behind it */
static int32_t token_at(const pk_pair *pair, int32_t position) {
    return position <= pair->n_target ? pair->target[position - 1] : pair->eos;
}

/* Stage one: the start symbol of k at position 0, every k-th token at its own position; each is
 * asked for the next of them, the last one for the end symbol. They are inputs *at and on; *at
 * becomes the number of the next one. */
static pk_status skip_chain(pk_lesson *l, const pk_pair *pair, int32_t k, int32_t *at) {
    const options *o = pair->options;
    const int32_t  first = *at, n = pair->n_target / k + 1;
    int32_t        before = pair->token[1 + k - o->k];
    for (int32_t i = 0; i < n; i++, (*at)++) {
        const int32_t next = (i + 1) * k;
        PK_TRY(pk_lesson_input(l, before, i * k, first, i + 1, NULL));
        if (next > pair->n_given) PK_TRY(pk_lesson_ask(l, *at, token_at(pair, next), 1));
        before = token_at(pair, next);
    }
    return PK_OK;
}

/* Stage two: those tokens, masks between them, the end symbol where stage one found it; all see
 * each other. Masks are asked for what they hide, the first behind the target for the end
 * symbol. */
static pk_status skip_masked(pk_lesson *l, const pk_pair *pair, int32_t k, int32_t *at) {
    const int32_t first = *at, n = (pair->n_target / k + 1) * k;
    for (int32_t i = 1; i <= n; i++, (*at)++) {
        const bool    masked = i % k && i > pair->n_given;
        const int32_t token = masked ? pair->token[PK_MASK_TOKEN] : token_at(pair, i);
        PK_TRY(pk_lesson_input(l, token, i, first, n, NULL));
        if (masked && i <= pair->n_target + 1) PK_TRY(pk_lesson_ask(l, *at, token_at(pair, i), 1));
    }
    return PK_OK;
}

/* both stages of some sizes, one behind the other; they do not see each other */
static pk_status stages(pk_lesson *l, const pk_pair *pair, int32_t smallest, int32_t largest) {
    int32_t at = 0;
    for (int32_t k = smallest; k <= largest; k++) {
        PK_TRY(skip_chain(l, pair, k, &at));
        PK_TRY(skip_masked(l, pair, k, &at));
    }
    return PK_OK;
}

/* the share of pairs that give the two stages */
static double share_of(const options *o, double done) {
    return o->auxiliary ? (double)o->most * pow(done, (double)o->lambda) : 1;
}

/* Either both stages, of a drawn k or of all, or plain translation and masked filling. How often it
 * is the first grows with the training: the curriculum of the paper. */
static pk_status teach(pk_lesson *l, pk_pair *pair) {
    const options *o = pair->options;
    const bool     staged = pk_pair_random(pair, SHARES) < share_of(o, pair->share) * SHARES;
    const int32_t  k = o->k + pk_pair_random(pair, largest_k(o) - o->k + 1);
    PK_TRY(pk_sample_source(l, pair));
    if (staged) return o->all_sizes ? stages(l, pair, o->k, largest_k(o)) : stages(l, pair, k, k);
    const pk_masked how = { pair->n_target + 1, lengths_of(o), o->weight };
    PK_TRY(pk_sample_chain(l, pair, false));
    return pk_sample_masked(l, pair, &how);
}

/* left to right, and masks with the question for the length; or the second stage, which fills up
 * its last chunk */
static void most(const void *p, int32_t *per_token, int32_t *per_sentence) {
    const options *o = p;
    const int32_t  sizes = o->all_sizes ? largest_k(o) - o->k + 1 : 1;
    *per_token = 2 * sizes;
    *per_sentence = sizes * (largest_k(o) - 1);
}

const pk_task pk_task_hrt = {
    .name = "hrt",
    .help = "every k-th token in turn, then all others at once (HRT)",
    .table = table,
    .options_size = sizeof(options),
    .decode = "hrt",
    .beyond = MOST_K,
    .also = also,
    .tokens = tokens,
    .teach = teach,
    .most = most,
};
