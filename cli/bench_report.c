/* bench_report.c - the figures of a bench: a table for people, JSON lines for programs.
 *
 * Both are made from the same derived figures. Ratios are to the first case, so that 2.0 means
 * twice as many sentences a second. */
#include <jansson.h>
#include <stdio.h>

#include "bench.h"
#include "table.h"

#define MODULE_TEXT(name, text) text,
static const char *const module_name[PK_N_MODULES] = { PK_MODULE_MAP(MODULE_TEXT) };

enum { MODEL, DRAFTER, N_NETWORKS };
static const char *const network_name[N_NETWORKS] = { "model", "drafter" };

typedef struct figures {
    double sentences, words, tokens; /* a second */
    double passes, probe, kept;      /* a sentence; tokens in a pass */
    double accepted;                 /* tokens kept per pass of the model, drafts not counted */
    double fewer, asks;              /* times fewer passes than the first case; asks in a pass */
    double bandwidth;                /* part of the machine's */
    double ratio;
    double flops, flops_ratio; /* floating-point operations a sentence; times the first case's */
    struct {
        double passes, seconds, flops; /* of the decoder in a repetition; in them; a sentence */
    } network[N_NETWORKS];
    double share[PK_N_MODULES]; /* of the time, 0 to 1 */
} figures;

/* a rate of nothing is 0 here: JSON knows no infinity */
static double over(double a, double b) { return b > 0 ? a / b : 0; }

/* what is not the drafter's is the model's */
static void derive_networks(const pk_stats *s, double repeat, figures *f) {
    const double passes[] = { (double)(s->passes - s->draft_passes), (double)s->draft_passes };
    const double seconds[] = { s->pass_seconds - s->draft_seconds, s->draft_seconds };
    const double flops[] = { (double)(s->flops - s->draft_flops), (double)s->draft_flops };
    for (int i = 0; i < N_NETWORKS; i++) {
        f->network[i].passes = passes[i] / repeat;
        f->network[i].seconds = seconds[i] / repeat;
        f->network[i].flops = over(flops[i], (double)s->sentences);
    }
}

static double flops_of(const pk_bench_case *k) {
    return over((double)k->stats.flops, (double)k->stats.sentences);
}

/* Counts are of all repetitions together, `seconds` of the median one: hence the division. */
static figures derive(const pk_bench *b, const pk_bench_case *k) {
    const pk_stats *s = &k->stats;
    figures         f = { 0 };
    double          repeat = (double)b->c->repeat, all = 0;
    derive_networks(s, repeat, &f);
    double read = (double)s->decoder_weight_bytes * f.network[MODEL].passes +
                  (double)s->draft_weight_bytes * f.network[DRAFTER].passes;
    f.sentences = over((double)s->sentences / repeat, k->seconds);
    f.words = over((double)b->words, k->seconds);
    f.tokens = over((double)s->target_tokens / repeat, k->seconds);
    f.passes = over((double)s->sentence_passes, (double)s->sentences);
    f.probe = over((double)s->probe_passes, (double)s->sentences);
    f.kept = over((double)s->target_tokens, (double)s->sentence_passes);
    f.accepted = over((double)s->target_tokens, (double)(s->sentence_passes - s->sentence_drafts));
    f.fewer = over((double)b->cases[0].stats.sentence_passes, (double)s->sentence_passes);
    f.asks = over((double)s->asks, (double)(s->sentence_passes + s->probe_passes));
    f.bandwidth = over(over(read, k->seconds), b->bandwidth);
    f.ratio = over(b->cases[0].seconds, k->seconds);
    f.flops = flops_of(k);
    f.flops_ratio = over(f.flops, flops_of(&b->cases[0]));
    for (int i = 0; i < PK_N_MODULES; i++) all += s->seconds[i];
    for (int i = 0; i < PK_N_MODULES; i++) f.share[i] = over(s->seconds[i], all);
    return f;
}

/* "100.0 %", where the case has the first one's model */
static const char *same_text(const pk_bench *b, const pk_bench_case *k, char text[64]) {
    snprintf(text, 64, "%.1f %%", 100 * over((double)k->same, (double)b->lines));
    return pk_bench_same_model(k, b->cases) ? text : "-";
}

