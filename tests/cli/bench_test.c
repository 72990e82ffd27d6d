/* bench_test.c - the arithmetic of the bench, its report, and tables. */
#include "cli_stubs.h"

#include "../../cli/bandwidth.c"
#include "../../cli/bench.c"
#include "../../cli/bench_cases.c"
#include "../../cli/bench_process.c"
#include "../../cli/bench_report.c"
#include "../../cli/inputs.c"
#include "../../cli/lines.c"
#include "../../cli/progress.c"
#include "../../cli/table.c"

int pk_cli_fail_status(const pk_cli *c, pk_status status) { return (void)c, (int)status; }

/* no model is opened here: a path stands for it, and "broken" for none */
static int n_opened;
int        pk_cli_open_model(const pk_cli *c, const char *path, pk_model **model) {
           (void)c;
           *model = (pk_model *)(uintptr_t)path;
           n_opened++;
           return strcmp(path, "broken") ? 0 : PK_EXIT_FAILED;
}
static pk_cli_models served; /* by the last translator that was opened */
int pk_cli_open_translator(const pk_cli *c, const pk_cli_models *models, const char *decode,
                           pk_translator **out) {
    static pk_model *model;
    (void)c, (void)decode, (void)out;
    model = models->model[0];
    served = (pk_cli_models){ &model, models->n, models->drafter };
    return 0;
}

/* runs `body` with standard output going to *text, which the caller frees */
#define CAPTURE(text, body)                 \
    do {                                    \
        size_t n_;                          \
        FILE  *kept_ = stdout;              \
        stdout = open_memstream(text, &n_); \
        body;                               \
        fclose(stdout);                     \
        stdout = kept_;                     \
    } while (0)

static void percentiles_are_nearest_ranks(void **state) {
    double list[100];
    (void)state;
    for (int i = 0; i < 100; i++) list[i] = i + 1;
    assert_true(percentile(list, 100, 0.50) == 50);
    assert_true(percentile(list, 100, 0.95) == 95);
    assert_true(percentile(list, 100, 0.99) == 99);
    assert_true(percentile(list, 100, 1.00) == 100);
    assert_true(percentile(list, 1, 0.50) == 1);
    assert_true(percentile(list, 3, 0.01) == 1);
    assert_true(percentile(list, 0, 0.50) == 0);
}

static void words_lie_between_spaces(void **state) {
    (void)state;
    assert_int_equal(count_words(&(pk_text){ "", 0 }), 0);
    assert_int_equal(count_words(&(pk_text){ "  ", 2 }), 0);
    assert_int_equal(count_words(&(pk_text){ " one  two\tthree ", 16 }), 3);
    assert_int_equal(count_words(&(pk_text){ "Ümläut ß", 11 }), 2);
}

/* whatever a translator reports, each line of a call gets one latency, and no more */
static void latencies_are_one_a_line(void **state) {
    double latency[8] = { 0 };
    runner j = { .latency = latency, .n_latency = 2, .most_latency = 6 };
    (void)state;
    record_latency(&j, 0, 4);
    assert_int_equal(j.n_latency, 2);
    record_latency(&j, 3, 4);
    assert_int_equal(j.n_latency, 5);
    record_latency(&j, 1, 100); /* many more sentences than lines */
    assert_int_equal(j.n_latency, 5);
    record_latency(&j, 9, 4);
    assert_int_equal(j.n_latency, 6);
    record_latency(&j, 4, 4);
    assert_int_equal(j.n_latency, 6);
    assert_true(latency[6] == 0);
}

/* a block is a line, all lines, or a few batches: see --interleave */
static void blocks_follow_the_batch(void **state) {
    pk_cli c = { .batch = 1 };
    job    j = { .c = &c, .b.lines = 1000 };
    (void)state;
    assert_int_equal(block_of(&j), 1);
    c.interleave = true;
    assert_int_equal(block_of(&j), 1);
    c.batch = 32;
    assert_int_equal(block_of(&j), 8 * 32);
    c.batch = 512; /* no more than there are */
    assert_int_equal(block_of(&j), 1000);
    c.interleave = false;
    c.batch = 32;
    assert_int_equal(block_of(&j), 1000);
}

