/* manual.c - prints a verb's table as a manual page, in the mdoc language of man(1).
 *
 * pronk.1 is made from the program's own row, pronk-VERB.1 from a verb's. The pages must pass
 * `mandoc -Tlint`: one sentence a line, and nothing that roff would take for a request. */
#include <ctype.h>
#include <string.h>

#include "options_table.h"

#define MANUAL_DATE "November 15, 2026" /* of the last change to what the pages say */

/* what roff would act upon is escaped; NULL: the letter stands for itself */
static const char *escape_of(char before, char letter) {
    if (letter == '\\') return "\\e";
    if (letter == '-' && !isalnum((unsigned char)before)) return "\\-";
    return letter == '`' ? "\\(ga" : NULL;
}

/* one character of running text */
static void put_escaped(FILE *out, char before, char letter, bool line_begins) {
    const char *escape = escape_of(before, letter);
    if (line_begins && (letter == '.' || letter == '\'')) fputs("\\&", out);
    if (escape)
        fputs(escape, out);
    else
        fputc(letter, out);
}

/* columns that a word takes in the page's source */
static size_t columns_of(const char *word, size_t n) {
    size_t columns = 0;
    for (size_t i = 0; i < n; i++) {
        const char *escape = escape_of(i ? word[i - 1] : ' ', word[i]);
        columns += escape ? strlen(escape) : 1;
    }
    return columns;
}

/* brackets and quotes behind the full stop do not count */
static bool ends_sentence(const char *word, size_t n) {
    while (n > 1 && strchr(")`\"", word[n - 1])) n--;
    return n > 0 && strchr(".!?", word[n - 1]);
}

/* running text: lines of at most 78 columns, a new one after each sentence and at each newline */
static void print_text(FILE *out, const char *text) {
    size_t column = 0;
    while (*text) {
        const size_t n = strcspn(text, " \n"), width = columns_of(text, n);
        if (column && column + 1 + width > 78) fputc('\n', out), column = 0;
        if (column) fputc(' ', out), column++;
        for (size_t i = 0; i < n; i++)
            put_escaped(out, i ? text[i - 1] : ' ', text[i], column == 0 && i == 0);
        column += width;
        if (text[n] == '\n')
            fputs("\n.Pp\n", out), column = 0;
        else if (text[n] && ends_sentence(text, n))
            fputc('\n', out), column = 0;
        text += n + (text[n] != 0);
    }
    fputc('\n', out);
}

/* text kept as it is, line by line */
static void print_literal(FILE *out, const char *text) {
    fputs(".Bd -literal -offset indent\n", out);
    char before = '\n';
    for (; *text; before = *text++) put_escaped(out, before, *text, before == '\n');
    fputs(before == '\n' ? ".Ed\n" : "\n.Ed\n", out);
}

/* the arguments of .It: "Fl m , Fl Fl model Ar MODEL" */
static void print_flag(FILE *out, const pk_cli_option *o) {
    if (o->letter) fprintf(out, "Fl %c , ", o->letter);
    fprintf(out, "Fl Fl %s", o->name);
    if (o->argument) fprintf(out, " Ar %s", o->argument);
    fputc('\n', out);
}

/* required options bare, others in brackets; operands in brackets lose theirs to .Op */
static void print_synopsis(FILE *out, const pk_cli_verb *verb) {
    fputs(".Sh SYNOPSIS\n.Nm pronk\n", out);
    if (verb != &pk_cli_program) fprintf(out, ".Cm %s\n", verb->name);
    for (const pk_cli_option *o = verb->options; o->name; o++) {
        const char *argument = o->argument ? o->argument : "";
        const char *ar = o->argument ? " Ar " : "";
        if (o->missing && !o->normal)
            fprintf(out, ".Fl %c%s%s\n", o->letter, ar, argument);
        else if (o->letter)
            fprintf(out, ".Op Fl %c%s%s\n", o->letter, ar, argument);
        else
            fprintf(out, ".Op Fl Fl %s%s%s\n", o->name, ar, argument);
    }
    const char *operands = verb->operands;
    size_t      n = strlen(operands);
    if (operands[0] == '[')
        fprintf(out, ".Op Ar %.*s\n", (int)(n - 2), operands + 1);
    else if (verb == &pk_cli_program)
        fputs(".Ar VERB\n.Op Ar OPTION ...\n", out);
    else if (n)
        fprintf(out, ".Ar %s\n", operands);
}

