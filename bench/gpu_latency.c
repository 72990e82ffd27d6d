/* gpu_latency.c - how long a sentence of 28 tokens takes, on networks with random weights. Lattices
 * (6-1) look their candidates up in a table of made-up pairs, and are about as long.
 *
 *   gpu_latency BACKEND TYPE [--quick] [--shape 12-1] [--strategy greedy] [--batch 256]
 *               [--workers 2]
 *
 * BACKEND: cuda, cpu; TYPE: f16, bf16, i8, f32; several workers share a batch and one GPU. Width
 * 512, feed-forward 2048, 8 heads, 32,000 tokens; the end symbol is never output, so all outputs
 * have exactly 28 tokens and all repetitions do the same work. Each case is one JSON object on
 * one line, and one line to read that begins with "#". Times are medians after warm-up. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "engine/worker.h"
#include "lexicon/lexicon_count.h"
#include "random_network.h"

enum {
    LENGTH = 28,
    VOCAB = 32000,
    DIM = 512,
    FFN = 2048,
    HEADS = 8,
    EOS = 0,
    MOST_REPETITIONS = 64,
    PAIRS = 40000,     /* of the table that lattices are looked up in */
    TRANSLATIONS = 64, /* of each token there */
    MOST_WORKERS = 8
};

typedef struct settings {
    const char *backend, *type_name;
    pk_dtype    stored, arithmetic; /* of the matrices; of the backend */
    const char *shape, *strategy;   /* only this one, or NULL */
    int32_t     batch, workers;     /* only this one, or 0; how many share a batch */
    bool        quick;
} settings;

/* ---- a network ---- */

static pk_config config_of(int32_t encoder_layers, int32_t decoder_layers) {
    pk_config c;
    pk_config_defaults(&c);
    c.source_vocab = c.target_vocab = VOCAB;
    c.dim = DIM;
    c.encoder_layers = encoder_layers;
    c.decoder_layers = decoder_layers;
    c.encoder_heads = c.decoder_heads = HEADS;
    c.encoder_ffn = c.decoder_ffn = FFN;
    c.act = PK_RELU;
    c.embed_scale = sqrtf(DIM);
    c.max_source = c.max_target = 64;
    c.eos = EOS;
    c.n_suppressed = 1; /* so that nothing ends before its length */
    c.suppressed[0] = EOS;
    return c;
}

static pk_status open_markov(random_network *t, pk_dtype stored) {
    *t = (random_network){ .net.config = config_of(6, 1) };
    t->net.config.n_suppressed = 0; /* the end of a lattice is known */
    snprintf(t->net.config.tasks, sizeof t->net.config.tasks, "markov");
    return open_random_network(t, stored);
}

static pk_status open_network(random_network *t, int32_t encoder_layers, int32_t decoder_layers,
                              pk_dtype stored) {
    *t = (random_network){ .net.config = config_of(encoder_layers, decoder_layers) };
    return open_random_network(t, stored);
}

/* ---- sentences ---- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* any token but the end symbol */
static int32_t random_token(uint64_t *seed) {
    return 1 + (int32_t)(next_random(seed) >> 33) % (VOCAB - 1);
}

/* each source token becomes one of so many others, near its place */
static pk_status count_pairs(pk_lexicon_counter *c) {
    int32_t  source[LENGTH - 1], target[LENGTH - 1];
    uint32_t link[LENGTH - 1];
    uint64_t seed = 5;
    for (int pair = 0; pair < PAIRS; pair++) {
        for (int i = 0; i < LENGTH - 1; i++) source[i] = random_token(&seed);
        for (int i = 0; i < LENGTH - 1; i++) {
            const uint64_t bits = next_random(&seed);
            const int32_t  at = i + (int32_t)(bits >> 40) % 5 - 2;
            const int32_t  from = at < 0 ? 0 : at > LENGTH - 2 ? LENGTH - 2 : at;
            target[i] =
                1 + (source[from] * 31 + (int32_t)(bits >> 50) % TRANSLATIONS * 97) % (VOCAB - 1);
            link[i] = (uint32_t)from + 1;
        }
        PK_TRY(pk_lexicon_count(c, source, LENGTH - 1, target, LENGTH - 1, link));
    }
    return PK_OK;
}

/* a table of candidates, whose bytes the caller frees */
static pk_status make_lexicon(pk_buffer *bytes, pk_lexicon *out) {
    pk_lexicon_counter c;
    PK_TRY(pk_lexicon_counter_open(VOCAB, VOCAB, &c));
    pk_status status = count_pairs(&c);
    if (status == PK_OK) status = pk_lexicon_make(&c, 0, bytes);
    pk_lexicon_counter_close(&c);
    return status == PK_OK ? pk_lexicon_read(bytes->data, bytes->size, out) : status;
}

