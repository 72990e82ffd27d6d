/* golden_test.c - small models of every kind give what transformers gives with them.
 *
 * For each fixture in tests/data/models: source ids; on every backend and instruction set of this
 * machine encoder states and logits within 1e-4, and for every way of decoding the same ids, scores
 * within 1e-3 and the same text. The .pronk file made from a fixture must decode as the folder
 * does. */
#include "golden_data.h"

#include <sys/stat.h>

#include "backend/cpu/isa.h"
#include "backend/list.h"
#include "base/memory.h"
#include "engine/model.h"
#include "session/session.h"

#define NEAR_TENSOR 1e-4
#define NEAR_SCORE  1e-3

// clang-format off
static const char *const fixtures[] = {
    "marian-relu", "marian-swish-f16", "marian-gelu-separate", "marian-swish-untied", "marian-relu-bin",
    "marian-gelu-legacy", "marian-multi", "mbart-relu", "mbart-gelu-f16",
};
// clang-format on
enum { N_FIXTURES = sizeof fixtures / sizeof *fixtures, LONGEST = 48 };

typedef struct bed { /* one fixture on one backend */
    const char *name;
    json_t     *golden;
    pk_model   *model;
    const char *backend;
    char        where[48]; /* "cpu avx2", for messages */
    int         wrong;     /* comparisons that failed */
} bed;

static void check(pk_status status) {
    if (status != PK_OK) fail_msg("%s", pk_last_error());
}

static void open_bed(bed *b, const char *name) {
    char path[GOLDEN_PATH];
    *b = (bed){ .name = name, .golden = golden_open(name) };
    golden_path(path, name, "");
    check(pk_model_open(path, PK_OPTIONS(pk_model_options, .type = "f32"), &b->model));
}

static void close_bed(bed *b) {
    pk_model_close(b->model);
    json_decref(b->golden);
}

static bool has_gpu(void) {
    pk_backend on;
    const bool there = pk_backend_open("cuda", 1, PK_F32, &on) == PK_OK;
    pk_backend_close(&on);
    return there;
}

/* the n-th backend of this machine, a GPU last; false past the end */
static bool choose_backend(bed *b, int32_t n) {
    const pk_cpu_kernels *kernels = n ? pk_isa_available(n - 1) : NULL;
    if (n && !kernels) {
        const bool first = strcmp(b->backend, "cuda") != 0;
        unsetenv("PRONK_ISA");
        b->backend = "cuda";
        snprintf(b->where, sizeof b->where, "cuda");
        return first && has_gpu();
    }
    if (n) setenv("PRONK_ISA", kernels->name, 1);
    b->backend = n ? "cpu" : "ref";
    snprintf(b->where, sizeof b->where, "%s%s%s", b->backend, n ? " " : "", n ? kernels->name : "");
    return true;
}

static const char *language(const bed *b, const char *key) {
    return json_string_value(json_object_get(b->golden, key)); /* NULL for MarianMT */
}

static const json_t *sentences(const bed *b) { return golden_get(b->golden, "sentences"); }

static const char *sentence(const bed *b, size_t i) {
    return json_string_value(json_array_get(sentences(b), i));
}

static golden_ids ids_of(const bed *b, const char *key, size_t i) {
    return golden_read_ids(json_array_get(golden_get(b->golden, key), i));
}

/* ---- source ids ---- */

static void test_source_ids(void **state) {
    bed         b;
    pk_language chosen;
    open_bed(&b, *state);
    check(pk_language_choose(b.model, language(&b, "from"), language(&b, "to"), &chosen));
    for (size_t i = 0; i < json_array_size(sentences(&b)); i++) {
        const golden_ids want = ids_of(&b, "source_ids", i);
        pk_ids           got = { 0 };
        if (chosen.source_token >= 0) check(pk_ids_add(&got, chosen.source_token));
        check(pk_vocab_encode_source(b.model->vocab, sentence(&b, i), strlen(sentence(&b, i)), &got,
                                     NULL));
        check(pk_ids_add(&got, b.model->data.network.config.eos));
        if (!golden_same(&want, got.id, (int32_t)got.n)) {
            print_error("  %s, \"%s\"\n", b.name, sentence(&b, i));
            golden_print_ids("want", want.id, want.n);
            golden_print_ids("got ", got.id, (int32_t)got.n);
            b.wrong++;
        }
        pk_ids_free(&got);
    }
    close_bed(&b);
    assert_int_equal(b.wrong, 0);
}