/* a draft for all cases, one for each, none; never two for three */
static void drafts_are_for_all_or_for_each(void **state) {
    pk_cli_case cases[] = { { "greedy", "m", NULL }, { "jacobi", "m", NULL }, { "pj", "m", NULL } };
    const char *draft[] = { "", "/no/such/file", "" };
    pk_cli      c = { .repeat = 1, .cases = { cases, 3 }, .drafts = { draft, 1 } };
    job         j = { .c = &c };
    (void)state;
    assert_int_equal(prepare(&j), 0);
    assert_int_equal(open_drafts(&j), 0);
    for (size_t i = 0; i < 3; i++) assert_int_equal(j.runners[i].draft.n, 0);
    free_all(&j);
    c.drafts.n = 3;
    j = (job){ .c = &c };
    assert_int_equal(prepare(&j), 0);
    assert_string_equal(j.b.cases[1].draft, "/no/such/file");
    assert_int_equal(open_drafts(&j), PK_EXIT_FAILED);
    free_all(&j);
    c.drafts.n = 2;
    j = (job){ .c = &c };
    assert_int_equal(prepare(&j), 0);
    assert_int_equal(open_drafts(&j), PK_EXIT_USAGE);
    free_all(&j);
}

/* a --decode has the last model and drafter before it; "" is none; before the first it has that */
static void cases_have_what_comes_before_them(void **state) {
    pk_cli_case given[] = {
        { "a", NULL, NULL }, { "b", "one", NULL }, { "c", "two", "small" }, { "d", "two", "" }
    };
    pk_cli c = { .model = given[3].model, .drafter = given[3].drafter, .cases = { given, 4 } };
    pk_bench_case k[4] = { 0 };
    (void)state;
    assert_int_equal(pk_bench_check_cases(&c), 0);
    assert_int_equal(pk_bench_count_cases(&c), 4);
    pk_bench_read_cases(&c, k);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(k[i].decode, given[i].decode);
        assert_string_equal(k[i].model, i < 2 ? "one" : "two");
        assert_ptr_equal(k[i].drafter, i == 2 ? given[2].drafter : NULL);
    }
    assert_true(pk_bench_same_model(&k[0], &k[1]) && !pk_bench_same_model(&k[0], &k[2]));
    c.cases.n = 1; /* --decode a --model two */
    assert_int_equal(pk_bench_check_cases(&c), 0);
    pk_bench_read_cases(&c, k);
    assert_string_equal(k[0].model, "two");
    c.cases.n = 0;
    assert_int_equal(pk_bench_check_cases(&c), 0);
    assert_int_equal(pk_bench_count_cases(&c), 1);
    pk_bench_read_cases(&c, k);
    assert_string_equal(k[0].decode, "greedy");
    assert_string_equal(k[0].model, "two");
}

static void a_model_that_serves_nothing_is_refused(void **state) {
    pk_cli_case given[] = { { "a", "one", NULL } };
    pk_cli      c = { .model = "two", .cases = { given, 1 } };
    (void)state;
    assert_int_equal(pk_bench_check_cases(&c), PK_EXIT_USAGE);
    assert_non_null(strstr(message, "no --decode follows --model two"));
    c.model = given[0].model;
    c.drafter = "small";
    assert_int_equal(pk_bench_check_cases(&c), PK_EXIT_USAGE);
    assert_non_null(strstr(message, "no --decode follows --drafter small"));
    c.drafter = "";
    assert_int_equal(pk_bench_check_cases(&c), 0);
}

