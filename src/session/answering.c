/* answering.c - from asks to questions for the backend, and from its logits to log-probabilities.
 *
 * The model's own conventions end here: tokens it never outputs are banned in every question, so
 * that no strategy needs to know of them. Rows that want an answer come first, so a question has the
 * number of its row; the others leave the last layer early (model/forward.c). Questions about the
 * text and about each group of a task's tokens have a list each, as long as all of them: one op
 * answers a list, and skips what is empty. */
#include <math.h>
#include <string.h>

#include "session/session_parts.h"

enum { FEW = 4 }; /* tokens that are copied sooner than memcpy() begins */

/* appends tokens to the pass's list; returns where they begin. lowering.c checked that they fit. */
static int32_t list_tokens(pk_session *s, const int32_t *token, int32_t n) {
    int32_t *const to = s->list + s->n_list;
    assert(n >= 0 && s->n_list + n <= s->max.listed);
    for (int32_t i = 0; i < FEW && i < n; i++) to[i] = token[i];
    if (n > FEW) memcpy(to + FEW, token + FEW, (size_t)(n - FEW) * sizeof *token);
    s->n_list += n;
    return s->n_list - n;
}

/* the same of tokens as they are numbered in the sentence's list. Bans that are not in it are left
 * out; targets that are not stand as any, until answer_to() sets them right. */
static int32_t list_short(pk_session *s, const session_sentence *e, const int32_t *token, int32_t n,
                          bool targets) {
    const int32_t first = s->n_list;
    assert(s->n_list + n <= s->max.listed);
    for (int32_t i = 0; i < n; i++) {
        const int32_t at = pk_session_short_find(s, e, token[i]);
        if (targets || at >= 0) s->list[s->n_list++] = at >= 0 ? at : 0;
    }
    return first;
}

static void list_all(pk_session *s, const session_sentence *e, const pk_ask *a,
                     int32_t n_suppressed, pk_question *q) {
    const int32_t *suppressed = s->config.suppressed;
    if (e->n_short && !a->group) {
        q->ban = list_short(s, e, a->ban, a->n_ban, false);
        list_short(s, e, suppressed, n_suppressed, false);
        q->n_ban = s->n_list - q->ban;
        q->target = list_short(s, e, a->target, a->n_target, true);
        return;
    }
    q->ban = list_tokens(s, a->ban, a->n_ban);
    list_tokens(s, suppressed, n_suppressed);
    q->n_ban = a->n_ban + n_suppressed;
    q->target = list_tokens(s, a->target, a->n_target);
}

/* Lists of tokens go into one array of the pass, one behind the other: banned ones, what the model
 * never outputs, targets. Answers about a group are never among the suppressed. */
static void set_question(pk_session *s, const session_sentence *e, const pk_ask *a, int32_t row,
                         pk_question *q) {
    const pk_config *c = &s->config;
    *q = (pk_question){ .row = row,
                        .top_k = a->top_k,
                        .n_target = a->n_target,
                        .log_sum = a->logp,
                        .renormalise = c->renormalise };
    list_all(s, e, a, a->group ? 0 : c->n_suppressed, q);
}

/* where question q is, in the list of its slice */
static int32_t question_at(const pk_session *s, const pk_ask *a, int32_t q) {
    return a->group * s->questions + q;
}

/* outputs of the products that answer the ask: twice as many where members sum for themselves */
static uint64_t outputs_for(const pk_session *s, const session_sentence *e, const pk_ask *a) {
    const int32_t rows = a->group     ? s->group[a->group - 1].table.rows
                         : e->n_short ? e->n_short
                                      : s->output.rows;
    return (uint64_t)rows * (s->n_members > 1 && a->logp ? 2 : 1);
}

/* of several members each sums for itself, and the sum of their logits is asked about as one */
static void set_sums_apart(pk_session *s, int32_t q, int32_t at) {
    s->summing[q] = s->question[q];
    s->summing[at] = s->question[at];
    s->summing[at].top_k = s->summing[at].n_target = 0;
    s->question[at].log_sum = false;
}

