/* serving_test.c - the whole server in one process, for the sanitizers: many clients, some of which
 * vanish, signals in between, and an end that loses nobody. */
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../server/server.h"

enum { CLIENTS = 8, REQUESTS = 6, INHERITED = 3 };

typedef struct client {
    pthread_t thread;
    int number, answered, live; /* requests that got 200; those of the page, and with markup */
} client;

static uint16_t port;

static int connect_to(void) {
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int                fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* sends a request on a connection of its own; wait: for the answer. Its status, or 0 */
static int ask(const char *path, const char *body, bool wait) {
    char      text[1024];
    int       status = 0;
    const int fd = connect_to();
    const int n = snprintf(text, sizeof text,
                           "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "
                           "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                           path, strlen(body), body);
    if (fd < 0) return 0;
    if (write(fd, text, (size_t)n) == n && wait && read(fd, text, sizeof text - 1) > 12)
        status = atoi(text + 9);
    close(fd);
    return status;
}

/* tags, spans and terms: several attempts each */
static void visit_with_markup(client *c, int i) {
    char body[256];
    snprintf(
        body, sizeof body,
        "{\"q\":[\"<p>the <b>cat</b> {x} sees %%s house %d</p>\",\"#tag\"],\"source\":\"auto\","
        "\"target\":\"de\",\"format\":\"html\",\"glossary\":{\"cat\":\"Katze\"},"
        "\"alternatives\":%d}",
        i, c->number % 2);
    c->live += ask("/translate", body, true) == 200;
    ask("/translate", body, false);
}

static void *visit(void *user) {
    client *c = user;
    for (int i = 0; i < REQUESTS; i++) {
        char body[256];
        visit_with_markup(c, i);
        snprintf(body, sizeof body,
                 "{\"q\":[\"good morning\",\"the cat sees house %d\"],\"source\":\"%s\",\"target\":"
                 "\"de\",\"alternatives\":%d}",
                 i, i % 2 ? "en" : "auto", c->number % 3);
        c->answered += ask("/translate", body, true) == 200;
        ask("/translate", body, false); /* and is gone */
        ask("/detect", "{\"q\":\"good morning\"}", true);
        snprintf(
            body, sizeof body,
            "{\"q\":\"Good morning. The cat %d. She sees.\",\"source\":\"en\",\"target\":\"de\","
            "\"draft\":\"a b c\",\"alignment\":true%s}",
            i, i % 2 ? ",\"trace\":true" : "");
        c->live += ask("/translate", body, true) == 200;
        snprintf(body, sizeof body,
                 "{\"q\":[\"Good morning. The cat. %d. She. Sees. The house.\",\" "
                 "\"],\"source\":\"auto\","
                 "\"target\":\"de\",\"alignment\":true}",
                 i);
        c->live += ask("/translate/stream", body, true) == 200;
        ask("/translate/stream", body, false);
    }
    return NULL;
}

static void *direct(void *user) {
    client *all = user;
    for (int i = 0; i < CLIENTS; i++) pthread_create(&all[i].thread, NULL, visit, &all[i]);
    kill(getpid(), SIGHUP);
    for (int i = 0; i < CLIENTS; i++) pthread_join(all[i].thread, NULL);
    kill(getpid(), SIGTERM);
    return NULL;
}

/* the server takes the socket over as one that systemd opened: so its port is known here */
static void listen_for_it(void) {
    char               pid[32];
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    const int          fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    port = ntohs(at.sin_port);
    if (fd != INHERITED) {
        assert_int_equal(dup2(fd, INHERITED), INHERITED);
        close(fd);
    }
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
}

static void block_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void everybody_is_answered(void **state) {
    client                  all[CLIENTS] = { 0 };
    pthread_t               director;
    char                    error[PK_ERROR_ROOM] = "";
    const pk_settings       s = { .host = "127.0.0.1",
                                  .char_limit = -1,
                                  .req_limit = -1,
                                  .batch_limit = -1,
                                  .alternatives_limit = -1,
                                  .flood_threshold = -1,
                                  .queue = 1000,
                                  .timeout = 100,
                                  .idle = 1,
                                  .connections = 100,
                                  .metrics = true,
                                  .translation_cache = "1" };
    const pk_server_options o = {
        .settings = &s,
        .model = "tests/data/ct2/en-de.argosmodel",
        .quiet = true,
        .translator = { .size = sizeof o.translator, .threads = 2, .decode = "greedy:max_length=6" }
    };
    (void)state;
    listen_for_it();
    block_signals();
    for (int i = 0; i < CLIENTS; i++) all[i].number = i;
    assert_int_equal(pthread_create(&director, NULL, direct, all), 0);
    const int code = pk_serve(&o, error);
    assert_string_equal(error, "");
    assert_int_equal(code, 0);
    pthread_join(director, NULL);
    for (int i = 0; i < CLIENTS; i++) assert_int_equal(all[i].answered, REQUESTS);
    for (int i = 0; i < CLIENTS; i++) assert_int_equal(all[i].live, 3 * REQUESTS);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(everybody_is_answered) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
