/* vocab.c - `pronk vocab`: text becomes a SentencePiece model, or a model's own one is extended. */
#include <stdlib.h>

#include "inputs.h"
#include "progress.h"

static int reading(void *user, size_t lines_done, size_t lines_in_all) {
    double share = lines_in_all ? (double)lines_done / (double)lines_in_all : -1;
    pk_progress_show(user, share, -1, "%zu lines read", lines_done);
    return 0;
}

/* what share of the text has pieces of its own, and what becomes of the rest */
static void say_coverage(const pk_cli *c, const pk_vocab_train_report *r) {
    const uint64_t rare = r->kinds - r->kinds_covered;
    double         share = r->characters ? 100.0 * (double)r->covered / (double)r->characters : 100;
    pk_cli_warn(c, "%s: %llu pieces", c->output, (unsigned long long)r->pieces);
    pk_cli_warn(c, "%.4f %% of the text's characters have pieces of their own%s", share,
                rare == 0             ? ""
                : c->no_byte_fallback ? "; the others are unknown"
                                      : "; the others are written as bytes");
}

/* -i may be followed by several files: those are operands */
static pk_status learn(const pk_cli *c, const void *old, size_t old_size,
                       pk_vocab_train_report *report) {
    pk_cli_list files = { pk_cli_grow(NULL, c->inputs.n + c->operand.n, sizeof *files.item), 0 };
    pk_progress progress;
    for (size_t i = 0; i < c->inputs.n; i++) files.item[files.n++] = c->inputs.item[i];
    for (size_t i = 0; i < c->operand.n; i++) files.item[files.n++] = c->operand.item[i];
    pk_progress_begin_alone(&progress, c);
    const pk_status status = pk_vocab_train(
        PK_OPTIONS(pk_vocab_train_options, .inputs = files.item, .n_inputs = files.n,
                   .output = c->output, .vocab_size = (int32_t)c->vocab_size, .type = c->type,
                   .coverage = c->coverage, .characters = c->characters, .max_lines = c->lines,
                   .byte_fallback = c->byte_fallback, .no_byte_fallback = c->no_byte_fallback,
                   .threads = (int32_t)c->threads, .progress = reading, .user = &progress,
                   .report = report, .extend = old, .extend_size = old_size));
    pk_progress_end(&progress);
    free(files.item);
    return status;
}

/* the vocabulary of c->model is extended; the model stays open, since its bytes are read */
static int open_old(pk_cli *c, pk_model **model, const void **old, size_t *size) {
    int code = pk_cli_open_model(c, c->model, model);
    if (!code) code = pk_inputs_refuse(c, c->output);
    if (!code && pk_model_sentencepiece(*model, 0, old, size) != PK_OK)
        code = pk_cli_fail_status(c, PK_UNSUPPORTED);
    return code;
}

int pk_cli_vocab(pk_cli *c) {
    pk_model             *model = NULL;
    const void           *old = NULL;
    size_t                old_size = 0;
    pk_vocab_train_report report;
    int                   code = c->model ? open_old(c, &model, &old, &old_size) : 0;
    if (!code) {
        const pk_status status = learn(c, old, old_size, &report);
        if (status != PK_OK) code = pk_cli_fail_status(c, status);
    }
    if (!code) say_coverage(c, &report);
    pk_model_close(model);
    return code;
}
