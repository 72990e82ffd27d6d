/* gad_speed.c - what draft and verify brings where it is known how many drafts are right: networks with
 * random weights, scripted acceptance.
 *
 *   gad_speed BACKEND TYPE [--big] [--encoder N] [--decoder N] [--drafter N] [--vocab N] [--batch N]
 *             [--threads N] [--lines N] [--block K] [--tokens A ...] [--self]
 *
 * A sentence of 28 tokens; base size (width 512) or big (1024, feed-forward 4096, 16 heads). The drafter has N layers on the
 * model's encoder, or with --self the model drafts for itself. Passes are the strategy's own; of the answers those that verify drafts are changed so that a verify pass brings A
 * tokens, the model's own among them. Greedy and beam 5 beside it, all in turns, sentence after sentence; medians. A line of
 * JSON for each case; results/gad-scripted.jsonl holds such lines, and docs/results.md shows them. */
#include <string.h>

#include "base/clock.h"
#include "decode/draft_tree.h"
#include "engine/worker.h"
#include "random_network.h"

enum { LENGTH = 28, EOS = 0, MOST_CASES = 12, MOST_LINES = 512, MOST_BLOCK = 64, MOST_ASKS = 512 };

typedef struct settings {
    const char *backend, *type_name;
    pk_dtype    stored, arithmetic;
    bool        big, self;
    int32_t     encoder, decoder, drafter, vocab, batch, threads, lines, block;
    double      tokens[MOST_CASES];
    int         n_tokens;
} settings;

typedef struct one_case {
    char              spec[64];
    double            accepted; /* tokens that a verify pass brings; 0: no drafts */
    void             *state;
    pk_worker_options options;
    pk_worker         worker;
    double            took[MOST_LINES];
} one_case;

/* ---- scripted acceptance ---- */

static struct {
    const pk_strategy *by;
    int32_t            mask;
    double       accepted, owed; /* tokens that a pass brings, and what earlier ones left over */
    pk_candidate top[MOST_BLOCK + 1];
    pk_candidate drafted[MOST_ASKS][PK_DRAFT_WIDTH];
} script;

/* the known token and the drafts behind it, which come first; masks of the next block may follow */
static int32_t chain_of(const pk_pass *pass) {
    int32_t n = 0;
    while (n < pass->n && pass->ask[n + 1].token != script.mask) n++;
    return n;
}

/* Random weights are sure of nothing: drafts are made so sure that their tree is a chain. */
static void make_sure(const pk_pass *pass) {
    for (int32_t i = 1; i <= pass->n && i <= MOST_ASKS; i++) {
        if (pass->ask[i].top_k != PK_DRAFT_WIDTH) continue;
        for (int32_t k = 0; k < PK_DRAFT_WIDTH; k++)
            script.drafted[i - 1][k] =
                (pk_candidate){ pass->answer[i].top[k].token, k ? -20.0f : -0.01f };
        pass->answer[i].top = script.drafted[i - 1];
    }
}

/* Ask i + 1 was fed draft i, which ask i verifies: the first `right` of them are what the model says. */
static void absorb_as_scripted(void *state, const pk_pass *pass, pk_verdict *verdict) {
    const int32_t n = pass->model ? 0 : chain_of(pass);
    if (pass->model) make_sure(pass);
    if (n > 1) {
        script.owed += script.accepted;
        const int32_t right = (int32_t)script.owed - 1;
        for (int32_t i = 1; i <= n; i++) {
            const int32_t draft = i < n ? pass->ask[i + 1].token : 2;
            script.top[i - 1] = (pk_candidate){ i <= right   ? draft
                                                : draft == 1 ? 2
                                                             : draft - 1,
                                                0 };
            pass->answer[i].top = &script.top[i - 1];
        }
        script.owed -= right + 1 < n ? right + 1 : n;
    }
    script.by->absorb(state, pass, verdict);
}

/* ---- networks and workers ---- */

static pk_config config_of(const settings *s, int32_t encoder, int32_t decoder, bool masks) {
    pk_config c;
    pk_config_defaults(&c);
    c.n_text = s->vocab;
    c.source_vocab = c.target_vocab = s->vocab + masks;
    c.dim = s->big ? 1024 : 512;
    c.encoder_layers = encoder;
    c.decoder_layers = decoder;
    c.encoder_heads = c.decoder_heads = c.dim / 64;
    c.encoder_ffn = c.decoder_ffn = 4 * c.dim;
    c.act = PK_RELU;
    c.embed_scale = sqrtf((float)c.dim);
    c.max_source = c.max_target = 128;
    c.eos = EOS;
    c.n_suppressed = 1; /* so that nothing ends before its length */
    c.suppressed[0] = EOS;
    return c;
}

