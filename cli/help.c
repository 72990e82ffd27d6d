/* help.c - prints a verb's table as --help.
 *
 * The list of decoding strategies comes from the library, so that a new strategy shows here at
 * once. Lines are at most 79 columns; all text is ASCII. */
#include <string.h>

#include "options_table.h"

enum { WIDTH = 79, HELP_COLUMN = 26 };

/* words of text from `column` on, broken at WIDTH and indented on further lines; ends the line */
static void print_wrapped(FILE *out, const char *text, size_t column, size_t indent) {
    size_t at = column;
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (at > indent && at + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        }
        if (at > indent) fputc(' ', out), at++;
        fprintf(out, "%.*s", (int)n, text);
        at += n;
        text += n;
        if (*text == '\n') {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        }
        text += *text != 0;
    }
    fputc('\n', out);
}

/* "  -m, --model MODEL   help (default: ...)"; long names get a line of their own */
static void print_option(FILE *out, const pk_cli_option *o) {
    int column = o->letter ? fprintf(out, "  -%c, --%s", o->letter, o->name)
                           : fprintf(out, "      --%s", o->name);
    if (o->argument) column += fprintf(out, " %s", o->argument);
    if (column + 2 > HELP_COLUMN) fputc('\n', out), column = 0;
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s", o->help, o->normal ? " (default: " : "",
             o->normal ? o->normal : "", o->normal ? ")" : "");
    print_wrapped(out, text, HELP_COLUMN, HELP_COLUMN);
}

static void print_verbs(FILE *out) {
    fprintf(out, "\nVerbs:\n");
    for (size_t i = 0; pk_cli_verbs[i]; i++)
        fprintf(out, "  %-12s%s\n", pk_cli_verbs[i]->name, pk_cli_verbs[i]->summary);
    fprintf(out, "\n`pronk VERB --help` says more about each.\n");
}

/* text of several lines, each indented by two */
static void print_indented(FILE *out, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        fprintf(out, "  %.*s\n", (int)n, text);
        text += n + (text[n] != 0);
    }
}

static void print_strategies(FILE *out) {
    char *text = NULL;
    if (pk_strategies_describe(&text) != PK_OK) return;
    fprintf(out, "\nDecoding strategies, for SPEC:\n");
    print_indented(out, text);
    pk_free(text);
}

static void print_recipe(FILE *out) {
    char *text = NULL;
    if (pk_recipe_text(&text) != PK_OK) return;
    fprintf(out, "\nKeys of a recipe, what they take, and what they are if not given:\n");
    print_indented(out, text);
    pk_free(text);
}

/* required options first, then operands */
static void print_usage(FILE *out, const pk_cli_verb *verb) {
    bool program = verb == &pk_cli_program;
    fprintf(out, "Usage: pronk%s%s", program ? "" : " ", program ? "" : verb->name);
    for (const pk_cli_option *o = verb->options; o->name; o++)
        if (o->missing && !o->normal) fprintf(out, " -%c %s", o->letter, o->argument);
    if (!program) fprintf(out, " [OPTION ...]");
    if (verb->operands[0]) fprintf(out, " %s", verb->operands);
}

void pk_cli_print_help(FILE *out, const pk_cli_verb *verb) {
    print_usage(out, verb);
    fprintf(out, "\n%c%s.\n\n", verb->summary[0] - 'a' + 'A', verb->summary + 1);
    print_wrapped(out, verb->details, 0, 0);
    if (verb == &pk_cli_program) print_verbs(out);
    fprintf(out, "\nOptions:\n");
    for (const pk_cli_option *o = verb->options; o->name; o++) print_option(out, o);
    if (verb->lists == PK_CLI_STRATEGIES) print_strategies(out);
    if (verb->lists == PK_CLI_RECIPE) print_recipe(out);
    fprintf(out, "\nExamples:\n");
    print_indented(out, verb->examples);
}
