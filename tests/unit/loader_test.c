/* loader_test.c - batches: every pair in its turn, within budget, the same on every run. */
#include "data/loader.h"

#include "data_help.h"

#include "base/clock.h"
#include "data/batches.h"

enum { N_PAIRS = 3000, BUDGET = 300, LONGEST = 60 };
static tiny_vocab tiny;
static char       source[256], target[256], cache[256];

static int open_all(void **state) {
    if (make_scratch(state) != 0) return -1;
    tiny_vocab_open(&tiny);
    strcpy(source, write_sentences("s", N_PAIRS, 16, 1));
    strcpy(target, write_sentences("t", N_PAIRS, 16, 2));
    strcpy(cache, in_scratch("cache"));
    return 0;
}

static int close_all(void **state) {
    tiny_vocab_close(&tiny);
    return remove_scratch(state);
}

static pk_loader_options options_of(const pk_corpus_files *files, size_t n) {
    return (pk_loader_options){ .corpus = files,
                                .n_corpora = n,
                                .cache = cache,
                                .source_language = "",
                                .target_language = "",
                                .max_length = LONGEST,
                                .batch_tokens = BUDGET,
                                .seed = 7,
                                .threads = 2 };
}

static pk_loader *loader_of(const pk_loader_options *o) {
    pk_loader *l;
    ASSERT_OK(pk_loader_open(o, tiny.vocab, &l));
    return l;
}

static uint64_t hash_of(uint64_t hash, const int32_t *id, int32_t n) {
    for (int32_t i = 0; i < n; i++) hash = (hash ^ (uint32_t)id[i]) * 0x100000001b3u;
    return hash;
}

/* everything a batch says, as one number */
static uint64_t hash_batch(const pk_batch *b) {
    uint64_t hash = hash_of(14695981039346656037u, &b->n, 1);
    hash = hash_of(hash, b->source_first, b->n + 1);
    hash = hash_of(hash, b->target_first, b->n + 1);
    hash = hash_of(hash, b->source, b->source_first[b->n]);
    return hash_of(hash, b->target, b->target_first[b->n]);
}

static void assert_within(const pk_batch *b, int32_t budget) {
    assert_true(b->n >= 1);
    assert_int_equal(b->source_first[0], 0);
    assert_int_equal(b->target_first[0], 0);
    assert_true(b->source_first[b->n] + b->n <= budget);
    assert_true(b->target_first[b->n] + b->n <= budget);
    for (int32_t i = 0; i < b->n; i++) {
        const int32_t n_source = b->source_first[i + 1] - b->source_first[i];
        const int32_t n_target = b->target_first[i + 1] - b->target_first[i];
        assert_true(n_source >= 1 && n_source <= LONGEST);
        assert_true(n_target >= 1 && n_target <= LONGEST);
    }
}

/* which line a sentence is: the number it begins with, read back from its ids */
static size_t line_of(const pk_batch *b, int32_t i) {
    pk_buffer text = { 0 };
    ASSERT_OK(pk_vocab_decode(tiny.vocab, b->target + b->target_first[i],
                              (size_t)(b->target_first[i + 1] - b->target_first[i]), &text));
    const size_t line = read_number(text.data);
    pk_buffer_free(&text);
    return line;
}

static size_t count_kept(const pk_loader *l) {
    const char *kept = strstr(pk_loader_report(l), "read\n");
    assert_non_null(kept);
    return (size_t)strtoul(kept + 5, NULL, 10);
}

/* Batches until the epoch is over; adds to count[] (by line) where it is not NULL. */
static size_t run_epoch(pk_loader *l, int *count) {
    const double end = (double)(int64_t)pk_loader_epoch(l) + 1;
    size_t       n = 0;
    while (pk_loader_epoch(l) < end) {
        pk_batch b;
        ASSERT_OK(pk_loader_next(l, &b));
        assert_within(&b, BUDGET);
        for (int32_t i = 0; count && i < b.n; i++) count[line_of(&b, i)]++;
        n += (size_t)b.n;
    }
    return n;
}

