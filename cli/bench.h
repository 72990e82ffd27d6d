/* bench.h - what one measured case is, between the verb that measures and the report. */
#ifndef PK_CLI_BENCH_H
#define PK_CLI_BENCH_H
#include "cli.h"

typedef struct pk_bench_case {
    const char *decode, *model;
    const char *drafter; /* a model, or NULL */
    const char *lexicon; /* a file, or NULL */
    bool        shortlist;
    const char *draft;                  /* a file, or NULL or "" for none */
    double      load;                   /* seconds to open models and translator */
    double      seconds;                /* of the median repetition */
    double      p50, p95, p99, slowest; /* latency of a sentence in seconds, all repetitions */
    pk_stats    stats;                  /* of all repetitions together */
    uint64_t    peak_bytes;             /* most memory resident */
    uint64_t    same;         /* lines translated as in the first case; for the same model */
    double     *line_seconds; /* (lines) at batch 1: of a line's fastest call */
} pk_bench_case;

typedef struct pk_bench_models { /* open ones, until the process ends */
    struct {
        const char *path;
        pk_model   *model;
        double      seconds; /* to open it */
    } * item;
    size_t n;
} pk_bench_models;

typedef struct pk_bench {
    const pk_cli  *c;
    size_t         lines, n;  /* lines of the input; cases */
    uint64_t       words;     /* in those lines, between spaces */
    int            threads;   /* in use: those asked for, or one per core */
    double         bandwidth; /* bytes a second this machine reads */
    pk_bench_case *cases;
} pk_bench;

/* the cases of the command line: 0 or an exit code; how many there are; what each has */
int    pk_bench_check_cases(const pk_cli *c);
size_t pk_bench_count_cases(const pk_cli *c);
void   pk_bench_read_cases(const pk_cli *c, pk_bench_case *out);
bool   pk_bench_same_model(const pk_bench_case *a, const pk_bench_case *b);
/* the models of a case alone; the models and a translator, timed. 0 or an exit code */
int pk_bench_open_models(const pk_cli *c, pk_bench_models *all, pk_bench_case *k);
int pk_bench_open_case(const pk_cli *c, pk_bench_models *all, pk_bench_case *k,
                       pk_translator **out);

void pk_bench_print_table(const pk_bench *b);
void pk_bench_print_json(const pk_bench *b); /* a line for each case */
/* zeroed memory that processes share, or NULL */
void *pk_bench_share(size_t bytes);
void  pk_bench_unshare(void *block, size_t bytes);
/* does the work in a process of its own: its exit code, and the most memory it had resident */
int pk_bench_apart(const pk_cli *c, int (*work)(void *user), void *user, uint64_t *peak);
int pk_cli_cores(void); /* that this process may use */
/* bytes a second that so many threads read in a sweep over 256 MB; 0 if it cannot be measured */
double pk_cli_bandwidth(int threads);
#endif