/* ---- encoder states and logits ---- */

static void compare(bed *b, const pk_stored *stored, const char *kind, size_t i, const float *got,
                    int32_t rows, int32_t cols) {
    const double distance = golden_distance(stored, kind, i, got, (size_t)rows, (size_t)cols);
    if (distance <= NEAR_TENSOR) return;
    print_error("  %s on %s: %s of \"%s\" differ by %g\n", b->name, b->where, kind, sentence(b, i),
                distance);
    b->wrong++;
}

/* (n + 1, V): logits after the start symbol and after each target token, as one chain of asks */
static void run_logits(pk_session *s, const pk_network *net, int32_t id, const golden_ids *target,
                       float *out) {
    const int32_t V = net->config.target_vocab, n = target->n + 1;
    pk_ask        ask[LONGEST + 1] = { 0 };
    pk_answer     answer[LONGEST + 1];
    pk_pass       pass = { .room = LONGEST, .ask = ask, .answer = answer };
    int32_t      *every;
    check(PK_TAKE(&every, (size_t)V));
    for (int32_t i = 0; i < V; i++) every[i] = i;
    for (int32_t i = 0; i < n; i++)
        pk_ask_add(&pass, (pk_ask){ .token = i ? target->id[i - 1] : net->config.start,
                                    .pos = i,
                                    .parent = i,
                                    .target = every,
                                    .n_target = V });
    const pk_request request = { id, &pass };
    check(pk_session_decode(s, &request, 1));
    for (int32_t i = 0; i < n; i++)
        memcpy(out + (size_t)i * (size_t)V, answer[i + 1].target_logp, (size_t)V * sizeof *out);
    pk_memory_give(every);
}

static void compare_network(bed *b, const pk_stored *stored) {
    const pk_network       *net = &b->model->data.network;
    const int32_t           V = net->config.target_vocab;
    const pk_session_limits max = { .sentences = 1,
                                    .source_tokens = LONGEST,
                                    .source_length = LONGEST,
                                    .encode_tokens = LONGEST,
                                    .hypotheses = 1,
                                    .asks = LONGEST,
                                    .slots = LONGEST,
                                    .path = LONGEST,
                                    .top_k = 1,
                                    .listed = LONGEST * (V + 16) };
    pk_backend              on = { 0 };
    pk_session             *s;
    float                  *states, *logits;
    check(pk_backend_open(b->backend, 1, PK_F32, &on));
    check(pk_session_open(net, &on, &max, &s));
    check(PK_TAKE(&states, (size_t)(LONGEST * net->config.dim)));
    check(PK_TAKE(&logits, (size_t)(LONGEST * V)));
    for (size_t i = 0; i < json_array_size(sentences(b)); i++) {
        const golden_ids source = ids_of(b, "source_ids", i), target = ids_of(b, "targets", i);
        const pk_sentence_tokens tokens = { source.id, source.n };
        int32_t                  id;
        check(pk_session_states(s, source.id, source.n, states));
        compare(b, stored, "encoder", i, states, source.n, net->config.dim);
        check(pk_session_encode(s, &tokens, 1, &id));
        run_logits(s, net, id, &target, logits);
        compare(b, stored, "logits", i, logits, target.n + 1, V);
        pk_session_forget(s, id);
    }
    pk_memory_give(states);
    pk_memory_give(logits);
    pk_session_close(s);
    pk_backend_close(&on);
}

