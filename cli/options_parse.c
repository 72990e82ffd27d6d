/* options_parse.c - reads a command line by the table of its verb.
 *
 * GNU style: --name value, --name=value, -n value, -nvalue, flags in clusters, operands anywhere,
 * and -- ends the options. Names are never abbreviated, so a new option breaks no old script. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options_table.h"

typedef struct parser {
    pk_cli            *c;
    const pk_cli_verb *verb;
    char *const       *argument;
    int                n, next;
    uint64_t           seen;     /* bit i: option i of the table was given */
    char               name[64]; /* of what is being set, as errors say it: --port or LT_PORT */
} parser;

static uint64_t bit_of(const pk_cli_verb *verb, const pk_cli_option *o) {
    return (uint64_t)1 << (o - verb->options);
}

/* the option called name, of n bytes; NULL: none */
static const pk_cli_option *find_option(const pk_cli_verb *verb, const char *name, size_t n) {
    for (const pk_cli_option *o = verb->options; o->name; o++)
        if (strlen(o->name) == n && !memcmp(o->name, name, n)) return o;
    return NULL;
}

/* where an option's value goes */
static void *field(pk_cli *c, const pk_cli_option *o) { return (char *)c + o->offset; }

static void list_add(pk_cli_list *list, const char *item) {
    list->item = pk_cli_grow(list->item, list->n + 1, sizeof *list->item);
    list->item[list->n++] = item;
}

static void case_add(pk_cli *c, pk_cli_cases *cases, const char *decode) {
    cases->item = pk_cli_grow(cases->item, cases->n + 1, sizeof *cases->item);
    cases->item[cases->n++] =
        (pk_cli_case){ decode, c->model, c->drafter, c->lexicon, c->shortlist };
}

/* Levenshtein distance, for names shorter than the row */
static size_t distance(const char *a, const char *b) {
    enum { LONGEST = 31 };
    size_t row[LONGEST + 1], n = strlen(b);
    if (strlen(a) > LONGEST || n > LONGEST) return LONGEST;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]), drop = row[j] + 1;
            diagonal = row[j];
            row[j] = row[j - 1] + 1;
            if (drop < row[j]) row[j] = drop;
            if (change < row[j]) row[j] = change;
        }
    }
    return row[n];
}

/* A name that begins with what was typed counts as very near. */
const char *pk_cli_nearest(const char *name, const void *names, size_t stride) {
    const char *best = NULL;
    size_t      least = strlen(name) / 3 + 2; /* names that differ more are not suggested */
    for (const char *at = names;; at += stride) {
        const char *known;
        memcpy(&known, at, sizeof known);
        if (!known) return best;
        size_t d = strncmp(known, name, strlen(name)) ? distance(name, known) : 1;
        if (d < least) least = d, best = known;
    }
}

/* choices: "one|two|three"; a prefix of a choice is none */
static bool is_choice(const char *choices, const char *value) {
    size_t n = strlen(value);
    for (const char *at = choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strcspn(at, "|") == n && !memcmp(at, value, n)) return true;
    }
    return false;
}

/* whole decimal numbers within the option's limits */
static int set_int(parser *p, const pk_cli_option *o, const char *value) {
    char *end;
    errno = 0;
    int64_t number = strtoll(value, &end, 10);
    bool    wrong = errno || *end || end == value || number < o->lowest || number > o->highest;
    if (wrong && o->highest == INT64_MAX)
        return pk_cli_usage(p->c, "%s takes a number from %" PRId64 ", not '%s'", p->name,
                            o->lowest, value);
    if (wrong)
        return pk_cli_usage(p->c, "%s takes a number from %" PRId64 " to %" PRId64 ", not '%s'",
                            p->name, o->lowest, o->highest, value);
    *(int64_t *)field(p->c, o) = number;
    return 0;
}

/* the program never sets a locale: numbers have points */
static int set_float(parser *p, const pk_cli_option *o, const char *value) {
    char  *end;
    double number = strtod(value, &end);
    bool   text = *end || end == value || strspn(value, "0123456789.eE+-") != strlen(value);
    if (text || !(number >= o->least && number <= o->most))
        return pk_cli_usage(p->c, "%s takes a number from %g to %g, not '%s'", p->name, o->least,
                            o->most, value);
    *(double *)field(p->c, o) = number;
    return 0;
}

