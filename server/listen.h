/* listen.h - the socket that connections come in by: our own, or one that systemd opened. */
#ifndef PK_SERVER_LISTEN_H
#define PK_SERVER_LISTEN_H
#include "settings.h"

/* a socket that listens; -1: `error` says why */
int pk_listen(const pk_settings *s, char *error);
/* "http://127.0.0.1:5000", as it is bound */
void pk_listen_name(int fd, const pk_settings *s, char *out, int room);
/* a message for systemd, "READY=1" say; nothing happens where it did not start us */
void pk_notify(const char *text);
#endif
