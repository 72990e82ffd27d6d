/* lookup_test.c - a lexicon beside a model, through the public interface: shortlists that no batch
 * changes, drafts that change no output, lists that a drafter chooses from, links instead of
 * attention, and what is refused. */
#include "drafter_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/lookup.h"

#define MODEL   DRAFTED_MODEL
#define PAIRS   "build/lookup_test.pairs"
#define LEXICON "build/lookup_test.align"
#define BOTH    "build/lookup_test.both"
#define OTHER   "build/lookup_test.other"

static const char *const lines[] = {
    "the cat sees a house",
    "a small dog",
    "the sun",
    "we go to the river and we see the old boat",
    "good",
    "she reads a book in the garden",
    "",
    "x",
    "the old man and the sea",
};
static const char *const german[] = {
    "die Katze sieht ein Haus",
    "ein kleiner Hund",
    "die Sonne",
    "wir gehen zum Fluss und wir sehen das alte Boot",
    "gut",
    "sie liest ein Buch im Garten",
    "-",
    "x",
    "der alte Mann und das Meer",
};
enum { N_LINES = sizeof lines / sizeof *lines };

static pk_model *model;

static int learn(void **state) {
    FILE *f = fopen(PAIRS, "w");
    (void)state;
    if (!f) return 1;
    for (int k = 0; k < 20; k++)
        for (int i = 0; i < N_LINES; i++)
            if (*lines[i]) fprintf(f, "%s ||| %s\n", lines[i], german[i]);
    fclose(f);
    return pk_model_open(MODEL, NULL, &model) ||
           pk_align(PK_OPTIONS(pk_align_options, .source = PAIRS, .model = model, .save = LEXICON),
                    NULL) ||
           pk_align(PK_OPTIONS(pk_align_options, .source = PAIRS, .model = model, .save = BOTH,
                               .symmetrise = "intersect"),
                    NULL);
}

static int clean(void **state) {
    (void)state;
    pk_model_close(model);
    unlink(PAIRS), unlink(LEXICON), unlink(BOTH), unlink(OTHER);
    return 0;
}

static pk_result *translate(pk_translator_options o) {
    pk_translator *t;
    pk_result     *r;
    pk_text        text[N_LINES];
    o.size = sizeof o;
    o.one_sentence = 1;
    if (!o.threads) o.threads = 1;
    for (size_t i = 0; i < N_LINES; i++) text[i] = (pk_text){ lines[i], strlen(lines[i]) };
    ASSERT_OK(pk_translator_open(model, &o, &t));
    ASSERT_OK(pk_translate(t, text, N_LINES, NULL, &r));
    pk_translator_close(t);
    return r;
}

static void assert_same(const pk_result *a, const pk_result *b) {
    for (size_t i = 0; i < N_LINES; i++) {
        pk_hypothesis_view x, y;
        ASSERT_OK(pk_result_hypothesis(a, i, 0, &x));
        ASSERT_OK(pk_result_hypothesis(b, i, 0, &y));
        assert_int_equal(x.n_tokens, y.n_tokens);
        if (!x.n_tokens) continue;
        assert_memory_equal(x.token, y.token, (size_t)x.n_tokens * sizeof *x.token);
        assert_memory_equal(x.token_log_prob, y.token_log_prob, (size_t)x.n_tokens * sizeof(float));
    }
}

/* in every batch, with any number of threads, by every strategy: the same bits */
static void no_batch_changes_it(void **state) {
    const char *specs[] = { "greedy", "beam:size=4", "jacobi:init=lexicon", "gad:init=lexicon" };
    (void)state;
    for (int k = 0; k < 4; k++) {
        pk_translator_options o = {
            .decode = specs[k], .lexicon = LEXICON, .shortlist = 1, .batch = 1, .scores = 1
        };
        pk_result *alone = translate(o), *together, *threads;
        o.batch = 9;
        together = translate(o);
        o.threads = 3;
        threads = translate(o);
        assert_same(alone, together);
        assert_same(alone, threads);
        pk_result_free(alone), pk_result_free(together), pk_result_free(threads);
    }
}