static void test_every_pair_once_an_epoch(void **state) {
    (void)state;
    const pk_loader_options o = options_of(&(pk_corpus_files){ source, target, 1 }, 1);
    pk_loader              *l = loader_of(&o);
    const size_t            n = count_kept(l);
    assert_true(n > N_PAIRS / 2);
    for (int epoch = 0; epoch < 3; epoch++) {
        static int count[N_PAIRS];
        memset(count, 0, sizeof count);
        assert_int_equal(run_epoch(l, count), n);
        for (int i = 0; i < N_PAIRS; i++) assert_true(count[i] <= 1);
    }
    pk_loader_close(l);
}

static void test_weights(void **state) {
    (void)state;
    static int              count[N_PAIRS];
    const pk_corpus_files   half = { source, target, 0.5 };
    const pk_loader_options o = options_of(&half, 1);
    pk_loader              *l = loader_of(&o);
    const size_t            n = count_kept(l);
    for (int epoch = 0; epoch < 2; epoch++) { /* two epochs of one half each are all of it */
        memset(count, 0, sizeof count);
        const size_t first = run_epoch(l, count), second = run_epoch(l, count);
        assert_int_equal(first, (n + 1) / 2);
        assert_int_equal(first + second, n);
        for (int i = 0; i < N_PAIRS; i++) assert_true(count[i] <= 1);
    }
    pk_loader_close(l);
    const pk_corpus_files   files[2] = { { source, target, 2 }, { target, source, 0.25 } };
    const pk_loader_options both = options_of(files, 2);
    l = loader_of(&both);
    assert_int_equal(run_epoch(l, NULL), 2 * n + (count_kept(l) + 2) / 4);
    pk_loader_close(l);
}

enum { N_HASHES = 200 };
static void hash_batches(const pk_loader_options *o, uint64_t *hash, size_t n) {
    pk_loader *l = loader_of(o);
    for (size_t i = 0; i < n; i++) {
        pk_batch b;
        ASSERT_OK(pk_loader_next(l, &b));
        assert_within(&b, o->batch_tokens);
        hash[i] = hash_batch(&b);
    }
    pk_loader_close(l);
}

static void test_the_same_again(void **state) {
    (void)state;
    static uint64_t hash[N_HASHES], again[N_HASHES];
    char            other[256];
    for (int sampled = 0; sampled < 2; sampled++) {
        pk_loader_options o = options_of(&(pk_corpus_files){ source, target, 1 }, 1);
        o.sampling = sampled ? 0.3f : 0;
        hash_batches(&o, hash, N_HASHES);
        strcpy(other, in_scratch(sampled ? "other1" : "other0"));
        o.cache = other; /* all is made anew, on other threads */
        o.threads = 5;
        hash_batches(&o, again, N_HASHES);
        assert_memory_equal(hash, again, sizeof hash);
        o.seed = 8;
        hash_batches(&o, again, N_HASHES);
        int equal = 0;
        for (int i = 0; i < N_HASHES; i++) equal += hash[i] == again[i];
        assert_true(equal < 3);
    }
}

static void test_seek(void **state) {
    (void)state;
    static uint64_t hash[N_HASHES];
    for (int sampled = 0; sampled < 2; sampled++) {
        pk_loader_options o = options_of(&(pk_corpus_files){ source, target, 0.3 }, 1);
        o.sampling = sampled ? 0.3f : 0;
        hash_batches(&o, hash, N_HASHES);
        pk_loader       *l = loader_of(&o);
        static const int to[] = { 150, 3, 0, 199, 40, 41, 120 };
        for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
            ASSERT_OK(pk_loader_seek(l, (uint64_t)to[i]));
            const double position = pk_loader_epoch(l);
            pk_batch     b;
            for (int k = to[i]; k < to[i] + 12 && k < N_HASHES; k++) {
                ASSERT_OK(pk_loader_next(l, &b));
                assert_true(hash_batch(&b) == hash[k]);
            }
            assert_true(pk_loader_epoch(l) > position);
        }
        pk_loader_close(l);
    }
}

