/* align.c - `pronk align`: pairs of sentences become links between their words.
 *
 * The library does the work (pk_align); here are its options, a line of progress, what training
 * takes and found, and signals. From when training begins, INT and TERM are blocked and asked for
 * between steps, so that no half-written file stays; before, and with a saved model, there is
 * none. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "inputs.h"
#include "progress.h"

/* the state that the library's callbacks share */
typedef struct aligning {
    const pk_cli  *c;
    pk_progress    progress;
    pk_line_writer output;
    bool           opened, failed, watching, stopped;
    uint64_t       memory; /* bytes, as last reported */
    sigset_t       signals;
    pk_model      *model; /* whose pieces are aligned, or NULL */
} aligning;

/* a signal that is ignored already stays ignored */
static void watch_signals(aligning *a) {
    static const int list[] = { SIGINT, SIGTERM };
    a->watching = true;
    sigemptyset(&a->signals);
    for (int i = 0; i < 2; i++) {
        struct sigaction now;
        if (!sigaction(list[i], NULL, &now) && now.sa_handler != SIG_IGN)
            sigaddset(&a->signals, list[i]);
    }
    sigprocmask(SIG_BLOCK, &a->signals, NULL);
}

/* whether a signal waits */
static bool stop_asked(aligning *a) {
    const struct timespec at_once = { 0 };
    if (a->watching && !a->stopped) a->stopped = sigtimedwait(&a->signals, NULL, &at_once) > 0;
    return a->stopped;
}

/* Called with every report. Memory is known when training begins: signals are blocked from then. */
static void say_memory(aligning *a, const pk_align_report *r) {
    if (r->memory <= a->memory) return;
    if (!a->watching) watch_signals(a);
    a->memory = r->memory;
    pk_progress_clear(&a->progress);
    pk_cli_warn(a->c,
                "%" PRIu64 " pairs, %" PRIu64 " and %" PRIu64 " words (%" PRIu64 " and %" PRIu64
                " different); training takes %.0f MiB",
                r->pairs, r->words[0], r->words[1], r->vocabulary[0], r->vocabulary[1],
                (double)r->memory / (1 << 20));
}

/* the library's progress; != 0 makes it stop */
static int show(void *user, const char *what, double share, const pk_align_report *r) {
    aligning *a = user;
    say_memory(a, r);
    pk_progress_show(&a->progress, share, -1, "%s: %" PRIu64 " pairs", what, r->pairs);
    return stop_asked(a);
}

/* the output is opened when there is something to write: what fails before leaves no file */
static int open_output(aligning *a) {
    if (!a->opened) a->failed = pk_writer_open(a->c, a->c->output, &a->output) != 0;
    a->opened = true;
    return a->failed;
}

/* the library's output; != 0 makes it stop */
static int write_lines(void *user, const char *lines, size_t size) {
    aligning *a = user;
    if (open_output(a)) return 1;
    pk_writer_add(&a->output, lines, size);
    a->failed = pk_writer_flush(a->c, &a->output) != 0;
    return a->failed;
}

static void say_lines(const pk_cli *c, uint64_t n, const char *what) {
    if (n) pk_cli_warn(c, "warning: %" PRIu64 " pair%s %s", n, n == 1 ? "" : "s", what);
}

/* warnings, and for each direction what fast_align prints too */
static void say_result(const pk_cli *c, const pk_align_report *r) {
    static const char *const direction[] = { "forward", "reverse" };
    say_lines(c, r->empty, "with an empty side: left empty");
    say_lines(c, r->too_long, "with more than 10,000 words on a side: left empty");
    for (int d = 0; d < 2; d++)
        if (r->tension[d] > 0)
            pk_cli_warn(c, "%s: tension %.6g, cross entropy %.6g", direction[d], r->tension[d],
                        r->cross_entropy[d]);
}

static const char *input_path(const char *path) {
    return path && strcmp(path, "-") ? path : "/dev/stdin";
}

/* the options of the command line as the library's */
static pk_status align(aligning *a, pk_align_report *report) {
    const pk_cli *c = a->c;
    return pk_align(PK_OPTIONS(pk_align_options, .source = input_path(c->input),
                               .target = c->operand.n ? input_path(c->operand.item[0]) : NULL,
                               .vocab = c->vocab, .load = c->load, .save = c->save,
                               .table = c->lexical_table, .reverse = c->reverse,
                               .symmetrise = c->symmetrise, .iterations = (int32_t)c->iterations,
                               .threads = (int32_t)c->threads, .write = write_lines,
                               .progress = show, .user = a, .model = a->model),
                    report);
}

/* the first failure decides the exit code */
static int finish(aligning *a, pk_status status) {
    int code = a->failed ? PK_EXIT_FAILED : 0;
    if (a->stopped)
        code = pk_cli_fail(a->c, "stopped");
    else if (!code && status != PK_OK)
        code = pk_cli_fail_status(a->c, status);
    if (!code && open_output(a)) code = PK_EXIT_FAILED; /* no pairs: an empty file */
    return a->opened && a->output.file >= 0 ? pk_writer_close(a->c, &a->output, code) : code;
}

int pk_cli_align(pk_cli *c) {
    aligning        a = { .c = c, .output.file = -1 };
    pk_align_report report = { 0 };
    pk_status       status;
    if (c->pharaoh && (!c->symmetrise || !c->operand.n))
        return pk_cli_usage(c, "--pharaoh needs --symmetrise METHOD and two files of links, -i "
                               "FORWARD REVERSE");
    pk_inputs_add_path(c, input_path(c->input));
    if (c->operand.n) pk_inputs_add_path(c, input_path(c->operand.item[0]));
    pk_inputs_add_path(c, c->vocab);
    pk_inputs_add_path(c, c->load);
    int code = c->model ? pk_cli_open_model(c, c->model, &a.model) : 0;
    if (!code) code = pk_inputs_refuse(c, c->output);
    if (!code) code = pk_outputs_refuse_same(c, c->output, c->save);
    if (!code) code = pk_outputs_refuse_same(c, c->output, c->lexical_table);
    if (code) {
        pk_model_close(a.model);
        return code;
    }
    pk_progress_begin(&a.progress, c, NULL);
    if (c->pharaoh)
        status = pk_align_symmetrise_files(input_path(c->input), input_path(c->operand.item[0]),
                                           c->symmetrise, write_lines, &a);
    else
        status = align(&a, &report);
    pk_progress_end(&a.progress);
    code = finish(&a, status);
    pk_model_close(a.model);
    if (code == 0) say_result(c, &report);
    return code;
}
