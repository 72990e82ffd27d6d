/* bench_cases.c - what a bench compares: the model and the drafter of each --decode, and the models
 * that are open. One that several cases name is opened once in a process. */
#include <string.h>

#include "bench.h"
#include "progress.h"

size_t pk_bench_count_cases(const pk_cli *c) { return c->cases.n ? c->cases.n : 1; }

/* a model that no --decode follows would be left out without a word */
int pk_bench_check_cases(const pk_cli *c) {
    if (!c->cases.n) return 0;
    const pk_cli_case *last = &c->cases.item[c->cases.n - 1];
    const char        *model = last->model && last->model != c->model ? c->model : NULL;
    const char        *drafter = last->drafter != c->drafter ? c->drafter : NULL;
    if (last->lexicon != c->lexicon || last->shortlist != c->shortlist)
        return pk_cli_usage(c, "no --decode follows --%s: give it before those that it serves",
                            last->lexicon != c->lexicon ? "lexicon" : "shortlist");
    if (model || (drafter && *drafter))
        return pk_cli_usage(c, "no --decode follows --%s %s: give it before those that it serves",
                            model ? "model" : "drafter", model ? model : drafter);
    return 0;
}

/* of a --decode that comes before the first --model */
static const char *first_model(const pk_cli *c) {
    for (size_t i = 0; i < c->cases.n; i++)
        if (c->cases.item[i].model) return c->cases.item[i].model;
    return c->model;
}

void pk_bench_read_cases(const pk_cli *c, pk_bench_case *out) {
    const pk_cli_case  normal = { "greedy", c->model, c->drafter, c->lexicon, c->shortlist };
    const pk_cli_case *given = c->cases.n ? c->cases.item : &normal;
    for (size_t i = 0; i < pk_bench_count_cases(c); i++) {
        out[i].decode = given[i].decode;
        out[i].model = given[i].model ? given[i].model : first_model(c);
        out[i].lexicon = given[i].lexicon && *given[i].lexicon ? given[i].lexicon : NULL;
        out[i].shortlist = given[i].shortlist;
        out[i].drafter = given[i].drafter && *given[i].drafter ? given[i].drafter : NULL;
    }
}

bool pk_bench_same_model(const pk_bench_case *a, const pk_bench_case *b) {
    return strcmp(a->model, b->model) == 0;
}

/* ---- open ones ---- */

/* adds to *seconds what opening it took, or had taken */
static int open_model(const pk_cli *c, pk_bench_models *all, const char *path, pk_model **out,
                      double *seconds) {
    size_t i = 0;
    while (i < all->n && strcmp(all->item[i].path, path)) i++;
    if (i == all->n) {
        const double begin = pk_cli_seconds();
        all->item = pk_cli_grow(all->item, i + 1, sizeof *all->item);
        all->item[i].path = path;
        const int code = pk_cli_open_model(c, path, &all->item[i].model);
        if (code) return code;
        all->item[i].seconds = pk_cli_seconds() - begin;
        all->n++;
    }
    *out = all->item[i].model;
    *seconds += all->item[i].seconds;
    return 0;
}

static int open_both(const pk_cli *c, pk_bench_models *all, pk_bench_case *k, pk_model **model,
                     pk_model **drafter) {
    *drafter = NULL;
    k->load = 0;
    const int code = open_model(c, all, k->model, model, &k->load);
    return code || !k->drafter ? code : open_model(c, all, k->drafter, drafter, &k->load);
}

int pk_bench_open_models(const pk_cli *c, pk_bench_models *all, pk_bench_case *k) {
    pk_model *model, *drafter;
    return open_both(c, all, k, &model, &drafter);
}

int pk_bench_open_case(const pk_cli *c, pk_bench_models *all, pk_bench_case *k,
                       pk_translator **out) {
    pk_model     *model;
    pk_cli_models models = { &model, 1, NULL };
    pk_cli        own = *c; /* with what this case has */
    int           code = open_both(c, all, k, &model, &models.drafter);
    const double  begin = pk_cli_seconds();
    own.lexicon = k->lexicon;
    own.shortlist = k->shortlist;
    if (!code) code = pk_cli_open_translator(&own, &models, k->decode, out);
    k->load += pk_cli_seconds() - begin;
    return code;
}
