/* worker_open.c - a worker's memory: all of it is taken at open, for the worst sentence it may get. */
#include "decode/ngrams.h"
#include "engine/worker_plan.h"
#include "engine/worker_sentences.h"

static size_t largest_state(const pk_worker_options *o) {
    const pk_plan *const plan[] = { &o->plan, &o->scoring, o->plan.again };
    size_t               largest = 0;
    for (size_t i = 0; i < sizeof plan / sizeof *plan; i++)
        if (plan[i] && plan[i]->strategy->state_size > largest)
            largest = plan[i]->strategy->state_size;
    return largest;
}

static pk_status take_live(pk_worker *w, pk_strategy_limits worst, size_t state_size) {
    const size_t batch = (size_t)w->opt.batch, room = (size_t)worst.asks + 1;
    const size_t state = (state_size + 63) / 64 * 64;
    PK_TRY(PK_TAKE(&w->live, batch));
    PK_TRY(PK_TAKE(&w->waiting, batch));
    PK_TRY(PK_TAKE(&w->request, batch));
    PK_TRY(PK_TAKE(&w->found, (size_t)pk_plan_n_best(&w->opt.plan)));
    PK_TRY(PK_TAKE(&w->states, batch * state));
    PK_TRY(PK_TAKE(&w->asks, batch * room));
    PK_TRY(PK_TAKE(&w->answers, batch * room));
    PK_TRY(PK_TAKE(&w->tips, batch * (size_t)worst.hypotheses));
    PK_TRY(PK_TAKE(&w->traced, room));
    w->step_room = worst.edges ? w->config.max_target + 1 : 0;
    PK_TRY(PK_TAKE(&w->traced_steps, (size_t)w->step_room));
    for (size_t i = 0; i < batch; i++) {
        w->live[i].state = w->states + i * state;
        w->live[i].pass = (pk_pass){ .room = worst.asks,
                                     .ask = w->asks + i * room,
                                     .answer = w->answers + i * room };
        w->live[i].verdict =
            (pk_verdict){ .room = worst.hypotheses, .tip = w->tips + i * (size_t)worst.hypotheses };
    }
    return PK_OK;
}

/* fills in the limits of each network; returns the most that a sentence may ask of any */
static pk_strategy_limits plan_networks(pk_worker *w, pk_session_model *network) {
    pk_strategy_limits worst = { 0 };
    for (int32_t i = 0; i < w->n_networks; i++) {
        const pk_config         *c = &network[i].all->config;
        const pk_strategy_limits one =
            pk_plan_network(&w->opt, &w->model, c, w->on.encode, i > 0, &network[i].max);
        worst = pk_plan_larger(worst, one);
        w->network[i].n_suppressed = c->n_suppressed;
    }
    return worst;
}

/* room for the list of one sentence, on whichever network */
static pk_status take_lists(pk_worker *w) {
    int32_t n_tokens = 0, longest = 0;
    for (int32_t i = 0; i < w->n_networks; i++) {
        const pk_shortlist *by = w->opt.shortlist[i];
        if (by && by->n_tokens > n_tokens) n_tokens = by->n_tokens;
        if (by && by->longest > longest) longest = by->longest;
    }
    if (!longest) return PK_OK;
    PK_TRY(PK_TAKE(&w->listed, (size_t)n_tokens));
    return PK_TAKE(&w->shortlist, (size_t)longest);
}

pk_status pk_worker_open(pk_worker *w, const pk_ensemble *all, const pk_worker_options *opt) {
    pk_session_model network[PK_MOST_MODELS] = { { .all = all } };
    *w = (pk_worker){ .config = all->config, .opt = *opt, .n_networks = 1 };
    w->model = pk_plan_conventions(&w->config);
    w->model.continuation = opt->continuation;
    w->model.n_continuation = opt->n_continuation;
    w->model.added = opt->added;
    w->model.n_added = opt->n_added;
    w->model.lexicon = opt->lexicon != NULL;
    if (opt->drafter)
        network[w->n_networks++] =
            (pk_session_model){ .all = opt->drafter, .shares_encoder = opt->shares_encoder };
    const pk_strategy *by = opt->plan.strategy;
    if (by->fits) PK_TRY(by->fits(by, opt->plan.options, &w->model));
    PK_TRY(pk_backend_open(opt->backend, opt->threads, opt->arithmetic, &w->on));
    const pk_strategy_limits worst = plan_networks(w, network);
    PK_TRY(pk_ngrams_open(PK_NGRAMS_BITS, &w->ngrams));
    PK_TRY(take_live(w, worst, largest_state(opt)));
    PK_TRY(take_lists(w));
    PK_TRY(pk_session_open_models(network, w->n_networks, &w->on, &w->session));
    w->threads = opt->threads;
    w->seen.device_bytes = w->on.held ? w->on.held(w->on.self) : 0;
    return PK_OK;
}

void pk_worker_close(pk_worker *w) {
    void *const blocks[] = { w->live,   w->waiting, w->request,   w->found,
                             w->states, w->asks,    w->answers,   w->tips,
                             w->traced, w->listed,  w->shortlist, w->traced_steps };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) pk_memory_give(blocks[i]);
    pk_ngrams_close(w->ngrams);
    pk_session_close(w->session);
    pk_backend_close(&w->on);
    *w = (pk_worker){ 0 };
}