static pk_status make_job(pk_job *job, uint64_t *seed) {
    *job = (pk_job){ 0 };
    for (int i = 0; i < LENGTH - 1; i++) PK_TRY(pk_ids_add(&job->source, random_token(seed)));
    return pk_ids_add(&job->source, EOS);
}

typedef struct helper {
    pk_worker *w;
    pk_queue  *q;
    pthread_t  thread;
} helper;

static void *help(void *context) {
    helper *h = context;
    pk_worker_serve(h->w, h->q, 0, false);
    return NULL;
}

/* all workers at one queue, each in a thread of its own */
static void serve_all(pk_worker *w, int32_t workers, pk_queued *call) {
    helper   h[MOST_WORKERS];
    pk_queue shared, *q = &shared;
    size_t   finished;
    OR_STOP(pk_queue_open(q, &(pk_queue_options){ .n_workers = workers }));
    OR_STOP(pk_queue_add(q, call));
    for (int32_t i = 1; i < workers; i++) {
        h[i] = (helper){ .w = &w[i], .q = q };
        if (pthread_create(&h[i].thread, NULL, help, &h[i])) or_stop(PK_NO_MEMORY, "no thread");
    }
    pk_worker_serve(&w[0], q, 0, false);
    for (int32_t i = 1; i < workers; i++) pthread_join(h[i].thread, NULL);
    pk_queue_await(q, call, 0, &finished);
    or_stop(call->status, call->error);
    pk_queue_close(q);
}

/* decodes a batch of fresh sentences once; seconds */
static double decode_once(pk_worker *w, int32_t workers, uint64_t *seed) {
    const size_t n = (size_t)w->opt.batch * (size_t)workers;
    pk_job      *job, **order;
    OR_STOP(PK_TAKE(&job, n));
    OR_STOP(PK_TAKE(&order, n));
    for (size_t i = 0; i < n; i++) {
        OR_STOP(make_job(&job[i], seed));
        order[i] = &job[i];
    }
    pk_queued    call = { .job = order, .n = n, .plan = &w[0].opt.plan };
    const double since = pk_clock_now();
    serve_all(w, workers, &call);
    const double seconds = pk_clock_now() - since;
    for (size_t i = 0; i < n; i++) {
        if (!job[i].n_hypotheses || (!w->opt.lexicon && job[i].hypothesis[0].n != LENGTH))
            or_stop(PK_ARGUMENT, "an output has not the length it should have");
        pk_job_free(&job[i]);
    }
    pk_memory_give(job);
    pk_memory_give(order);
    return seconds;
}

static void open_worker(pk_worker *w, const settings *s, const pk_network *net,
                        const pk_lexicon *lexicon, const char *strategy, int32_t batch,
                        void **state) {
    char              spec[64];
    pk_worker_options o = { .backend = s->backend,
                            .arithmetic = s->arithmetic,
                            .threads = 2,
                            .batch = batch,
                            .batch_tokens = batch * LENGTH,
                            .max_source = LENGTH,
                            .usual_length = 2 * LENGTH,
                            .lexicon = lexicon,
                            .plan.n_best = 1 };
    if (lexicon)
        snprintf(spec, sizeof spec, "%s", strategy);
    else
        snprintf(spec, sizeof spec, "%s%cmax_length=%d", strategy,
                 strchr(strategy, ':') ? ',' : ':', LENGTH);
    OR_STOP(pk_strategy_parse(spec, &o.plan.strategy, state));
    o.plan.options = *state;
    o.scoring = o.plan;
    const pk_ensemble all = pk_ensemble_alone(net);
    OR_STOP(pk_worker_open(w, &all, &o));
}

/* ---- cases ---- */

