/* queue.c - who is next, and who is done.
 *
 * Calls with sentences that wait form a ring, one call for each client; behind it stand the
 * client's later calls. Taking a sentence moves the turn on by one. `left` of a call counts down to
 * its end: whoever brings it to 0 calls `done`, and only then is the call `ended`. */
#include "engine/queue.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

enum { JOBS_EACH = 4 }; /* sentences that make it worth waking another worker */
static const double sweep_every = 0.1;

pk_status pk_queue_open(pk_queue *q, const pk_queue_options *o) {
    pthread_condattr_t steady;
    *q = (pk_queue){ .o = *o };
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    const bool ok = pthread_mutex_init(&q->lock, NULL) == 0 &&
                    pthread_cond_init(&q->work, &steady) == 0 &&
                    pthread_cond_init(&q->news, &steady) == 0;
    pthread_condattr_destroy(&steady);
    if (!ok) PK_FAIL(PK_NO_MEMORY, "no memory for a queue");
    return PK_OK;
}

void pk_queue_close(pk_queue *q) {
    assert(!q->turn && q->out == 0);
    pthread_cond_destroy(&q->news);
    pthread_cond_destroy(&q->work);
    pthread_mutex_destroy(&q->lock);
}

/* ---- the ring of clients ---- */

static void insert_before(pk_queued *c, pk_queued *at) {
    c->after = at;
    c->before = at->before;
    at->before->after = c;
    at->before = c;
}

/* the client's call that is in the ring; NULL: it has none */
static pk_queued *find_client(const pk_queue *q, uint64_t client) {
    pk_queued *c = q->turn;
    if (client == 0 || !c) return NULL;
    do {
        if (c->client == client) return c;
        c = c->after;
    } while (c != q->turn);
    return NULL;
}

/* behind the client's other calls, or as the last of the clients */
static void enqueue(pk_queue *q, pk_queued *c) {
    pk_queued *same = find_client(q, c->client);
    while (same && same->behind) same = same->behind;
    if (same) {
        same->behind = c;
    } else if (q->turn) {
        insert_before(c, q->turn);
    } else {
        c->before = c->after = c;
        q->turn = c;
    }
}

/* a call of the ring has nothing to take any more: the client's next one comes in its place */
static void leave_ring(pk_queue *q, pk_queued *c) {
    pk_queued *next = c->behind;
    if (next) insert_before(next, c);
    if (q->turn == c) q->turn = next ? next : c->after;
    c->before->after = c->after;
    c->after->before = c->before;
    if (q->turn == c) q->turn = NULL; /* it was the only one */
    c->behind = c->before = c->after = NULL;
}

/* takes a call that waits out of the queue, wherever it stands */
static void dequeue(pk_queue *q, pk_queued *c) {
    if (c->after) {
        leave_ring(q, c);
        return;
    }
    pk_queued *at = find_client(q, c->client);
    while (at->behind != c) at = at->behind;
    at->behind = c->behind;
    c->behind = NULL;
}

/* ---- a call's end; the lock is held ---- */

/* n of its jobs are gone. `done` runs without the lock, and may be seen by the caller before this
 * returns: so the call counts as ended only behind it. */
static void count_down(pk_queue *q, pk_queued *c, size_t n) {
    assert(n <= c->left && !c->ended);
    c->left -= n;
    if (c->left == 0) {
        pthread_mutex_unlock(&q->lock);
        if (c->done) c->done(c->user);
        pthread_mutex_lock(&q->lock);
        c->ended = true;
    }
    if (c->ended || c->watched) pthread_cond_broadcast(&q->news);
}

/* may end the call, whose memory can be gone then */
static void stop(pk_queue *q, pk_queued *c, pk_status status, const char *error) {
    if (atomic_load(&c->stopped) || c->left == 0) return;
    const size_t waiting = c->n - c->next;
    c->status = status;
    snprintf(c->error, sizeof c->error, "%s", error);
    atomic_store(&c->stopped, true);
    if (waiting == 0) return; /* workers have the rest, and will drop it */
    dequeue(q, c);
    c->next = c->n;
    q->n_waiting -= waiting;
    count_down(q, c, waiting);
}

