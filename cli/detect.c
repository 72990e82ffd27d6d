/* detect.c - `pronk detect`: the language of each line, and how sure that is.
 *
 * A line of input gives a line of output, or one for each language with --all and then a blank
 * one. */
#include <stdlib.h>
#include <string.h>

#include "lines.h"

typedef struct job {
    pk_cli           *c;
    char             *codes;    /* of --languages, cut at its commas */
    const char      **language; /* NULL: all */
    pk_detect_options options;
    pk_line_reader    input;
    pk_line_writer    output;
} job;

/* "en, de" as a list */
static int read_languages(job *j) {
    const char *given = j->c->languages;
    j->options.size = sizeof j->options;
    if (!given) return 0;
    j->codes = pk_cli_grow(NULL, strlen(given) + 1, 1);
    strcpy(j->codes, given);
    char *rest = NULL;
    for (char *code = strtok_r(j->codes, ", ", &rest); code; code = strtok_r(NULL, ", ", &rest)) {
        j->language = pk_cli_grow(j->language, j->options.n_languages + 1, sizeof *j->language);
        j->language[j->options.n_languages++] = code;
    }
    j->options.languages = j->language;
    return j->language ? 0 : pk_cli_usage(j->c, "no languages in --languages '%s'", given);
}

static int detect_line(job *j, pk_text line) {
    pk_detected  found[PK_MOST_DETECTED];
    const size_t room = j->c->all ? PK_MOST_DETECTED : 1;
    size_t       n;
    pk_status    status = pk_detect(line, &j->options, found, room, &n);
    if (status != PK_OK) return pk_cli_fail_status(j->c, status);
    for (size_t i = 0; i < n; i++)
        pk_writer_print(&j->output, "%s\t%.1f\n", found[i].language, found[i].confidence);
    if (j->c->all) pk_writer_add(&j->output, "\n", 1);
    return 0;
}

static int detect_all(job *j) {
    for (;;) {
        int code = pk_lines_next(j->c, &j->input);
        if (code || j->input.n == 0) return code;
        for (size_t i = 0; !code && i < j->input.n; i++) code = detect_line(j, j->input.line[i]);
        if (!code) code = pk_writer_flush(j->c, &j->output);
        if (code) return code;
    }
}

int pk_cli_detect(pk_cli *c) {
    job j = { .c = c, .input.file = -1, .output.file = -1 };
    int code = read_languages(&j);
    if (!code) code = pk_lines_open(c, c->input, &j.input);
    if (!code) code = pk_writer_open(c, c->output, &j.output);
    if (!code) code = detect_all(&j);
    code = pk_writer_close(c, &j.output, code);
    pk_lines_close(&j.input);
    free(j.language);
    free(j.codes);
    return code;
}