/* a model of several cases is opened once, and one that cannot be is refused */
static void models_are_opened_once(void **state) {
    pk_bench_case   k[] = { { .model = "one" },
                            { .model = "two", .drafter = "one" },
                            { .model = "two" },
                            { .model = "one", .drafter = "broken" } };
    pk_bench_models models = { 0 };
    pk_translator  *t;
    pk_cli          c = { 0 };
    (void)state;
    n_opened = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pk_bench_open_models(&c, &models, &k[i]), 0);
        assert_int_equal(pk_bench_open_case(&c, &models, &k[i], &t), 0);
        assert_ptr_equal(served.model[0], k[i].model);
        assert_int_equal(served.n, 1);
        assert_ptr_equal(served.drafter, i == 1 ? k[0].model : NULL);
    }
    assert_int_equal(n_opened, 2);
    assert_int_equal(pk_bench_open_case(&c, &models, &k[3], &t), PK_EXIT_FAILED);
    free(models.item);
}

static void statistics_are_of_the_runs_alone(void **state) {
    pk_stats before = { .sentences = 10,
                        .passes = 100,
                        .target_tokens = 50,
                        .probe_passes = 3,
                        .flops = 1000,
                        .draft_flops = 10,
                        .pass_seconds = 2,
                        .draft_seconds = 1 };
    pk_stats after = { .sentences = 30,
                       .passes = 160,
                       .target_tokens = 80,
                       .probe_passes = 5,
                       .repaired = 1,
                       .decoder_weight_bytes = 7,
                       .flops = 1500,
                       .draft_flops = 30,
                       .pass_seconds = 5,
                       .draft_seconds = 1.5,
                       .draft_weight_bytes = 3 };
    (void)state;
    before.seconds[PK_MODULE_FFN] = 1;
    after.seconds[PK_MODULE_FFN] = 1.5;
    subtract(&after, &before);
    assert_int_equal(after.sentences, 20);
    assert_int_equal(after.passes, 60);
    assert_int_equal(after.target_tokens, 30);
    assert_int_equal(after.probe_passes, 2);
    assert_int_equal(after.decoder_weight_bytes, 7);
    assert_int_equal(after.draft_weight_bytes, 3);
    assert_int_equal(after.flops, 500);
    assert_int_equal(after.draft_flops, 20);
    assert_true(after.pass_seconds == 3 && after.draft_seconds == 0.5);
    assert_true(after.seconds[PK_MODULE_FFN] == 0.5);
}

/* two repetitions of 10 lines in 2 seconds each; the second case takes half as long */
static void make_bench(pk_bench *b, pk_cli *c, pk_bench_case *cases) {
    *c = (pk_cli){ .repeat = 2, .batch = 1 };
    for (int i = 0; i < 2; i++) {
        cases[i] = (pk_bench_case){ .decode = i ? "beam" : "greedy", .model = "m", .same = 10 };
        cases[i].seconds = i ? 1 : 2;
        cases[i].stats = (pk_stats){ .sentences = 20,
                                     .target_tokens = 200,
                                     .sentence_passes = 100,
                                     .passes = 40,
                                     .asks = 300,
                                     .decoder_weight_bytes = 1000 };
        cases[i].stats.seconds[PK_MODULE_ENCODER] = 1;
        cases[i].stats.seconds[PK_MODULE_OUTPUT] = 3;
    }
    *b = (pk_bench){
        .c = c, .lines = 10, .n = 2, .words = 60, .threads = 1, .bandwidth = 1e5, .cases = cases
    };
}

static void figures_follow_from_the_counts(void **state) {
    pk_bench_case cases[2];
    pk_cli        c;
    pk_bench      b;
    (void)state;
    make_bench(&b, &c, cases);
    cases[0].stats.sentence_passes = 150;
    cases[1].stats.probe_passes = 20;
    figures f = derive(&b, &cases[1]);
    assert_true(f.fewer == 1.5 && f.probe == 1 && f.asks == 2.5);
    assert_true(f.sentences == 10 && f.words == 60 && f.tokens == 100);
    assert_true(f.passes == 5 && f.kept == 2);
    assert_true(f.ratio == 2);
    assert_true(f.bandwidth == 0.2); /* 20 passes of 1000 bytes in a second, of 1e5 */
    assert_true(f.share[PK_MODULE_ENCODER] == 0.25 && f.share[PK_MODULE_OUTPUT] == 0.75);
    cases[1].seconds = 0; /* nothing is divided by zero */
    memset(&cases[1].stats, 0, sizeof cases[1].stats);
    f = derive(&b, &cases[1]);
    assert_true(f.sentences == 0 && f.kept == 0 && f.ratio == 0 && f.share[0] == 0);
}

