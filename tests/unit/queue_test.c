/* queue_test.c - whose sentence is next, and when a call has ended: without workers, by hand. */
#include "check.h"

#include <unistd.h>

#include "base/clock.h"
#include "engine/queue.h"

enum { MOST = 8, SOON = 20000 /* microseconds */ };

typedef struct test_call {
    pk_queued queued;
    pk_job    job[MOST], *order[MOST];
    int       done; /* how often it was called */
} test_call;

static void count_done(void *user) { ((test_call *)user)->done++; }

static void make(test_call *c, uint64_t client, size_t n) {
    *c = (test_call){
        .queued = { .job = c->order, .n = n, .client = client, .done = count_done, .user = c }
    };
    for (size_t i = 0; i < n; i++) {
        c->order[i] = &c->job[i];
        c->job[i].sentence = i;
    }
}

static pk_queue open_queue(int64_t max_waiting, int32_t n_workers, bool first_alone) {
    pk_queue               q;
    const pk_queue_options o = { max_waiting, n_workers, first_alone };
    ASSERT_OK(pk_queue_open(&q, &o));
    return q;
}

static bool has_ended(pk_queue *q, test_call *c) {
    size_t finished;
    return pk_queue_await(q, &c->queued, 0, &finished);
}

/* takes the next sentence, which must be this one, and finishes it */
static void serve_next(pk_queue *q, test_call *c, size_t sentence) {
    pk_job *job = pk_queue_take(q, 0, 0);
    assert_non_null(job);
    assert_ptr_equal(job->call, &c->queued);
    assert_int_equal(job->sentence, sentence);
    pk_queue_finish(q, job);
}

static void clients_take_turns(void **state) {
    pk_queue  q = open_queue(0, 1, false);
    test_call a, b, a2, own;
    (void)state;
    make(&a, 7, 3), make(&b, 8, 2), make(&a2, 7, 1), make(&own, 0, 2);
    ASSERT_OK(pk_queue_add(&q, &a.queued));
    ASSERT_OK(pk_queue_add(&q, &b.queued));
    ASSERT_OK(pk_queue_add(&q, &a2.queued));
    ASSERT_OK(pk_queue_add(&q, &own.queued));
    assert_int_equal(pk_queue_waiting(&q), 8);
    serve_next(&q, &a, 0), serve_next(&q, &b, 0), serve_next(&q, &own, 0);
    assert_int_equal(b.done, 0);
    serve_next(&q, &a, 1), serve_next(&q, &b, 1), serve_next(&q, &own, 1);
    assert_int_equal(b.done, 1);
    assert_true(has_ended(&q, &b) && has_ended(&q, &own) && !has_ended(&q, &a2));
    serve_next(&q, &a, 2), serve_next(&q, &a2, 0);
    assert_null(pk_queue_take(&q, 0, 0));
    assert_true(has_ended(&q, &a) && has_ended(&q, &a2));
    pk_queue_close(&q);
}

static void a_full_queue_says_busy(void **state) {
    pk_queue  q = open_queue(4, 1, false);
    test_call a, b, c;
    (void)state;
    make(&a, 0, 6), make(&b, 0, 1), make(&c, 0, 1);
    ASSERT_OK(pk_queue_add(&q, &a.queued)); /* nothing waits: it is taken, whatever its size */
    assert_int_equal(pk_queue_add(&q, &b.queued), PK_BUSY);
    assert_int_equal(pk_queue_check_room(&q, 1), PK_BUSY);
    for (size_t i = 0; i < 3; i++) serve_next(&q, &a, i);
    ASSERT_OK(pk_queue_check_room(&q, 1));
    ASSERT_OK(pk_queue_add(&q, &c.queued)); /* 3 wait, 1 more is allowed */
    assert_int_equal(pk_queue_add(&q, &b.queued), PK_BUSY);
    assert_int_equal(b.done, 0);
    pk_queue_stop(&q, &a.queued, PK_CANCELLED, "enough");
    serve_next(&q, &c, 0);
    assert_true(has_ended(&q, &a) && has_ended(&q, &c));
    pk_queue_close(&q);
}

