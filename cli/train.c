/* train.c - `pronk train`: trains by a recipe, reports progress, and stops cleanly on a signal.
 *
 * On a terminal one line shows the progress and only validations stay; elsewhere there is a line
 * each time the log gets one. INT and TERM are blocked and asked for between updates: the first one
 * saves a checkpoint, and from then on they act as usual. While data is prepared a thread waits for
 * them, since a disk or a GPU may keep the library from asking. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

/* one training, and the signals that stop it */
typedef struct training {
    const pk_cli *c;
    pk_trainer   *trainer;
    pk_progress   progress;
    sigset_t      signals; /* that stop it; blocked */
    atomic_bool   stopped;
    bool          ranks;   /* started by mpirun */
    bool          watched; /* while data is prepared, by this thread: */
    pthread_t     watcher;
    atomic_bool   prepared;
} training;

/* The rank that mpirun and the like set in the environment; true: there are several ranks. */
static bool find_rank(int *rank) {
    static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (!text) continue;
        *rank = atoi(text);
        return true;
    }
    return false;
}

/* ---- Signals ---- */

/* A signal that is ignored already (nohup, a job in the background) stays ignored. One of several
 * ranks cannot stop before the others: there a signal ends them all, and the last checkpoint
 * counts. / */
static void watch_signals(training *t) {
    static const int list[] = { SIGINT, SIGTERM };
    sigemptyset(&t->signals);
    for (int i = 0; i < 2 && !t->ranks; i++) {
        struct sigaction now;
        if (!sigaction(list[i], NULL, &now) && now.sa_handler != SIG_IGN)
            sigaddset(&t->signals, list[i]);
    }
    sigprocmask(SIG_BLOCK, &t->signals, NULL);
}

/* whether a signal waits; after the first one signals act as usual again */
static bool stop_asked(training *t) {
    const struct timespec at_once = { 0 };
    if (t->stopped) return true;
    if (sigtimedwait(&t->signals, NULL, &at_once) <= 0) return false;
    t->stopped = true;
    pthread_sigmask(SIG_UNBLOCK, &t->signals, NULL);
    return true;
}

/* ---- Signals while data is prepared ---- */

enum { TICK_MS = 50, GRACE_MS = 3000 }; /* GRACE: until the program ends, whatever it waits for */

static int say_stopped(const pk_cli *c) {
    return pk_cli_fail(c, "stopped before the first update");
}

/* A thread that waits for a signal while data is prepared. The library calls preparing() now and
 * then and then ends cleanly. If it does not within GRACE_MS, the program ends here; a half-written
 * cache file may stay. A second signal acts as usual. */
static void *watch(void *user) {
    training             *t = user;
    const struct timespec tick = { .tv_nsec = TICK_MS * 1000000L };
    bool                  asked = false;
    while (!asked && !t->prepared) asked = sigtimedwait(&t->signals, NULL, &tick) > 0;
    if (!asked) return NULL;
    t->stopped = true;
    pthread_sigmask(SIG_UNBLOCK, &t->signals, NULL);
    for (int ms = 0; ms < GRACE_MS && !t->prepared; ms += TICK_MS) nanosleep(&tick, NULL);
    if (t->prepared) return NULL;
    pk_progress_end(&t->progress);
    _exit(say_stopped(t->c));
}

static void begin_watch(training *t) {
    t->watched = !sigisemptyset(&t->signals) && !pthread_create(&t->watcher, NULL, watch, t);
}

/* data is ready: signals are now asked for between updates */
static void end_watch(training *t) {
    t->prepared = true;
    if (t->watched) pthread_join(t->watcher, NULL);
    if (t->stopped) pthread_sigmask(SIG_UNBLOCK, &t->signals, NULL);
}

/* ---- What is said ---- */

/* the library's progress report; != 0 makes it stop */
static int preparing(void *user, const char *what, double share) {
    training *t = user;
    pk_progress_show(&t->progress, share, -1, "%s", what);
    return t->watched ? t->stopped : stop_asked(t);
}