static void open_case(const settings *s, const pk_ensemble *model, const pk_ensemble *drafter,
                      const pk_added_tokens *mask, one_case *c) {
    static pk_strategy scripted;
    char               spec[96];
    pk_worker_options *o = &c->options;
    snprintf(spec, sizeof spec, "%s%cmin_length=%d,max_length=%d", c->spec,
             strchr(c->spec, ':') ? ',' : ':', LENGTH, LENGTH);
    *o = (pk_worker_options){ .backend = s->backend,
                              .arithmetic = s->arithmetic,
                              .threads = s->threads,
                              .batch = s->batch,
                              .batch_tokens = s->batch * LENGTH,
                              .max_source = LENGTH,
                              .plan.n_best = 1 };
    OR_STOP(pk_strategy_parse(spec, &o->plan.strategy, &c->state));
    o->plan.options = c->state;
    o->scoring = o->plan;
    if (c->accepted > 0) {
        script.by = o->plan.strategy;
        script.mask = mask->first;
        scripted = *script.by;
        scripted.absorb = absorb_as_scripted;
        o->plan.strategy = &scripted;
        if (drafter) o->drafter = drafter, o->shares_encoder = true;
        o->added = mask, o->n_added = 1;
    }
    OR_STOP(pk_worker_open(&c->worker, model, o));
}

/* ---- sentences ---- */

static void serve(pk_worker *w, pk_queued *call) {
    pk_queue q;
    size_t   finished;
    OR_STOP(pk_queue_open(&q, &(pk_queue_options){ .n_workers = 1 }));
    OR_STOP(pk_queue_add(&q, call));
    pk_worker_serve(w, &q, 0, false);
    pk_queue_await(&q, call, 0, &finished);
    or_stop(call->status, call->error);
    pk_queue_close(&q);
}