static void test_ranks_share_the_sequence(void **state) {
    (void)state;
    enum { RANKS = 3 };
    static uint64_t   hash[N_HASHES];
    pk_loader_options o = options_of(&(pk_corpus_files){ source, target, 0.3 }, 1);
    hash_batches(&o, hash, N_HASHES);
    for (uint64_t rank = 0; rank < RANKS; rank++) {
        o.first = rank, o.step = RANKS;
        pk_loader *l = loader_of(&o);
        pk_batch   b;
        for (uint64_t i = rank; i < N_HASHES; i += RANKS) {
            ASSERT_OK(pk_loader_next(l, &b));
            assert_true(hash_batch(&b) == hash[i]);
        }
        ASSERT_OK(pk_loader_seek(l, 5));
        ASSERT_OK(pk_loader_next(l, &b));
        assert_true(hash_batch(&b) == hash[rank + 5 * RANKS]);
        pk_loader_close(l);
    }
}

static void test_epochs_differ(void **state) {
    (void)state;
    pk_loader_options o = options_of(&(pk_corpus_files){ source, target, 1 }, 1);
    pk_loader        *l = loader_of(&o);
    uint64_t          hash[2][1000];
    size_t            n[2] = { 0, 0 };
    double            before = 0;
    assert_true(pk_loader_epoch(l) == 0);
    while (pk_loader_epoch(l) < 2) {
        pk_batch  b;
        const int epoch = (int)pk_loader_epoch(l);
        ASSERT_OK(pk_loader_next(l, &b));
        hash[epoch][n[epoch]++] = hash_batch(&b);
        assert_true(pk_loader_epoch(l) > before);
        before = pk_loader_epoch(l);
    }
    assert_true(pk_loader_epoch(l) == 2);
    size_t equal = 0;
    for (size_t i = 0; i < n[0]; i++)
        for (size_t k = 0; k < n[1]; k++) equal += hash[0][i] == hash[1][k];
    print_message("%zu and %zu batches, %zu alike\n", n[0], n[1], equal);
    assert_true(n[0] > 50 && equal < n[0] / 20);
    pk_loader_close(l);
}

static void test_in_order(void **state) {
    (void)state;
    static const char *const line[] = { "the sea", "old ship", "here", "a ship and the sea" };
    char                     small[256];
    strcpy(small, write_text("small", "the sea\nold ship\n\nhere\na ship and the sea\n"));
    const pk_corpus_files files = { small, small, 0 };
    pk_loader_options     o = options_of(&files, 1);
    o.in_order = true, o.max_length = 25, o.batch_tokens = 26;
    pk_loader *l = loader_of(&o);
    size_t     at = 0;
    pk_batch   b;
    pk_status  status;
    while ((status = pk_loader_next(l, &b)) == PK_OK)
        for (int32_t i = 0; i < b.n; i++, at++) {
            pk_ids ids = { 0 };
            assert_true(at < 4);
            ASSERT_OK(pk_vocab_encode_source(tiny.vocab, line[at], strlen(line[at]), &ids, NULL));
            assert_int_equal(ids.n, b.source_first[i + 1] - b.source_first[i]);
            assert_memory_equal(ids.id, b.source + b.source_first[i], ids.n * sizeof *ids.id);
            pk_ids_free(&ids);
        }
    assert_int_equal(status, PK_CANCELLED);
    assert_int_equal(at, 4);
    ASSERT_STATUS(PK_CANCELLED, pk_loader_next(l, &b)); /* and so for ever */
    ASSERT_OK(pk_loader_seek(l, 0));
    ASSERT_OK(pk_loader_next(l, &b));
    ASSERT_OK(pk_loader_seek(l, 1000));
    ASSERT_STATUS(PK_CANCELLED, pk_loader_next(l, &b));
    pk_loader_close(l);
}

