/* open.c - from options to an open model and translator; what translate, score and bench share.
 *
 * Models are kept in the list of inputs while they are open, so that no output can be one of their
 * files (inputs.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"

int pk_cli_open_model(const pk_cli *c, const char *path, pk_model **model) {
    pk_model_options options = { .size = sizeof options, .type = c->type };
    pk_status        status = pk_model_open(path, &options, model);
    if (status != PK_OK) return pk_cli_fail_status(c, status);
    pk_inputs_add_model(c, *model);
    return 0;
}

int pk_cli_open_models(const pk_cli *c, pk_cli_models *out) {
    const char *const *path = c->models.n ? c->models.item : &c->model;
    const size_t       n = c->models.n ? c->models.n : 1;
    *out = (pk_cli_models){ .model = pk_cli_grow(NULL, n, sizeof *out->model) };
    for (; out->n < n; out->n++) {
        const int code = pk_cli_open_model(c, path[out->n], &out->model[out->n]);
        if (code) return code;
    }
    return c->drafter ? pk_cli_open_model(c, c->drafter, &out->drafter) : 0;
}

void pk_cli_close_models(pk_cli_models *models) {
    for (size_t i = 0; i < models->n; i++) pk_model_close(models->model[i]);
    pk_model_close(models->drafter);
    free(models->model);
    *models = (pk_cli_models){ 0 };
}

bool pk_cli_wants_markup(const pk_cli *c) {
    return (c->text_format && strcmp(c->text_format, "text") != 0) || c->glossary || c->protect.n ||
           c->protect_usual;
}

pk_translator_options pk_cli_translator_options(const pk_cli *c, const pk_cli_models *models,
                                                const char *decode) {
    pk_translator_options options = {
        .size = sizeof options,
        .decode = decode,
        .from = c->from,
        .to = c->to,
        .device = c->device,
        .threads = (int32_t)c->threads,
        .workers = (int32_t)c->workers,
        .batch = (int32_t)c->batch,
        .batch_tokens = (int32_t)c->batch_tokens,
        .one_sentence = c->no_split,
        .n_best = (int32_t)c->n_best,
        .alignment = c->alignment || pk_cli_wants_markup(c),
        .replace_unknowns = c->replace_unknowns,
        .scores = c->scores || c->word_scores || c->n_best,
        .max_input = (int32_t)c->max_input,
        .lexicon = c->lexicon,
        .shortlist = c->shortlist,
        .retry_loops = c->retry_loops,
    };
    if (models->n > 1) {
        options.ensemble = (const pk_model *const *)models->model + 1;
        options.n_ensemble = models->n - 1;
    }
    options.drafter = models->drafter;
    return options;
}

int pk_cli_open_translator(const pk_cli *c, const pk_cli_models *models, const char *decode,
                           pk_translator **out) {
    pk_translator_options options = pk_cli_translator_options(c, models, decode);
    pk_status             status = pk_translator_open(models->model[0], &options, out);
    return status == PK_OK ? 0 : pk_cli_fail_status(c, status);
}

static void warn_loops(const pk_cli *c, const pk_stats *stats) {
    const uint64_t    n = stats->looped, left = n - stats->mended;
    const char *const many = n == 1 ? "" : "s";
    if (c->retry_loops)
        pk_cli_warn(c,
                    "warning: the translation of %" PRIu64 " sentence%s repeated itself or did not "
                    "end; decoded again, %" PRIu64 " still %s",
                    n, many, left, left == 1 ? "does so" : "do so");
    else
        pk_cli_warn(c,
                    "warning: the translation of %" PRIu64 " sentence%s repeats itself or does not "
                    "end; --retry-loops decodes such sentences again",
                    n, many);
}

void pk_cli_warn_stats(const pk_cli *c, const pk_translator *translator) {
    pk_stats stats;
    pk_translator_stats(translator, &stats);
    if (stats.repaired)
        pk_cli_warn(c,
                    "warning: %" PRIu64 " line%s held bytes that are not UTF-8; they were "
                    "replaced by U+FFFD",
                    stats.repaired, stats.repaired == 1 ? "" : "s");
    if (stats.wrapped)
        pk_cli_warn(c,
                    "warning: %" PRIu64 " sentence%s longer than the limit %s translated in "
                    "parts",
                    stats.wrapped, stats.wrapped == 1 ? "" : "s",
                    stats.wrapped == 1 ? "was" : "were");
    if (stats.looped) warn_loops(c, &stats);
}
