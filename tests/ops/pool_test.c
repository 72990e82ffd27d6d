/* pool_test.c - the thread pool, the choice of kernels, and what happens when memory runs out. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "backend/cpu/ahead.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/pool.h"
#include "backend/list.h"
#include "base/clock.h"
#include "base/memory.h"

enum { MOST = 700 };
typedef struct tally {
    atomic_int done[MOST];
    int32_t    threads;
    atomic_int strangers;   /* tasks with a worker number that does not exist */
    int        plain[MOST]; /* written without atomics: the sanitizer watches */
} tally;

static void count_task(void *context, int32_t task, int32_t worker) {
    tally *t = context;
    t->plain[task]++;
    atomic_fetch_add(&t->done[task], 1);
    if (worker < 0 || worker >= t->threads) atomic_fetch_add(&t->strangers, 1);
}

static void dispatch_and_check(pk_pool *pool, tally *t, int32_t n) {
    memset(t->plain, 0, sizeof t->plain);
    for (int i = 0; i < MOST; i++) atomic_store(&t->done[i], 0);
    pk_pool_dispatch(pool, count_task, t, n);
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(atomic_load(&t->done[i]), i < n);
        assert_int_equal(t->plain[i], i < n);
    }
}

static void nap(double seconds) { nanosleep(&(struct timespec){ 0, (long)(seconds * 1e9) }, NULL); }

static void test_every_task_once(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 8; threads++) {
        pk_pool *pool;
        tally   *t = calloc(1, sizeof *t);
        t->threads = threads;
        assert_int_equal(pk_pool_open(threads, &pool), PK_OK);
        assert_int_equal(pk_pool_threads(pool), threads);
        for (int32_t repetition = 0; repetition < 200; repetition++)
            dispatch_and_check(pool, t, repetition * 7 % MOST);
        assert_int_equal(atomic_load(&t->strangers), 0);
        pk_pool_close(pool);
        free(t);
    }
    pk_pool_close(NULL);
}

/* regions far enough apart that the workers sleep in between */
/* however the limit changes between regions, only threads under it take tasks */
static void test_limit(void **state) {
    static tally t;
    pk_pool     *pool;
    (void)state;
    assert_int_equal(pk_pool_open(4, &pool), PK_OK);
    for (int i = 0; i < 3000; i++) {
        const int32_t limit = 1 + i % 5; /* 5 is more than there are */
        pk_pool_limit(pool, limit);
        t.threads = limit < 4 ? limit : 4;
        assert_int_equal(pk_pool_threads(pool), t.threads);
        dispatch_and_check(pool, &t, 1 + i % 40);
    }
    assert_int_equal(atomic_load(&t.strangers), 0);
    pk_pool_close(pool);
}

static void test_sleep_and_wake(void **state) {
    (void)state;
    pk_pool *pool;
    tally   *t = calloc(1, sizeof *t);
    t->threads = 3;
    assert_int_equal(pk_pool_open(3, &pool), PK_OK);
    for (int repetition = 0; repetition < 40; repetition++) {
        dispatch_and_check(pool, t, 5);
        nap(repetition % 4 ? 150e-6 : 2e-3); /* also right at the moment of falling asleep */
    }
    pk_pool_close(pool);
    free(t);
}

