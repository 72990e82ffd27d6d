/* options_table_test.c - the tables of verbs and options, and the parser that reads them. */
#include "cli_stubs.h"

#include "../../cli/options_parse.c"
#include "tensor/types.h"
#include "verb_stubs.h"

static const char *own; /* the model that comes with Pronk, where a test has one */

void pk_cli_warn(const pk_cli *c, const char *format, ...) {
    va_list arguments;
    (void)c;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
}

char *pk_cli_default_model(void) { return own ? strdup(own) : NULL; }

/* parses a command line of at most 9 words; the last is followed by NULL */
#define PARSE(c, verb, ...) parse(c, verb, (const char *[10]){ __VA_ARGS__ })
static int parse(pk_cli *c, const char *verb, const char *const *word) {
    static char copy[10][64];
    char       *argument[10];
    int         n = 0;
    memset(c, 0, sizeof *c);
    message[0] = 0;
    for (; word[n]; n++) {
        snprintf(copy[n], sizeof copy[n], "%s", word[n]);
        argument[n] = copy[n];
    }
    return pk_cli_parse(c, pk_cli_verb_find(verb), n, argument);
}

static size_t field_bytes(pk_cli_kind kind) {
    switch (kind) {
    case PK_CLI_FLAG: return sizeof(bool);
    case PK_CLI_INT: return sizeof(int64_t);
    case PK_CLI_FLOAT: return sizeof(double);
    case PK_CLI_LIST: return sizeof(pk_cli_list);
    case PK_CLI_CASES: return sizeof(pk_cli_cases);
    default: return sizeof(char *);
    }
}

/* a value the option takes and that is not its default */
static void sample(const pk_cli_option *o, char *value, size_t room) {
    int64_t number = o->highest < 777 ? o->highest : o->lowest > 777 ? o->lowest : 777;
    if (o->kind == PK_CLI_INT)
        snprintf(value, room, "%lld", (long long)number);
    else if (o->kind == PK_CLI_FLOAT)
        snprintf(value, room, "%g", o->most);
    else if (o->kind == PK_CLI_CHOICE)
        snprintf(value, room, "%.*s", (int)strcspn(o->choices, "|"), o->choices);
    else
        snprintf(value, room, "text");
}

/* every option of every verb sets its own field and no other */
static void each_option_sets_its_field(void **state) {
    (void)state;
    for (size_t i = 0; pk_cli_verbs[i]; i++) {
        const pk_cli_verb *verb = pk_cli_verbs[i];
        for (const pk_cli_option *o = verb->options; o->name; o++) {
            pk_cli before, after;
            char   name[64], value[64];
            char  *argument[2] = { name, value };
            memset(&before, 0, sizeof before);
            memset(&after, 0, sizeof after);
            set_defaults(&before, verb);
            before.verb = verb;
            snprintf(name, sizeof name, "--%s", o->name);
            sample(o, value, sizeof value);
            pk_cli_parse(&after, verb, o->kind == PK_CLI_FLAG ? 1 : 2, argument);
            const char *a = (const char *)&before, *b = (const char *)&after;
            size_t      end = o->offset + field_bytes(o->kind);
            assert_memory_not_equal(a + o->offset, b + o->offset, field_bytes(o->kind));
            assert_memory_equal(a, b, o->offset);
            assert_memory_equal(a + end, b + end, sizeof before - end);
            pk_cli_free(&after);
        }
    }
}

static void tables_are_in_order(void **state) {
    (void)state;
    for (size_t i = 0; pk_cli_verbs[i]; i++) {
        const pk_cli_verb *verb = pk_cli_verbs[i];
        size_t             n = 0;
        assert_non_null(verb->call);
        assert_int_not_equal(verb->summary[strlen(verb->summary) - 1], '.');
        for (const pk_cli_option *o = verb->options; o->name; o++, n++) {
            assert_true(strlen(o->help) > 5 && strlen(o->help) < 300);
            assert_int_equal(o->kind == PK_CLI_FLAG, o->argument == NULL);
            assert_int_equal(o->kind == PK_CLI_CHOICE, o->choices != NULL);
            if (o->missing) assert_int_not_equal(o->letter, 0); /* usage lines show it */
            for (const pk_cli_option *other = verb->options; other < o; other++) {
                assert_string_not_equal(o->name, other->name);
                if (o->letter) assert_int_not_equal(o->letter, other->letter);
            }
        }
        assert_true(n < 64); /* the parser keeps a bit for each */
    }
}