/* text of several lines; standard output is for data, and training writes none */
static void say_text(training *t, const char *text) {
    if (t->c->quiet || !text || !*text) return;
    pk_progress_clear(&t->progress);
    fprintf(stderr, "%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
}

/* the same figures as a line of log.jsonl */
static void say_log(const pk_train_report *r) {
    char left[24];
    fprintf(stderr,
            "update %" PRId64
            "  epoch %.2f  loss %.4f  accuracy %.1f %%  gradient %.3f  rate %.2e  "
            "%.0f tokens/s",
            r->update, r->epoch, r->loss, 100 * r->accuracy, r->gradient, r->rate,
            r->tokens_per_second);
    if (r->skipped) fprintf(stderr, "  %" PRId64 " skipped", r->skipped);
    if (r->seconds_left > 0) fprintf(stderr, "  %s left", pk_cli_duration(r->seconds_left, left));
    fputc('\n', stderr);
}

static void say_validation(const pk_train_report *r) {
    fprintf(stderr, "update %" PRId64 "  epoch %.2f  validation: loss %.4f", r->update, r->epoch,
            r->valid_loss);
    if (isfinite(r->valid_bleu)) fprintf(stderr, "  BLEU %.2f", r->valid_bleu);
    if (isfinite(r->valid_chrf)) fprintf(stderr, "  chrF %.2f", r->valid_chrf);
    fputc('\n', stderr);
}

/* on a terminal the progress line is redrawn; elsewhere each line of the log is printed */
static void show(training *t, const pk_train_report *r) {
    double left = r->seconds_left > 0 ? r->seconds_left : -1;
    if (isfinite(r->loss)) /* after the first line of the log */
        pk_progress_show(&t->progress, r->share, left,
                         "update %" PRId64 "  loss %.3f  %.0f tokens/s  epoch %.2f  rate %.1e",
                         r->update, r->loss, r->tokens_per_second, r->epoch, r->rate);
    else
        pk_progress_show(&t->progress, r->share, left, "update %" PRId64 "  epoch %.2f", r->update,
                         r->epoch);
    if (t->c->quiet) return;
    const bool line = r->logged && !t->progress.shown;
    if (!line && !r->validated) return;
    pk_progress_clear(&t->progress);
    if (line) say_log(r);
    if (r->validated) say_validation(r);
}

/* ---- Training ---- */

/* the command that goes on from here, as one could type it */
static void say_how_to_go_on(const training *t, int64_t update) {
    const pk_cli *c = t->c;
    if (c->quiet) return;
    fprintf(stderr,
            "pronk train: stopped after update %" PRId64 " with a checkpoint; go on with: "
            "pronk train %s",
            update, c->operand.item[0]);
    for (size_t i = 0; i < c->sets.n; i++) fprintf(stderr, " --set '%s'", c->sets.item[i]);
    fprintf(stderr, " --resume\n");
}

/* after a signal: a checkpoint, and how to resume */
static int stop(training *t, int64_t update) {
    pk_progress_end(&t->progress);
    pk_status status = pk_trainer_save(t->trainer);
    if (status != PK_OK) return pk_cli_fail_status(t->c, status);
    say_how_to_go_on(t, update);
    return PK_EXIT_FAILED; /* there is no model yet */
}

/* update by update, until the training is done or a signal asks to stop */
static int train(training *t) {
    pk_train_report r = { 0 };
    do {
        pk_status status = pk_trainer_step(t->trainer, &r);
        if (status != PK_OK) {
            pk_progress_end(&t->progress);
            return pk_cli_fail_status(t->c, status);
        }
        show(t, &r);
        if (!r.done && stop_asked(t)) return stop(t, r.update);
    } while (!r.done);
    pk_progress_end(&t->progress);
    char time[24];
    if (!t->c->quiet)
        fprintf(stderr, "done: %" PRId64 " update%s in %s; the model is %s/model.pronk\n", r.update,
                r.update == 1 ? "" : "s", pk_cli_duration(r.seconds, time),
                pk_trainer_output(t->trainer));
    return PK_EXIT_OK;
}

int pk_cli_train(pk_cli *c) {
    training t = { .c = c };
    int      rank = 0;
    t.ranks = find_rank(&rank);
    c->quiet = c->quiet || rank > 0; /* only one of them reports */
    watch_signals(&t);
    pk_progress_begin_alone(&t.progress, c);
    begin_watch(&t);
    pk_status status =
        pk_trainer_open(c->operand.item[0],
                        PK_OPTIONS(pk_trainer_options, .set = c->sets.item, .n_set = c->sets.n,
                                   .resume = c->resume, .progress = preparing, .user = &t),
                        &t.trainer);
    end_watch(&t);
    if (status != PK_OK) {
        pk_progress_end(&t.progress);
        return t.stopped ? say_stopped(c) : pk_cli_fail_status(c, status);
    }
    if (pk_trainer_rank(t.trainer) > 0) c->quiet = true; /* only one reports */
    say_text(&t, pk_trainer_report_text(t.trainer));
    int code = train(&t);
    pk_trainer_close(t.trainer);
    return code;
}
