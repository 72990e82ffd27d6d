/* checkpoint_test.c - a training on disk: every bit comes back, the newest good file is found,
 * damage, other trainings, full disks and kills are survived. */
#include "check.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/list.h"
#include "tiny_network.h"
#include "train/checkpoint.h"
#include "trainer_help.h"

typedef struct fixture {
    char           folder[128];
    pk_backend     on;
    pk_parameters  p;
    pk_recipe      recipe;
    pk_train_state state;
} fixture;

static void fill(float *x, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i++) x[i] = tiny_random(&seed);
}

static pk_status open_parameters(fixture *f) {
    const char *const           frozen[] = { "encoder.0.*" };
    const pk_parameters_options o = { .average = true, .seed = 1, .freeze = frozen, .n_freeze = 1 };
    const pk_config             c = tiny_config();
    return pk_parameters_open(&f->on, &c, &o, &f->p);
}

static void open_fixture(fixture *f) {
    const char *const set[] = { "output=x", "save.keep=3", "train.rate=0.001" };
    *f = (fixture){ 0 };
    snprintf(f->folder, sizeof f->folder, "/tmp/pronk_checkpoint_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    ASSERT_OK(pk_backend_open("ref", 1, PK_F32, &f->on));
    ASSERT_OK(open_parameters(f));
    ASSERT_OK(pk_recipe_read(NULL, set, 3, &f->recipe));
    fill(f->p.m, f->p.n, 11);
    fill(f->p.v, f->p.n, 12);
    fill(f->p.average, f->p.n, 13);
    f->state = (pk_train_state){ .update = 7,
                                 .batches = 14,
                                 .seconds = 1.0 / 3,
                                 .loss = 1e-300,
                                 .nll = 1234567.8901234567,
                                 .best = -27.123456789012345 };
}

static void close_fixture(fixture *f) {
    pk_parameters_close(&f->p);
    pk_backend_close(&f->on);
    pk_recipe_free(&f->recipe);
    toy_remove(f->folder);
}

static void save_as(fixture *f, int64_t update) {
    f->state.update = update;
    ASSERT_OK(pk_checkpoint_save(f->folder, &f->p, &f->state, &f->recipe));
}

static void path_of(const fixture *f, int update, char *out) {
    snprintf(out, PATH_ROOM, "%s/checkpoint-%d.safetensors", f->folder, update);
}

static bool exists(const fixture *f, int update) {
    char path[PATH_ROOM];
    path_of(f, update, path);
    return access(path, R_OK) == 0;
}

/* weights, without what lies between them */
static bool same_parameters(const pk_parameters *a, const pk_parameters *b) {
    bool same = true;
    for (size_t i = 0; i < a->n_list; i++) {
        const pk_parameter *one = &a->list[i];
        const size_t bytes = (size_t)one->rows * (size_t)one->cols * sizeof(float), at = one->first;
        same = same && memcmp(a->master + at, b->master + at, bytes) == 0;
        if (!one->learned) continue;
        same = same && memcmp(a->m + at, b->m + at, bytes) == 0 &&
               memcmp(a->v + at, b->v + at, bytes) == 0 &&
               memcmp(a->average + at, b->average + at, bytes) == 0;
    }
    return same;
}

/* ---- there and back ---- */

static void every_bit_comes_back(void **state) {
    fixture        f, g;
    pk_train_state s;
    char           path[PATH_ROOM];
    (void)state;
    open_fixture(&f);
    save_as(&f, 7);
    g = f;
    ASSERT_OK(open_parameters(&g));
    path_of(&f, 7, path);
    ASSERT_OK(pk_checkpoint_load(path, &g.p, &s, &f.recipe));
    assert_true(same_parameters(&f.p, &g.p));
#define SAME(kind, field) assert_true(s.field == f.state.field);
    PK_TRAIN_STATE_MAP(SAME)
#undef SAME
    pk_parameters_close(&g.p);
    close_fixture(&f);
}

static void only_the_newest_are_kept(void **state) {
    fixture f;
    size_t  n;
    (void)state;
    open_fixture(&f);
    for (int i = 8; i <= 12; i++) save_as(&f, i);
    ASSERT_OK(pk_checkpoint_count(f.folder, &n));
    assert_int_equal(n, 3);
    assert_true(!exists(&f, 9) && exists(&f, 10) && exists(&f, 12));
    close_fixture(&f);
}

/* ---- damage ---- */

static void resume(fixture *f, pk_status want, int64_t update, pk_buffer *said) {
    pk_train_state s = { 0 };
    bool           found;
    pk_buffer_clear(said);
    ASSERT_STATUS(want, pk_checkpoint_resume(f->folder, &f->p, &s, &f->recipe, &found, said));
    assert_true(found);
    if (want == PK_OK) assert_int_equal(s.update, update);
}

static void change_byte(const char *path, long at) {
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
    fputc(byte ^ 0x10, file);
    fclose(file);
}

static void damaged_ones_are_left_out(void **state) {
    fixture   f;
    pk_buffer said = { 0 };
    char      path[PATH_ROOM];
    (void)state;
    open_fixture(&f);
    for (int i = 1; i <= 3; i++) save_as(&f, i);
    resume(&f, PK_OK, 3, &said);
    assert_null(strstr(said.data, "left out"));
    path_of(&f, 3, path);
    change_byte(path, -4096); /* a weight */
    resume(&f, PK_OK, 2, &said);
    assert_non_null(strstr(said.data, "left out"));
    assert_non_null(strstr(said.data, "checksum"));
    assert_non_null(strstr(said.data, "going on from"));
    assert_non_null(strstr(said.data, "checkpoint-2"));
    path_of(&f, 2, path);
    assert_int_equal(truncate(path, 5000), 0);
    resume(&f, PK_OK, 1, &said);
    path_of(&f, 1, path);
    assert_int_equal(truncate(path, 0), 0);
    resume(&f, PK_FORMAT, 0, &said);
    pk_buffer_free(&said);
    close_fixture(&f);
}

/* a load that fails changes nothing */
static void failures_change_nothing(void **state) {
    fixture        f, g;
    pk_train_state s = { .update = 77 };
    char           path[PATH_ROOM];
    (void)state;
    open_fixture(&f);
    save_as(&f, 1);
    g = f;
    ASSERT_OK(open_parameters(&g));
    path_of(&f, 1, path);
    change_byte(path, -64);
    fill(f.p.master, f.p.n, 99);
    memcpy(g.p.master, f.p.master, f.p.n_all * sizeof(float));
    memcpy(g.p.m, f.p.m, f.p.n * sizeof(float));
    memcpy(g.p.v, f.p.v, f.p.n * sizeof(float));
    memcpy(g.p.average, f.p.average, f.p.n * sizeof(float));
    ASSERT_STATUS(PK_FORMAT, pk_checkpoint_load(path, &g.p, &s, &f.recipe));
    assert_true(same_parameters(&f.p, &g.p));
    assert_int_equal(s.update, 77);
    pk_parameters_close(&g.p);
    close_fixture(&f);
}

static void other_trainings_are_refused(void **state) {
    fixture   f;
    pk_buffer said = { 0 };
    (void)state;
    open_fixture(&f);
    save_as(&f, 1);
    f.recipe.dim = 256;
    resume(&f, PK_ARGUMENT, 0, &said);
    assert_non_null(strstr(pk_last_error(), "model.dim"));
    f.recipe.dim = 512;
    f.recipe.patience = 9; /* may change */
    resume(&f, PK_OK, 1, &said);
    f.p.net.config.epsilon *= 2;
    resume(&f, PK_ARGUMENT, 0, &said);
    pk_buffer_free(&said);
    close_fixture(&f);
}

/* ---- disks and kills ---- */

static void a_full_disk_leaves_the_last_good_one(void **state) {
    fixture       f;
    struct rlimit before, small;
    size_t        n;
    pk_buffer     said = { 0 };
    (void)state;
    open_fixture(&f);
    save_as(&f, 1);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 20000; /* files end here, as on a full disk */
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    f.state.update = 2;
    const pk_status status = pk_checkpoint_save(f.folder, &f.p, &f.state, &f.recipe);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, PK_IO);
    assert_non_null(strstr(pk_last_error(), "checkpoint-2"));
    ASSERT_OK(pk_checkpoint_count(f.folder, &n));
    assert_int_equal(n, 1);
    resume(&f, PK_OK, 1, &said);
    pk_buffer_free(&said);
    close_fixture(&f);
}