/* the program may not look into the library: that both know the same types is seen here */
static void types_are_those_of_the_library(void **state) {
    static const char *const words[] = { PK_WORDS(PK_DTYPE_MAP), PK_WORDS(PK_STORED_DTYPE_MAP) };
    (void)state;
    for (size_t i = 0; pk_cli_verbs[i]; i++)
        for (const pk_cli_option *o = pk_cli_verbs[i]->options; o->name; o++) {
            if (strcmp(o->name, "type") != 0 || !strstr(o->choices, "f32")) continue;
            const char *all = words[strlen(o->choices) == strlen(words[1])];
            assert_int_equal(strlen(o->choices), strlen(all));
            for (const char *at = o->choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : 0) {
                char word[16];
                snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|"), at);
                assert_true(pk_word_find(all, word) >= 0);
            }
        }
}

static void all_forms_are_read(void **state) {
    pk_cli c;
    (void)state;
    assert_int_equal(PARSE(&c, "translate", "-m", "a", "--threads", "3", "--batch=7", "-qib"), 0);
    assert_int_equal(c.models.n, 1);
    assert_string_equal(c.models.item[0], "a");
    assert_int_equal(c.threads, 3);
    assert_int_equal(c.batch, 7);
    assert_true(c.quiet);
    assert_string_equal(c.input, "b");
    pk_cli_free(&c);
    assert_int_equal(PARSE(&c, "eval", "one", "-r", "ref", "-", "--", "--json"), 0);
    assert_int_equal(c.operand.n, 3);
    assert_string_equal(c.operand.item[1], "-");
    assert_string_equal(c.operand.item[2], "--json");
    assert_false(c.json);
    pk_cli_free(&c);
}

static void defaults_are_set(void **state) {
    pk_cli c;
    (void)state;
    assert_int_equal(PARSE(&c, "translate", "-m", "a"), 0);
    assert_int_equal(c.batch, 0);   /* depends on the device: for the library to choose */
    assert_int_equal(c.threads, 0); /* "one per core" is for the library to find out */
    assert_int_equal(c.n_best, 0);
    assert_null(c.decode);
    pk_cli_free(&c);
    assert_int_equal(PARSE(&c, "bench", "-m", "a"), 0);
    assert_int_equal(c.repeat, 1);
    assert_int_equal(c.warm_up, 10);
}

static void lists_collect_and_texts_replace(void **state) {
    pk_cli c;
    (void)state;
    assert_int_equal(PARSE(&c, "bench", "-m", "a", "-d", "x", "--decode=y", "-m", "b"), 0);
    assert_int_equal(c.cases.n, 2);
    assert_string_equal(c.cases.item[0].decode, "x");
    assert_string_equal(c.cases.item[1].decode, "y");
    assert_string_equal(c.model, "b");
    pk_cli_free(&c);
    assert_int_equal(PARSE(&c, "translate", "-m", "a", "-m", "b"), 0);
    assert_int_equal(c.models.n, 2);
    assert_string_equal(c.models.item[1], "b");
    pk_cli_free(&c);
}

/* what is given behind a --decode is for the next one */
static void a_case_has_the_models_given_before_it(void **state) {
    pk_cli c;
    (void)state;
    assert_int_equal(
        PARSE(&c, "bench", "-dx", "-ma", "-dy", "--drafter=s", "-mb", "-dz", "--drafter=", "-dw"),
        0);
    static const char *const model[] = { NULL, "a", "b", "b" }, *const drafter[] = { NULL, NULL,
                                                                                     "s", "" };
    assert_int_equal(c.cases.n, 4);
    for (size_t i = 0; i < 4; i++) {
        const pk_cli_case *k = &c.cases.item[i];
        assert_int_equal(k->model == NULL, model[i] == NULL);
        if (model[i]) assert_string_equal(k->model, model[i]);
        assert_int_equal(k->drafter == NULL, drafter[i] == NULL);
        if (drafter[i]) assert_string_equal(k->drafter, drafter[i]);
    }
    pk_cli_free(&c);
}

static void refuses(const char *text, int code) {
    assert_int_equal(code, PK_EXIT_USAGE);
    if (!strstr(message, text)) fail_msg("'%s' is not in '%s'", text, message);
}

