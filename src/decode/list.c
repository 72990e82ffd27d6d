/* list.c - the strategies there are: one line each. Parsing of "name:key=value,..." and help come
 * from the strategies' own option tables. */
#include <string.h>

#include "base/memory.h"
#include "decode/strategy.h"

// clang-format off
const pk_strategy *const pk_strategies[] = {
    &pk_strategy_greedy,
    &pk_strategy_beam,
    &pk_strategy_jacobi,
    &pk_strategy_pj,
    &pk_strategy_pgj,
    &pk_strategy_hgj,
    &pk_strategy_cmlm,
    &pk_strategy_hrt,
    &pk_strategy_gad,
    &pk_strategy_gad_self,
    &pk_strategy_gad_beam,
    &pk_strategy_blocks,
    &pk_strategy_pairs,
    &pk_strategy_lattice,
    &pk_strategy_nat,
    NULL,
};
// clang-format on

/* names of all strategies, or of those that use a drafter */
static pk_buffer name_all(bool drafting) {
    pk_buffer names = { 0 };
    for (int i = 0; pk_strategies[i]; i++)
        if (!drafting || pk_strategies[i]->draft_limits)
            pk_buffer_print(&names, "%s%s", names.size ? ", " : "", pk_strategies[i]->name);
    return names;
}

/* an unknown name: the error names all strategies there are */
static pk_status refuse(const char *spec, size_t size) {
    pk_buffer       known = name_all(false);
    const pk_status status =
        pk_fail_with(PK_ARGUMENT, "no decoding strategy '%.*s'; there are: %s",
                     (int)(size < 64 ? size : 64), spec, known.data ? known.data : "greedy");
    pk_buffer_free(&known);
    return status;
}

const pk_added_tokens *pk_added_find(const pk_conventions *model, const char *name) {
    for (int32_t i = 0; i < model->n_added; i++)
        if (strcmp(model->added[i].name, name) == 0) return &model->added[i];
    return NULL;
}

pk_block_mask pk_block_mask_of(const pk_conventions *model) {
    const pk_added_tokens *all = pk_added_find(model, "<mask:all>");
    const pk_added_tokens *next = pk_added_find(model, "<mask:next>");
    const pk_added_tokens *mask = all ? all : next ? next : pk_added_find(model, "<mask>");
    return (pk_block_mask){ mask ? mask->first : PK_NO_TOKEN, all != NULL, !all && next };
}

pk_status pk_strategy_parse(const char *spec, const pk_strategy **out, void **state) {
    if (!spec || !*spec) spec = "greedy";
    const size_t size = strcspn(spec, ":");
    *state = NULL;
    for (int i = 0; pk_strategies[i]; i++) {
        const pk_strategy *s = pk_strategies[i];
        if (strlen(s->name) != size || memcmp(s->name, spec, size) != 0) continue;
        *out = s;
        /* what follows the colon; without one, no option is set */
        const char *text = spec[size] ? spec + size + 1 : "";
        return pk_options_make(s->options, s->state_size, text, s->name, state);
    }
    return refuse(spec, size);
}

pk_status pk_strategy_check_single(const pk_strategy *self, const void *state, int32_t n_best) {
    (void)state;
    if (n_best > 1)
        PK_FAIL(PK_ARGUMENT, "%s gives one hypothesis; for %d use beam:size=%d", self->name,
                (int)n_best, (int)n_best);
    return PK_OK;
}

pk_status pk_strategy_check_lexicon(const pk_strategy *self, const pk_conventions *model) {
    if (model->lexicon) return PK_OK;
    PK_FAIL(PK_ARGUMENT,
            "%s: init=lexicon needs a lexicon: give one (--lexicon), which `pronk align -m MODEL "
            "--save FILE` makes",
            self->name);
}

pk_status pk_strategy_check_drafter(const pk_strategy *self, const void *state, bool given) {
    const bool alone = self->drafts && self->drafts(state);
    if (given == (self->draft_limits != NULL && !alone) || self->drafts_at_will) return PK_OK;
    if (alone)
        PK_FAIL(PK_ARGUMENT, "%s takes its drafts from a lexicon here: leave the drafter out",
                self->name);
    if (!given) PK_FAIL(PK_ARGUMENT, "%s needs a drafter: give one (--drafter)", self->name);
    pk_buffer       known = name_all(true);
    const pk_status status =
        pk_fail_with(PK_ARGUMENT, "%s uses no drafter; strategies that use one: %s", self->name,
                     known.data ? known.data : "none yet");
    pk_buffer_free(&known);
    return status;
}

pk_status pk_strategies_describe(char **text) {
    pk_buffer out = { 0 };
    PK_NEED(text);
    for (int i = 0; pk_strategies[i]; i++) {
        pk_buffer_print(&out, "%s  %s\n", pk_strategies[i]->name, pk_strategies[i]->help);
        pk_options_help(pk_strategies[i]->options, &out);
    }
    const pk_status status = pk_buffer_take(&out, text, NULL);
    pk_buffer_free(&out);
    return status;
}