/* only what is in its list comes out, and drafts are greedy's with the same list */
static void within_the_list(void **state) {
    static uint8_t              mark[4096];
    static int32_t              list[4096];
    const pk_translator_options o = {
        .decode = "greedy", .lexicon = LEXICON, .shortlist = 1, .scores = 1
    };
    pk_translator_options   by_drafts = o;
    pk_lookup               look;
    const pk_lookup_request q = { .model = model,
                                  .path = LEXICON,
                                  .by = &pk_strategy_greedy,
                                  .shortlist = true,
                                  .most_given = 600 };
    (void)state;
    ASSERT_OK(pk_lookup_open(&q, &look));
    pk_result *r = translate(o);
    for (size_t i = 0; i < N_LINES; i++) {
        pk_hypothesis_view h;
        pk_ids             ids = { 0 };
        ASSERT_OK(pk_result_hypothesis(r, i, 0, &h));
        ASSERT_OK(pk_vocab_encode_source(model->vocab, lines[i], strlen(lines[i]), &ids, NULL));
        const pk_shortlist_request s = { .source = ids.id, .n_source = (int32_t)ids.n };
        const int32_t              n = pk_shortlist_find(&look.shortlist, &s, mark, list);
        for (int32_t k = 0; k < h.n_tokens; k++) {
            bool found = false;
            for (int32_t j = 0; j < n; j++) found |= list[j] == h.token[k];
            assert_true(found);
        }
        pk_ids_free(&ids);
    }
    by_drafts.decode = "jacobi:init=lexicon,window=8";
    pk_result *same = translate(by_drafts);
    assert_same(r, same);
    pk_result_free(r), pk_result_free(same);
    pk_lookup_close(&look);
}

/* a lexicon alone changes nothing */
static void drafts_change_nothing(void **state) {
    const char *specs[] = { "jacobi", "jacobi:init=lexicon,window=16", "gad:init=lexicon" };
    (void)state;
    pk_result *greedy = translate((pk_translator_options){ .decode = "greedy", .scores = 1 });
    for (int k = 0; k < 3; k++) {
        pk_result *r = translate(
            (pk_translator_options){ .decode = specs[k], .lexicon = LEXICON, .scores = 1 });
        assert_same(greedy, r);
        pk_result_free(r);
    }
    pk_result_free(greedy);
}

/* ---- drafters ---- */

static pk_model *open_drafter(void) {
    pk_model *drafter;
    char      path[256];
    save_drafter(PK_F32, path);
    ASSERT_OK(pk_model_open(path, NULL, &drafter));
    unlink(path);
    return drafter;
}

/* with a list for the drafter, and with one for the model too: greedy's output, in every batch */
static void lists_of_a_drafter_change_nothing(void **state) {
    const char *specs[] = { "gad:block=5", "gad:block=3,nodes=16", "gad", "gad:nodes=7" };
    pk_model   *drafter = open_drafter();
    (void)state;
    for (int shortlist = 0; shortlist < 2; shortlist++) {
        pk_result *greedy = translate((pk_translator_options){
            .decode = "greedy", .lexicon = LEXICON, .shortlist = shortlist, .scores = 1 });
        for (int k = 0; k < 12; k++) {
            pk_result *r = translate((pk_translator_options){ .decode = specs[k % 4],
                                                              .lexicon = LEXICON,
                                                              .drafter = drafter,
                                                              .shortlist = shortlist,
                                                              .scores = 1,
                                                              .batch = k < 4 ? 1 : 9,
                                                              .threads = k < 8 ? 1 : 3 });
            assert_same(greedy, r);
            pk_result_free(r);
        }
        pk_result_free(greedy);
    }
    pk_model_close(drafter);
}

typedef struct said { /* by a drafter */
    pk_lookup look;
    int       within, beyond; /* guesses in the list of their sentence, and others */
} said;

static bool is_listed(const said *s, size_t line, int32_t token) {
    static uint8_t mark[4096];
    static int32_t list[4096];
    pk_ids         ids = { 0 };
    bool           found = false;
    ASSERT_OK(pk_vocab_encode_source(model->vocab, lines[line], strlen(lines[line]), &ids, NULL));
    const pk_shortlist_request q = { .source = ids.id, .n_source = (int32_t)ids.n };
    const int32_t              n = pk_shortlist_find(&s->look.drafts, &q, mark, list);
    for (int32_t j = 0; j < n; j++) found |= list[j] == token;
    assert_true(n > 0 && n < TEXT / 2); /* or the list would say little */
    pk_ids_free(&ids);
    return found;
}