static void mistakes_are_named(void **state) {
    pk_cli c;
    (void)state;
    refuses("no model", PARSE(&c, "translate", "-q"));
    refuses("did you mean --threads?", PARSE(&c, "translate", "--thread", "3"));
    refuses("did you mean --decode?", PARSE(&c, "translate", "--decdoe", "x"));
    refuses("unknown option '--zzzzzzzzzz'", PARSE(&c, "translate", "--zzzzzzzzzz"));
    assert_null(strstr(message, "mean"));
    refuses("unknown option '--json'", PARSE(&c, "translate", "--json")); /* not --from */
    assert_null(strstr(message, "mean"));
    refuses("unknown option '--thread'", PARSE(&c, "translate", "--thread=3"));
    refuses("unknown option '-z'", PARSE(&c, "translate", "-z"));
    refuses("--model needs a value", PARSE(&c, "translate", "-m"));
    refuses("--quiet takes no value", PARSE(&c, "translate", "--quiet=yes"));
    refuses("--type takes f32|f16|bf16|i8", PARSE(&c, "translate", "--type", "f8"));
    refuses("--type takes f32|f16|bf16|i8", PARSE(&c, "translate", "--type", "f32|f16"));
    refuses("--type takes f32|f16|bf16|i8", PARSE(&c, "translate", "--type", ""));
    refuses("unexpected argument 'x'", PARSE(&c, "translate", "-m", "a", "x"));
    pk_cli_free(&c);
    refuses("it takes FOLDER MODEL", PARSE(&c, "convert", "a"));
    pk_cli_free(&c);
}

static void own_model_is_used_where_none_is_named(void **state) {
    pk_cli c;
    (void)state;
    own = "own.pronk";
    assert_int_equal(PARSE(&c, "translate", "-q"), 0);
    assert_int_equal(c.models.n, 1);
    assert_string_equal(c.models.item[0], "own.pronk");
    pk_cli_free(&c);
    assert_int_equal(PARSE(&c, "bench", "--limit", "1"), 0);
    assert_string_equal(c.model, "own.pronk");
    pk_cli_free(&c);
    assert_int_equal(PARSE(&c, "translate", "-m", "a"), 0);
    assert_int_equal(c.models.n, 1);
    assert_string_equal(c.models.item[0], "a");
    pk_cli_free(&c);
    refuses("no translations", PARSE(&c, "score", "-q")); /* there is no default */
    pk_cli_free(&c);
    refuses("no model", PARSE(&c, "distill", "-i", "a", "-o", "b")); /* a teacher is chosen */
    pk_cli_free(&c);
    own = NULL;
}

static void numbers_are_checked(void **state) {
    static const char *const wrong[] = { "0",   "-1",   "",
                                         "x",   "3x",   "1.5",
                                         "1e3", "1025", "99999999999999999999" };
    pk_cli                   c;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses("--threads takes a number from 1 to 1024",
                PARSE(&c, "translate", "--threads", wrong[i]));
    refuses("--seed takes a number from 1, not", PARSE(&c, "eval", "--seed", "-5"));
    assert_int_equal(PARSE(&c, "eval", "-r", "a", "--seed", "9223372036854775807"), 0);
    assert_int_equal(c.seed, INT64_MAX);
    static const char *const no_share[] = { "", "x", "1.1", "-0.1", "nan", "0x1", "inf", "0.5x" };
    for (size_t i = 0; i < sizeof no_share / sizeof *no_share; i++)
        refuses("--coverage takes a number from 0.9 to 1",
                PARSE(&c, "vocab", "--coverage", no_share[i]));
    assert_int_equal(PARSE(&c, "vocab", "-i", "a", "b", "-ic", "-o", "d", "--coverage=0.95"), 0);
    assert_true(c.coverage == 0.95);
    assert_int_equal(c.inputs.n, 2); /* -i a, -i c; b is an operand */
    assert_int_equal(c.operand.n, 1);
    pk_cli_free(&c);
}

