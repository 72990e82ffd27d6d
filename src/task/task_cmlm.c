/* task_cmlm.c - masked filling: the conditional masked language model of Mask-Predict
 * (Ghazvininejad et al. 2019). Some tokens of the target are masks; all inputs see each other, and
 * masks are asked for what they hide. The end symbol is never a mask: the length, which is asked
 * for too, says where it is. */
#include "task/samples.h"
#include "task/task_list.h"

typedef struct options {
    int32_t lengths;
    float   weight;
} options;

// clang-format off
static const pk_option table[] = {
    { "lengths", "longest target whose length is learned",
      PK_OPTION_INT, 1, PK_USUAL_LENGTHS, PK_MOST_LENGTHS, NULL, offsetof(options, lengths) },
    { "length_weight", "weight of the question for the length, a token's being 1",
      PK_OPTION_FLOAT, 0, 1, 1000, NULL, offsetof(options, weight) },
    { 0 },
};
// clang-format on

static bool tokens(const void *p, int32_t i, pk_task_token *out) {
    const options *o = p;
    *out = (pk_task_token){ .name = "<mask>" };
    if (i > PK_MASK_TOKEN) pk_sample_length_token(i - 1, out);
    return i <= o->lengths;
}

static pk_status teach(pk_lesson *l, pk_pair *pair) {
    const options  *o = pair->options;
    const pk_masked how = { .first = 0, .lengths = o->lengths, .weight = o->weight };
    PK_TRY(pk_sample_source(l, pair));
    return pk_sample_masked(l, pair, &how);
}

/* the target, its end symbol and the question for the length */
static void most(const void *p, int32_t *per_token, int32_t *per_sentence) {
    (void)p;
    *per_token = 1;
    *per_sentence = 1;
}

const pk_task pk_task_cmlm = {
    .name = "cmlm",
    .help = "masked tokens from all others, and the length (Mask-Predict)",
    .table = table,
    .options_size = sizeof(options),
    .decode = "cmlm",
    .beyond = 1,
    .tokens = tokens,
    .teach = teach,
    .most = most,
};
