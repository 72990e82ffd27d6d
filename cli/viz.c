/* viz.c - `pronk viz`: translates one sentence and shows how that went, pass by pass.
 *
 * Everything is taken from the library's trace, so it works for every strategy. Errors of
 * the command line are reported before the output is touched. */
#include <stdlib.h>
#include <string.h>

#include "viz.h"

typedef struct job {
    pk_cli        *c;
    pk_cli_models  models;
    pk_translator *translator;
    pk_line_reader input;
    pk_line_writer output;
    pk_text        sentence;
    char          *owned; /* the sentence, ended by a zero */
} job;

static bool is_blank(const pk_text *text) {
    for (size_t i = 0; i < text->size; i++)
        if (!strchr(" \t\r\n\f\v", text->data[i])) return false;
    return true;
}

/* the operand, or the first line of standard input */
static int find_sentence(job *j) {
    if (j->c->operand.n) {
        const char *text = j->c->operand.item[0];
        j->sentence = (pk_text){ text, strlen(text) };
    } else {
        int code = pk_lines_open(j->c, NULL, &j->input);
        if (!code) code = pk_lines_take(j->c, &j->input, 1);
        if (code) return code;
        if (j->input.n) j->sentence = j->input.line[0];
    }
    if (is_blank(&j->sentence))
        return pk_cli_usage(j->c, "the sentence is empty: give one to translate");
    j->owned = pk_cli_grow(NULL, j->sentence.size + 1, 1);
    memcpy(j->owned, j->sentence.data, j->sentence.size);
    j->owned[j->sentence.size] = 0;
    for (char *at = j->owned; (at = strpbrk(at, "\r\n"));)
        *at = ' '; /* a line end would split it */
    j->sentence.data = j->owned;
    return 0;
}

/* one sentence needs no more than one worker; log-probabilities are what is shown */
static int open_all(job *j) {
    pk_cli *c = j->c;
    int     code = find_sentence(j);
    c->scores = c->no_split = true;
    c->batch = c->workers = 1;
    if (!c->decode) c->decode = "jacobi";
    if (!code && !strncmp(c->decode, "pairs", strlen("pairs")))
        code = pk_cli_usage(c, "it shows tokens that follow one another; pairs writes two a step");
    if (!code) code = pk_cli_open_models(c, &j->models);
    if (!code) code = pk_cli_open_translator(c, &j->models, c->decode, &j->translator);
    if (!code) code = pk_writer_open_whole(c, c->output, &j->output);
    return code;
}

/* a drafter may have tokens that the model has not: a mask */
static const char *name_of(const void *names, int32_t id) {
    const pk_cli_models *models = names;
    const char          *name = pk_model_target_token(models->model[0], id);
    return models->drafter && !strcmp(name, "?") ? pk_model_target_token(models->drafter, id)
                                                 : name;
}

/* by --format */
static int write_picture(job *j, const pk_viz *v) {
    const char *format = j->c->format ? j->c->format : "html";
    if (!strcmp(format, "json")) return pk_viz_json(j->c, &j->output, v);
    if (!strcmp(format, "dot"))
        pk_viz_dot(&j->output, v);
    else if (!strcmp(format, "svg"))
        pk_viz_svg(&j->output, v);
    else
        pk_viz_html(&j->output, v);
    return 0;
}

/* A sentence that was split has several traces; one picture cannot show them. */
static int show(job *j, const pk_result *result, pk_viz *v) {
    pk_hypothesis_view h = { .text = "" };
    pk_status          status = pk_result_hypothesis(result, 0, 0, &h);
    if (status != PK_OK) return pk_cli_fail_status(j->c, status);
    if (v->sentences > 1)
        return pk_cli_fail(j->c, "the sentence is longer than the model takes at a time: "
                                 "give a shorter one");
    v->translation = h.text;
    pk_viz_finish(v, h.token, h.token_log_prob, (size_t)h.n_tokens);
    return write_picture(j, v);
}

/* translates with a trace, then draws */
static int translate(job *j) {
    const char *draft = j->c->draft ? j->c->draft : "";
    pk_text     given = { draft, strlen(draft) };
    pk_viz      v = {
             .sentence = j->owned, .decode = j->c->decode, .name = name_of, .names = &j->models
    };
    pk_call_options options = { .size = sizeof options,
                                .draft = j->c->draft ? &given : NULL,
                                .trace = pk_viz_trace,
                                .user = &v };
    pk_result      *result = NULL;
    pk_status       status = pk_translate(j->translator, &j->sentence, 1, &options, &result);
    int             code = status == PK_OK ? show(j, result, &v) : pk_cli_fail_status(j->c, status);
    pk_viz_free(&v);
    pk_result_free(result);
    return code;
}

int pk_cli_viz(pk_cli *c) {
    job j = { .c = c, .input.file = -1, .output.file = -1 };
    int code = open_all(&j);
    if (!code) code = translate(&j);
    code = pk_writer_close(c, &j.output, code);
    pk_translator_close(j.translator);
    pk_cli_close_models(&j.models);
    pk_lines_close(&j.input);
    free(j.owned);
    return code;
}
