/* worker_trace.c - passes as a caller's trace gets them: every ask, or the steps of a lattice. */
#include "engine/worker_sentences.h"

/* the steps of a lattice, as the caller's trace gets them; returns how many */
static int32_t trace_steps(pk_worker *w, const pk_pass *p) {
    const int32_t n = p->n_edges < w->step_room ? p->n_edges : w->step_room;
    for (int32_t i = 0; i < n; i++) {
        const pk_edge_step *e = &p->edges[i];
        w->traced_steps[i] = (pk_trace_step){ .position = e->pos,
                                              .n_from = e->n_from,
                                              .n_to = e->n_to,
                                              .from = e->from,
                                              .to = e->to,
                                              .score = e->score };
    }
    return n;
}

/* the asks of a pass; those that the verdict's hypotheses are made of are kept */
static void trace_asks(pk_worker *w, const pk_pass *p, const pk_verdict *verdict) {
    for (int32_t i = 1; i <= p->n; i++) {
        const pk_ask    *a = &p->ask[i];
        const pk_answer *x = &p->answer[i];
        const bool       text = a->top_k && !a->group;
        w->traced[i - 1] = (pk_trace_ask){ .position = a->pos + a->ahead,
                                           .token = a->token,
                                           .best = text ? x->top[0].token : -1,
                                           .log_prob = text ? x->top[0].logp : 0,
                                           .parent = a->parent > 0 ? a->parent - 1 : -1,
                                           .fed_at = a->token == PK_NO_TOKEN ? -1 : a->pos - 1,
                                           .scored = text && a->logp };
    }
    for (int32_t i = 0; i < verdict->n_hypotheses; i++)
        for (int32_t at = verdict->tip[i]; at > 0; at = p->ask[at].parent)
            w->traced[at - 1].kept = 1;
}

void pk_worker_trace(pk_worker *w, const pk_live *l, bool kept) {
    const pk_job  *job = l->job;
    const pk_pass *p = &l->pass;
    pk_queued     *call = job->call;
    if (!call->trace) return;
    trace_asks(w, p, &l->verdict);
    const pk_trace_pass pass = { .text = job->text,
                                 .sentence = job->sentence,
                                 .probe = p->probe,
                                 .done = l->verdict.done,
                                 .n = p->n,
                                 .ask = w->traced,
                                 .model = p->model,
                                 .n_steps = trace_steps(w, p),
                                 .step = w->traced_steps,
                                 .decoding = job->n_begun - 1,
                                 .kept = kept };
    pthread_mutex_lock(&call->tracing);
    call->trace(call->user, &pass);
    pthread_mutex_unlock(&call->tracing);
}