/* one strategy at one batch size: opens, warms up, measures, prints */
static void decoding(const settings *s, const char *shape, const pk_network *net,
                     const pk_lexicon *lexicon, const char *strategy, int32_t batch) {
    const int repetitions = s->quick     ? 2
                            : batch == 1 ? 30
                                         : 8,
              warm = s->quick     ? 1
                     : batch == 1 ? 5
                                  : 3;
    uint64_t      seed = 11;
    double        took[MOST_REPETITIONS];
    const int32_t workers = batch > 1 && s->workers ? s->workers : 1;
    pk_worker     w[MOST_WORKERS];
    void         *state[MOST_WORKERS];
    const double  since = pk_clock_now();
    for (int32_t i = 0; i < workers; i++)
        open_worker(&w[i], s, net, lexicon, strategy, batch / workers, &state[i]);
    const double opened = pk_clock_now();
    const double first = decode_once(w, workers, &seed);
    for (int i = 1; i < warm; i++) decode_once(w, workers, &seed);
    const uint64_t passes = w[0].stats.passes;
    const double   thinking = w[0].stats.seconds[PK_MODULE_STRATEGY];
    for (int i = 0; i < repetitions; i++) took[i] = decode_once(w, workers, &seed);
    const double per_repetition = (double)(w[0].stats.passes - passes) / repetitions;
    const double thought = (w[0].stats.seconds[PK_MODULE_STRATEGY] - thinking) / repetitions;
    const double middle = median(took, repetitions), tokens = (double)batch * LENGTH / middle;
    printf("{\"case\":\"decode\",\"shape\":\"%s\",\"backend\":\"%s\",\"type\":\"%s\",\"strategy\":"
           "\"%s\","
           "\"batch\":%d,\"runs\":%d,\"median_ms\":%.6f,\"least_ms\":%.6f,\"most_ms\":%.6f,"
           "\"target_tokens_per_s\":%.1f,\"passes\":%.2f,\"open_ms\":%.3f,\"first_ms\":%.3f,"
           "\"strategy_ms\":%.4f,\"workers\":%d}\n",
           shape, s->backend, s->type_name, strategy, batch, repetitions, middle * 1e3,
           took[0] * 1e3, took[repetitions - 1] * 1e3, tokens, per_repetition,
           (opened - since) * 1e3, first * 1e3, thought * 1e3, workers);
    printf("# %-5s %s %-4s %-11s batch %3d: %9.4f ms (%.4f to %.4f), %9.0f tokens/s, %.2f passes, "
           "%.3f ms on strategy\n",
           shape, s->backend, s->type_name, strategy, batch, middle * 1e3, took[0] * 1e3,
           took[repetitions - 1] * 1e3, tokens, per_repetition, thought * 1e3);
    fflush(stdout);
    for (int32_t i = 0; i < workers; i++) {
        pk_worker_close(&w[i]);
        pk_memory_give(state[i]);
    }
}

static void print_single(const settings *s, const char *what, const char *shape, double *took,
                         int repetitions) {
    const double middle = median(took, repetitions);
    printf("{\"case\":\"%s\",\"shape\":\"%s\",\"backend\":\"%s\",\"type\":\"%s\",\"runs\":%d,"
           "\"median_us\":%.3f,\"least_us\":%.3f,\"most_us\":%.3f}\n",
           what, shape, s->backend, s->type_name, repetitions, middle * 1e6, took[0] * 1e6,
           took[repetitions - 1] * 1e6);
    printf("# %-5s %s %-4s %s of %d tokens: %.2f us (%.2f to %.2f)\n", shape, s->backend,
           s->type_name, what, LENGTH, middle * 1e6, took[0] * 1e6, took[repetitions - 1] * 1e6);
    fflush(stdout);
}

/* one pass in which all asks see each other */
static void pass_both_ways(pk_session *session, int32_t sentence, uint64_t *seed) {
    pk_ask    ask[LENGTH + 1] = { 0 };
    pk_answer answer[LENGTH + 1];
    pk_pass   pass = { .room = LENGTH, .ask = ask, .answer = answer };
    for (int32_t i = 0; i < LENGTH; i++)
        pk_ask_add(
            &pass,
            (pk_ask){ .token = random_token(seed), .pos = i, .parent = i, .block = 1, .top_k = 1 });
    OR_STOP(pk_session_decode(session, &(pk_request){ sentence, &pass }, 1));
}

/* the encoder alone, and the decoder's bidirectional pass alone */
static void singles(const settings *s, const char *shape, const pk_network *net) {
    const int  repetitions = s->quick ? 2 : 30, warm = s->quick ? 1 : 5;
    uint64_t   seed = 13;
    double     encoding[MOST_REPETITIONS], passing[MOST_REPETITIONS];
    int32_t    tip[1], sentence;
    pk_verdict none = { .n_hypotheses = 1, .room = 1, .tip = tip };
    pk_worker  w;
    pk_job     job;
    void      *state;
    tip[0] = 0; /* the history stays empty */
    open_worker(&w, s, net, NULL, "greedy", 1, &state);
    for (int i = -warm; i < repetitions; i++) {
        const int at = i < 0 ? 0 : i;
        OR_STOP(make_job(&job, &seed));
        const pk_sentence_tokens source = { job.source.id, LENGTH };
        const double             since = pk_clock_now();
        OR_STOP(pk_session_encode(w.session, &source, 1, &sentence));
        const double encoded = pk_clock_now();
        pass_both_ways(w.session, sentence, &seed);
        passing[at] = pk_clock_now() - encoded;
        encoding[at] = encoded - since;
        pk_session_commit(w.session, sentence, &none);
        pk_session_forget(w.session, sentence);
        pk_job_free(&job);
    }
    print_single(s, "encode", shape, encoding, repetitions);
    print_single(s, "pass_both_ways", shape, passing, repetitions);
    pk_worker_close(&w);
    pk_memory_give(state);
}

