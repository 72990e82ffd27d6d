/* distill.c - `pronk distill`: a corpus as teachers translate it, line by line.
 *
 * The library does the work (pk_distill); here are its options, a line of progress and, at the end,
 * what became of lines that have no translation. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "progress.h"

typedef struct state {
    const pk_cli *c;
    bool          shown;
    double        begin, last; /* seconds */
} state;

/* how long the rest takes if it goes as fast */
static void draw_left(const pk_distill_report *r, double rate) {
    double left = rate > 0 && r->all > r->lines ? (double)(r->all - r->lines) / rate : 0;
    fprintf(stderr, " of %" PRIu64 ", %.0f %%, %d:%02d:%02d left", r->all,
            100 * (double)r->lines / (double)r->all, (int)(left / 3600), (int)(left / 60) % 60,
            (int)left % 60);
}

static int draw(void *user, const pk_distill_report *r) {
    state *s = user;
    double now = pk_cli_seconds(), elapsed = now - s->begin;
    if (!s->shown || now - s->last < 0.2) return 0;
    double rate = elapsed > 0 ? (double)(r->lines - r->resumed) / elapsed : 0;
    fprintf(stderr, "\r%" PRIu64 " lines", r->lines);
    if (r->all) draw_left(r, rate);
    fprintf(stderr, ", %.1f lines/s\033[K", rate);
    fflush(stderr);
    s->last = now;
    return 0;
}

static void warn(const pk_cli *c, uint64_t n, const char *what) {
    if (n) pk_cli_warn(c, "warning: %" PRIu64 " line%s %s", n, n == 1 ? "" : "s", what);
}

static void tell(const state *s, const pk_distill_report *r) {
    if (s->shown) fputs("\r\033[K", stderr);
    if (r->resumed)
        pk_cli_warn(s->c, "%" PRIu64 " lines were there already, %" PRIu64 " are new", r->resumed,
                    r->lines - r->resumed);
    warn(s->c, r->empty, "of the source blank: left empty");
    warn(s->c, r->too_long, "of the source too long for the model: left empty");
    warn(s->c, r->untranslated, "to which the model had nothing to say: left empty");
    warn(s->c, r->repaired, "with bytes that are not UTF-8; they were replaced by U+FFFD");
}

int pk_cli_distill(pk_cli *c) {
    state             s = { .c = c, .begin = pk_cli_seconds() };
    pk_cli_models     models;
    pk_distill_report report;
    s.shown = !c->quiet && isatty(STDERR_FILENO);
    if (c->n_best && !c->reference)
        return pk_cli_usage(c, "--n-best needs --reference: without it the best is written");
    if (c->reference && !c->n_best) c->n_best = 4;
    int code = pk_cli_open_models(c, &models);
    if (!code) {
        pk_translator_options how =
            pk_cli_translator_options(c, &models, c->decode ? c->decode : "beam:size=4");
        pk_distill_options options = { .size = sizeof options,
                                       .translator = &how,
                                       .reference = c->reference,
                                       .resume = c->resume,
                                       .progress = draw,
                                       .user = &s };
        pk_status status = pk_distill(models.model[0], c->input, c->output, &options, &report);
        tell(&s, &report);
        if (status != PK_OK) code = pk_cli_fail_status(c, status);
    }
    pk_cli_close_models(&models);
    return code;
}
