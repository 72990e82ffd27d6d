/* visits.c - the connections that are open, what each is at, and since when. */
#include "visits.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "seconds.h"

/* seconds that each phase may take; working has its own limit, of the translation */
static const double most[] = {
    [PK_PHASE_IDLE] = 60, [PK_PHASE_READING] = 60, [PK_PHASE_SENDING] = 120
};

void pk_visits_init(pk_visits *v) {
    *v = (pk_visits){ 0 };
    pthread_mutex_init(&v->lock, NULL);
}

void pk_visits_free(pk_visits *v) {
    free(v->poll);
    pthread_mutex_destroy(&v->lock);
}

pk_visit *pk_visits_add(pk_visits *v, struct MHD_Connection *c, int fd) {
    pk_visit *one = calloc(1, sizeof *one);
    if (!one) return NULL;
    *one = (pk_visit){ .connection = c, .fd = fd, .since = pk_seconds() };
    pthread_mutex_lock(&v->lock);
    one->next = v->first;
    if (v->first) v->first->previous = one;
    v->first = one;
    v->n++;
    pthread_mutex_unlock(&v->lock);
    return one;
}

void pk_visits_remove(pk_visits *v, pk_visit *one) {
    pthread_mutex_lock(&v->lock);
    *(one->previous ? &one->previous->next : &v->first) = one->next;
    if (one->next) one->next->previous = one->previous;
    v->n--;
    pthread_mutex_unlock(&v->lock);
    free(one);
}

void pk_visits_set(pk_visits *v, pk_visit *one, pk_phase phase, pk_exchange *exchange) {
    pthread_mutex_lock(&v->lock);
    one->phase = phase;
    one->since = pk_seconds();
    one->exchange = exchange;
    pthread_mutex_unlock(&v->lock);
}

/* A worker that has the lock is handing texts over and may take long; there is a next time. */
static bool cancel(pk_exchange *x) {
    if (pthread_mutex_trylock(&x->lock)) return false;
    const bool first = !x->gone;
    x->gone = true;
    if (x->call) pk_call_cancel(x->call);
    pthread_mutex_unlock(&x->lock);
    return first;
}

/* the sockets of all who wait for work; how many. Where there is no memory nobody is looked at */
static nfds_t gather(pk_visits *v) {
    nfds_t n = 0;
    if (v->room < v->n) {
        struct pollfd *grown = realloc(v->poll, 2 * v->n * sizeof *grown);
        if (!grown) return 0;
        v->poll = grown;
        v->room = 2 * v->n;
    }
    for (pk_visit *one = v->first; one; one = one->next)
        if (one->phase == PK_PHASE_WORKING)
            v->poll[n++] = (struct pollfd){ .fd = one->fd, .events = POLLRDHUP };
    return n;
}

/* Reading on, once the other side is closed, fails: the socket is closed by who owns it. */
size_t pk_visits_look(pk_visits *v, double now) {
    size_t gone = 0;
    pthread_mutex_lock(&v->lock);
    const nfds_t n = gather(v);
    if (n) poll(v->poll, n, 0);
    nfds_t at = 0;
    for (pk_visit *one = v->first; one; one = one->next) {
        if (one->phase != PK_PHASE_WORKING) {
            if (now - one->since > most[one->phase]) shutdown(one->fd, SHUT_RDWR);
        } else if (at < n && v->poll[at++].revents & (POLLRDHUP | POLLHUP | POLLERR)) {
            gone += cancel(one->exchange);
        }
    }
    pthread_mutex_unlock(&v->lock);
    return gone;
}

void pk_visits_cancel_all(pk_visits *v) {
    pthread_mutex_lock(&v->lock);
    for (pk_visit *one = v->first; one; one = one->next)
        if (one->phase == PK_PHASE_WORKING) cancel(one->exchange);
    pthread_mutex_unlock(&v->lock);
}

bool pk_visits_are_idle(pk_visits *v, double now, double seconds) {
    bool idle = true;
    pthread_mutex_lock(&v->lock);
    for (pk_visit *one = v->first; one && idle; one = one->next)
        idle = one->phase == PK_PHASE_IDLE && now - one->since >= seconds;
    pthread_mutex_unlock(&v->lock);
    return idle;
}
