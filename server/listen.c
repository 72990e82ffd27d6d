/* listen.c - the socket that connections come in by, and reports to systemd.
 *
 * Both protocols of systemd are a few lines each (sd_listen_fds(3), sd_notify(3)), and libsystemd
 * would bring libraries for compression and cryptography along. */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "problem.h"

enum { FIRST_INHERITED = 3, BACKLOG = 4096 };

/* the socket that systemd hands over; -1: none */
static int inherited(void) {
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
    if (!pid || !n || strtol(pid, NULL, 10) != (long)getpid() || strtol(n, NULL, 10) < 1) return -1;
    fcntl(FIRST_INHERITED, F_SETFD, FD_CLOEXEC);
    return FIRST_INHERITED;
}

static int bind_to(const struct addrinfo *a) {
    const int on = 1;
    const int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

int pk_listen(const pk_settings *s, char *error) {
    struct addrinfo *list = NULL, wanted = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
    char             port[16];
    int              fd = inherited();
    if (fd >= 0) return fd;
    snprintf(port, sizeof port, "%" PRId64, s->port);
    const int code = getaddrinfo(s->host, port, &wanted, &list);
    if (code) return pk_problem(error, "%s: %s", s->host, gai_strerror(code)), -1;
    for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) fd = bind_to(a);
    if (fd < 0) pk_problem(error, "%s port %s: %s", s->host, port, strerror(errno));
    freeaddrinfo(list);
    return fd;
}

void pk_listen_name(int fd, const pk_settings *s, char *out, int room) {
    struct sockaddr_storage address = { 0 };
    socklen_t               size = sizeof address;
    char                    host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    getsockname(fd, (struct sockaddr *)&address, &size);
    getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    const bool six = address.ss_family == AF_INET6;
    snprintf(out, (size_t)room, "%s://%s%s%s:%s", s->ssl ? "https" : "http", six ? "[" : "", host,
             six ? "]" : "", port);
}

/* a name that begins with @ is one of the kernel's own, which begins with a zero */
void pk_notify(const char *text) {
    const char        *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    if (!name || strlen(name) >= sizeof to.sun_path) return;
    strcpy(to.sun_path, name);
    if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    const ssize_t sent = sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to, size);
    (void)sent; /* who is not there any more needs no message */
    close(fd);
}
