/* serve_jobs.h - one worker, one call, no threads: decodes jobs where a test stands. */
#ifndef PK_TESTS_SERVE_JOBS_H
#define PK_TESTS_SERVE_JOBS_H
#include "check.h"

#include "engine/worker.h"

/* serves c, whose jobs and plan are set, to its end; returns how many jobs were finished */
static inline size_t serve_call(pk_worker *w, pk_queued *c) {
    pk_queue q;
    size_t   finished;
    ASSERT_OK(pk_queue_open(&q, &(pk_queue_options){ .n_workers = 1 }));
    ASSERT_OK(pk_queue_add(&q, c));
    if (c->status != PK_OK) pk_queue_stop(&q, c, c->status, "stopped by the test");
    pk_worker_serve(w, &q, 0, false);
    assert_true(pk_queue_await(&q, c, 0, &finished));
    assert_int_equal(pk_queue_waiting(&q), 0);
    pk_queue_close(&q);
    return finished;
}

/* the same for jobs that must all be finished */
static inline void serve_jobs(pk_worker *w, const pk_plan *plan, pk_job **job, size_t n) {
    pk_queued c = { .job = job, .n = n, .plan = plan };
    assert_int_equal(serve_call(w, &c), n);
    if (c.status != PK_OK) fail_msg("%s", c.error);
}
#endif