/* one row of t: a name, and `value` for each case, with k and f in scope */
#define ROW(name, format, value)                   \
    do {                                           \
        pk_table_add(t, "%s", name);               \
        for (size_t i = 0; i < b->n; i++) {        \
            const pk_bench_case *k = &b->cases[i]; \
            figures              f = derive(b, k); \
            (void)k, (void)f;                      \
            pk_table_add(t, format, value);        \
        }                                          \
    } while (0)

static bool any_lexicon(const pk_bench *b) {
    for (size_t i = 0; i < b->n; i++)
        if (b->cases[i].lexicon || b->cases[i].shortlist) return true;
    return false;
}

static bool any_drafter(const pk_bench *b) {
    for (size_t i = 0; i < b->n; i++)
        if (b->cases[i].drafter) return true;
    return false;
}

static bool several_models(const pk_bench *b) {
    for (size_t i = 1; i < b->n; i++)
        if (!pk_bench_same_model(&b->cases[i], b->cases)) return true;
    return false;
}

static void add_names(const pk_bench *b, pk_table *t) {
    ROW("", "%s", k->decode);
    if (several_models(b)) ROW("model", "%s", k->model);
    if (any_drafter(b)) ROW("drafter", "%s", k->drafter ? k->drafter : "none");
    if (any_lexicon(b)) ROW("lexicon", "%s", k->lexicon ? k->lexicon : "none");
    if (any_lexicon(b)) ROW("shortlist", "%s", k->shortlist ? "yes" : "no");
    if (b->c->drafts.n) ROW("draft", "%s", k->draft && *k->draft ? k->draft : "none");
}

/* Latency of a line alone is that of its call; in a batch, the time since the call began. */
static void add_speed(const pk_bench *b, pk_table *t) {
    const char *latency = b->c->batch == 1 ? "call of one line" : "since the call";
    char        text[64];
    ROW("sentences/s", "%.2f", f.sentences);
    ROW("source words/s", "%.1f", f.words);
    ROW("target tokens/s", "%.1f", f.tokens);
    ROW("speed against the first", "%.2fx", f.ratio);
    ROW("lines as in the first", "%s", same_text(b, k, text));
    snprintf(text, sizeof text, "latency, %s: p50", latency);
    ROW(text, "%.1f ms", 1e3 * k->p50);
    ROW("  p95", "%.1f ms", 1e3 * k->p95);
    ROW("  p99", "%.1f ms", 1e3 * k->p99);
}

static void add_passes(const pk_bench *b, pk_table *t) {
    ROW("passes per sentence", "%.2f", f.passes);
    ROW("  times fewer than in the first", "%.2fx", f.fewer);
    ROW("  probe", "%.2f", f.probe);
    ROW("asks per pass", "%.2f", f.asks);
    ROW("tokens kept per pass", "%.3f", f.kept);
    if (any_drafter(b)) ROW("  per pass of the model", "%.3f", f.accepted);
    ROW("seconds in passes of the model", "%.3f s", f.network[MODEL].seconds);
    if (any_drafter(b)) ROW("  of the drafter", "%.3f s", f.network[DRAFTER].seconds);
    ROW("floating-point operations per sentence", "%.4g", f.flops);
    ROW("  times those of the first", "%.3gx", f.flops_ratio);
    if (any_drafter(b)) ROW("  of the drafter", "%.4g", f.network[DRAFTER].flops);
}

static void add_machine(const pk_bench *b, pk_table *t) {
    char name[64];
    ROW("bandwidth used", "%.1f %%", 100 * f.bandwidth);
    ROW("peak memory", "%.1f MB", (double)k->peak_bytes / 1e6);
    if (b->cases[0].stats.device_bytes)
        ROW("memory taken on GPUs", "%.1f MB", (double)k->stats.device_bytes / 1e6);
    ROW("load time", "%.1f ms", 1e3 * k->load);
    for (int module = 0; module < PK_N_MODULES; module++) {
        snprintf(name, sizeof name, "%s%s", module ? "  " : "time in ", module_name[module]);
        ROW(name, "%.1f %%", 100 * f.share[module]);
    }
}

