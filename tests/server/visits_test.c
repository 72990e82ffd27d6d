/* visits_test.c - who takes too long is cut off, and who has gone is noticed; the clock is the test's. */
#include "check.h"

#include <sys/socket.h>
#include <unistd.h>

#include "../../server/seconds.h"
#include "../../server/visits.h"

typedef struct world {
    pk_visits   v;
    pk_visit   *visit;
    int         fd[2]; /* ours, the client's */
    pk_exchange exchange;
} world;

static void begin(world *w) {
    *w = (world){ 0 };
    pk_visits_init(&w->v);
    pthread_mutex_init(&w->exchange.lock, NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, w->fd), 0);
    w->visit = pk_visits_add(&w->v, NULL, w->fd[0]);
    assert_non_null(w->visit);
}

static void end(world *w) {
    pk_visits_remove(&w->v, w->visit);
    pk_visits_free(&w->v);
    close(w->fd[0]);
    if (w->fd[1] >= 0) close(w->fd[1]);
}

/* the client sees the end of the connection */
static bool is_cut(const world *w) {
    char byte;
    return recv(w->fd[1], &byte, 1, MSG_DONTWAIT) == 0;
}

static void phases_have_limits(void **state) {
    static const struct {
        pk_phase phase;
        double   seconds;
    } limit[] = { { PK_PHASE_IDLE, 60 }, { PK_PHASE_READING, 60 }, { PK_PHASE_SENDING, 120 } };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        world w;
        begin(&w);
        pk_visits_set(&w.v, w.visit, limit[i].phase, NULL);
        pk_visits_look(&w.v, pk_seconds() + limit[i].seconds - 1);
        assert_false(is_cut(&w));
        pk_visits_look(&w.v, pk_seconds() + limit[i].seconds + 1);
        assert_true(is_cut(&w));
        end(&w);
    }
}

/* a client that writes on while it waits is still there */
static void clients_that_went_are_noticed(void **state) {
    world w;
    (void)state;
    begin(&w);
    pk_visits_set(&w.v, w.visit, PK_PHASE_WORKING, &w.exchange);
    assert_int_equal(write(w.fd[1], "x", 1), 1);
    assert_int_equal(pk_visits_look(&w.v, pk_seconds() + 1000), 0);
    assert_false(w.exchange.gone);
    close(w.fd[1]);
    w.fd[1] = -1;
    pthread_mutex_lock(&w.exchange.lock); /* a worker has it: later, then */
    assert_int_equal(pk_visits_look(&w.v, pk_seconds()), 0);
    pthread_mutex_unlock(&w.exchange.lock);
    assert_int_equal(pk_visits_look(&w.v, pk_seconds()), 1);
    assert_true(w.exchange.gone);
    assert_int_equal(pk_visits_look(&w.v, pk_seconds()), 0); /* counted once */
    end(&w);
}

static void idleness_takes_time(void **state) {
    world w;
    (void)state;
    begin(&w);
    assert_false(pk_visits_are_idle(&w.v, w.visit->since + 0.4, 0.5));
    assert_true(pk_visits_are_idle(&w.v, w.visit->since + 0.5, 0.5));
    pk_visits_set(&w.v, w.visit, PK_PHASE_READING, NULL);
    assert_false(pk_visits_are_idle(&w.v, w.visit->since + 100, 0.5));
    pk_visits_set(&w.v, w.visit, PK_PHASE_WORKING, &w.exchange);
    pk_visits_cancel_all(&w.v);
    assert_true(w.exchange.gone);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_have_limits),
        cmocka_unit_test(clients_that_went_are_noticed),
        cmocka_unit_test(idleness_takes_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
