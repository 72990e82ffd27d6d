/* options_table.h - the verbs of the program and the options of each, as tables.
 *
 * Parsing, --help and the manual pages all come from these; there is no second list. */
#ifndef PK_CLI_OPTIONS_TABLE_H
#define PK_CLI_OPTIONS_TABLE_H
#include <stdio.h>

#include "cli.h"

typedef enum pk_cli_kind {
    PK_CLI_FLAG,   /* bool: given or not */
    PK_CLI_INT,    /* int64_t from lowest to highest */
    PK_CLI_FLOAT,  /* double from least to most */
    PK_CLI_TEXT,   /* const char *; the last one given counts */
    PK_CLI_CHOICE, /* const char *, one of those in `choices` */
    PK_CLI_LIST,   /* pk_cli_list: each one given is added */
    PK_CLI_CASES,  /* pk_cli_cases: the same, with the model and the drafter given so far */
} pk_cli_kind;

typedef struct pk_cli_option { /* a table ends with a NULL name */
    const char *name;          /* without the dashes */
    char        letter;        /* short form, or 0 */
    const char *argument;      /* its name in help; NULL for a FLAG */
    pk_cli_kind kind;
    size_t      offset;          /* of the field in pk_cli */
    int64_t     lowest, highest; /* INT */
    const char *choices;         /* CHOICE: "f32|i8" */
    const char *normal;          /* default, as help says it; INT: set if a number */
    const char *missing;         /* if not NULL the option must be given; says why */
    const char *help;
    double      least, most; /* FLOAT */
} pk_cli_option;

/* what help adds from the library's own lists */
typedef enum pk_cli_lists {
    PK_CLI_NO_LIST,
    PK_CLI_STRATEGIES, /* ways of decoding */
    PK_CLI_RECIPE      /* keys of a recipe */
} pk_cli_lists;

typedef struct pk_cli_verb {
    const char *name, *operands; /* "eval", "HYP ..." */
    size_t      least, most;     /* how many operands */
    int (*call)(pk_cli *c);
    const pk_cli_option *options;
    pk_cli_lists         lists;
    const char          *summary;  /* one line, no full stop */
    const char          *details;  /* paragraphs, separated by newlines */
    const char          *examples; /* command lines, separated by newlines */
    /* NULL, or what variables begin with that set an option where it is not given: "LT_" and the
       name in capitals */
    const char *environment;
} pk_cli_verb;

#define PK_CLI_DECLARE(name) extern const pk_cli_verb pk_cli_verb_##name;
PK_CLI_VERB_MAP(PK_CLI_DECLARE)
#undef PK_CLI_DECLARE
extern const pk_cli_verb *const pk_cli_verbs[]; /* as listed by `pronk --help`; the last is NULL */
extern const pk_cli_verb        pk_cli_program; /* pronk itself, with the options before a verb */
const pk_cli_verb              *pk_cli_verb_find(const char *name); /* or NULL */

/* fills c from the arguments after the verb; prints what is wrong with them. 0 or PK_EXIT_USAGE */
int  pk_cli_parse(pk_cli *c, const pk_cli_verb *verb, int n, char *const *argument);
void pk_cli_free(pk_cli *c);
/* a message with the variable's name in place of each --name that it set; cut off at room */
void pk_cli_name_variables(const pk_cli *c, const char *text, char *out, size_t room);
/* the entry of names (NULL-terminated pointers, `stride` bytes apart) most like `name`, or NULL */
const char *pk_cli_nearest(const char *name, const void *names, size_t stride);

void pk_cli_print_help(FILE *out, const pk_cli_verb *verb);
void pk_cli_print_manual(FILE *out, const pk_cli_verb *verb); /* mdoc, for man(1) */
#endif
