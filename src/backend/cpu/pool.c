/* pool.c - a thread pool whose parallel regions cost a few hundred nanoseconds while it is hot.
 *
 * A region is one call of dispatch. One 64-bit word holds its state: (region : 32, tasks : 16,
 * next task : 16). A thread claims a task by raising `next` with compare-and-exchange. A worker
 * that wakes up late finds nothing to claim and delays no one: the caller waits until all tasks
 * are done, not until all threads have come. Idle workers watch the word for some time, then
 * sleep, so that an idle process uses no CPU. */
#include "backend/cpu/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

enum {
    EAGER_SPINS = 2000, /* looks at the word without giving way to other threads */
    LOOK_AT_CLOCK = 64, /* looks between two readings of the clock */
};
#define IDLE_SECONDS 150e-6 /* then a worker goes to sleep */

typedef struct worker {
    pk_pool  *pool;
    pthread_t thread;
    int32_t   number;
} worker;

struct pk_pool {
    _Alignas(64) atomic_ullong word; /* own cache lines: all threads watch these */
    _Alignas(64) atomic_int done;    /* tasks of this region that are finished */
    _Alignas(64) pk_pool_task *task; /* written before the word, read after a claim */
    void                   *context;
    _Atomic(pk_pool_idle *) idle;         /* or NULL */
    void                   *idle_context; /* written before it */
    int32_t                 threads, started;
    atomic_int              active; /* threads that take tasks now, the caller's included */
    worker                 *workers;
    pthread_mutex_t         lock;
    pthread_cond_t          wake;
    atomic_int              sleepers;
    atomic_bool             stop;
};

static inline void relax(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static uint64_t region_of(uint64_t word) { return word >> 32; }
static int32_t  tasks_of(uint64_t word) { return (int32_t)(word >> 16 & 0xffff); }
static int32_t  next_of(uint64_t word) { return (int32_t)(word & 0xffff); }

/* Claims and does tasks until none is left. The limit is read after the word, so a thread that
 * sees a region also sees the limit it was started under, however late the thread comes. */
static void work(pk_pool *pool, int32_t number) {
    unsigned long long word = atomic_load_explicit(&pool->word, memory_order_acquire);
    while (next_of(word) < tasks_of(word) && number < atomic_load(&pool->active)) {
        if (!atomic_compare_exchange_weak_explicit(&pool->word, &word, word + 1,
                                                   memory_order_acq_rel, memory_order_acquire))
            continue;
        pool->task(pool->context, next_of(word), number);
        atomic_fetch_add_explicit(&pool->done, 1, memory_order_release);
        word = atomic_load_explicit(&pool->word, memory_order_acquire);
    }
}

/* a little of the idle work, or a pause of the processor */
static void idle_once(pk_pool *pool, int32_t number) {
    pk_pool_idle *idle = atomic_load_explicit(&pool->idle, memory_order_acquire);
    if (!idle || !idle(pool->idle_context, number)) relax();
}

static bool anything_new(pk_pool *pool, uint64_t seen) {
    return region_of(atomic_load(&pool->word)) != seen || atomic_load(&pool->stop);
}

/* a worker without work uses no processor time */
static void sleep_until_new(pk_pool *pool, uint64_t seen) {
    pthread_mutex_lock(&pool->lock);
    /* It counts itself before its last look at the word. The caller sets the word before it looks
     * at the count. So one of the two sees the other, and no wake-up is lost. */
    atomic_fetch_add(&pool->sleepers, 1);
    while (!anything_new(pool, seen)) pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

/* Waits for a region other than `seen`: first spinning, then giving way to other threads, then
 * asleep. */
static void wait_for_region(pk_pool *pool, uint64_t seen, int32_t number) {
    for (int spin = 0; spin < EAGER_SPINS; spin++) {
        if (anything_new(pool, seen)) return;
        idle_once(pool, number);
    }
    const double start = pk_clock_now();
    while (pk_clock_now() - start < IDLE_SECONDS) {
        for (int spin = 0; spin < LOOK_AT_CLOCK; spin++) {
            if (anything_new(pool, seen)) return;
            relax();
        }
        sched_yield();
    }
    sleep_until_new(pool, seen);
}

/* seen: the last region that this worker took part in */
static void *worker_main(void *argument) {
    const worker *self = argument;
    uint64_t      seen = 0;
    while (!atomic_load(&self->pool->stop)) {
        wait_for_region(self->pool, seen, self->number);
        seen = region_of(atomic_load(&self->pool->word));
        work(self->pool, self->number);
    }
    return NULL;
}

void pk_pool_dispatch(pk_pool *pool, pk_pool_task *task, void *context, int32_t n) {
    if (n <= 1 || pk_pool_threads(pool) == 1) {
        for (int32_t i = 0; i < n; i++) task(context, i, 0);
        return;
    }
    /* task and context are written before the word: a worker that claims a task sees both */
    const uint64_t region = (region_of(atomic_load(&pool->word)) + 1) & 0xffffffff;
    pool->task = task;
    pool->context = context;
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    atomic_store(&pool->word, region << 32 | (uint64_t)n << 16 | 1); /* task 0 is the caller's */
    if (atomic_load(&pool->sleepers) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
    task(context, 0, 0);
    work(pool, 0);
    for (int spin = 0; atomic_load_explicit(&pool->done, memory_order_acquire) < n - 1; spin++) {
        idle_once(pool, 0);
        if (spin > EAGER_SPINS) sched_yield();
    }
}

/* Worker 0 is whoever calls, so threads are counted from 1. Those that were started before a
 * failure are joined when the pool closes. */
static pk_status start(pk_pool *pool) {
    for (int32_t i = 1; i < pool->threads; i++) {
        worker *w = &pool->workers[i];
        *w = (worker){ .pool = pool, .number = i };
        const int failure = pthread_create(&w->thread, NULL, worker_main, w);
        if (failure) PK_FAIL(PK_NO_MEMORY, "cannot start thread %d: %s", i, strerror(failure));
        pool->started = i;
    }
    return PK_OK;
}

pk_status pk_pool_open(int32_t threads, pk_pool **out) {
    pk_pool  *pool;
    pk_status status;
    *out = NULL;
    PK_TRY(PK_TAKE(&pool, 1));
    pool->threads = threads;
    atomic_store(&pool->active, threads);
    if (pthread_mutex_init(&pool->lock, NULL) || pthread_cond_init(&pool->wake, NULL)) {
        pk_memory_give(pool);
        PK_FAIL(PK_NO_MEMORY, "cannot make a lock for the thread pool");
    }
    PK_GOTO(PK_TAKE(&pool->workers, (size_t)threads));
    PK_GOTO(start(pool));
    *out = pool;
    return PK_OK;
done:
    pk_pool_close(pool);
    return status;
}

void pk_pool_close(pk_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 1; i <= pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pk_memory_give(pool->workers);
    pk_memory_give(pool);
}

void pk_pool_set_idle(pk_pool *pool, pk_pool_idle *idle, void *context) {
    pool->idle_context = context;
    atomic_store_explicit(&pool->idle, idle, memory_order_release);
}

int32_t pk_pool_threads(const pk_pool *pool) { return atomic_load(&pool->active); }

void pk_pool_limit(pk_pool *pool, int32_t threads) {
    if (threads < 1) threads = 1;
    atomic_store(&pool->active, threads < pool->threads ? threads : pool->threads);
}