/* ---- callers ---- */

/* is there enough for all workers? */
static bool is_enough(const pk_queue *q) {
    return !q->o.first_alone || q->n_waiting + q->out >= (size_t)q->o.n_workers * JOBS_EACH;
}

static pk_status check_room(const pk_queue *q, size_t n) {
    const bool full =
        q->o.max_waiting && q->n_waiting && q->n_waiting + n > (size_t)q->o.max_waiting;
    if (full) PK_FAIL(PK_BUSY, "%zu sentences wait already: try again later", q->n_waiting);
    return PK_OK;
}

pk_status pk_queue_check_room(pk_queue *q, size_t n) {
    pthread_mutex_lock(&q->lock);
    const pk_status status = check_room(q, n);
    pthread_mutex_unlock(&q->lock);
    return status;
}

/* Worker 0 does not wake for what its place is claimed for; another one does where there is enough. */
static bool someone_may_take(const pk_queue *q) {
    return !q->claimed || (q->o.n_workers > 1 && is_enough(q));
}

pk_status pk_queue_add(pk_queue *q, pk_queued *c) {
    if (pthread_mutex_init(&c->tracing, NULL)) PK_FAIL(PK_NO_MEMORY, "no memory for a lock");
    for (size_t i = 0; i < c->n; i++) c->job[i]->call = c;
    pthread_mutex_lock(&q->lock);
    const pk_status status = c->taken ? PK_OK : check_room(q, c->n);
    if (status == PK_OK) {
        c->left = c->n;
        if (c->n) enqueue(q, c);
        q->n_waiting += c->n;
        if (c->n == 0) count_down(q, c, 0);
        q->wanted |= q->claimed && q->claimed != c;
        if (someone_may_take(q)) pthread_cond_broadcast(&q->work);
    }
    pthread_mutex_unlock(&q->lock);
    if (status != PK_OK) pthread_mutex_destroy(&c->tracing);
    return status;
}

void pk_queue_stop(pk_queue *q, pk_queued *c, pk_status status, const char *error) {
    pthread_mutex_lock(&q->lock);
    stop(q, c, status, error);
    pthread_mutex_unlock(&q->lock);
}

static struct timespec time_in(double seconds) {
    const double    at = pk_clock_now() + seconds, whole = floor(at);
    struct timespec t = { .tv_sec = (time_t)whole, .tv_nsec = (long)((at - whole) * 1e9) };
    return t;
}

bool pk_queue_await(pk_queue *q, pk_queued *c, double seconds, size_t *finished) {
    const struct timespec until = time_in(seconds);
    pthread_mutex_lock(&q->lock);
    const size_t before = c->left;
    int          late = 0;
    while (!c->ended && !late && !(c->watched && c->left != before))
        late = pthread_cond_timedwait(&q->news, &q->lock, &until);
    const bool ended = c->ended;
    *finished = c->n - c->left;
    pthread_mutex_unlock(&q->lock);
    if (ended) pthread_mutex_destroy(&c->tracing);
    return ended;
}

size_t pk_queue_finished(pk_queue *q, const pk_queued *c) {
    pthread_mutex_lock(&q->lock);
    const size_t n = c->n - c->left;
    pthread_mutex_unlock(&q->lock);
    return n;
}

size_t pk_queue_waiting(pk_queue *q) {
    pthread_mutex_lock(&q->lock);
    const size_t n = q->n_waiting;
    pthread_mutex_unlock(&q->lock);
    return n;
}

/* ---- workers ---- */

/* Worker 0 can take whenever something waits and it has nothing, so nothing waits for ever. */
static bool may_take(const pk_queue *q, int32_t worker, int32_t has) {
    const size_t all = q->n_waiting + q->out, n = (size_t)q->o.n_workers;
    if (q->n_waiting == 0) return false;
    if (!is_enough(q)) return worker == 0;
    return (size_t)has < (all + n - 1) / n;
}