/* stores a value by the option's kind; 0 or an exit code */
static int set(parser *p, const pk_cli_option *o, const char *value) {
    p->seen |= bit_of(p->verb, o);
    p->c->variables &= ~bit_of(p->verb, o);
    if (o->kind == PK_CLI_INT) return set_int(p, o, value);
    if (o->kind == PK_CLI_FLOAT) return set_float(p, o, value);
    if (o->kind == PK_CLI_CHOICE && !is_choice(o->choices, value))
        return pk_cli_usage(p->c, "%s takes %s, not '%s'", p->name, o->choices, value);
    if (o->kind == PK_CLI_FLAG)
        *(bool *)field(p->c, o) = true;
    else if (o->kind == PK_CLI_LIST)
        list_add(field(p->c, o), value);
    else if (o->kind == PK_CLI_CASES)
        case_add(p->c, field(p->c, o), value);
    else
        *(const char **)field(p->c, o) = value;
    return 0;
}

/* sets an option that takes an argument, from `attached` or from the next argument */
static int set_with(parser *p, const pk_cli_option *o, const char *attached) {
    snprintf(p->name, sizeof p->name, "--%s", o->name);
    if (attached) return set(p, o, attached);
    if (p->next == p->n) return pk_cli_usage(p->c, "--%s needs a value: %s", o->name, o->argument);
    return set(p, o, p->argument[p->next++]);
}

/* name may be followed by =value, hence its length n */
static int unknown(parser *p, const char *name, size_t n) {
    char        copy[32];
    const char *near;
    snprintf(copy, sizeof copy, "%.*s", (int)(n < 31 ? n : 31), name);
    near = pk_cli_nearest(copy, p->verb->options, sizeof *p->verb->options);
    if (near)
        return pk_cli_usage(p->c, "unknown option '--%.*s'; did you mean --%s?", (int)n, name,
                            near);
    return pk_cli_usage(p->c, "unknown option '--%.*s'", (int)n, name);
}

/* text: what follows the two dashes */
static int parse_long(parser *p, const char *text) {
    const char          *equals = strchr(text, '=');
    size_t               n = equals ? (size_t)(equals - text) : strlen(text);
    const pk_cli_option *o = find_option(p->verb, text, n);
    if (!o) return unknown(p, text, n);
    if (o->kind != PK_CLI_FLAG) return set_with(p, o, equals ? equals + 1 : NULL);
    if (equals) return pk_cli_usage(p->c, "--%s takes no value", o->name);
    return set(p, o, NULL);
}

/* -q, -qi FILE, -qiFILE: flags may stand together, the last letter may take a value */
static int parse_letters(parser *p, const char *letters) {
    for (; *letters; letters++) {
        const pk_cli_option *o = p->verb->options;
        while (o->name && o->letter != *letters) o++;
        if (!o->name) return pk_cli_usage(p->c, "unknown option '-%c'", *letters);
        if (o->kind != PK_CLI_FLAG) return set_with(p, o, letters[1] ? letters + 1 : NULL);
        int code = set(p, o, NULL);
        if (code) return code;
    }
    return 0;
}

/* ---- variables of the environment, for verbs that read them ---- */

/* "char-limit" -> "LT_CHAR_LIMIT" */
static void variable_name(const pk_cli_verb *verb, const char *name, char *out, size_t room) {
    size_t n = (size_t)snprintf(out, room, "%s", verb->environment);
    for (; *name && n + 1 < room; name++)
        out[n++] = (char)(*name == '-' ? '_' : *name >= 'a' && *name <= 'z' ? *name - 32 : *name);
    out[n] = '\0';
}

/* a flag may be true or false; an empty variable is none */
static int set_variable(parser *p, const pk_cli_option *o, const char *value) {
    static const char *const words[] = {
        "0", "false", "False", "FALSE", "1", "true", "True", "TRUE"
    };
    size_t i = 0;
    if (!*value) return 0;
    if (o->kind != PK_CLI_FLAG) return set(p, o, value);
    while (i < sizeof words / sizeof *words && strcmp(words[i], value)) i++;
    if (i == sizeof words / sizeof *words)
        return pk_cli_usage(p->c, "%s is true or false, not '%s'", p->name, value);
    return i < 4 ? 0 : set(p, o, NULL);
}

static bool is_variable(const pk_cli_verb *verb, const char *entry) {
    char name[64];
    for (const pk_cli_option *o = verb->options; o->name; o++) {
        variable_name(verb, o->name, name, sizeof name);
        if (!strncmp(entry, name, strlen(name)) && entry[strlen(name)] == '=') return true;
    }
    return false;
}

