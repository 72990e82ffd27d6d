/* answering.c - from asks to questions for the backend, and from its logits to log-probabilities.
 *
 * The model's own conventions end here: tokens it never outputs are banned in every question, so
 * that no strategy needs to know of them. */
#include <string.h>

#include "session/session_parts.h"

/* appends tokens to the pass's list; returns where they begin. lowering.c checked that they fit. */
static int32_t list_tokens(pk_session *s, int32_t *used, const int32_t *token, int32_t n) {
    if (n) memcpy(s->listed + *used, token, (size_t)n * sizeof *token);
    *used += n;
    return *used - n;
}

static bool wants_answer(const pk_ask *a) { return a->top_k > 0 || a->n_target > 0; }

static pk_question question_for(pk_session *s, const pk_ask *a, int32_t row, int32_t *used) {
    const pk_config *c = &s->net->config;
    pk_question      q = { .row = row,
                           .top_k = a->top_k,
                           .n_ban = a->n_ban + c->n_suppressed,
                           .n_target = a->n_target,
                           .log_sum = a->logp,
                           .renormalise = c->renormalise };
    q.ban = list_tokens(s, used, a->ban, a->n_ban);
    list_tokens(s, used, c->suppressed, c->n_suppressed);
    q.target = list_tokens(s, used, a->target, a->n_target);
    return q;
}

void pk_session_question(pk_session *s, const pk_request *request, int32_t n, pk_answering *out) {
    int32_t used = 0, questions = 0;
    for (int32_t i = 0; i < n; i++) {
        const pk_pass *p = request[i].pass;
        const int32_t  first = s->sentence[request[i].sentence].first_ask;
        for (int32_t j = 1; j <= p->n; j++)
            if (wants_answer(&p->ask[j]))
                s->question[questions++] = question_for(s, &p->ask[j], first + j - 1, &used);
    }
    *out = (pk_answering){ questions, s->question, s->listed,      s->max.top_k,
                           s->top,    s->log_sum,  s->target_score };
}

static pk_answer answer_to(pk_session *s, const pk_ask *a, int32_t q) {
    const float      shift = a->logp ? s->log_sum[q] : 0;
    pk_candidate    *top = s->candidate + (size_t)q * (size_t)s->max.top_k;
    const pk_scored *raw = s->top + (size_t)q * (size_t)s->max.top_k;
    for (int32_t k = 0; k < a->top_k; k++)
        top[k] = (pk_candidate){ raw[k].token, raw[k].score - shift };
    float *target = s->target_score + s->question[q].target;
    for (int32_t k = 0; k < a->n_target; k++) target[k] -= shift;
    return (pk_answer){ .top = top, .target_logp = target, .log_sum = shift };
}

void pk_session_answer(pk_session *s, const pk_request *request, int32_t n) {
    int32_t q = 0;
    for (int32_t i = 0; i < n; i++) {
        pk_pass      *p = request[i].pass;
        const int32_t first = s->sentence[request[i].sentence].first_ask;
        for (int32_t j = 1; j <= p->n; j++) {
            p->answer[j] = (pk_answer){ 0 };
            if (wants_answer(&p->ask[j])) p->answer[j] = answer_to(s, &p->ask[j], q++);
            if (p->ask[j].attention)
                p->answer[j].attention =
                    s->told + (size_t)(first + j - 1) * (size_t)s->max.source_length;
        }
    }
}