static void test_network(void **state) {
    bed       b;
    char      path[GOLDEN_PATH];
    pk_stored stored;
    open_bed(&b, *state);
    golden_path(path, b.name, "golden.safetensors");
    check(pk_safetensors_open(path, &stored));
    for (int32_t n = 0; choose_backend(&b, n); n++) compare_network(&b, &stored);
    pk_stored_close(&stored);
    close_bed(&b);
    assert_int_equal(b.wrong, 0);
}

/* ---- outputs ---- */

/* the decoding spec of a case; longest: output tokens, prefix included */
static void write_spec(const json_t *one, int longest, char *out, size_t room) {
    const int size = (int)golden_number(one, "size", 1);
    int       n = size > 1
                      ? snprintf(out, room, "beam:size=%d,rules=hf,length_penalty=%g,early_stopping=%s,",
                                 size, golden_number(one, "length_penalty", 1),
                           golden_number(one, "early_stopping", 0) > 0 ? "yes" : "no")
                      : snprintf(out, room, "greedy:");
    snprintf(out + n, room - (size_t)n, "no_repeat_ngram=%d,repetition_penalty=%g,max_length=%d",
             (int)golden_number(one, "no_repeat_ngram", 0),
             golden_number(one, "repetition_penalty", 1), longest);
}

static void report(bed *b, const json_t *one, size_t i, const char *what) {
    print_error("  %s on %s, %s: \"%s\": %s\n", b->name, b->where,
                json_string_value(golden_get(one, "name")), sentence(b, i), what);
    b->wrong++;
}

/* each token's log-probability; the language of mBART's output is given, and costs nothing */
static bool log_probs_near(const bed *b, const json_t *want, const pk_hypothesis_view *got) {
    const json_t *list = golden_get(want, "log_probs");
    double        sum = 0;
    for (int32_t i = 0; i < got->n_tokens; i++) {
        const bool   given = i == 0 && language(b, "to");
        const double each = given ? 0 : json_number_value(json_array_get(list, (size_t)i));
        sum += each;
        if (!(fabs(each - (double)got->token_log_prob[i]) <= NEAR_SCORE)) return false;
    }
    return fabs(sum - (double)got->log_prob) <= NEAR_SCORE;
}

/* the same but for spaces around it, which belong to the input */
static bool same_text(const char *want, const char *got) {
    while (*got == ' ') got++;
    size_t n = strlen(got);
    while (n && got[n - 1] == ' ') n--;
    return strlen(want) == n && memcmp(want, got, n) == 0;
}

static void compare_hypothesis(bed *b, const json_t *one, size_t i, const json_t *want,
                               const pk_hypothesis_view *got) {
    const golden_ids ids = golden_read_ids(golden_get(want, "ids"));
    const json_t    *score = golden_get(want, "score"), *text = golden_get(want, "text");
    if (!golden_same(&ids, got->token, got->n_tokens)) {
        report(b, one, i, "other tokens");
        golden_print_ids("want", ids.id, ids.n);
        golden_print_ids("got ", got->token, got->n_tokens);
        return;
    }
    if (json_is_number(score) &&
        !(fabs(json_number_value(score) - (double)got->score) <= NEAR_SCORE)) {
        report(b, one, i, "another score");
        print_error("    want %.6f, got %.6f\n", json_number_value(score), (double)got->score);
    }
    if (!log_probs_near(b, want, got)) report(b, one, i, "other log-probabilities");
    if (json_is_string(text) && !same_text(json_string_value(text), got->text)) {
        report(b, one, i, "another text");
        print_error("    want \"%s\", got \"%s\"\n", json_string_value(text), got->text);
    }
}

static void compare_outputs(bed *b, const json_t *one, size_t i, const json_t *want,
                            const pk_result *r) {
    const size_t n = json_array_size(want);
    if (pk_result_hypotheses(r, 0) != (int32_t)n) {
        report(b, one, i, "another number of hypotheses");
        return;
    }
    for (size_t rank = 0; rank < n; rank++) {
        pk_hypothesis_view view;
        check(pk_result_hypothesis(r, 0, (int32_t)rank, &view));
        compare_hypothesis(b, one, i, json_array_get(want, rank), &view);
    }
}