/* is there something to do for a worker that waits? */
static bool may_begin(const pk_queue *q, int32_t worker) {
    if (worker > 0) return may_take(q, worker, 0);
    return !q->claimed && (q->busy || may_take(q, 0, 0));
}

bool pk_queue_wait(pk_queue *q, int32_t worker) {
    pthread_mutex_lock(&q->lock);
    if (worker == 0) q->waits = true;
    while (!q->closed && !may_begin(q, worker)) pthread_cond_wait(&q->work, &q->lock);
    if (worker == 0) q->waits = q->busy = false;
    const bool open = !q->closed;
    pthread_mutex_unlock(&q->lock);
    return open;
}

bool pk_queue_claim(pk_queue *q, const pk_queued *c) {
    pthread_mutex_lock(&q->lock);
    const bool idle = q->waits && !q->closed && !q->claimed && !q->busy;
    const bool may = idle && q->n_waiting + q->out == 0;
    if (may) q->claimed = c;
    pthread_mutex_unlock(&q->lock);
    return may;
}

bool pk_queue_wanted(pk_queue *q) {
    pthread_mutex_lock(&q->lock);
    assert(q->claimed);
    const bool wanted = q->wanted || q->claimed->ended;
    pthread_mutex_unlock(&q->lock);
    return wanted;
}

void pk_queue_return(pk_queue *q, bool busy) {
    pthread_mutex_lock(&q->lock);
    assert(q->claimed && q->waits);
    q->claimed = NULL;
    q->wanted = false;
    q->busy = busy;
    if (may_begin(q, 0)) pthread_cond_broadcast(&q->work);
    pthread_mutex_unlock(&q->lock);
}

void pk_queue_shut(pk_queue *q) {
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->work);
    pthread_mutex_unlock(&q->lock);
}

pk_job *pk_queue_take(pk_queue *q, int32_t worker, int32_t has) {
    pk_job *job = NULL;
    pthread_mutex_lock(&q->lock);
    /* the place of worker 0 is claimed for one call alone */
    const bool others = worker == 0 && q->claimed && q->turn != q->claimed;
    if (!others && may_take(q, worker, has)) {
        pk_queued *c = q->turn;
        assert(c->next < c->n);
        job = c->job[c->next++];
        q->turn = c->after;
        if (c->next == c->n) leave_ring(q, c);
        q->n_waiting--;
        q->out++;
    }
    pthread_mutex_unlock(&q->lock);
    return job;
}

void pk_queue_finish(pk_queue *q, pk_job *job) {
    pthread_mutex_lock(&q->lock);
    assert(q->out > 0);
    q->out--;
    count_down(q, job->call, 1);
    pthread_mutex_unlock(&q->lock);
}

bool pk_queue_is_alone(pk_queue *q, int32_t has) {
    pthread_mutex_lock(&q->lock);
    const bool alone = q->out == (size_t)has && !is_enough(q);
    pthread_mutex_unlock(&q->lock);
    return alone;
}

/* the first call that waits and is late; ending one can change the ring, so it is looked for anew
 */
static pk_queued *find_late(const pk_queue *q, double now) {
    pk_queued *first = q->turn;
    if (!first) return NULL;
    do {
        for (pk_queued *c = first; c; c = c->behind)
            if (c->deadline > 0 && c->deadline < now) return c;
        first = first->after;
    } while (first != q->turn);
    return NULL;
}

void pk_queue_sweep(pk_queue *q, double now) {
    pthread_mutex_lock(&q->lock);
    if (now - q->swept > sweep_every) {
        q->swept = now;
        for (pk_queued *c; (c = find_late(q, now));)
            stop(q, c, PK_LATE, "the deadline passed before the call was served");
    }
    pthread_mutex_unlock(&q->lock);
}