static void assert_refused(pk_loader_options o, pk_status status, const char *says) {
    pk_loader *l;
    ASSERT_STATUS(status, pk_loader_open(&o, tiny.vocab, &l));
    assert_null(l);
    if (!strstr(pk_last_error(), says)) fail_msg("\"%s\" says not \"%s\"", pk_last_error(), says);
}

static void test_bad_options(void **state) {
    (void)state;
    const pk_corpus_files   files = { source, target, 1 };
    const pk_loader_options good = options_of(&files, 1);
    pk_loader_options       o = good;
    o.batch_tokens = LONGEST;
    assert_refused(o, PK_ARGUMENT, "data.batch_tokens is 60");
    o = good, o.max_length = 70000, o.batch_tokens = 100000;
    assert_refused(o, PK_ARGUMENT, "data.max_length");
    o = good, o.n_corpora = 0;
    assert_refused(o, PK_ARGUMENT, "no data");
    o = good, o.check_language = true;
    assert_refused(o, PK_ARGUMENT, "from and to");
    o = good, o.corpus = &(pk_corpus_files){ source, target, -1 };
    assert_refused(o, PK_ARGUMENT, "data.weight");
    o = good, o.corpus = &(pk_corpus_files){ source, target, 0 };
    assert_refused(o, PK_ARGUMENT, "data.weight");
    o = good, o.max_length = 1;
    assert_refused(o, PK_FORMAT, "left none; 3000 of them: too long");
}

/* a damaged cache is found by the thread and reported by pk_loader_next, every time */
static void test_failure_in_the_thread(void **state) {
    (void)state;
    char other[300];
    snprintf(other, sizeof other, "%s/damaged", scratch);
    pk_loader_options o = options_of(&(pk_corpus_files){ source, target, 1 }, 1);
    o.cache = other;
    pk_loader_close(loader_of(&o));
    char command[700];
    snprintf(command, sizeof command,
             "for f in %s/*.corpus; do head -c 20000 /dev/zero | tr '\\0' '\\377' | "
             "dd of=$f conv=notrunc status=none; done",
             other);
    assert_int_equal(system(command), 0);
    pk_loader *l = loader_of(&o);
    pk_batch   b;
    pk_status  status = PK_OK;
    for (int i = 0; i < 1000 && status == PK_OK; i++) status = pk_loader_next(l, &b);
    assert_int_equal(status, PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "damaged"));
    ASSERT_STATUS(PK_FORMAT, pk_loader_next(l, &b));
    pk_loader_close(l);
}

static pk_status load_attempt(void *user) {
    pk_loader *l;
    pk_batch   b;
    PK_TRY(pk_loader_open(user, tiny.vocab, &l));
    pk_status status = PK_OK;
    for (int i = 0; i < 12 && status == PK_OK; i++) status = pk_loader_next(l, &b);
    if (status == PK_OK) status = pk_loader_seek(l, 30);
    if (status == PK_OK) status = pk_loader_next(l, &b);
    pk_loader_close(l);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    char few[256];
    strcpy(few, write_sentences("few", 100, 16, 3));
    for (int sampled = 0; sampled < 2; sampled++) {
        pk_loader_options o = options_of(&(pk_corpus_files){ few, few, 0.9 }, 1);
        o.check_language = true;
        o.source_language = "en", o.target_language = "en";
        o.sampling = sampled ? 0.3f : 0;
        assert_true(check_every_allocation(load_attempt, &o) > 20);
    }
}

/* what sampling is for: the same sentence comes in different pieces, which say the same */
static void test_sampling(void **state) {
    (void)state;
    pk_loader_options o = options_of(&(pk_corpus_files){ source, target, 1 }, 1);
    static int        count[N_PAIRS];
    o.sampling = 0.2f;
    pk_loader   *l = loader_of(&o);
    const size_t n = count_kept(l);
    assert_int_equal(run_epoch(l, count), n); /* also: budgets */
    for (int i = 0; i < N_PAIRS; i++) assert_true(count[i] <= 1);
    int64_t tokens = 0, rows = 0, batches = 0;
    while (pk_loader_epoch(l) < 2) {
        pk_batch b;
        ASSERT_OK(pk_loader_next(l, &b));
        tokens += b.target_first[b.n];
        rows += b.target_first[b.n] + b.n;
        batches++;
    }
    const char *best = strstr(pk_loader_report(l), "target tokens");
    while (best[-1] != '\n') best--;
    print_message("%lld target tokens sampled, %ld at best; fill %.3f\n", (long long)tokens,
                  strtol(best, NULL, 10), (double)rows / (double)(batches * BUDGET));
    assert_true(tokens > strtol(best, NULL, 10));
    pk_loader_close(l);
}