/* the question of one ask, which is about the row of the same number */
static void add_question(pk_session *s, const session_sentence *e, const pk_ask *a,
                         int32_t question) {
    const int32_t at = question_at(s, a, question);
    set_question(s, e, a, question, &s->question[at]);
    if (a->group) { /* the text is not asked about */
        s->question[question] = (pk_question){ .row = question };
        s->groups_asked |= 1u << (a->group - 1);
    }
    if (s->n_members > 1) set_sums_apart(s, question, at);
    s->n_logits += outputs_for(s, e, a);
    s->any_log_sum |= a->logp;
    s->any_target |= a->n_target > 0;
    if (a->top_k > s->most_top_k) s->most_top_k = a->top_k;
}

void pk_session_question(pk_session *s, const pk_request *request, int32_t n) {
    int32_t questions = 0, silent = s->n_questions, *row = s->row;
    s->any_log_sum = s->any_target = false;
    s->groups_asked = 0;
    s->most_top_k = 0;
    for (int32_t i = 0; i < n; i++) {
        const pk_pass    *p = request[i].pass;
        session_sentence *e = &s->sentence[request[i].sentence];
        e->first_question = questions;
        for (int32_t j = 1; j <= p->n; j++, row++) {
            const bool asks = pk_ask_wants_answer(&p->ask[j]);
            *row = asks ? questions++ : silent++;
            if (asks) add_question(s, e, &p->ask[j], *row);
        }
        e->n_questions = questions - e->first_question;
    }
    assert(questions == s->n_questions);
    s->n_listed = s->n_list;
}

void pk_session_answering(const pk_session *s, int32_t slice, pk_answering *out) {
    const pk_question *question = s->question + (size_t)slice * (size_t)s->questions;
    *out = (pk_answering){ .n = s->questions,
                           .most_top_k = s->most_top_k,
                           .any_log_sum = s->any_log_sum && s->n_members == 1,
                           .question = pk_mirror_device(&s->up, question),
                           .tokens = pk_mirror_device(&s->up, s->list),
                           .top_stride = s->max.top_k,
                           .top = pk_mirror_device(&s->down, s->top),
                           .log_sum = pk_mirror_device(&s->down, s->log_sum),
                           .target_score = pk_mirror_device(&s->down, s->target_score) };
}

void pk_session_answering_one(const pk_session *s, const session_sentence *e, pk_answering *out) {
    pk_session_answering(s, 0, out);
    out->n = e->n_questions;
    out->question += e->first_question;
    out->top += (size_t)e->first_question * (size_t)out->top_stride;
    out->log_sum += e->first_question;
}

void pk_session_summing(const pk_session *s, int32_t member, int32_t slice, pk_answering *out) {
    const pk_question *question = s->summing + (size_t)slice * (size_t)s->questions;
    const float       *sums = s->log_sum + (size_t)member * (size_t)s->questions;
    *out = (pk_answering){ .n = s->questions,
                           .any_log_sum = true,
                           .question = pk_mirror_device(&s->up, question),
                           .tokens = pk_mirror_device(&s->up, s->list),
                           .top_stride = s->max.top_k,
                           .top = pk_mirror_device(&s->down, s->top),
                           .log_sum = pk_mirror_device(&s->down, sums),
                           .target_score = pk_mirror_device(&s->down, s->target_score) };
}

/* the log sums of all members together */
static float log_sums(const pk_session *s, int32_t q) {
    float sum = s->log_sum[q];
    for (int32_t i = 1; i < s->n_members; i++)
        sum += s->log_sum[(size_t)i * (size_t)s->questions + (size_t)q];
    return sum;
}

/* Scores are sums over members; divided by their number they are means. With one member there is no
 * division: it would take most of the time here. */
static void shift_all(pk_candidate *restrict out, const pk_scored *restrict raw, int32_t k,
                      float shift, float n) {
    if (n == 1)
        for (int32_t i = 0; i < k; i++)
            out[i] = (pk_candidate){ raw[i].token, raw[i].score - shift };
    else
        for (int32_t i = 0; i < k; i++)
            out[i] = (pk_candidate){ raw[i].token, (raw[i].score - shift) / n };
}

/* numbers of a sentence's list become tokens; what is not in it has probability 0 */
static void name_tokens(const pk_session *s, const session_sentence *e, const pk_ask *a,
                        pk_candidate *top, float *target) {
    const int32_t *token = pk_session_short_tokens(s, e);
    for (int32_t i = 0; i < a->top_k; i++)
        if (top[i].token >= 0) top[i].token = token[top[i].token];
    for (int32_t i = 0; i < a->n_target; i++)
        if (pk_session_short_find(s, e, a->target[i]) < 0) target[i] = -INFINITY;
}

