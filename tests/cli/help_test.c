/* help_test.c - help and manual pages: all options are there, and lines keep their width. */
#include "cli_stubs.h"

#include "../../cli/help.c"
/* both files print verbs and lists, each in its own language */
#define print_verbs      manual_verbs
#define print_strategies manual_strategies
#define print_recipe     manual_recipe
#include "../../cli/manual.c"
#include "verb_stubs.h"

/* gcc 12 takes the block of an inlined open_memstream() for a local variable */
#define NOINLINE __attribute__((noinline))

/* what `print` writes of a verb; the caller frees */
NOINLINE static char *printed(void (*print)(FILE *, const pk_cli_verb *), const pk_cli_verb *verb) {
    char  *text = NULL;
    size_t n;
    FILE  *out = open_memstream(&text, &n);
    assert_non_null(out);
    print(out, verb);
    fclose(out);
    return text;
}

NOINLINE static char *printed_text(void (*print)(FILE *, const char *), const char *what) {
    char  *text = NULL;
    size_t n;
    FILE  *out = open_memstream(&text, &n);
    assert_non_null(out);
    print(out, what);
    fclose(out);
    return text;
}

static void contains(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' is missing", part);
}

static void every_option_is_in_help_and_manual(void **state) {
    (void)state;
    for (size_t i = 0; pk_cli_verbs[i]; i++) {
        const pk_cli_verb *verb = pk_cli_verbs[i];
        char              *help = printed(pk_cli_print_help, verb);
        char              *manual = printed(pk_cli_print_manual, verb);
        for (const pk_cli_option *o = verb->options; o->name; o++) {
            char in_help[64], in_manual[64];
            snprintf(in_help, sizeof in_help, "--%s%s%s", o->name, o->argument ? " " : "",
                     o->argument ? o->argument : "");
            snprintf(in_manual, sizeof in_manual, "Fl Fl %s", o->name);
            contains(help, in_help);
            contains(manual, in_manual);
        }
        contains(manual, ".Sh EXIT STATUS");
        contains(manual, ".Xr pronk 1");
        free(help);
        free(manual);
    }
}

static void the_program_names_every_verb(void **state) {
    char *help = printed(pk_cli_print_help, &pk_cli_program);
    char *manual = printed(pk_cli_print_manual, &pk_cli_program);
    (void)state;
    for (size_t i = 0; pk_cli_verbs[i]; i++) {
        const pk_cli_verb *verb = pk_cli_verbs[i];
        char               reference[64];
        snprintf(reference, sizeof reference, ".Xr pronk-%s 1", verb->name);
        contains(help, verb->summary);
        contains(manual, reference);
    }
    free(help);
    free(manual);
}

static void usage_shows_what_must_be_given(void **state) {
    char *help = printed(pk_cli_print_help, pk_cli_verb_find("score"));
    (void)state;
    assert_memory_equal(help, "Usage: pronk score -r FILE [OPTION ...]\n", 40);
    free(help);
}

/* tables only: the list of strategies comes from the library and is printed as it is */
static void lines_keep_their_width(void **state) {
    (void)state;
    for (size_t i = 0; pk_cli_verbs[i]; i++) {
        const pk_cli_verb *verb = pk_cli_verbs[i];
        char              *help = printed(pk_cli_print_help, verb);
        char              *end = strstr(help, "\nDecoding strategies");
        if (!end) end = strstr(help, "\nExamples");
        assert_non_null(end);
        *end = 0;
        for (char *line = strtok(help, "\n"); line; line = strtok(NULL, "\n"))
            if (strlen(line) > 79) fail_msg("too wide: %s", line);
        free(help);
    }
}

static void strategies_come_from_the_library(void **state) {
    char *help = printed(pk_cli_print_help, pk_cli_verb_find("translate"));
    char *manual = printed(pk_cli_print_manual, pk_cli_verb_find("bench"));
    (void)state;
    contains(help, "\n  greedy");
    contains(help, "\n  beam");
    contains(manual, "\ngreedy");
    free(help);
    free(manual);
}

static void keys_of_recipes_come_from_the_library(void **state) {
    char *help = printed(pk_cli_print_help, pk_cli_verb_find("train"));
    char *manual = printed(pk_cli_print_manual, pk_cli_verb_find("train"));
    (void)state;
    contains(help, "\n  train.rate: 0..1 (0.0007)\n      highest learning rate\n");
    contains(help, "\n  data.source: PATH or [PATH, ...]\n");
    contains(manual, "\ntrain.rate: 0..1 (0.0007)\n");
    free(help);
    free(manual);
}

static void roff_is_escaped(void **state) {
    char *text = printed_text(print_text, ".a \\b --c well-known. Next ' one\nlast");
    (void)state;
    assert_string_equal(text, "\\&.a \\eb \\-\\-c well-known.\nNext ' one\n.Pp\nlast\n");
    free(text);
    text = printed_text(print_literal, "  x\n.y\n'z");
    assert_string_equal(text, ".Bd -literal -offset indent\n  x\n\\&.y\n\\&'z\n.Ed\n");
    free(text);
}

static void long_text_is_wrapped(void **state) {
    char  *text = NULL;
    size_t n;
    FILE  *out = open_memstream(&text, &n);
    (void)state;
    print_wrapped(out,
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
                  "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb c dd",
                  0, 2);
    fclose(out);
    assert_string_equal(text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
                              "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb c\n  dd\n");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_in_help_and_manual),
        cmocka_unit_test(the_program_names_every_verb),
        cmocka_unit_test(usage_shows_what_must_be_given),
        cmocka_unit_test(lines_keep_their_width),
        cmocka_unit_test(strategies_come_from_the_library),
        cmocka_unit_test(keys_of_recipes_come_from_the_library),
        cmocka_unit_test(roff_is_escaped),
        cmocka_unit_test(long_text_is_wrapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