static void reports_have_all_cases(void **state) {
    pk_bench_case cases[2];
    pk_cli        c;
    pk_bench      b;
    char         *text = NULL;
    json_error_t  error;
    (void)state;
    make_bench(&b, &c, cases);
    CAPTURE(&text, pk_bench_print_json(&b));
    char   *second = strchr(text, '\n') + 1;
    json_t *line = json_loads(second, 0, &error);
    assert_non_null(line);
    assert_string_equal(json_string_value(json_object_get(line, "decode")), "beam");
    assert_true(json_number_value(json_object_get(line, "speed_to_first")) == 2);
    assert_int_equal(json_object_size(json_object_get(line, "time_share")), PK_N_MODULES);
    assert_true(json_is_null(json_object_get(line, "workers")));
    assert_true(json_is_null(json_object_get(line, "draft")));
    assert_true(json_is_false(json_object_get(line, "interleave")));
    assert_true(json_number_value(json_object_get(line, "passes_fewer_than_first")) == 1);
    json_decref(line);
    free(text);
    CAPTURE(&text, pk_bench_print_table(&b));
    assert_non_null(strstr(text, "2.00x"));
    assert_non_null(strstr(text, "times fewer than in the first"));
    assert_non_null(strstr(text, "probe"));
    for (int i = 0; i < PK_N_MODULES; i++) assert_non_null(strstr(text, module_name[i]));
    free(text);
}

/* a drafter's passes, seconds, bytes and operations are not the model's */
static void networks_are_told_apart(void **state) {
    pk_bench_case cases[2];
    pk_cli        c;
    pk_bench      b;
    (void)state;
    make_bench(&b, &c, cases);
    cases[0].stats.flops = 4000;
    cases[1].drafter = "small";
    cases[1].stats.draft_passes = 30;
    cases[1].stats.draft_weight_bytes = 100;
    cases[1].stats.flops = 6000, cases[1].stats.draft_flops = 1000;
    cases[1].stats.pass_seconds = 3, cases[1].stats.draft_seconds = 1;
    const figures f = derive(&b, &cases[1]);
    assert_true(f.flops == 300 && f.flops_ratio == 1.5); /* 20 sentences */
    assert_true(f.network[MODEL].passes == 5 && f.network[DRAFTER].passes == 15);
    assert_true(f.network[MODEL].seconds == 1 && f.network[DRAFTER].seconds == 0.5);
    assert_true(f.network[MODEL].flops == 250 && f.network[DRAFTER].flops == 50);
    assert_true(f.bandwidth == 0.065); /* 5 passes of 1000 bytes and 15 of 100 */
    json_t *line = json_case(&b, &cases[1], &f), *networks = json_object_get(line, "networks");
    assert_string_equal(json_string_value(json_object_get(line, "drafter")), "small");
    assert_true(json_number_value(json_object_get(line, "flops_per_sentence")) == 300);
    assert_true(json_number_value(json_object_get(line, "flops_to_first")) == 1.5);
    assert_int_equal(json_array_size(networks), 2);
    const char *network, *file;
    double      passes, seconds, flops;
    assert_int_equal(json_unpack(json_array_get(networks, 1), "{s:s s:s s:F s:F s:F}", "network",
                                 &network, "file", &file, "passes", &passes, "pass_seconds",
                                 &seconds, "flops_per_sentence", &flops),
                     0);
    assert_string_equal(network, "drafter");
    assert_string_equal(file, "small");
    assert_true(passes == 15 && seconds == 0.5 && flops == 50);
    json_decref(line);
}