static double cpu_seconds(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void test_idle_uses_no_cpu(void **state) {
    (void)state;
    pk_pool *pool;
    tally   *t = calloc(1, sizeof *t);
    t->threads = 4;
    assert_int_equal(pk_pool_open(4, &pool), PK_OK);
    dispatch_and_check(pool, t, 8);
    nap(5e-3); /* they are asleep now */
    const double before = cpu_seconds();
    nap(100e-3);
    assert_true(cpu_seconds() - before < 10e-3);
    pk_pool_close(pool);
    free(t);
}

static void slow_first(void *context, int32_t task, int32_t worker) {
    if (task == 0) nap(3e-3);
    count_task(context, task, worker);
}

/* a thread that is held up does not keep the others from the remaining tasks */
static void test_uneven_tasks(void **state) {
    (void)state;
    pk_pool *pool;
    tally   *t = calloc(1, sizeof *t);
    t->threads = 2;
    assert_int_equal(pk_pool_open(2, &pool), PK_OK);
    for (int repetition = 0; repetition < 10; repetition++)
        pk_pool_dispatch(pool, slow_first, t, 20);
    for (int i = 0; i < 20; i++) assert_int_equal(atomic_load(&t->done[i]), 10);
    pk_pool_close(pool);
    free(t);
}

/* two pools in two threads do not know of each other */
static void *own_pool(void *argument) {
    pk_pool *pool;
    tally   *t = calloc(1, sizeof *t);
    (void)argument;
    t->threads = 2;
    if (pk_pool_open(2, &pool) == PK_OK)
        for (int repetition = 0; repetition < 300; repetition++)
            pk_pool_dispatch(pool, count_task, t, 3);
    pk_pool_close(pool);
    const int sum = atomic_load(&t->done[0]) + atomic_load(&t->done[1]) + atomic_load(&t->done[2]);
    free(t);
    return (void *)(intptr_t)sum;
}

typedef struct idle {
    atomic_int calls[2];
} idle;

static bool count_call(void *context, int32_t worker) {
    idle *p = context;
    atomic_fetch_add(&p->calls[worker], 1);
    return atomic_load(&p->calls[worker]) % 2; /* now and then there is nothing to do */
}

/* the other thread has task 1, which takes its time */
static void slow_second(void *context, int32_t task, int32_t worker) {
    atomic_int *started = context;
    (void)worker;
    if (task == 1) {
        atomic_store(started, 1);
        nap(2e-3);
    } else {
        for (int i = 0; i < 1000 && !atomic_load(started); i++) nap(1e-4);
    }
}

/* threads that wait for work and threads that wait for others both call it, and all tasks are
 * done */
static void test_idle(void **state) {
    pk_pool *pool;
    idle     p = { 0 };
    tally   *t = calloc(1, sizeof *t);
    (void)state;
    t->threads = 2;
    assert_int_equal(pk_pool_open(2, &pool), PK_OK);
    pk_pool_set_idle(pool, count_call, &p);
    for (int32_t repetition = 0; repetition < 20; repetition++) {
        atomic_int started = 0;
        pk_pool_dispatch(pool, slow_second, &started, 2);
        assert_true(atomic_load(&started));
        for (int32_t n = 0; n < 9; n++) dispatch_and_check(pool, t, n);
    }
    assert_true(atomic_load(&p.calls[0]) > 0);
    assert_true(atomic_load(&p.calls[1]) > 0);
    pk_pool_close(pool);
    free(t);
}

/* what follows what is learnt from one pass and known in the next; matrices that are gone do no
 * harm */
static void test_ahead(void **state) {
    pk_pool  *pool;
    pk_ahead *ahead;
    pk_weight w[3] = { { 0 } };
    void     *memory[3];
    tally    *t = calloc(1, sizeof *t);
    (void)state;
    t->threads = 2;
    for (int i = 0; i < 3; i++) {
        memory[i] = malloc(1 << 20);
        w[i] = (pk_weight){ .data = memory[i], .rows = 512, .cols = 512, .type = PK_F32 };
    }
    assert_int_equal(pk_pool_open(2, &pool), PK_OK);
    assert_int_equal(pk_ahead_open(pool, 2, &ahead), PK_OK);
    for (int pass = 0; pass < 300; pass++)
        for (int i = 0; i < 3; i++) {
            pk_ahead_record(ahead, &w[i]);
            assert_ptr_equal(pk_ahead_next(ahead), pass ? w[(i + 1) % 3].data : NULL);
            pk_ahead_record(ahead, &w[i]); /* several blocks of rows, one matrix */
            assert_ptr_equal(pk_ahead_next(ahead), pass ? w[(i + 1) % 3].data : NULL);
            assert_int_equal(pk_ahead_known(ahead), (pass ? 3 : i) << 20);   /* each counted once */
            assert_int_equal(pk_ahead_near(ahead), pass > 1 || (pass && i)); /* came before */
            if (pass == 200) free(memory[i]);
            dispatch_and_check(pool, t, 2);
        }
    pk_pool_close(pool);
    pk_ahead_close(ahead);
    pk_ahead_close(NULL);
    free(t);
}

static void test_two_pools(void **state) {
    (void)state;
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, own_pool, NULL), 0);
    for (int i = 0; i < 2; i++) {
        void *sum;
        pthread_join(thread[i], &sum);
        assert_int_equal((intptr_t)sum, 900);
    }
}