/* before the command line, which wins; what nobody knows is said, and changes nothing */
static int read_environment(parser *p) {
    const char *prefix = p->verb->environment;
    int         code = 0;
    for (const pk_cli_option *o = p->verb->options; prefix && o->name && !code; o++) {
        variable_name(p->verb, o->name, p->name, sizeof p->name);
        if (getenv(p->name)) code = set_variable(p, o, getenv(p->name));
    }
    p->c->variables = p->seen;
    for (char **entry = environ; prefix && *entry; entry++)
        if (!strncmp(*entry, prefix, strlen(prefix)) && !is_variable(p->verb, *entry))
            pk_cli_warn(p->c, "warning: %.*s is not known here and changes nothing",
                        (int)strcspn(*entry, "="), *entry);
    return code;
}

void pk_cli_name_variables(const pk_cli *c, const char *text, char *out, size_t room) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz-";
    size_t            n = 0;
    out[0] = '\0';
    for (bool begins = true; *text && n + 1 < room; n = strlen(out)) { /* of a word */
        const size_t         size = strspn(text, letters);
        const bool           named = begins && size > 2 && !strncmp(text, "--", 2);
        const pk_cli_option *o = named ? find_option(c->verb, text + 2, size - 2) : NULL;
        if (o && c->variables & bit_of(c->verb, o))
            variable_name(c->verb, o->name, out + n, room - n);
        else
            snprintf(out + n, room - n, "%.*s", (int)(size + !size), text);
        text += size + !size;
        begins = !size && text[-1] == ' ';
    }
}

/* one argument: an operand, "--", --name or -letters; a single "-" is an operand */
static int parse_one(parser *p, bool *ended) {
    const char *text = p->argument[p->next++];
    if (*ended || text[0] != '-' || !text[1])
        list_add(&p->c->operand, text);
    else if (!strcmp(text, "--"))
        *ended = true;
    else if (text[1] == '-')
        return parse_long(p, text + 2);
    else
        return parse_letters(p, text + 1);
    return 0;
}

/* a verb that was given no model uses Pronk's own where it is installed */
static int use_default(parser *p, const pk_cli_option *o) {
    if (!o->normal || !(p->c->own_model = pk_cli_default_model()))
        return pk_cli_usage(p->c, "%s", o->missing);
    return set(p, o, p->c->own_model);
}

/* a file name where the verb takes none was probably meant for -i */
static int unexpected(parser *p, const char *operand) {
    for (const pk_cli_option *o = p->verb->options; o->name; o++)
        if (!strcmp(o->name, "input"))
            return pk_cli_usage(p->c, "unexpected argument '%s'; to read a file: -i %s", operand,
                                operand);
    return pk_cli_usage(p->c, "unexpected argument '%s'", operand);
}

/* what is known only at the end: options and operands that are missing or too many */
static int check(parser *p) {
    size_t n = p->c->operand.n;
    for (const pk_cli_option *o = p->verb->options; o->name; o++) {
        if (!o->missing || p->seen & bit_of(p->verb, o)) continue;
        const int code = use_default(p, o);
        if (code) return code;
    }
    if (n < p->verb->least)
        return pk_cli_usage(p->c, "not enough arguments: it takes %s", p->verb->operands);
    return n > p->verb->most ? unexpected(p, p->c->operand.item[p->verb->most]) : 0;
}

/* Only numbers have defaults here. Other fields stay NULL, false or empty: the library's
 * defaults. */
static void set_defaults(pk_cli *c, const pk_cli_verb *verb) {
    for (const pk_cli_option *o = verb->options; o->name; o++) {
        if (o->kind != PK_CLI_INT || !o->normal) continue;
        char   *end;
        int64_t number = strtoll(o->normal, &end, 10);
        if (!*end) *(int64_t *)field(c, o) = number;
    }
}

/* --help ends parsing at once: nothing behind it can be wrong */
int pk_cli_parse(pk_cli *c, const pk_cli_verb *verb, int n, char *const *argument) {
    parser p = { .c = c, .verb = verb, .argument = argument, .n = n };
    bool   ended = false;
    c->verb = verb;
    set_defaults(c, verb);
    const int wrong = read_environment(&p);
    if (wrong) return wrong;
    while (p.next < n && !c->help) {
        int code = parse_one(&p, &ended);
        if (code) return code;
    }
    return c->help ? 0 : check(&p);
}

void pk_cli_free(pk_cli *c) {
    free(c->operand.item);
    free(c->cases.item);
    free(c->drafts.item);
    free(c->models.item);
    free(c->inputs.item);
    free(c->sets.item);
    free(c->protect.item);
    free(c->own_model);
}