static void measure(const settings *s, int32_t encoder_layers, int32_t decoder_layers) {
    static const char *const strategies[] = { "greedy", "beam:size=4", "beam:size=5" };
    const int32_t            batches[] = { 1, s->quick ? 2 : 32, 256 };
    char                     shape[24];
    random_network           t;
    snprintf(shape, sizeof shape, "%d-%d", encoder_layers, decoder_layers);
    if (s->shape && strcmp(s->shape, shape) != 0) return;
    OR_STOP(open_network(&t, encoder_layers, decoder_layers, s->stored));
    for (int k = 0; k < 3; k++)
        for (int b = 0; b < (s->quick ? 2 : 3); b++)
            if ((!s->strategy || strcmp(s->strategy, strategies[k]) == 0) &&
                (!s->batch || s->batch == batches[b]))
                decoding(s, shape, &t.net, NULL, strategies[k], batches[b]);
    if (!s->strategy && !s->batch) singles(s, shape, &t.net);
    close_random_network(&t);
}

/* one pass for each sentence: candidates are looked up while the GPU encodes */
static void measure_lattices(const settings *s) {
    static const char *const strategies[] = { "lattice:k=64,delta=3",
                                              "lattice:k=64,delta=3,normalise=candidates" };
    random_network           t;
    pk_buffer                bytes = { 0 };
    pk_lexicon               lexicon;
    if ((s->shape && strcmp(s->shape, "6-1") != 0) || (s->batch && s->batch != 1)) return;
    OR_STOP(make_lexicon(&bytes, &lexicon));
    OR_STOP(open_markov(&t, s->stored));
    for (int k = 0; k < 2; k++)
        if (!s->strategy || strcmp(s->strategy, strategies[k]) == 0)
            decoding(s, "6-1", &t.net, &lexicon, strategies[k], 1);
    close_random_network(&t);
    pk_buffer_free(&bytes);
}

static bool read_type(settings *s, const char *name) {
    const bool gpu = strncmp(s->backend, "cuda", 4) == 0;
    s->type_name = name;
    s->stored = strcmp(name, "f32") == 0 ? PK_F32 : strcmp(name, "i8") == 0 ? PK_I8 : PK_F16;
    s->arithmetic = !gpu || s->stored == PK_F32 ? PK_F32
                    : strcmp(name, "bf16") == 0 ? PK_BF16
                                                : PK_F16;
    return s->stored != PK_F16 || strcmp(name, "f16") == 0 || strcmp(name, "bf16") == 0;
}

int main(int n, char **argument) {
    settings s = { 0 };
    bool     good = n > 2;
    if (good) {
        s.backend = argument[1];
        good = read_type(&s, argument[2]);
    }
    for (int i = 3; i < n && good; i++) {
        if (strcmp(argument[i], "--quick") == 0)
            s.quick = true;
        else if (strcmp(argument[i], "--shape") == 0 && i + 1 < n)
            s.shape = argument[++i];
        else if (strcmp(argument[i], "--strategy") == 0 && i + 1 < n)
            s.strategy = argument[++i];
        else if (strcmp(argument[i], "--batch") == 0 && i + 1 < n)
            s.batch = atoi(argument[++i]);
        else if (strcmp(argument[i], "--workers") == 0 && i + 1 < n)
            good = (s.workers = atoi(argument[++i])) > 0 && s.workers <= MOST_WORKERS;
        else
            good = false;
    }
    if (!good) {
        fprintf(stderr, "gpu_latency BACKEND f16|bf16|i8|f32 [--quick] [--shape 6-6|12-1|20-1|6-1] "
                        "[--strategy S] [--batch N] [--workers N]\n");
        return 2;
    }
    measure(&s, 6, 6);
    measure(&s, 12, 1);
    measure(&s, 20, 1);
    measure_lattices(&s);
    return 0;
}