/* Logits become log-probabilities by the log sum. The output layers of an ensemble lie side by
 * side, so their logits and log sums are sums over the members: both are divided by n. */
static pk_answer answer_to(pk_session *s, const session_sentence *e, const pk_ask *a, int32_t q) {
    assert(q < s->n_questions);
    const float      shift = a->logp ? log_sums(s, q) : 0, n = (float)s->n_members;
    pk_candidate    *top = s->candidate + (size_t)q * (size_t)s->max.top_k;
    const pk_scored *raw = s->top + (size_t)q * (size_t)s->max.top_k;
    shift_all(top, raw, a->top_k, shift, n);
    float *target = s->target_score + s->question[question_at(s, a, q)].target;
    for (int32_t k = 0; k < a->n_target; k++) target[k] = (target[k] - shift) / n;
    if (e->n_short && !a->group) name_tokens(s, e, a, top, target);
    return (pk_answer){ .top = top, .target_logp = target, .log_sum = shift / n };
}

/* what the ask of this row, which followed, has found */
static pk_answer answer_of_steps(pk_session *s, int32_t row) {
    const int32_t    n = s->n_found[row], at = s->follower[row].found;
    const pk_scored *found = s->found + at;
    for (int32_t i = 0; i < n; i++)
        s->followed[at + i] = (pk_candidate){ found[i].token, found[i].score };
    return (pk_answer){ .found = s->followed + at, .n_found = n };
}

/* Damaged weights make logits that are not numbers. Then no best token is found, or the log sum
 * makes every score not a number. Where all tokens are banned it is right that there is none. */
static bool is_finite(const pk_session *s, const session_sentence *e, const pk_ask *a, int32_t q,
                      const pk_answer *x) {
    /* the usual case, for many asks in a pass: their sum is a number, so both are */
    if (a->top_k > 0 && a->n_target + x->n_found == 0 && isfinite(x->top[0].logp + x->log_sum))
        return true;
    const pk_config *c = &s->config;
    const int32_t    all = a->group     ? c->group[a->group - 1].count
                           : e->n_short ? e->n_short
                                        : pk_config_text(c);
    if (s->question[question_at(s, a, q)].n_ban >= all) return true;
    for (int32_t i = 0; i < x->n_found; i++)
        if (!isfinite(x->found[i].logp)) return false;
    for (int32_t k = 0; k < a->n_target; k++)
        if (isnan(x->target_logp[k])) return false;
    return (!x->top || a->top_k == 0 || isfinite(x->top[0].logp)) && isfinite(x->log_sum);
}

pk_status pk_session_not_finite(void) {
    PK_FAIL(PK_FORMAT, "the model's output is not finite: its weights are damaged, or too large "
                       "for this arithmetic (--type f32 has the widest range)");
}

pk_status pk_session_answer(pk_session *s, const pk_request *request, int32_t n) {
    bool finite = true;
    for (int32_t i = 0; i < n; i++) {
        pk_pass          *p = request[i].pass;
        session_sentence *e = &s->sentence[request[i].sentence];
        const int32_t     followed = e->steps ? e->width : 0;
        for (int32_t j = 1; j <= p->n; j++) {
            const int32_t row = pk_session_row(s, e, j);
            if (!pk_ask_wants_answer(&p->ask[j])) {
                p->answer[j] = (pk_answer){ 0 };
            } else {
                p->answer[j] = j > p->n - followed ? answer_of_steps(s, row)
                                                   : answer_to(s, e, &p->ask[j], row);
                finite = finite && is_finite(s, e, &p->ask[j], row, &p->answer[j]);
            }
            if (p->ask[j].attention)
                p->answer[j].attention = s->attention + (size_t)row * (size_t)s->max.source_length;
        }
        if (followed) {
            pk_session_count_steps(s, e, p->answer[p->n].n_found);
            pk_session_settle(s, e, p->answer[p->n].n_found);
        }
    }
    return finite ? PK_OK : pk_session_not_finite();
}