void pk_bench_print_table(const pk_bench *b) {
    pk_table t = { .columns = b->n + 1 };
    printf("%zu line%s, %d thread%s, batch %lld, %lld repetition%s%s; this machine reads %.1f "
           "GB/s\n\n",
           b->lines, b->lines == 1 ? "" : "s", b->threads, b->threads == 1 ? "" : "s",
           (long long)b->c->batch, (long long)b->c->repeat, b->c->repeat == 1 ? "" : "s",
           b->c->interleave ? ", interleaved" : "", b->bandwidth / 1e9);
    add_names(b, &t);
    add_speed(b, &t);
    add_passes(b, &t);
    add_machine(b, &t);
    pk_table_print(&t, true);
    pk_table_free(&t);
}

/* the networks of a case: the model, and its drafter where it has one */
static json_t *json_networks(const pk_bench_case *k, const figures *f) {
    const char *const file[N_NETWORKS] = { k->model, k->drafter };
    json_t           *list = json_array();
    for (int i = 0; i < N_NETWORKS; i++)
        if (file[i])
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:f, s:f, s:f}", "network", network_name[i], "file",
                                file[i], "passes", f->network[i].passes, "pass_seconds",
                                f->network[i].seconds, "flops_per_sentence", f->network[i].flops));
    return list;
}

static json_t *json_line_seconds(const pk_bench *b, const pk_bench_case *k) {
    json_t *list = json_array();
    for (size_t i = 0; i < b->lines; i++)
        json_array_append_new(list, json_real(k->line_seconds[i]));
    return list;
}

/* three packs, since one format string for all would be beyond reading */
static json_t *json_case(const pk_bench *b, const pk_bench_case *k, const figures *f) {
    const pk_cli *c = b->c;
    json_t       *share = json_object();
    for (int i = 0; i < PK_N_MODULES; i++)
        json_object_set_new(share, module_name[i], json_real(f->share[i]));
    json_t *line = json_pack(
        "{s:s, s:s, s:s?, s:i, s:o, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:{s:f,s:f,s:f,s:f}}",
        "decode", k->decode, "model", k->model, "type", c->type, "threads", b->threads, "workers",
        c->workers ? json_integer(c->workers) : json_null(), "batch", (json_int_t)c->batch, "lines",
        (json_int_t)b->lines, "repeat", (json_int_t)c->repeat, "seconds", k->seconds,
        "sentences_per_second", f->sentences, "source_words_per_second", f->words,
        "target_tokens_per_second", f->tokens, "speed_to_first", f->ratio, "latency_seconds", "p50",
        k->p50, "p95", k->p95, "p99", k->p99, "max", k->slowest);
    json_t *more = json_pack(
        "{s:s?, s:s, s:b, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:f, s:f, s:f, s:o, s:o}",
        "draft", k->draft && *k->draft ? k->draft : NULL, "latency_from",
        c->batch == 1 ? "call of one line" : "call of many lines", "interleave", (int)c->interleave,
        "passes_per_sentence", f->passes, "passes_fewer_than_first", f->fewer,
        "probe_passes_per_sentence", f->probe, "asks_per_pass", f->asks, "tokens_kept_per_pass",
        f->kept, "target_tokens", (json_int_t)(k->stats.target_tokens / (uint64_t)c->repeat),
        "peak_memory_bytes", (json_int_t)k->peak_bytes, "device_memory_bytes",
        (json_int_t)k->stats.device_bytes, "load_seconds", k->load, "bandwidth_fraction",
        f->bandwidth, "machine_bytes_per_second", b->bandwidth, "lines_as_first",

        pk_bench_same_model(k, b->cases) ? json_integer((json_int_t)k->same) : json_null(),
        "time_share", share);
    json_object_update(line, more);
    json_decref(more);
    more = json_pack("{s:s?, s:f, s:f, s:f, s:o}", "drafter", k->drafter, "tokens_per_model_pass",
                     f->accepted, "flops_per_sentence", f->flops, "flops_to_first", f->flops_ratio,
                     "networks", json_networks(k, f));
    json_object_update(line, more);
    json_decref(more);
    if (c->each_line) json_object_set_new(line, "line_seconds", json_line_seconds(b, k));
    return line;
}

void pk_bench_print_json(const pk_bench *b) {
    for (size_t i = 0; i < b->n; i++) {
        figures f = derive(b, &b->cases[i]);
        json_t *line = json_case(b, &b->cases[i], &f);
        json_dumpf(line, stdout, JSON_REAL_PRECISION(9));
        putchar('\n');
        json_decref(line);
    }
}
