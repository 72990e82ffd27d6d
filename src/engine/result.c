/* result.c - results and their accessors. */
#include "engine/result.h"

#include <assert.h>

typedef struct entry { /* one text */
    pk_rendering *hypothesis;
    int32_t       n;
} entry;

struct pk_result {
    size_t n;
    entry *entry;
};

pk_status pk_result_open(size_t n, pk_result **out) {
    pk_result *r;
    PK_TRY(PK_TAKE(&r, 1));
    r->n = n;
    const pk_status status = PK_TAKE(&r->entry, n);
    if (status != PK_OK)
        pk_memory_give(r);
    else
        *out = r;
    return status;
}

/* hypotheses of a text: as many as its sentence with the most hypotheses has */
static int32_t ranks(const pk_document *d, int32_t n_best) {
    int32_t n = 1;
    for (size_t i = 0; i < d->n_jobs; i++)
        if (d->job[i].n_hypotheses > n) n = d->job[i].n_hypotheses;
    return n < n_best ? n : n_best;
}

/* renders every rank of a text; what was rendered before a failure is freed with the result */
pk_status pk_result_set(pk_result *r, size_t i, const pk_document *d, const pk_model *m,
                        const pk_plan *plan) {
    entry        *e = &r->entry[i];
    const int32_t n = ranks(d, plan->n_best);
    assert(i < r->n && !e->hypothesis); /* each text is set once */
    PK_TRY(PK_TAKE(&e->hypothesis, (size_t)n));
    for (int32_t k = 0; k < n; k++) {
        e->n = k + 1;
        PK_TRY(pk_document_render(d, m, k, plan->alignment, plan->linker, plan->replace_unknowns,
                                  &e->hypothesis[k]));
    }
    return PK_OK;
}

pk_status pk_result_add(pk_result *r, size_t i, pk_rendering *h) {
    entry          *e = &r->entry[i];
    const pk_status status = PK_GROW(&e->hypothesis, (size_t)e->n + 1);
    if (status == PK_OK)
        e->hypothesis[e->n++] = *h;
    else
        pk_rendering_free(h);
    *h = (pk_rendering){ 0 };
    return status;
}

void pk_result_free(pk_result *r) {
    if (!r) return;
    for (size_t i = 0; i < r->n; i++) {
        for (int32_t k = 0; k < r->entry[i].n; k++) pk_rendering_free(&r->entry[i].hypothesis[k]);
        pk_memory_give(r->entry[i].hypothesis);
    }
    pk_memory_give(r->entry);
    pk_memory_give(r);
}

static bool has_entry(const pk_result *r, size_t i) { return r && i < r->n && r->entry[i].n; }

size_t pk_result_count(const pk_result *r) { return r ? r->n : 0; }

pk_status pk_result_hypothesis(const pk_result *r, size_t i, int32_t rank,
                               pk_hypothesis_view *out) {
    PK_NEED(r);
    PK_NEED(out);
    if (i >= r->n || rank < 0 || rank >= r->entry[i].n)
        PK_FAIL(PK_ARGUMENT, "no hypothesis %d of text %zu", rank, i);
    const pk_rendering *h = &r->entry[i].hypothesis[rank];
    *out = (pk_hypothesis_view){ .text = h->text.data,
                                 .text_size = h->text.size,
                                 .score = h->score,
                                 .log_prob = h->log_prob,
                                 .n_tokens = (int32_t)h->token.n,
                                 .token = h->token.id,
                                 .token_log_prob = h->logp,
                                 .alignment = h->alignment.data,
                                 .link = h->link,
                                 .n_links = h->n_links };
    return PK_OK;
}

int32_t pk_result_unknowns(const pk_result *r, size_t i, int32_t rank) {
    const bool there = r && i < r->n && rank >= 0 && rank < r->entry[i].n;
    return there ? r->entry[i].hypothesis[rank].n_unknown : 0;
}

const char *pk_result_text(const pk_result *r, size_t i) {
    return has_entry(r, i) ? r->entry[i].hypothesis[0].text.data : "";
}

float pk_result_score(const pk_result *r, size_t i) {
    return has_entry(r, i) ? r->entry[i].hypothesis[0].score : 0;
}

int32_t pk_result_hypotheses(const pk_result *r, size_t i) {
    return has_entry(r, i) ? r->entry[i].n : 0;
}