/* one sentence of one case; a prefix makes the longest output its own */
static void run_sentence(bed *b, const json_t *one, size_t i) {
    const bool  prefixed = json_is_true(json_object_get(one, "prefix"));
    const char *text = sentence(b, i);
    const char *begins =
        json_string_value(json_array_get(golden_get(b->golden, "prefix_texts"), i));
    const pk_text source = { text, strlen(text) }, prefix = { begins, strlen(begins) };
    const json_t *want = json_array_get(golden_get(one, "outputs"), i);
    const int     given = prefixed ? ids_of(b, "prefix_ids", i).n + (language(b, "to") != NULL) : 0;
    char          spec[256];
    pk_translator  *t;
    pk_result      *r;
    pk_call_options call = { .size = sizeof call, .prefix = prefixed ? &prefix : NULL };
    write_spec(one, (int)golden_number(one, "max_tokens", 0) + given, spec, sizeof spec);
    check(pk_translator_open(
        b->model,
        PK_OPTIONS(pk_translator_options, .decode = spec, .from = language(b, "from"),
                   .to = language(b, "to"), .device = b->backend, .threads = 1, .batch = 1,
                   .one_sentence = 1, .scores = 1, .n_best = (int32_t)json_array_size(want)),
        &t));
    check(pk_translate(t, &source, 1, &call, &r));
    compare_outputs(b, one, i, want, r);
    pk_result_free(r);
    pk_translator_close(t);
}

static void run_cases(bed *b) {
    const json_t *cases = golden_get(b->golden, "cases");
    for (size_t k = 0; k < json_array_size(cases); k++)
        for (size_t i = 0; i < json_array_size(sentences(b)); i++)
            run_sentence(b, json_array_get(cases, k), i);
}

static void test_outputs(void **state) {
    bed b;
    open_bed(&b, *state);
    for (int32_t n = 0; choose_backend(&b, n); n++) run_cases(&b);
    close_bed(&b);
    assert_int_equal(b.wrong, 0);
}

/* ---- the .pronk file ---- */

static void test_file(void **state) {
    bed  b;
    char folder[GOLDEN_PATH], file[GOLDEN_PATH];
    open_bed(&b, *state);
    pk_model_close(b.model);
    b.model = NULL;
    golden_path(folder, b.name, "");
    mkdir("build", 0777);
    snprintf(file, sizeof file, "build/golden_%s.pronk", b.name);
    check(pk_model_convert(folder, file, NULL));
    check(pk_model_open(file, NULL, &b.model));
    b.backend = "cpu";
    snprintf(b.where, sizeof b.where, "cpu, converted");
    run_cases(&b);
    close_bed(&b);
    remove(file);
    assert_int_equal(b.wrong, 0);
}

int main(void) {
    static const struct {
        const char        *name;
        CMUnitTestFunction run;
    } kinds[] = {
        { "source ids", test_source_ids },
        { "network", test_network },
        { "outputs", test_outputs },
        { "file", test_file },
    };
    enum { N_KINDS = sizeof kinds / sizeof *kinds };
    static struct CMUnitTest tests[N_FIXTURES * N_KINDS];
    static char              names[N_FIXTURES * N_KINDS][64];
    for (size_t i = 0; i < N_FIXTURES * N_KINDS; i++) {
        snprintf(names[i], sizeof names[i], "%s: %s", fixtures[i / N_KINDS],
                 kinds[i % N_KINDS].name);
        void *name;
        memcpy(&name, &fixtures[i / N_KINDS], sizeof name); /* cmocka's state is not const */
        tests[i] = (struct CMUnitTest){ names[i], kinds[i % N_KINDS].run, NULL, NULL, name };
    }
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
