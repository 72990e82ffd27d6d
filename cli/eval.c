/* eval.c - `pronk eval`: BLEU, chrF2, chrF2++ and repetition of one system or several.
 *
 * Text comes in sacreBLEU's own line format with its signature; JSON is one object a line, one
 * line for each system. With --bootstrap, p-values compare each system with the first. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "lines.h"

enum { N_METRICS = 3 };
static const char *const metric_key[N_METRICS] = { "bleu", "chrf2", "chrf2++" };
static const char *const metric_name[N_METRICS] = { "BLEU", "chrF2", "chrF2++" };

typedef struct figure {
    double score, mean, interval, p;
} figure; /* of one metric */

typedef struct job {
    pk_cli         *c;
    pk_eval_options options;
    pk_line_reader  reference, *system;
    const char    **name;
    size_t          n; /* systems */
    pk_eval_scores *scores;
    char           *signature[N_METRICS];
} job;

/* the figures of a metric gathered: the library has a field for each */
static figure figure_of(const pk_eval_scores *s, int metric) {
    if (metric == 0) return (figure){ s->bleu, s->bleu_mean, s->bleu_interval, s->p_bleu };
    if (metric == 1) return (figure){ s->chrf2, s->chrf2_mean, s->chrf2_interval, s->p_chrf2 };
    return (figure){ s->chrf2pp, s->chrf2pp_mean, s->chrf2pp_interval, s->p_chrf2pp };
}

/* a hypothesis file; it must have as many lines as the reference */
static int read_system(job *j, size_t i) {
    pk_line_reader *r = &j->system[i];
    int             code = pk_lines_open(j->c, j->name[i], r);
    if (!code) code = pk_lines_take(j->c, r, SIZE_MAX);
    if (!code && r->n != j->reference.n)
        code = pk_cli_fail(j->c, "%s has %zu line%s and %s has %zu: there must be one for each",
                           r->name, r->n, r->n == 1 ? "" : "s", j->reference.name, j->reference.n);
    return code;
}

/* mistakes are found before anything is computed */
static int read_all(job *j) {
    int standard = !strcmp(j->c->reference, "-");
    for (size_t i = 0; i < j->n; i++) standard += !strcmp(j->name[i], "-");
    if (standard > 1) return pk_cli_usage(j->c, "standard input can be only one of the files");
    int code = pk_lines_open(j->c, j->c->reference, &j->reference);
    if (!code) code = pk_lines_take(j->c, &j->reference, SIZE_MAX);
    if (!code && j->reference.n == 0)
        code =
            pk_cli_fail(j->c, "%s is empty: there is nothing to compare with", j->reference.name);
    for (size_t i = 0; i < j->n && !code; i++) code = read_system(j, i);
    return code;
}

/* the figures of all systems, and the signatures of the metrics */
static int evaluate(job *j) {
    const pk_text **lines = pk_cli_grow(NULL, j->n, sizeof *lines);
    for (size_t i = 0; i < j->n; i++) lines[i] = j->system[i].line;
    pk_status status =
        pk_evaluate(j->reference.line, lines, j->n, j->reference.n, &j->options, j->scores);
    for (int metric = 0; metric < N_METRICS && status == PK_OK; metric++)
        status = pk_eval_signature(&j->options, metric_key[metric], &j->signature[metric]);
    free(lines);
    return status == PK_OK ? 0 : pk_cli_fail_status(j->c, status);
}

/* precision of all tokens, and of those at the ends that were asked for */
static void print_ends(const job *j, const pk_eval_scores *s) {
    const double *p = s->precision, *head = s->head_precision, *tail = s->tail_precision;
    if (!j->options.head && !j->options.tail) return;
    printf("1-gram/4-gram precision: all = %.1f/%.1f", p[0], p[3]);
    if (j->options.head) printf(" head %d = %.1f/%.1f", j->options.head, head[0], head[3]);
    if (j->options.tail) printf(" tail %d = %.1f/%.1f", j->options.tail, tail[0], tail[3]);
    putchar('\n');
}

