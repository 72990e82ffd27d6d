/* vocab.c - `pronk vocab`: text becomes a SentencePiece model. */
#include <stdlib.h>

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
    pk_cli_warn(c, "%s: %lld pieces", c->output, (long long)c->vocab_size);
    pk_cli_warn(c, "%.4f %% of the text's characters have pieces of their own%s", share,
                rare == 0             ? ""
                : c->no_byte_fallback ? "; the others are unknown"
                                      : "; the others are written as bytes");
}

/* -i may be followed by several files: those are operands */
int pk_cli_vocab(pk_cli *c) {
    pk_cli_list files = { pk_cli_grow(NULL, c->inputs.n + c->operand.n, sizeof *files.item), 0 };
    pk_progress progress;
    pk_vocab_train_report report;
    for (size_t i = 0; i < c->inputs.n; i++) files.item[files.n++] = c->inputs.item[i];
    for (size_t i = 0; i < c->operand.n; i++) files.item[files.n++] = c->operand.item[i];
    pk_progress_begin_alone(&progress, c);
    pk_status status = pk_vocab_train(PK_OPTIONS(
        pk_vocab_train_options, .inputs = files.item, .n_inputs = files.n, .output = c->output,
        .vocab_size = (int32_t)c->vocab_size, .type = c->type, .coverage = c->coverage,
        .characters = c->characters, .max_lines = c->lines, .byte_fallback = c->byte_fallback,
        .no_byte_fallback = c->no_byte_fallback, .threads = (int32_t)c->threads,
        .progress = reading, .user = &progress, .report = &report));
    pk_progress_end(&progress);
    free(files.item);
    if (status != PK_OK) return pk_cli_fail_status(c, status);
    say_coverage(c, &report);
    return PK_EXIT_OK;
}