/* the same tables as --help's, as a list */
static void print_options(FILE *out, const pk_cli_verb *verb) {
    fputs("The options are:\n.Bl -tag -width Ds\n", out);
    for (const pk_cli_option *o = verb->options; o->name; o++) {
        char text[512];
        fputs(".It ", out);
        print_flag(out, o);
        snprintf(text, sizeof text, "%c%s.%s%s%s", toupper((unsigned char)o->help[0]), o->help + 1,
                 o->normal ? " The default is: " : "", o->normal ? o->normal : "",
                 o->normal ? "." : "");
        print_text(out, text);
    }
    fputs(".El\n", out);
}

static void print_verbs(FILE *out) {
    fputs(".Pp\nThe verbs are:\n.Bl -tag -width translate\n", out);
    for (size_t i = 0; pk_cli_verbs[i]; i++) {
        const pk_cli_verb *verb = pk_cli_verbs[i];
        fprintf(out, ".It Cm %s\n", verb->name);
        print_text(out, verb->summary);
    }
    fputs(".El\n", out);
}

static void print_strategies(FILE *out) {
    char *text = NULL;
    if (pk_strategies_describe(&text) != PK_OK) return;
    fputs(".Ss Decoding strategies\n", out);
    print_text(out, "A SPEC is the name of a strategy, then a colon and its options, "
                    "separated by commas:");
    print_literal(out, text);
    pk_free(text);
}

static void print_recipe(FILE *out) {
    char *text = NULL;
    if (pk_recipe_text(&text) != PK_OK) return;
    fputs(".Ss Keys of a recipe\n", out);
    print_text(out, "Keys stand in sections, or whole with a dot. "
                    "Behind each is what it takes, and in brackets what it is if not given.");
    print_literal(out, text);
    pk_free(text);
}

/* the pages of all verbs, in the order of the alphabet, as mandoc wants them */
static void print_references(FILE *out) {
    const char *last = "";
    for (;;) {
        const char *next = NULL;
        for (size_t i = 0; pk_cli_verbs[i]; i++) {
            const char *name = pk_cli_verbs[i]->name;
            if (strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0)) next = name;
        }
        if (!next) break;
        fprintf(out, "%s.Xr pronk-%s 1", *last ? " ,\n" : "", next);
        last = next;
    }
    fputc('\n', out);
}

/* environment, exit status, examples, other pages */
static void print_end(FILE *out, const pk_cli_verb *verb) {
    fputs(".Sh ENVIRONMENT\n.Bl -tag -width PRONK_MODEL\n.It Ev PRONK_MODEL\n"
          "The model to use where none is named, instead of the one with Pronk.\n"
          ".It Ev PRONK_ISA\nForces the instruction set of the kernels:\n"
          ".Cm generic , avx2\nor\n.Cm avx512 .\n.El\n"
          ".Sh EXIT STATUS\n0 when all was done, 1 when something failed while running, "
          "2 when the command\nline was wrong.\n.Sh EXAMPLES\n",
          out);
    print_literal(out, verb->examples);
    fputs(".Sh SEE ALSO\n", out);
    if (verb == &pk_cli_program)
        print_references(out);
    else
        fputs(".Xr pronk 1\n", out);
}

void pk_cli_print_manual(FILE *out, const pk_cli_verb *verb) {
    bool        program = verb == &pk_cli_program;
    const char *dash = program ? "" : "-", *name = program ? "" : verb->name;
    fprintf(out, ".Dd " MANUAL_DATE "\n.Dt PRONK%s", dash);
    for (const char *at = name; *at; at++) fputc(toupper((unsigned char)*at), out);
    fprintf(out, " 1\n.Os\n.Sh NAME\n.Nm pronk%s%s\n.Nd ", dash, name);
    print_text(out, verb->summary);
    print_synopsis(out, verb);
    fputs(".Sh DESCRIPTION\n", out);
    print_text(out, verb->details);
    if (program) print_verbs(out);
    fputs(".Pp\n", out);
    print_options(out, verb);
    if (verb->lists == PK_CLI_STRATEGIES) print_strategies(out);
    if (verb->lists == PK_CLI_RECIPE) print_recipe(out);
    print_end(out, verb);
}