/* sacreBLEU's own form, with a p-value where there is something to compare with */
static void print_text(const job *j, size_t i) {
    const pk_eval_scores *s = &j->scores[i];
    const double         *p = s->precision;
    if (j->n > 1) printf("%s%s:\n", i ? "\n" : "", j->name[i]);
    for (int metric = 0; metric < N_METRICS; metric++) {
        figure f = figure_of(s, metric);
        printf("%s|%s = %.1f", metric_name[metric], j->signature[metric], f.score);
        if (j->options.bootstrap) printf(" (μ = %.1f ± %.1f)", f.mean, f.interval);
        if (metric == 0)
            printf(" %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)",
                   p[0], p[1], p[2], p[3], s->brevity_penalty, s->ratio,
                   (long long)s->hypothesis_length, (long long)s->reference_length);
        if (j->options.bootstrap && i) printf(" p = %.4f", f.p);
        putchar('\n');
    }
    printf("TRR = %.2f\n", s->repetition);
    print_ends(j, s);
}

/* {"bleu": .., "chrf2": .., "chrf2++": ..} of the field that `which` names */
static json_t *per_metric(const pk_eval_scores *s, size_t which) {
    json_t *object = json_object();
    for (int metric = 0; metric < N_METRICS; metric++) {
        figure f = figure_of(s, metric);
        double value;
        memcpy(&value, (const char *)&f + which, sizeof value);
        json_object_set_new(object, metric_key[metric], json_real(value));
    }
    return object;
}

static void add_end(json_t *line, const char *key, int32_t tokens, const double *p) {
    if (tokens)
        json_object_set_new(line, key,
                            json_pack("{s:i, s:[f,f,f,f]}", "tokens", tokens, "precisions", p[0],
                                      p[1], p[2], p[3]));
}

static void print_json(const job *j, size_t i) {
    const pk_eval_scores *s = &j->scores[i];
    const double         *p = s->precision;
    json_t               *line =
        json_pack("{s:s, s:f, s:f, s:f, s:[f,f,f,f], s:f, s:f, s:I, s:I, s:f, s:{s:s, s:s, s:s}}",
                  "name", j->name[i], "bleu", s->bleu, "chrf2", s->chrf2, "chrf2++", s->chrf2pp,
                  "bleu_precisions", p[0], p[1], p[2], p[3], "bp", s->brevity_penalty, "ratio",
                  s->ratio, "hyp_len", (json_int_t)s->hypothesis_length, "ref_len",
                  (json_int_t)s->reference_length, "trr", s->repetition, "signature", metric_key[0],
                  j->signature[0], metric_key[1], j->signature[1], metric_key[2], j->signature[2]);
    if (j->options.bootstrap) {
        json_object_set_new(line, "mean", per_metric(s, offsetof(figure, mean)));
        json_object_set_new(line, "ci", per_metric(s, offsetof(figure, interval)));
        /* the first system is what the others are compared with */
        json_object_set_new(line, "p_value", i ? per_metric(s, offsetof(figure, p)) : json_null());
    }
    add_end(line, "head", j->options.head, s->head_precision);
    add_end(line, "tail", j->options.tail, s->tail_precision);
    json_dumpf(line, stdout, JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(line);
}

static void free_all(job *j) {
    for (size_t i = 0; i < j->n; i++) pk_lines_close(&j->system[i]);
    for (int metric = 0; metric < N_METRICS; metric++) pk_free(j->signature[metric]);
    pk_lines_close(&j->reference);
    free(j->system);
    free(j->scores);
}

int pk_cli_eval(pk_cli *c) {
    const char *standard[] = { "-" };
    job j = { .c = c, .name = c->operand.n ? c->operand.item : standard, .reference.file = -1 };
    j.n = c->operand.n ? c->operand.n : 1;
    j.options = (pk_eval_options){ .size = sizeof j.options,
                                   .tokenize = c->tokenize,
                                   .lowercase = c->lowercase,
                                   .bootstrap = (int32_t)c->bootstrap,
                                   .seed = (uint64_t)c->seed,
                                   .head = (int32_t)c->head,
                                   .tail = (int32_t)c->tail };
    j.system = pk_cli_grow(NULL, j.n, sizeof *j.system);
    j.scores = pk_cli_grow(NULL, j.n, sizeof *j.scores);
    memset(j.scores, 0, j.n * sizeof *j.scores);
    for (size_t i = 0; i < j.n; i++) j.system[i] = (pk_line_reader){ .file = -1 };
    int code = read_all(&j);
    if (!code) code = pk_inputs_refuse(c, NULL);
    if (!code) code = evaluate(&j);
    for (size_t i = 0; i < j.n && !code; i++) c->json ? print_json(&j, i) : print_text(&j, i);
    free_all(&j);
    return code;
}