/* a process that saves over and over is killed again and again */
static void a_kill_at_any_moment(void **state) {
    fixture   f;
    pk_buffer said = { 0 };
    size_t    n;
    (void)state;
    open_fixture(&f);
    save_as(&f, 1);
    for (int repetition = 0; repetition < 12; repetition++) {
        const pid_t child = fork();
        if (child == 0) {
            for (int64_t i = 2;; i++) {
                f.state.update = i;
                pk_checkpoint_save(f.folder, &f.p, &f.state, &f.recipe);
            }
        }
        usleep(3000 + 1700 * (useconds_t)repetition);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        bool           found;
        pk_train_state s = { 0 };
        pk_buffer_clear(&said);
        ASSERT_OK(pk_checkpoint_resume(f.folder, &f.p, &s, &f.recipe, &found, &said));
        assert_true(found && s.update >= 1);
        assert_null(strstr(said.data, "left out")); /* what is there is whole */
        ASSERT_OK(pk_checkpoint_count(f.folder, &n));
        assert_in_range(n, 1, 4); /* one more than are kept, at worst */
    }
    pk_buffer_free(&said);
    close_fixture(&f);
}

static void nothing_there_is_no_failure(void **state) {
    fixture        f;
    pk_train_state s = { 0 };
    pk_buffer      said = { 0 };
    bool           found = true;
    size_t         n = 1;
    (void)state;
    open_fixture(&f);
    ASSERT_OK(pk_checkpoint_resume(f.folder, &f.p, &s, &f.recipe, &found, &said));
    assert_false(found);
    ASSERT_OK(pk_checkpoint_count("/nowhere/at/all", &n));
    assert_int_equal(n, 0);
    pk_buffer_free(&said);
    close_fixture(&f);
}

static pk_status save_and_load(void *user) {
    fixture       *f = user;
    pk_train_state s;
    pk_buffer      said = { 0 };
    bool           found;
    pk_status      status = pk_checkpoint_save(f->folder, &f->p, &f->state, &f->recipe);
    if (status == PK_OK)
        status = pk_checkpoint_resume(f->folder, &f->p, &s, &f->recipe, &found, &said);
    pk_buffer_free(&said);
    return status;
}

static void failed_allocations(void **state) {
    fixture f;
    (void)state;
    open_fixture(&f);
    assert_true(check_every_allocation(save_and_load, &f) > 20);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_comes_back),
        cmocka_unit_test(only_the_newest_are_kept),
        cmocka_unit_test(damaged_ones_are_left_out),
        cmocka_unit_test(failures_change_nothing),
        cmocka_unit_test(other_trainings_are_refused),
        cmocka_unit_test(a_full_disk_leaves_the_last_good_one),
        cmocka_unit_test(a_kill_at_any_moment),
        cmocka_unit_test(nothing_there_is_no_failure),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