/* three million pairs, planned in about a second */
static void test_planning_is_fast(void **state) {
    (void)state;
    enum { MANY = 3000000 };
    uint64_t *first = malloc((2 * (size_t)MANY + 1) * sizeof *first), random = 1;
    first[0] = 0;
    for (size_t i = 0; i < MANY; i++) {
        const uint32_t n = 1 + next_random(&random) % 40;
        first[2 * i + 1] = first[2 * i] + n;
        first[2 * i + 2] = first[2 * i + 1] + n / 2 + 1 + next_random(&random) % 9;
    }
    const pk_corpus             corpus = { .n = MANY, .first = first };
    const pk_batch_plan_options o = { .corpus = &corpus,
                                      .weight = &(double){ 1 },
                                      .n_corpora = 1,
                                      .max_length = 100,
                                      .batch_tokens = 25000,
                                      .seed = 3,
                                      .stretch = 1 };
    pk_batch_plan               p = { 0 };
    const double                began = pk_clock_now();
    ASSERT_OK(pk_batch_plan_make(&p, &o, 0));
    const double   took = pk_clock_now() - began;
    unsigned char *seen = calloc(MANY, 1);
    size_t         rows[2] = { 0, 0 };
    for (size_t i = 0; i < p.n_batches; i++) {
        size_t            n, used[2] = { 0, 0 };
        const pk_planned *pair = pk_batch_plan_batch(&p, i, &n);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(seen[pair[k].pair]++, 0);
            for (int side = 0; side < 2; side++) used[side] += (size_t)pair[k].length[side] + 1;
        }
        assert_true(used[0] <= 25000 && used[1] <= 25000);
        rows[0] += used[0], rows[1] += used[1];
    }
    assert_int_equal(p.n, MANY);
    print_message("planned in %.2f s; %zu batches, source %.3f full, target %.3f\n", took,
                  p.n_batches, (double)rows[0] / 25000 / (double)p.n_batches,
                  (double)rows[1] / 25000 / (double)p.n_batches);
    pk_batch_plan_free(&p);
    free(seen);
    free(first);
}

/* memory is planned for what there is, where that is less than the budget */
static void test_most(void **state) {
    enum { ALL = 1 << 20 };
    int32_t  rows[2], sentences;
    pk_batch b;
    (void)state;
    pk_loader_options o = options_of(&(pk_corpus_files){ source, target, 1 }, 1);
    pk_loader        *l = loader_of(&o);
    pk_loader_most(l, &rows[0], &rows[1], &sentences);
    assert_int_equal(rows[0], BUDGET);
    assert_int_equal(rows[1], BUDGET);
    assert_int_equal(sentences, BUDGET / 2);
    pk_loader_close(l);
    o.batch_tokens = ALL;
    l = loader_of(&o);
    pk_loader_most(l, &rows[0], &rows[1], &sentences);
    ASSERT_OK(pk_loader_next(l, &b)); /* all of it is one batch */
    assert_int_equal(sentences, b.n);
    assert_int_equal(rows[0], b.source_first[b.n] + b.n);
    assert_int_equal(rows[1], b.target_first[b.n] + b.n);
    pk_loader_close(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_most),
        cmocka_unit_test(test_every_pair_once_an_epoch),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_the_same_again),
        cmocka_unit_test(test_seek),
        cmocka_unit_test(test_ranks_share_the_sequence),
        cmocka_unit_test(test_epochs_differ),
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_failure_in_the_thread),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_planning_is_fast),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
