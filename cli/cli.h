/* cli.h - what every verb of the program is given, and how it reports failure.
 *
 * pk_cli holds the values of all options of all verbs; a verb reads those in its own table
 * (options_table.h) and returns an exit code. Zero in a number means "the library's default". */
#ifndef PK_CLI_H
#define PK_CLI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../server/server.h"
#include "pronk.h"

enum { PK_EXIT_OK = 0, PK_EXIT_FAILED = 1, PK_EXIT_USAGE = 2 };

typedef struct pk_cli_list { /* an option that may be given several times */
    const char **item;
    size_t       n;
} pk_cli_list;

typedef struct pk_cli_case {                        /* a --decode, with what came before it */
    const char *decode, *model, *drafter, *lexicon; /* NULL: none came before it */
    bool        shortlist;
} pk_cli_case;

typedef struct pk_cli_cases {
    pk_cli_case *item;
    size_t       n;
} pk_cli_cases;

typedef struct pk_cli {
    const struct pk_cli_verb *verb;
    pk_cli_list               operand;   /* arguments that are no options, in order */
    uint64_t                  variables; /* bit i: option i was set by its variable alone */
    /* names are those of the options; the tables of options say what each one means */
    const char           *model, *from, *to, *type, *device, *decode;
    const char           *input, *output, *prefix, *draft, *reference, *tokenize, *format;
    pk_cli_cases          cases;     /* bench */
    pk_cli_list           drafts;    /* bench: one for each case or for all */
    pk_cli_list           models;    /* several decode together; where a verb takes them */
    char                 *own_model; /* path of Pronk's own, where that is used */
    int64_t               threads, workers, batch, batch_tokens, max_input, n_best;
    int64_t               bootstrap, seed, limit, repeat, warm_up, head, tail;
    bool                  no_split, tokens, scores, word_scores, alignment, lowercase, json, quiet;
    bool                  interleave, each_line, man, help, version;
    pk_cli_list           inputs, sets; /* vocab: files; train: keys of the recipe */
    int64_t               vocab_size, lines;
    double                coverage;
    bool                  resume, byte_fallback, no_byte_fallback, replace_unknowns;
    pk_settings           serve;
    const char           *symmetrise, *vocab, *load, *save, *lexical_table; /* align */
    int64_t               iterations;
    bool                  reverse, pharaoh;
    struct pk_cli_opened *opened; /* what is read, see inputs.h; NULL: not recorded */
    const char           *characters;
    const char           *drafter; /* a model */
    const char           *lexicon; /* what align saved */
    bool                  shortlist;
    const char           *test;      /* drafter: text to measure it on */
    const char           *languages; /* detect */
    bool                  all;
    const char           *text_format, *glossary; /* translate */
    pk_cli_list           protect;
    bool                  protect_usual, retry_loops;
} pk_cli;

/* whether an option asks for more than plain text in and out */
bool pk_cli_wants_markup(const pk_cli *c);

/* one line on stderr, "pronk VERB: ..."; the value is the exit code to return */
int  pk_cli_fail(const pk_cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
int  pk_cli_usage(const pk_cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pk_cli_warn(const pk_cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* the library's last error; what it calls a wrong argument was a wrong option */
int pk_cli_fail_status(const pk_cli *c, pk_status status);

/* room for n elements; the contents stay. Ends the program where there is no memory. */
void *pk_cli_grow(void *block, size_t n, size_t each);

/* the path of the model that comes with Pronk, to be freed; NULL where there is none */
char *pk_cli_default_model(void);
/* opens a model; prints what failed. 0 or an exit code, as all of these */
int pk_cli_open_model(const pk_cli *c, const char *path, pk_model **model);
/* the models of c->models, which decode together, or c->model alone; and c->drafter */
typedef struct pk_cli_models {
    pk_model **model;
    size_t     n;
    pk_model  *drafter; /* NULL: none was given */
} pk_cli_models;
int  pk_cli_open_models(const pk_cli *c, pk_cli_models *out);
void pk_cli_close_models(pk_cli_models *models);
/* a translator with the options given; the first model decodes, the others are its ensemble */
int pk_cli_open_translator(const pk_cli *c, const pk_cli_models *models, const char *decode,
                           pk_translator **out);
/* its options; models borrowed */
pk_translator_options pk_cli_translator_options(const pk_cli *c, const pk_cli_models *models,
                                                const char *decode);
/* says once what became of input that was not as it should be */
void pk_cli_warn_stats(const pk_cli *c, const pk_translator *translator);

/* The verbs, in the order of help. Each is a function here, a pk_cli_verb with its options in one
 * of the tables (options_table.c lists them), and a manual page. */
// clang-format off
#define PK_CLI_VERB_MAP(X) \
    X(translate) \
    X(convert) \
    X(info) \
    X(score) \
    X(eval) \
    X(distill) \
    X(bench) \
    X(viz) \
    X(vocab) \
    X(train) \
    X(serve) \
    X(drafter) \
    X(average) \
    X(align) \
    X(detect) \
    X(help)
// clang-format on
#define PK_CLI_NAME(name)    #name,
#define PK_CLI_DECLARE(name) int pk_cli_##name(pk_cli *c);
PK_CLI_VERB_MAP(PK_CLI_DECLARE)
#undef PK_CLI_DECLARE
#endif
