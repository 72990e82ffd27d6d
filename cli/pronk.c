/* pronk.c - the program: finds the verb, reads its options, runs it.
 *
 * Exit codes: 0 done, 1 failed while running, 2 wrong command line. All that is said about failure
 * goes to standard error, one line each, beginning with the program and the verb. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inputs.h"
#include "options_table.h"

/* "pronk VERB: ..." without a line end */
static void say(const pk_cli *c, const char *format, va_list arguments) {
    bool program = !c->verb || c->verb == &pk_cli_program;
    fprintf(stderr, "pronk%s%s: ", program ? "" : " ", program ? "" : c->verb->name);
    vfprintf(stderr, format, arguments);
}

int pk_cli_fail(const pk_cli *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(c, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return PK_EXIT_FAILED;
}

int pk_cli_usage(const pk_cli *c, const char *format, ...) {
    va_list arguments;
    bool    program = !c->verb || c->verb == &pk_cli_program;
    va_start(arguments, format);
    say(c, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (see `pronk %s%s--help`)\n", program ? "" : c->verb->name,
            program ? "" : " ");
    return PK_EXIT_USAGE;
}

void pk_cli_warn(const pk_cli *c, const char *format, ...) {
    va_list arguments;
    if (c->quiet) return;
    va_start(arguments, format);
    say(c, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

int pk_cli_fail_status(const pk_cli *c, pk_status status) {
    const char *text = pk_last_error();
    if (!text || !*text) text = pk_status_text(status);
    if (status == PK_ARGUMENT) return pk_cli_usage(c, "%s", text);
    return pk_cli_fail(c, "%s", text);
}

void *pk_cli_grow(void *block, size_t n, size_t each) {
    size_t bytes;
    void  *grown = __builtin_mul_overflow(n, each, &bytes) ? NULL : realloc(block, bytes + !bytes);
    if (grown) return grown;
    fprintf(stderr, "pronk: out of memory\n");
    exit(PK_EXIT_FAILED);
}

int pk_cli_help(pk_cli *c) {
    const char        *name = c->operand.n ? c->operand.item[0] : NULL;
    const pk_cli_verb *verb = name ? pk_cli_verb_find(name) : &pk_cli_program;
    if (!verb) return pk_cli_usage(c, "there is no verb '%s'", name);
    if (c->man)
        pk_cli_print_manual(stdout, verb);
    else
        pk_cli_print_help(stdout, verb);
    return PK_EXIT_OK;
}

/* options before any verb: --help and --version */
static int do_program(pk_cli *c, int n, char *const *argument) {
    int code = pk_cli_parse(c, &pk_cli_program, n, argument);
    if (code) return code;
    if (c->version)
        printf("pronk %s\n", PK_VERSION_TEXT);
    else
        pk_cli_print_help(stdout, &pk_cli_program);
    return PK_EXIT_OK;
}

/* --help comes before all else, so that it works with an incomplete command line too */
static int do_verb(pk_cli *c, const char *name, int n, char *const *argument) {
    static const char *const names[] = { PK_CLI_VERB_MAP(PK_CLI_NAME) NULL };
    const pk_cli_verb       *verb = pk_cli_verb_find(name);
    if (!verb) {
        const char *near = pk_cli_nearest(name, names, sizeof *names);
        return near ? pk_cli_usage(c, "unknown verb '%s'; did you mean %s?", name, near)
                    : pk_cli_usage(c, "unknown verb '%s'", name);
    }
    int code = pk_cli_parse(c, verb, n, argument);
    if (code) return code;
    if (!c->help) return verb->call(c);
    pk_cli_print_help(stdout, verb);
    return PK_EXIT_OK;
}

/* A standard descriptor that is closed would be given to the next file that is opened, and what is
 * meant for people would end up there. Each gets a device that fails where it is used. */
static bool fill_descriptors(void) {
    static const int wrong_way[] = { O_WRONLY, O_RDONLY, O_RDONLY };
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", wrong_way[i]) != i) return false;
    return true;
}

/* A model is used where it is mapped: when its file is cut off, or its disk fails, the program
 * cannot go on. Any other cause of this signal is a bug. Several threads may read the file: the
 * first to come here ends the program, the others wait for that. */
static void end_on_bus_error(int number, siginfo_t *about, void *context) {
    static const char  text[] = "pronk: a file that is in use was cut off, or cannot be read any "
                                "more; replace models by rename\n";
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    (void)context;
    if (about->si_code != BUS_ADRERR) {
        signal(number, SIG_DFL);
        raise(number); /* acts as usual when the handler is left */
        return;
    }
    while (atomic_flag_test_and_set(&ending)) pause();
    const ssize_t put = write(STDERR_FILENO, text, sizeof text - 1);
    (void)put;
    _exit(PK_EXIT_FAILED);
}

static void watch_bus_errors(void) {
    struct sigaction act = { .sa_sigaction = end_on_bus_error, .sa_flags = SA_SIGINFO };
    sigaction(SIGBUS, &act, NULL);
}

int main(int n, char **argument) {
    pk_cli_opened opened = { 0 };
    pk_cli        c = { .opened = &opened };
    int           code;
    if (!fill_descriptors()) return PK_EXIT_FAILED;
    watch_bus_errors();
    if (n < 2) {
        pk_cli_print_help(stderr, &pk_cli_program);
        return PK_EXIT_USAGE;
    }
    if (argument[1][0] == '-')
        code = do_program(&c, n - 1, argument + 1);
    else
        code = do_verb(&c, argument[1], n - 2, argument + 2);
    /* what printf could not write shows here at the latest; verbs that stream check as they go */
    if ((fflush(stdout) || ferror(stdout)) && code == PK_EXIT_OK)
        code = errno == EPIPE ? PK_EXIT_FAILED
                              : pk_cli_fail(&c, "writing to standard output: %s", strerror(errno));
    pk_cli_free(&c);
    pk_inputs_free(&opened);
    return code;
}
