/* drafter.c - `pronk drafter`: from a model and source text to a drafter for it, in one command.
 *
 * The model translates the text as greedy search does (pk_distill), text and translations are aligned
 * to a lexicon of what follows what (pk_align), a recipe is written, and `pronk train` follows it.
 * All files lie in the output folder; --resume goes on where a call stopped, and
 * the recipe can be changed and trained by hand as any other. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs.h"
#include "progress.h"

typedef struct making {
    pk_cli     *c;
    pk_progress progress;
    /* paths: the model's translations, what they become, how to train, the drafter with a lexicon */
    char *text, *lexicon, *recipe, *with;
    bool  made; /* the output folder is new */
} making;

static char *path_in(const char *folder, const char *name) {
    const size_t n = strlen(folder) + strlen(name) + 2;
    char        *path = pk_cli_grow(NULL, n, 1);
    snprintf(path, n, "%s/%s", folder, name);
    return path;
}

/* ---- what is checked before hours of work ---- */

/* the text is read twice, so it cannot come from a pipe; the test can */
static int check_inputs(const pk_cli *c) {
    struct stat about;
    if (stat(c->input, &about) != 0) return pk_cli_fail(c, "%s: %s", c->input, strerror(errno));
    if (!S_ISREG(about.st_mode)) return pk_cli_fail(c, "%s: not a regular file", c->input);
    if (c->test && strcmp(c->test, "-") && stat(c->test, &about) != 0)
        return pk_cli_fail(c, "%s: %s", c->test, strerror(errno));
    pk_inputs_add_path(c, c->input);
    pk_inputs_add_path(c, c->test);
    return c->test ? pk_inputs_refuse(c, NULL) : 0;
}

/* The training writes files of several names there: none of the folder may be one that is read. */
static int refuse_inputs(const pk_cli *c) {
    DIR           *folder = opendir(c->output);
    struct dirent *entry;
    int            code = 0;
    if (!folder) return pk_cli_fail(c, "%s: %s", c->output, strerror(errno));
    while (!code && (entry = readdir(folder))) {
        char *path = path_in(c->output, entry->d_name);
        if (pk_inputs_have(c, path))
            code = pk_cli_fail(c, "%s is an input: choose another output folder", path);
        free(path);
    }
    closedir(folder);
    return code;
}

/* a file of this verb that is there already: from an earlier call, or somebody's */
static int refuse_old(const pk_cli *c, const char *path) {
    struct stat about;
    if (stat(path, &about) != 0) return 0;
    if (!S_ISREG(about.st_mode)) return pk_cli_fail(c, "%s: not a regular file", path);
    return c->resume ? 0
                     : pk_cli_fail(c,
                                   "%s is there already: go on with it (--resume) or choose "
                                   "another folder",
                                   path);
}

/* a folder of an earlier call is taken as it is; what lies in it is checked before anything is
 * written */
static int make_folder(making *m) {
    const pk_cli *c = m->c;
    m->made = mkdir(c->output, 0777) == 0;
    if (!m->made && errno != EEXIST) return pk_cli_fail(c, "%s: %s", c->output, strerror(errno));
    int code = refuse_inputs(c);
    if (!code) code = refuse_old(c, m->text);
    if (!code) code = refuse_old(c, m->lexicon);
    if (!code) code = refuse_old(c, m->recipe);
    if (!code) code = refuse_old(c, m->with);
    return code;
}

/* ---- what the model writes ---- */

static int draw(void *user, const pk_distill_report *r) {
    making *m = user;
    pk_progress_show(&m->progress, r->all ? (double)r->lines / (double)r->all : -1, -1,
                     "the model translates: %" PRIu64 " lines", r->lines);
    return 0;
}

static int distill(making *m, const pk_cli_models *models) {
    pk_cli               *c = m->c;
    pk_distill_report     counts;
    pk_translator_options how = pk_cli_translator_options(c, models, "greedy");
    pk_progress_begin_alone(&m->progress, c);
    const pk_status status =
        pk_distill(models->model[0], c->input, m->text,
                   PK_OPTIONS(pk_distill_options, .translator = &how, .resume = c->resume,
                              .progress = draw, .user = m),
                   &counts);
    pk_progress_end(&m->progress);
    return status == PK_OK ? 0 : pk_cli_fail_status(c, status);
}

static int draw_alignment(void *user, const char *what, double share, const pk_align_report *r) {
    making *m = user;
    pk_progress_show(&m->progress, share, -1, "%s: %" PRIu64 " pairs", what, r->pairs);
    return 0;
}

/* One that is there already is of the same translations, or of the first of them: nothing but speed
 * depends on it. */
static int align(making *m, const pk_cli_models *models) {
    const pk_cli *c = m->c;
    struct stat   about;
    if (c->resume && stat(m->lexicon, &about) == 0) return 0;
    pk_progress_begin_alone(&m->progress, c);
    const pk_status status =
        pk_align(PK_OPTIONS(pk_align_options, .source = c->input, .target = m->text,
                            .save = m->lexicon, .threads = (int32_t)c->threads,
                            .progress = draw_alignment, .user = m, .model = models->model[0]),
                 NULL);
    pk_progress_end(&m->progress);
    return status == PK_OK ? 0 : pk_cli_fail_status(c, status);
}

/* ---- how to train ---- */

/* a path as it is from anywhere, as YAML wants it */
static void write_path(pk_line_writer *out, const char *key, const char *path) {
    char whole[PATH_MAX];
    pk_writer_print(out, "%s: '", key);
    for (const char *at = realpath(path, whole) ? whole : path; *at; at++) {
        if (*at == '\'') pk_writer_add(out, at, 1);
        pk_writer_add(out, at, 1);
    }
    pk_writer_print(out, "'\n");
}