/* a stopped call ends when the last of its sentences that a worker has is dropped */
static void a_stopped_call_ends_once(void **state) {
    pk_queue  q = open_queue(0, 1, false);
    test_call a, behind, empty;
    (void)state;
    make(&a, 5, 4), make(&behind, 5, 1), make(&empty, 0, 0);
    ASSERT_OK(pk_queue_add(&q, &a.queued));
    ASSERT_OK(pk_queue_add(&q, &behind.queued));
    pk_job *out = pk_queue_take(&q, 0, 0);
    pk_queue_stop(&q, &a.queued, PK_LATE, "too late");
    pk_queue_stop(&q, &a.queued, PK_CANCELLED, "a second reason"); /* does not count */
    assert_int_equal(a.done, 0);
    assert_false(has_ended(&q, &a));
    assert_int_equal(pk_queue_waiting(&q), 1);
    pk_queue_finish(&q, out);
    assert_int_equal(a.done, 1);
    assert_true(has_ended(&q, &a));
    assert_int_equal(a.queued.status, PK_LATE);
    assert_string_equal(a.queued.error, "too late");
    pk_queue_stop(&q, &behind.queued, PK_CANCELLED, "while it waits");
    assert_int_equal(behind.done, 1);
    assert_true(has_ended(&q, &behind));
    ASSERT_OK(pk_queue_add(&q, &empty.queued)); /* ends at once */
    assert_int_equal(empty.done, 1);
    assert_true(has_ended(&q, &empty));
    pk_queue_close(&q);
}

/* calls anywhere in the ring and in a client's line can be stopped, in any order */
static void any_call_can_leave(void **state) {
    (void)state;
    for (int order = 0; order < 24; order++) {
        pk_queue  q = open_queue(0, 1, false);
        test_call c[4];
        bool      gone[4] = { false };
        make(&c[0], 1, 2), make(&c[1], 1, 1), make(&c[2], 1, 2), make(&c[3], 2, 1);
        for (int i = 0; i < 4; i++) ASSERT_OK(pk_queue_add(&q, &c[i].queued));
        for (int left = 4, rest = order; left; rest /= left--) {
            int at = rest % left;
            int i = 0;
            while (gone[i] || at-- > 0) i++;
            gone[i] = true;
            pk_queue_stop(&q, &c[i].queued, PK_CANCELLED, "gone");
            assert_true(has_ended(&q, &c[i]));
        }
        assert_null(pk_queue_take(&q, 0, 0));
        pk_queue_close(&q);
    }
}

static void deadlines_pass_while_calls_wait(void **state) {
    pk_queue  q = open_queue(0, 1, false);
    test_call a, b;
    (void)state;
    make(&a, 0, 2), make(&b, 0, 1);
    const double now = pk_clock_now();
    a.queued.deadline = now + 1, b.queued.deadline = now + 3;
    ASSERT_OK(pk_queue_add(&q, &a.queued));
    ASSERT_OK(pk_queue_add(&q, &b.queued));
    pk_queue_sweep(&q, now + 0.5);
    assert_int_equal(a.done + b.done, 0);
    pk_queue_sweep(&q, now + 2);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.queued.status, PK_LATE);
    assert_true(has_ended(&q, &a));
    serve_next(&q, &b, 0);
    assert_true(has_ended(&q, &b));
    ASSERT_OK(b.queued.status);
    pk_queue_close(&q);
}

/* few sentences are worker 0's; many are shared out evenly, however slowly the others come */
static void workers_get_their_shares(void **state) {
    pk_queue  q = open_queue(0, 2, true);
    test_call few, many;
    pk_job   *out[MOST];
    (void)state;
    make(&few, 0, 3);
    ASSERT_OK(pk_queue_add(&q, &few.queued));
    assert_null(pk_queue_take(&q, 1, 0));
    for (int i = 0; i < 3; i++) assert_non_null(out[i] = pk_queue_take(&q, 0, i));
    assert_true(pk_queue_is_alone(&q, 3));
    for (int i = 0; i < 3; i++) pk_queue_finish(&q, out[i]);
    assert_true(has_ended(&q, &few));
    make(&many, 0, 8);
    ASSERT_OK(pk_queue_add(&q, &many.queued));
    for (int i = 0; i < 4; i++) assert_non_null(out[i] = pk_queue_take(&q, 0, i));
    assert_null(pk_queue_take(&q, 0, 4));
    assert_false(pk_queue_is_alone(&q, 4));
    for (int i = 4; i < 8; i++) assert_non_null(out[i] = pk_queue_take(&q, 1, i - 4));
    assert_null(pk_queue_take(&q, 1, 4));
    for (int i = 0; i < 8; i++) pk_queue_finish(&q, out[i]);
    assert_true(has_ended(&q, &many));
    pk_queue_close(&q);
}

