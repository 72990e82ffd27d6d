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

typedef struct figures {
    double sentences, words, tokens; /* a second */
    double passes, probe, kept;      /* a sentence; tokens in a pass */
    double fewer, asks;              /* times fewer passes than the first case; asks in a pass */
    double bandwidth;                /* part of the machine's */
    double ratio;
    double share[PK_N_MODULES]; /* of the time, 0 to 1 */
} figures;

/* a rate of nothing is 0 here: JSON knows no infinity */
static double over(double a, double b) { return b > 0 ? a / b : 0; }

/* Counts are of all repetitions together, `seconds` of the median one: hence the division. */
static figures derive(const pk_bench *b, const pk_bench_case *k) {
    const pk_stats *s = &k->stats;
    figures         f = { 0 };
    double          repeat = (double)b->c->repeat, all = 0;
    double          read = (double)s->decoder_weight_bytes * (double)s->passes / repeat;
    f.sentences = over((double)s->sentences / repeat, k->seconds);
    f.words = over((double)b->words, k->seconds);
    f.tokens = over((double)s->target_tokens / repeat, k->seconds);
    f.passes = over((double)s->sentence_passes, (double)s->sentences);
    f.probe = over((double)s->probe_passes, (double)s->sentences);
    f.kept = over((double)s->target_tokens, (double)s->sentence_passes);
    f.fewer = over((double)b->cases[0].stats.sentence_passes, (double)s->sentence_passes);
    f.asks = over((double)s->asks, (double)(s->sentence_passes + s->probe_passes));
    f.bandwidth = over(over(read, k->seconds), b->bandwidth);
    f.ratio = over(b->cases[0].seconds, k->seconds);
    for (int i = 0; i < PK_N_MODULES; i++) all += s->seconds[i];
    for (int i = 0; i < PK_N_MODULES; i++) f.share[i] = over(s->seconds[i], all);
    return f;
}

/* one row: a name, and `value` for each case, with k and f in scope */
#define ROW(name, format, value)                   \
    do {                                           \
        pk_table_add(&table, "%s", name);          \
        for (size_t i = 0; i < b->n; i++) {        \
            const pk_bench_case *k = &b->cases[i]; \
            figures              f = derive(b, k); \
            (void)k, (void)f;                      \
            pk_table_add(&table, format, value);   \
        }                                          \
    } while (0)

void pk_bench_print_table(const pk_bench *b) {
    pk_table    table = { .columns = b->n + 1 };
    const char *latency = b->c->batch == 1 ? "call of one line" : "since the call";
    char        name[64];
    printf("%zu line%s, %d thread%s, batch %lld, %lld repetition%s%s; this machine reads %.1f "
           "GB/s\n\n",
           b->lines, b->lines == 1 ? "" : "s", b->threads, b->threads == 1 ? "" : "s",
           (long long)b->c->batch, (long long)b->c->repeat, b->c->repeat == 1 ? "" : "s",
           b->c->interleave ? ", interleaved" : "", b->bandwidth / 1e9);
    ROW("", "%s", k->decode);
    if (b->c->drafts.n) ROW("draft", "%s", k->draft && *k->draft ? k->draft : "none");
    ROW("sentences/s", "%.2f", f.sentences);
    ROW("source words/s", "%.1f", f.words);
    ROW("target tokens/s", "%.1f", f.tokens);
    ROW("speed against the first", "%.2fx", f.ratio);
    ROW("lines as in the first", "%.1f %%", 100 * over((double)k->same, (double)b->lines));
    snprintf(name, sizeof name, "latency, %s: p50", latency);
    ROW(name, "%.1f ms", 1e3 * k->p50);
    ROW("  p95", "%.1f ms", 1e3 * k->p95);
    ROW("  p99", "%.1f ms", 1e3 * k->p99);
    ROW("passes per sentence", "%.2f", f.passes);
    ROW("  times fewer than in the first", "%.2fx", f.fewer);
    ROW("  probe", "%.2f", f.probe);
    ROW("asks per pass", "%.2f", f.asks);
    ROW("tokens kept per pass", "%.3f", f.kept);
    ROW("bandwidth used", "%.1f %%", 100 * f.bandwidth);
    ROW("peak memory", "%.1f MB", (double)k->peak_bytes / 1e6);
    if (b->cases[0].stats.device_bytes)
        ROW("memory taken on GPUs", "%.1f MB", (double)k->stats.device_bytes / 1e6);
    ROW("load time", "%.1f ms", 1e3 * k->load);
    for (int module = 0; module < PK_N_MODULES; module++) {
        snprintf(name, sizeof name, "%s%s", module ? "  " : "time in ", module_name[module]);
        ROW(name, "%.1f %%", 100 * f.share[module]);
    }
    pk_table_print(&table, true);
    pk_table_free(&table);
}

/* two packs, since one format string for all would be beyond reading */
static json_t *json_case(const pk_bench *b, const pk_bench_case *k, const figures *f) {
    const pk_cli *c = b->c;
    json_t       *share = json_object();
    for (int i = 0; i < PK_N_MODULES; i++)
        json_object_set_new(share, module_name[i], json_real(f->share[i]));
    json_t *line = json_pack(
        "{s:s, s:s, s:s?, s:i, s:o, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:{s:f,s:f,s:f,s:f}}",
        "decode", k->decode, "model", c->model, "type", c->type, "threads", b->threads, "workers",
        c->workers ? json_integer(c->workers) : json_null(), "batch", (json_int_t)c->batch, "lines",
        (json_int_t)b->lines, "repeat", (json_int_t)c->repeat, "seconds", k->seconds,
        "sentences_per_second", f->sentences, "source_words_per_second", f->words,
        "target_tokens_per_second", f->tokens, "speed_to_first", f->ratio, "latency_seconds", "p50",
        k->p50, "p95", k->p95, "p99", k->p99, "max", k->slowest);
    json_t *more = json_pack(
        "{s:s?, s:s, s:b, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:f, s:f, s:f, s:I, s:o}",
        "draft", k->draft && *k->draft ? k->draft : NULL, "latency_from",
        c->batch == 1 ? "call of one line" : "call of many lines", "interleave", (int)c->interleave,
        "passes_per_sentence", f->passes, "passes_fewer_than_first", f->fewer,
        "probe_passes_per_sentence", f->probe, "asks_per_pass", f->asks, "tokens_kept_per_pass",
        f->kept, "target_tokens", (json_int_t)(k->stats.target_tokens / (uint64_t)c->repeat),
        "peak_memory_bytes", (json_int_t)k->peak_bytes, "device_memory_bytes",
        (json_int_t)k->stats.device_bytes, "load_seconds", k->load, "bandwidth_fraction",
        f->bandwidth, "machine_bytes_per_second", b->bandwidth, "lines_as_first",
        (json_int_t)k->same, "time_share", share);
    json_object_update(line, more);
    json_decref(more);
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