static void look_at_drafts(void *user, const pk_trace_pass *pass) {
    said *s = user;
    for (int32_t i = 0; i < pass->n && pass->model == 1; i++)
        if (pass->ask[i].best >= 0) {
            if (is_listed(s, pass->text, pass->ask[i].best))
                s->within++;
            else
                s->beyond++;
        }
}

/* returns the floating-point operations of one draft */
static uint64_t draft(pk_model *drafter, const char *lexicon, said *s) {
    pk_translator *t;
    pk_result     *r;
    pk_stats       stats;
    pk_text        text[N_LINES];
    s->within = s->beyond = 0;
    for (size_t i = 0; i < N_LINES; i++) text[i] = text_of(lines[i]);
    ASSERT_OK(pk_translator_open(model,
                                 PK_OPTIONS(pk_translator_options, .decode = "gad:block=4",
                                            .drafter = drafter, .lexicon = lexicon, .threads = 1,
                                            .one_sentence = 1),
                                 &t));
    ASSERT_OK(pk_translate(t, text, N_LINES,
                           PK_OPTIONS(pk_call_options, .trace = look_at_drafts, .user = s), &r));
    pk_translator_stats(t, &stats);
    pk_result_free(r);
    pk_translator_close(t);
    assert_true(stats.sentence_drafts > 0 && stats.draft_flops < stats.flops);
    return stats.draft_flops / stats.sentence_drafts;
}

/* all that it says is in the list, which costs less; without a lexicon it says other tokens too */
static void a_drafter_chooses_from_a_list(void **state) {
    pk_model               *drafter = open_drafter();
    said                    s = { 0 };
    const pk_lookup_request q = {
        .model = model, .path = LEXICON, .by = &pk_strategy_gad, .drafts = true, .most_given = 600
    };
    (void)state;
    ASSERT_OK(pk_lookup_open(&q, &s.look));
    assert_null(s.look.shortlist.always); /* the model has no list */
    const uint64_t with = draft(drafter, LEXICON, &s);
    assert_true(s.within > 20 && s.beyond == 0);
    const uint64_t without = draft(drafter, NULL, &s);
    assert_true(s.beyond > 20);
    assert_true(with < without);
    pk_lookup_close(&s.look);
    pk_model_close(drafter);
}

/* A drafter's file may hold what drafts need of a lexicon: then none has to be given. It is for drafts
 * alone. */
static void a_drafter_brings_its_lexicon(void **state) {
    const pk_convert_options how = { sizeof how, NULL, LEXICON, model };
    char                     plain[256], path[256];
    pk_model                *drafter;
    pk_translator           *t;
    said                     s = { 0 };
    const pk_lookup_request  q = {
         .model = model, .path = LEXICON, .by = &pk_strategy_gad, .drafts = true, .most_given = 600
    };
    (void)state;
    save_drafter(PK_F32, plain);
    temporary(path, "with_lexicon.pronk");
    ASSERT_OK(pk_model_convert(plain, path, &how));
    ASSERT_OK(pk_model_open(path, NULL, &drafter));
    ASSERT_OK(pk_lookup_open(&q, &s.look));
    draft(drafter, NULL, &s);
    assert_true(s.within > 20 && s.beyond == 0);
    pk_lookup_close(&s.look);
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_translator_open(model,
                                     PK_OPTIONS(pk_translator_options, .decode = "gad:block=4",
                                                .drafter = drafter, .shortlist = 1),
                                     &t));
    assert_non_null(strstr(pk_last_error(), "needs a lexicon"));
    pk_model_close(drafter);
    ASSERT_STATUS(
        PK_ARGUMENT,
        pk_model_convert(plain, path, PK_OPTIONS(pk_convert_options, .lexicon = LEXICON)));
    ASSERT_STATUS(PK_ARGUMENT, pk_model_convert(MODEL, path, &how)); /* it is no drafter */
    assert_non_null(strstr(pk_last_error(), "drafter"));
    unlink(plain);
    unlink(path);
}

/* one of another vocabulary is refused where the two are joined */
static void a_lexicon_of_another_vocabulary(void **state) {
    pk_model *drafter = open_drafter();
    pk_joined joined;
    (void)state;
    drafter->data.lexicon = (pk_lexicon){ .source_vocab = 3, .target_vocab = 4 };
    ASSERT_STATUS(PK_FORMAT, pk_drafter_join(&model->data, &drafter->data, &joined));
    assert_non_null(strstr(pk_last_error(), "another vocabulary"));
    pk_model_close(drafter);
}