/* a thread that waits as worker 0 does, once */
typedef struct waiter {
    pk_queue   *q;
    pthread_t   thread;
    atomic_bool woken;
} waiter;

static void *wait_once(void *arg) {
    waiter *w = arg;
    pk_queue_wait(w->q, 0);
    atomic_store(&w->woken, true);
    return NULL;
}

static void claim_soon(pk_queue *q, const test_call *c) {
    while (!pk_queue_claim(q, &c->queued)) usleep(100);
}

static void a_caller_takes_the_place_of_a_worker(void **state) {
    pk_queue  q = open_queue(0, 1, false);
    waiter    w = { .q = &q };
    test_call a, b;
    (void)state;
    make(&a, 0, 2), make(&b, 0, 1);
    assert_false(pk_queue_claim(&q, &a.queued)); /* there is no worker yet */
    assert_int_equal(pthread_create(&w.thread, NULL, wait_once, &w), 0);
    claim_soon(&q, &a);
    assert_false(pk_queue_claim(&q, &b.queued)); /* once */
    ASSERT_OK(pk_queue_add(&q, &a.queued));
    assert_false(pk_queue_wanted(&q));
    serve_next(&q, &a, 0);
    ASSERT_OK(pk_queue_add(&q, &b.queued));
    assert_true(pk_queue_wanted(&q));
    usleep(SOON);
    assert_false(w.woken); /* the place is taken */
    pk_job *job = pk_queue_take(&q, 0, 0);
    if (job) pk_queue_finish(&q, job); /* its own second one, or nothing: it is b's turn */
    assert_int_equal(b.queued.left, 1);
    pk_queue_return(&q, false);
    pthread_join(w.thread, NULL); /* the worker wakes: b's sentence waits */
    while ((job = pk_queue_take(&q, 0, 0))) pk_queue_finish(&q, job);
    assert_true(has_ended(&q, &a) && has_ended(&q, &b));
    pk_queue_close(&q);
}

static void what_a_caller_leaves_is_for_the_worker(void **state) {
    pk_queue  q = open_queue(0, 2, true);
    waiter    w = { .q = &q };
    test_call a, b;
    (void)state;
    make(&a, 0, 1), make(&b, 0, 1);
    assert_int_equal(pthread_create(&w.thread, NULL, wait_once, &w), 0);
    claim_soon(&q, &a);
    ASSERT_OK(pk_queue_add(&q, &a.queued));
    pk_job *job = pk_queue_take(&q, 0, 0);
    assert_non_null(job);
    assert_true(!w.woken && !pk_queue_wanted(&q));
    pk_queue_finish(&q, job);
    assert_true(pk_queue_wanted(&q)); /* its call has ended */
    pk_queue_return(&q, true);
    pthread_join(w.thread, NULL);
    ASSERT_OK(pk_queue_add(&q, &b.queued));
    assert_false(pk_queue_claim(&q, &a.queued)); /* something waits */
    serve_next(&q, &b, 0);
    assert_false(pk_queue_claim(&q, &a.queued)); /* the worker is at work */
    pk_queue_close(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_take_turns),
        cmocka_unit_test(a_full_queue_says_busy),
        cmocka_unit_test(a_stopped_call_ends_once),
        cmocka_unit_test(any_call_can_leave),
        cmocka_unit_test(deadlines_pass_while_calls_wait),
        cmocka_unit_test(workers_get_their_shares),
        cmocka_unit_test(a_caller_takes_the_place_of_a_worker),
        cmocka_unit_test(what_a_caller_leaves_is_for_the_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