/* options win over variables; what nobody knows is named */
static void variables_set_options(void **state) {
    pk_cli c;
    (void)state;
    setenv("LT_CHAR_LIMIT", "7", 1);
    setenv("LT_API_KEYS", "true", 1);
    setenv("LT_SSL", "0", 1);
    setenv("LT_HOST", "", 1);
    assert_int_equal(PARSE(&c, "serve", "-q"), 0);
    assert_int_equal(c.serve.char_limit, 7);
    assert_true(c.serve.api_keys);
    assert_false(c.serve.ssl);
    assert_null(c.serve.host);
    assert_int_equal(PARSE(&c, "serve", "--char-limit", "8"), 0);
    assert_int_equal(c.serve.char_limit, 8);
    assert_string_equal(message, "");
    setenv("LT_NOBODY_KNOWS", "1", 1);
    assert_int_equal(PARSE(&c, "serve", "-q"), 0);
    assert_non_null(strstr(message, "LT_NOBODY_KNOWS"));
    assert_null(strstr(message, "=1"));
    assert_int_equal(PARSE(&c, "translate", "-m", "a"), 0); /* no other verb reads them */
    assert_string_equal(message, "");
    pk_cli_free(&c);
    unsetenv("LT_NOBODY_KNOWS");
    setenv("LT_SSL", "maybe", 1);
    refuses("LT_SSL is true or false, not 'maybe'", PARSE(&c, "serve", "-q"));
    unsetenv("LT_SSL");
    setenv("LT_CHAR_LIMIT", "few", 1);
    refuses("LT_CHAR_LIMIT takes a number from -1 to 2147483647, not 'few'",
            PARSE(&c, "serve", "-q"));
    unsetenv("LT_CHAR_LIMIT");
    refuses("--char-limit takes a number", PARSE(&c, "serve", "--char-limit", "few"));
    setenv("LT_TYPE", "f8", 1);
    refuses("LT_TYPE takes f32|f16|bf16|i8, not 'f8'", PARSE(&c, "serve", "-q"));
    unsetenv("LT_TYPE");
    unsetenv("LT_API_KEYS");
    unsetenv("LT_HOST");
}

static void check_named(const pk_cli *c, const char *said, const char *expected) {
    char text[64];
    pk_cli_name_variables(c, said, text, sizeof text);
    assert_string_equal(text, expected);
}

/* what a verb says about its options later */
static void messages_name_variables_that_were_set(void **state) {
    pk_cli c;
    (void)state;
    setenv("LT_SSL", "true", 1);
    setenv("LT_SSL_KEY", "k", 1);
    setenv("LT_GLOSSARY", "g", 1);
    assert_int_equal(PARSE(&c, "serve", "--glossary", "h"), 0);
    check_named(&c, "--ssl needs --ssl-cert FILE", "LT_SSL needs --ssl-cert FILE");
    check_named(&c, "--ssl-key: none; see --ssl", "LT_SSL_KEY: none; see LT_SSL");
    check_named(&c, "--glossary: nothing", "--glossary: nothing"); /* the option won */
    check_named(&c, "a--ssl, --ss and --", "a--ssl, --ss and --");
    check_named(&c, "", "");
    check_named(&c, "a text that goes on for more than the sixty-three bytes there are --ssl",
                "a text that goes on for more than the sixty-three bytes there a");
    unsetenv("LT_SSL");
    unsetenv("LT_SSL_KEY");
    unsetenv("LT_GLOSSARY");
}

static void help_needs_nothing_else(void **state) {
    pk_cli c;
    (void)state;
    for (size_t i = 0; pk_cli_verbs[i]; i++) {
        const pk_cli_verb *verb = pk_cli_verbs[i];
        assert_int_equal(PARSE(&c, verb->name, "--help", "--nonsense"), 0);
        assert_true(c.help);
    }
    assert_int_equal(PARSE(&c, "convert", "-h"), 0);
    assert_true(c.help);
}

static void verbs_are_found(void **state) {
    (void)state;
    assert_string_equal(pk_cli_verb_find("eval")->name, "eval");
    assert_null(pk_cli_verb_find("evaluate"));
    assert_null(pk_cli_verb_find(""));
    static const char *const names[] = { PK_CLI_VERB_MAP(PK_CLI_NAME) NULL };
    for (size_t i = 0; pk_cli_verbs[i]; i++) assert_string_equal(names[i], pk_cli_verbs[i]->name);
    assert_string_equal(pk_cli_nearest("trasnlate", names, sizeof *names), "translate");
    assert_string_equal(pk_cli_nearest("ben", names, sizeof *names), "bench");
    assert_null(pk_cli_nearest("xyzzyxyzzy", names, sizeof *names));
    assert_null(pk_cli_nearest("a name that is much longer than any verb could ever be", names,
                               sizeof *names));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_option_sets_its_field),
        cmocka_unit_test(tables_are_in_order),
        cmocka_unit_test(types_are_those_of_the_library),
        cmocka_unit_test(all_forms_are_read),
        cmocka_unit_test(defaults_are_set),
        cmocka_unit_test(lists_collect_and_texts_replace),
        cmocka_unit_test(a_case_has_the_models_given_before_it),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(own_model_is_used_where_none_is_named),
        cmocka_unit_test(numbers_are_checked),
        cmocka_unit_test(variables_set_options),
        cmocka_unit_test(messages_name_variables_that_were_set),
        cmocka_unit_test(help_needs_nothing_else),
        cmocka_unit_test(verbs_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
