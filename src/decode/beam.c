/* beam.c - keep the best few partial translations, under the rules of one of four known programs.
 *
 * Each pass asks about every hypothesis and takes one step of beam_step.c. */
#include "decode/beam_step.h"

typedef struct state {
    pk_beam beam;
} state;

// clang-format off
static const pk_option options[] = { PK_BEAM_OPTIONS(state, beam), { 0 } };
// clang-format on

static pk_status check(const pk_strategy *self, const void *p, int32_t n_best) {
    return pk_beam_check(self->name, &((const state *)p)->beam, n_best);
}

static pk_strategy_limits limits(const pk_strategy *self, const void *p, const pk_source *src) {
    (void)self;
    return pk_beam_limits(&((const state *)p)->beam, src);
}

static pk_status begin(const pk_strategy *self, void *p, const pk_source *src) {
    (void)self;
    return pk_beam_begin(&((state *)p)->beam, src, 0);
}

static void propose(void *p, pk_pass *pass) { pk_beam_propose(&((state *)p)->beam, pass); }

static void absorb(void *p, const pk_pass *pass, pk_verdict *verdict) {
    pk_beam *s = &((state *)p)->beam;
    if (pk_beam_absorb_prefix(s, pass))
        pk_beam_conclude(s, pk_beam_step(s, pass), verdict);
    else
        pk_keep(verdict, pass->n);
}

static int32_t result(const void *p, pk_hypothesis *out, int32_t room) {
    return pk_beam_result(&((const state *)p)->beam, out, room);
}

static void end(void *p) { pk_beam_give(&((state *)p)->beam); }

const pk_strategy pk_strategy_beam = {
    .name = "beam",
    .help = "keeps several translations in view; better, and slower",
    .options = options,
    .state_size = sizeof(state),
    .check = check,
    .limits = limits,
    .begin = begin,
    .propose = propose,
    .absorb = absorb,
    .result = result,
    .end = end,
};
