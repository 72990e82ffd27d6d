/* distill.c - `pronk distill`: a corpus as teachers translate it, line by line.
 *
 * The library does the work (pk_distill); here are its options, a line of progress and, at the end,
 * what became of lines that have no translation. */
#include <inttypes.h>
#include <stdio.h>

#include "progress.h"

typedef struct state {
    const pk_cli *c;
    pk_progress   progress;
} state;

/* time left supposes that the rest goes as fast */
static int draw(void *user, const pk_distill_report *r) {
    state *s = user;
    double elapsed = pk_cli_seconds() - s->progress.begin;
    double rate = elapsed > 0 ? (double)(r->lines - r->resumed) / elapsed : 0;
    double share = r->all ? (double)r->lines / (double)r->all : -1;
    double left = rate > 0 && r->all > r->lines ? (double)(r->all - r->lines) / rate : -1;
    pk_progress_show(&s->progress, share, left, "%" PRIu64 " line%s, %.1f lines/s", r->lines,
                     r->lines == 1 ? "" : "s", rate);
    return 0;
}

static void warn(const pk_cli *c, uint64_t n, const char *what) {
    if (n) pk_cli_warn(c, "warning: %" PRIu64 " line%s %s", n, n == 1 ? "" : "s", what);
}

/* a line for each kind of input that has no usual translation */
static void print_report(state *s, const pk_distill_report *r) {
    pk_progress_end(&s->progress);
    if (r->resumed)
        pk_cli_warn(s->c, "%" PRIu64 " line%s there already, %" PRIu64 " new", r->resumed,
                    r->resumed == 1 ? " was" : "s were", r->lines - r->resumed);
    warn(s->c, r->empty, "of the source blank: left empty");
    warn(s->c, r->too_long, "of the source too long for the model: left empty");
    warn(s->c, r->untranslated, "to which the model gave no text: left empty");
    warn(s->c, r->unknown, "in which the model chose the unknown token: decoded again without it");
    warn(s->c, r->repaired, "with bytes that are not UTF-8; they were replaced by U+FFFD");
}

int pk_cli_distill(pk_cli *c) {
    state             s = { .c = c };
    pk_cli_models     models;
    pk_distill_report counts;
    if (c->n_best && !c->reference)
        return pk_cli_usage(c, "--n-best needs --reference: without it the best is written");
    if (c->reference && !c->n_best) c->n_best = 4;
    int code = pk_cli_open_models(c, &models);
    if (!code) {
        pk_translator_options how =
            pk_cli_translator_options(c, &models, c->decode ? c->decode : "beam:size=4");
        pk_progress_begin_alone(&s.progress, c);
        pk_distill_options options = { .size = sizeof options,
                                       .translator = &how,
                                       .reference = c->reference,
                                       .resume = c->resume,
                                       .progress = draw,
                                       .user = &s };
        pk_status status = pk_distill(models.model[0], c->input, c->output, &options, &counts);
        print_report(&s, &counts);
        if (status != PK_OK) code = pk_cli_fail_status(c, status);
    }
    pk_cli_close_models(&models);
    return code;
}