/* links are those that the alignment itself finds between the pieces, as words */
static void links_of_the_alignment(void **state) {
    const char *const paths[] = { LEXICON, BOTH };
    (void)state;
    for (int k = 0; k < 2; k++) {
        pk_result *r = translate((pk_translator_options){ .lexicon = paths[k], .alignment = 1 });
        int        n = 0;
        for (size_t i = 0; i < N_LINES; i++) {
            pk_hypothesis_view h;
            ASSERT_OK(pk_result_hypothesis(r, i, 0, &h));
            int         source, target, at = 0, words[2] = { 0 };
            const char *text[2] = { lines[i], h.text };
            for (int side = 0; side < 2; side++)
                for (const char *c = text[side]; *c; c++)
                    words[side] += *c != ' ' && (c == text[side] || c[-1] == ' ');
            for (const char *c = h.alignment ? h.alignment : "";
                 sscanf(c, "%d-%d%n", &source, &target, &at) == 2; c += at) {
                assert_true(source >= 0 && source < words[0]);
                assert_true(target >= 0 && target < words[1]);
                n++;
            }
        }
        assert_true(n > 0);
        pk_result_free(r);
    }
}

static void refused(pk_translator_options o, const char *text) {
    pk_translator *t;
    o.size = sizeof o;
    o.threads = 1;
    const pk_status status = pk_translator_open(model, &o, &t);
    assert_null(t);
    assert_true(status == PK_ARGUMENT || status == PK_FORMAT || status == PK_IO);
    if (!strstr(pk_last_error(), text)) fail_msg("'%s' is not in '%s'", text, pk_last_error());
}

static void refusals(void **state) {
    (void)state;
    refused((pk_translator_options){ .shortlist = 1 }, "needs a lexicon");
    refused((pk_translator_options){ .decode = "jacobi:init=lexicon" }, "needs a lexicon");
    refused((pk_translator_options){ .decode = "gad:init=lexicon" }, "needs a lexicon");
    refused((pk_translator_options){ .lexicon = "build/nowhere" }, "build/nowhere");
    refused((pk_translator_options){ .lexicon = PAIRS }, "not an alignment model");
    ASSERT_OK(pk_align(PK_OPTIONS(pk_align_options, .source = PAIRS, .save = OTHER), NULL));
    refused((pk_translator_options){ .lexicon = OTHER }, "is not of the pieces of");
    ASSERT_OK(pk_align(
        PK_OPTIONS(pk_align_options, .source = PAIRS, .save = OTHER, .reverse = 1, .model = model),
        NULL));
    refused((pk_translator_options){ .lexicon = OTHER }, "no forward direction");
    ASSERT_OK(pk_align(PK_OPTIONS(pk_align_options, .source = PAIRS, .save = OTHER,
                                  .vocab = "tests/data/vocab/mbart.spm"),
                       NULL));
    refused((pk_translator_options){ .lexicon = OTHER, .shortlist = 1 }, "is not of the pieces of");
    assert_int_equal(PK_ARGUMENT,
                     pk_align(PK_OPTIONS(pk_align_options, .source = PAIRS, .model = model,
                                         .vocab = "tests/data/vocab/mbart.spm"),
                              NULL));
}

static pk_status attempt(void *user) {
    pk_lookup               look;
    const pk_lookup_request q = { .model = model,
                                  .path = user,
                                  .by = &pk_strategy_greedy,
                                  .shortlist = true,
                                  .drafts = true,
                                  .most_given = 600 };
    PK_TRY(pk_lookup_open(&q, &look));
    pk_lookup_close(&look);
    return PK_OK;
}

static void failed_allocations(void **state) {
    static char path[] = LEXICON;
    (void)state;
    assert_true(check_every_allocation(attempt, path) > 14);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_batch_changes_it),
        cmocka_unit_test(within_the_list),
        cmocka_unit_test(drafts_change_nothing),
        cmocka_unit_test(lists_of_a_drafter_change_nothing),
        cmocka_unit_test(a_drafter_chooses_from_a_list),
        cmocka_unit_test(a_drafter_brings_its_lexicon),
        cmocka_unit_test(a_lexicon_of_another_vocabulary),
        cmocka_unit_test(links_of_the_alignment),
        cmocka_unit_test(refusals),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, learn, clean);
}