static void test_isa(void **state) {
    const pk_cpu_kernels *k;
    pk_backend            b;
    (void)state;
    assert_non_null(pk_isa_available(0));
    assert_null(pk_isa_available(-1));
    assert_null(pk_isa_available(3));
    for (int32_t i = 0; pk_isa_available(i); i++) {
        assert_int_equal(pk_isa_choose(pk_isa_available(i)->name, &k), PK_OK);
        assert_ptr_equal(k, pk_isa_available(i));
    }
    assert_int_equal(pk_isa_choose(NULL, &k), PK_OK);
    assert_ptr_equal(k, pk_isa_available(0));
    assert_int_equal(pk_isa_choose("", &k), PK_OK);
    setenv("PRONK_ISA", "sparc", 1);
    assert_int_equal(pk_backend_open("cpu", 1, PK_F32, &b), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "generic"));
    assert_non_null(strstr(pk_last_error(), "sparc"));
    unsetenv("PRONK_ISA");
}

static void test_list(void **state) {
    pk_backend b;
    (void)state;
    assert_int_equal(pk_backend_open("abacus", 1, PK_F32, &b), PK_ARGUMENT);
    assert_non_null(strstr(pk_last_error(), "cpu, ref, cuda"));
    assert_int_equal(pk_backend_open("cpu", 0, PK_F32, &b), PK_ARGUMENT);
    pk_backend_close(&b); /* zeroed: nothing to close */
    assert_int_equal(pk_backend_open("ref", 1, PK_F32, &b), PK_OK);
    assert_string_equal(b.name, "ref");
    assert_int_equal(b.status(b.self), PK_OK);
    pk_backend_close(&b);
}

/* each allocation fails in turn: a status, no leak, no crash */
static void test_out_of_memory(void **state) {
    const pk_limits limits = { 32, 64, 20, 8, 4, 1000 };
    const char     *names[] = { "cpu", "ref" };
    const int64_t   alive = pk_memory_alive();
    (void)state;
    for (int i = 0; i < 2; i++) {
        bool whole = false;
        for (int64_t n = 1; !whole; n++) {
            pk_backend b;
            pk_memory_fail_after(n);
            pk_status status = pk_backend_open(names[i], 2, PK_F32, &b);
            if (status == PK_OK) status = b.reserve(b.self, &limits);
            pk_memory_fail_after(0);
            assert_true(status == PK_OK || status == PK_NO_MEMORY);
            whole = status == PK_OK;
            pk_backend_close(&b);
            assert_int_equal(pk_memory_alive(), alive);
        }
    }
}

/* a matrix that comes again after many bytes of others is not thought to be in a cache */
static void test_ahead_far(void **state) {
    static char     memory[2][64];
    const pk_weight little = { .data = memory[0], .rows = 16, .cols = 16, .type = PK_F32 };
    pk_weight       other = { .data = memory[1], .rows = 1024, .cols = 2048, .type = PK_F32 };
    pk_pool        *pool;
    pk_ahead       *ahead;
    (void)state;
    assert_int_equal(pk_pool_open(1, &pool), PK_OK);
    assert_int_equal(pk_ahead_open(pool, 1, &ahead), PK_OK);
    for (int pass = 0; pass < 9; pass++) {
        if (pass == 5) other.rows *= 3; /* 8 MiB, then 24 */
        pk_ahead_record(ahead, &little);
        assert_int_equal(pk_ahead_near(ahead), pass > 1 && pass < 6);
        pk_ahead_record(ahead, &other);
        assert_int_equal(pk_ahead_near(ahead), pass > 0 && pass < 6);
    }
    pk_pool_close(pool);
    pk_ahead_close(ahead);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_task_once),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_sleep_and_wake),
        cmocka_unit_test(test_idle_uses_no_cpu),
        cmocka_unit_test(test_uneven_tasks),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_ahead_far),
        cmocka_unit_test(test_two_pools),
        cmocka_unit_test(test_isa),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