/* what two models say is never compared */
static void lines_are_compared_for_one_model_only(void **state) {
    pk_bench_case cases[2];
    pk_cli        c;
    pk_bench      b;
    char         *text = NULL;
    (void)state;
    make_bench(&b, &c, cases);
    cases[1].model = "other";
    for (int i = 0; i < 2; i++) {
        const figures f = derive(&b, &cases[i]);
        json_t       *line = json_case(&b, &cases[i], &f);
        assert_string_equal(json_string_value(json_object_get(line, "model")), cases[i].model);
        assert_true(json_is_null(json_object_get(line, "drafter")));
        assert_int_equal(json_is_null(json_object_get(line, "lines_as_first")), i);
        assert_int_equal(json_array_size(json_object_get(line, "networks")), 1);
        json_decref(line);
    }
    CAPTURE(&text, pk_bench_print_table(&b));
    assert_non_null(strstr(text, "\nmodel "));
    assert_null(strstr(text, "drafter"));
    const char *row = strstr(text, "lines as in the first");
    assert_non_null(row);
    assert_int_equal(strchr(row, '\n')[-1], '-');
    free(text);
}

static void columns_are_as_wide_as_needed(void **state) {
    pk_table t = { .columns = 3 };
    char    *text = NULL;
    (void)state;
    pk_table_add(&t, "a");
    pk_table_add(&t, "%d", 10);
    pk_table_add(&t, "x");
    pk_table_add(&t, "größe");
    pk_table_add(&t, "2");
    pk_table_add(&t, "yyy");
    CAPTURE(&text, pk_table_print(&t, true));
    assert_string_equal(text, "a      10    x\ngröße   2  yyy\n");
    free(text);
    CAPTURE(&text, pk_table_print(&t, false));
    assert_string_equal(text, "a      10  x\ngröße  2   yyy\n");
    free(text);
    pk_table_free(&t);
}

enum { LARGE = 64 << 20 };
static int take_much(void *user) {
    (void)user;
    volatile char *block = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i += 512) block[i] = 7;
    return block[LARGE / 2];
}

static int take_nothing(void *user) { return (void)user, 0; }

static int die(void *user) {
    (void)user;
    raise(SIGKILL);
    return 0;
}

/* what one process takes is not counted in the next; a code comes back, and so does a death */
static void peaks_are_of_one_process_each(void **state) {
    const pk_cli c = { 0 };
    uint64_t     much = 0, little = 0;
    (void)state;
    assert_int_equal(pk_bench_apart(&c, take_much, NULL, &much), 7);
    assert_int_equal(pk_bench_apart(&c, take_nothing, NULL, &little), 0);
    assert_true(much >= LARGE);
    assert_true(little > 0 && little + LARGE / 2 < much);
    assert_int_equal(pk_bench_apart(&c, die, NULL, &much), PK_EXIT_FAILED);
}

static void the_machine_can_be_measured(void **state) {
    (void)state;
    assert_true(pk_cli_cores() >= 1);
    assert_true(pk_cli_bandwidth(1) > 1e8); /* slower than 0.1 GB/s is no machine of today */
    double begin = pk_cli_seconds();
    assert_true(pk_cli_seconds() >= begin);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_nearest_ranks),
        cmocka_unit_test(words_lie_between_spaces),
        cmocka_unit_test(latencies_are_one_a_line),
        cmocka_unit_test(blocks_follow_the_batch),
        cmocka_unit_test(drafts_are_for_all_or_for_each),
        cmocka_unit_test(cases_have_what_comes_before_them),
        cmocka_unit_test(a_model_that_serves_nothing_is_refused),
        cmocka_unit_test(models_are_opened_once),
        cmocka_unit_test(statistics_are_of_the_runs_alone),
        cmocka_unit_test(figures_follow_from_the_counts),
        cmocka_unit_test(reports_have_all_cases),
        cmocka_unit_test(networks_are_told_apart),
        cmocka_unit_test(lines_are_compared_for_one_model_only),
        cmocka_unit_test(columns_are_as_wide_as_needed),
        cmocka_unit_test(peaks_are_of_one_process_each),
        cmocka_unit_test(the_machine_can_be_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