/* What is not here has a recipe's defaults. The file is for the user too, who may change it and go
 * on with --resume. */
static void write_keys(const pk_cli *c, pk_line_writer *out) {
    const bool gpu = c->device && strncmp(c->device, "cuda", 4) == 0;
    pk_writer_print(out, "# made by `pronk drafter`: a drafter for -d gad\n"
                         "task: gad:block=25,cuts=2,next=yes,fall=0.8,glancing=no\n"
                         "output: .\n");
    write_path(out, "verifier", c->model);
    write_path(out, "data.source", c->input);
    pk_writer_print(out, "data.target: drafted.txt\ndata.max_length: 120\ndata.batch_tokens: %d\n",
                    gpu ? 20480 : 4096);
    pk_writer_print(out, "device: %s\nmodel.decoder_layers: 1\n", c->device ? c->device : "cpu");
    if (c->threads) pk_writer_print(out, "threads: %" PRId64 "\n", c->threads);
    if (c->from) pk_writer_print(out, "from: %s\n", c->from);
    if (c->to) pk_writer_print(out, "to: %s\n", c->to);
    pk_writer_print(out, "train:\n  minutes: 10\n  updates: 0\n  rate: 1e-3\n  warmup: 500\n"
                         "  cooldown: 0.3\n  dropout: 0\n  average: 0.999\nsave.type: f16\n");
}

/* a recipe that is there already was perhaps changed: it counts */
static int write_recipe(const making *m) {
    struct stat    about;
    pk_line_writer out;
    if (m->c->resume && stat(m->recipe, &about) == 0) return 0;
    const int code = pk_writer_open_whole(m->c, m->recipe, &out);
    if (code) return code;
    write_keys(m->c, &out);
    return pk_writer_close(m->c, &out, 0);
}

/* The model's files are known while it is open: what is written is compared with them. */
static int prepare(making *m) {
    pk_cli_models models;
    int           code = pk_cli_open_models(m->c, &models);
    if (!code) code = make_folder(m);
    if (!code) code = distill(m, &models);
    if (!code) code = align(m, &models);
    if (!code) code = write_recipe(m);
    pk_inputs_free(m->c->opened);
    pk_cli_close_models(&models);
    return code;
}

/* a training blocks the signals that it asks for; afterwards they act as before */
static int train(const making *m) {
    pk_cli      t = *m->c;
    const char *recipe[] = { m->recipe };
    sigset_t    before;
    t.operand = (pk_cli_list){ recipe, 1 };
    sigprocmask(SIG_BLOCK, NULL, &before);
    const int code = pk_cli_train(&t);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* The model.pronk that a training left gets what drafts need of the lexicon. It is written beside and
 * renamed, so one of the two is always there. */
static int add_lexicon(const making *m, const pk_model *model) {
    const pk_cli   *c = m->c;
    char           *drafter = path_in(c->output, "model.pronk");
    const pk_status status = pk_model_convert(
        drafter, m->with, PK_OPTIONS(pk_convert_options, .lexicon = m->lexicon, .model = model));
    int code = status == PK_OK ? 0 : pk_cli_fail_status(c, status);
    if (!code && rename(m->with, drafter) != 0)
        code = pk_cli_fail(c, "%s: %s", drafter, strerror(errno));
    free(drafter);
    return code;
}

static int finish(const making *m) {
    pk_model *model = NULL;
    int       code = pk_cli_open_model(m->c, m->c->model, &model);
    if (!code) code = add_lexicon(m, model);
    pk_model_close(model);
    return code;
}

/* ---- what it is worth ---- */

static int translate_all(const pk_cli *c, pk_translator *translator) {
    pk_line_reader r;
    int            code = pk_lines_open(c, c->test, &r);
    if (code) return code;
    while (!(code = pk_lines_next(c, &r)) && r.n) {
        pk_result      *result;
        const pk_status status = pk_translate(translator, r.line, r.n, NULL, &result);
        if (status != PK_OK) {
            code = pk_cli_fail_status(c, status);
            break;
        }
        pk_result_free(result);
    }
    pk_lines_close(&r);
    return code;
}

/* One sentence at a time, so that the passes of the model are those of a sentence. */
static int measure(const making *m) {
    pk_cli         c = *m->c;
    pk_cli_models  models;
    pk_translator *translator = NULL;
    pk_stats       s;
    if (!c.test) return 0;
    c.drafter = c.output;
    c.batch = 1;
    c.no_split = true;
    int code = pk_cli_open_models(&c, &models);
    if (!code) code = pk_cli_open_translator(&c, &models, "gad:block=10", &translator);
    if (!code) code = translate_all(&c, translator);
    if (!code) {
        pk_translator_stats(translator, &s);
        printf("%.2f tokens in a pass of the model, drafted 10 at a time, over %" PRIu64
               " sentences\n",
               s.passes > s.draft_passes
                   ? (double)s.target_tokens / (double)(s.passes - s.draft_passes)
                   : 0,
               s.sentences);
    }
    pk_translator_close(translator);
    pk_cli_close_models(&models);
    return code;
}

int pk_cli_drafter(pk_cli *c) {
    making m = { .c = c };
    int    code = check_inputs(c);
    if (code) return code;
    m.text = path_in(c->output, "drafted.txt");
    m.lexicon = path_in(c->output, "lexicon.align");
    m.recipe = path_in(c->output, "recipe.yml");
    m.with = path_in(c->output, "new.pronk");
    code = prepare(&m);
    if (!code) code = train(&m);
    if (!code) code = finish(&m);
    if (!code) code = measure(&m);
    if (code && m.made) rmdir(c->output); /* where nothing was written into it */
    free(m.text);
    free(m.lexicon);
    free(m.recipe);
    free(m.with);
    return code;
}