/* seconds of a batch of sentences, the same for all cases */
static double decode(const settings *s, one_case *c, uint64_t seed) {
    pk_job *job, **order;
    OR_STOP(PK_TAKE(&job, (size_t)s->batch));
    OR_STOP(PK_TAKE(&order, (size_t)s->batch));
    for (int32_t i = 0; i < s->batch; i++) {
        for (int32_t t = 1; t < LENGTH; t++)
            OR_STOP(pk_ids_add(&job[i].source, 1 + (int32_t)((next_random(&seed) >> 33) %
                                                             (uint64_t)(s->vocab - 1))));
        OR_STOP(pk_ids_add(&job[i].source, EOS));
        order[i] = &job[i];
    }
    pk_queued call = { .job = order, .n = (size_t)s->batch, .plan = &c->options.plan };
    script.accepted = c->accepted, script.owed = 0;
    const double since = pk_clock_now();
    serve(&c->worker, &call);
    const double seconds = pk_clock_now() - since;
    for (int32_t i = 0; i < s->batch; i++) {
        if (!job[i].n_hypotheses || job[i].hypothesis[0].n != LENGTH)
            or_stop(PK_ARGUMENT, "gad_speed: an output has not the length it should have");
        pk_job_free(&job[i]);
    }
    pk_memory_give(job);
    pk_memory_give(order);
    return seconds;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* passes of the model and of its drafter, a sentence */
static void report(const settings *s, one_case *all, int n) {
    for (int i = 0; i < n; i++) {
        one_case *c = &all[i];
        qsort(c->took, (size_t)s->lines, sizeof *c->took, by_size);
        const pk_stats *x = &c->worker.stats;
        const double    drafts = (double)x->sentence_drafts / (double)x->sentences;
        const double    model = (double)x->sentence_passes / (double)x->sentences - drafts;
        const double    middle = c->took[s->lines / 2], first = all[0].took[s->lines / 2];
        printf("{\"case\":\"%s\",\"scripted\":%.2f,\"size\":\"%s\",\"shape\":\"%d-%d\",\"drafter\":"
               "%d,\"vocab\":%d,"
               "\"backend\":\"%s\",\"type\":\"%s\",\"batch\":%d,\"lines\":%d,\"median_ms\":%.4f,"
               "\"speed_to_first\":"
               "%.3f,"
               "\"tokens_per_model_pass\":%.2f,\"draft_passes\":%.2f}\n",
               c->spec, c->accepted, s->big ? "big" : "base", s->encoder, s->decoder, s->drafter,
               s->vocab, s->backend, s->type_name, s->batch, s->lines, middle * 1e3, first / middle,
               LENGTH / model, drafts);
        fprintf(stderr, "%-14s %5.2f tokens a verify pass: %9.3f ms, %.2fx\n", c->spec,
                LENGTH / model, middle * 1e3, first / middle);
    }
}

static void measure(const settings *s) {
    static one_case       all[MOST_CASES + 2];
    const pk_added_tokens mask = { .name = "<mask>", .first = s->vocab, .count = 1 };
    random_network        net = { .net.config = config_of(s, s->encoder, s->decoder, s->self) };
    random_network        small = { .net.config = config_of(s, s->encoder, s->drafter, true) };
    int                   n = 0;
    OR_STOP(open_random_network(&net, s->stored));
    OR_STOP(open_random_network(&small, s->stored));
    const pk_ensemble model = pk_ensemble_alone(&net.net), drafter = pk_ensemble_alone(&small.net);
    snprintf(all[n++].spec, sizeof all->spec, "greedy");
    snprintf(all[n++].spec, sizeof all->spec, "beam:size=5");
    for (int i = 0; i < s->n_tokens; i++, n++) {
        snprintf(all[n].spec, sizeof all->spec, "%s:block=%d", s->self ? "gad-self" : "gad",
                 s->block);
        all[n].accepted = s->tokens[i];
    }
    for (int i = 0; i < n; i++) open_case(s, &model, s->self ? NULL : &drafter, &mask, &all[i]);
    for (int line = -3; line < s->lines; line++) /* three to warm up */
        for (int i = 0; i < n; i++) {
            if (line == 0) all[i].worker.stats = (pk_stats){ 0 };
            const double took = decode(s, &all[i], (uint64_t)(line + 100));
            if (line >= 0) all[i].took[line] = took;
        }
    report(s, all, n);
    for (int i = 0; i < n; i++) pk_worker_close(&all[i].worker), pk_memory_give(all[i].state);
    close_random_network(&net);
    close_random_network(&small);
}

/* ---- the command line ---- */

static bool read_type(settings *s, const char *name) {
    const bool gpu = strncmp(s->backend, "cuda", 4) == 0;
    s->stored = strcmp(name, "f32") == 0 ? PK_F32 : strcmp(name, "i8") == 0 ? PK_I8 : PK_F16;
    s->arithmetic = gpu && s->stored != PK_F32 ? PK_F16 : PK_F32;
    return s->stored != PK_F16 || strcmp(name, "f16") == 0;
}

static bool read_number(const char *name, const char *value, int32_t *const out[],
                        const char *const names[]) {
    for (int i = 0; names[i]; i++)
        if (strcmp(name, names[i]) == 0) return (*out[i] = atoi(value)) > 0;
    return false;
}

static bool read_options(settings *s, int n, char **argument) {
    int32_t *const           out[] = { &s->encoder, &s->decoder, &s->drafter, &s->vocab,
                                       &s->batch,   &s->threads, &s->lines,   &s->block };
    static const char *const names[] = { "--encoder", "--decoder", "--drafter",
                                         "--vocab",   "--batch",   "--threads",
                                         "--lines",   "--block",   NULL };
    for (int i = 3; i < n; i++) {
        if (strcmp(argument[i], "--big") == 0) {
            s->big = true;
        } else if (strcmp(argument[i], "--self") == 0) {
            s->self = true;
        } else if (strcmp(argument[i], "--tokens") == 0) {
            for (s->n_tokens = 0;
                 i + 1 < n && argument[i + 1][0] != '-' && s->n_tokens < MOST_CASES;)
                s->tokens[s->n_tokens++] = atof(argument[++i]);
        } else if (i + 1 == n || !read_number(argument[i], argument[i + 1], out, names)) {
            return false;
        } else {
            i++;
        }
    }
    bool good = s->lines <= MOST_LINES && s->block <= MOST_BLOCK;
    for (int i = 0; i < s->n_tokens; i++)
        good = good && s->tokens[i] >= 1 && s->tokens[i] <= s->block + 1;
    return good;
}

int main(int n, char **argument) {
    settings s = { .encoder = 6,
                   .decoder = 6,
                   .drafter = 1,
                   .vocab = 16000,
                   .batch = 1,
                   .threads = 2,
                   .lines = 40,
                   .block = 25,
                   .tokens = { 3, 4, 5, 6, 8 },
                   .n_tokens = 5 };
    bool     good = n > 2;
    if (good)
        s.backend = argument[1], s.type_name = argument[2],
        good = read_type(&s, argument[2]) && read_options(&s, n, argument);
    if (!good) {
        fprintf(stderr,
                "gad_speed BACKEND f16|i8|f32 [--big] [--encoder N] [--decoder N] [--drafter N] "
                "[--vocab N] [--batch N] [--threads N] [--lines N (at most %d)] "
                "[--block K (at most %d)] [--tokens A ... (1 to K + 1)] [--self]\n",
                MOST_LINES, MOST_BLOCK);
        return 2;
    }
    measure(&s);
    return 0;
}
