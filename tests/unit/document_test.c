/* document_test.c - languages, and texts as sentences: what a model with several languages gets,
 * where long sentences are cut, which words an alignment links. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "base/file_map.h"
#include "engine/document.h"

#define FOLDER "tests/data/models/"

static pk_model *open_model(const char *name) {
    pk_model *m;
    char      path[128];
    snprintf(path, sizeof path, FOLDER "%s", name);
    ASSERT_OK(pk_model_open(path, NULL, &m));
    return m;
}

static void a_tag_names_the_target_of_marian(void **state) {
    (void)state;
    pk_model   *m = open_model("marian-multi");
    pk_language l;
    ASSERT_OK(pk_language_choose(m, NULL, "fr", &l));
    assert_string_equal(pk_vocab_source_token(m->vocab, l.source_token), ">>fr<<");
    assert_int_equal(l.target_token, -1);
    ASSERT_OK(pk_language_choose(m, "", "", &l));
    assert_int_equal(l.source_token, -1);
    ASSERT_STATUS(PK_ARGUMENT, pk_language_choose(m, NULL, "xx", &l));
    assert_non_null(strstr(pk_last_error(), "xx; it knows: "));
    assert_non_null(strstr(pk_last_error(), "fr"));
    pk_model_close(m);
}

static void a_model_of_one_pair_needs_no_tag(void **state) {
    (void)state;
    pk_model   *m = open_model("marian-relu");
    pk_language l;
    ASSERT_OK(pk_language_choose(m, NULL, NULL, &l));
    assert_int_equal(l.source_token, -1);
    ASSERT_OK(pk_language_choose(m, "en", "de", &l));
    assert_int_equal(l.source_token, -1);
    assert_string_equal(l.source_code, "en");
    pk_model_close(m);
}

static void mbart_needs_both_languages(void **state) {
    (void)state;
    pk_model   *m = open_model("mbart-relu");
    pk_language l;
    ASSERT_OK(pk_language_choose(m, "en", "de", &l));
    assert_string_equal(pk_vocab_target_token(m->vocab, l.source_token), "en_XX");
    assert_string_equal(pk_vocab_target_token(m->vocab, l.target_token), "de_DE");
    assert_string_equal(l.source_code, "en");
    ASSERT_OK(pk_language_choose(m, "fr_XX", "ro_RO", &l));
    assert_string_equal(l.source_code, "fr");
    ASSERT_STATUS(PK_ARGUMENT, pk_language_choose(m, "en", "qq", &l));
    assert_non_null(strstr(pk_last_error(), "qq; it knows: "));
    assert_non_null(strstr(pk_last_error(), "de, "));
    ASSERT_STATUS(PK_ARGUMENT, pk_language_choose(m, "nonsense", "de", &l));
    assert_non_null(strstr(pk_last_error(), "nonsense; it knows: "));
    pk_model_close(m);
}

static pk_reader open_reader(const pk_model *m, const char *from, const char *to,
                             int32_t max_source) {
    pk_reader r = { .model = m, .max_source = max_source, .one_sentence = true };
    ASSERT_OK(pk_language_choose(m, from, to, &r.language));
    ASSERT_OK(pk_splitter_open("en", &r.splitter));
    return r;
}

static void a_job_has_language_and_end(void **state) {
    (void)state;
    pk_model   *m = open_model("mbart-relu");
    pk_reader   r = open_reader(m, "en", "de", 40);
    pk_document d;
    ASSERT_OK(pk_document_read(&d, &r, (pk_text){ "the cat", 7 }));
    assert_int_equal(d.n_jobs, 1);
    const pk_job *job = &d.job[0];
    assert_int_equal(job->source.id[0], r.language.source_token);
    assert_int_equal(job->source.id[job->source.n - 1], m->data.network.config.eos);
    assert_int_equal(job->prefix.n, 1);
    assert_int_equal(job->prefix.id[0], r.language.target_token);
    assert_int_equal(job->n_free_prefix, 1);
    pk_document_free(&d);
    pk_splitter_close(r.splitter);
    pk_model_close(m);
}

/* every byte of the text is in exactly one piece; no job is longer than the limit */
static void check_cover(const pk_document *d, int32_t max_source) {
    size_t at = 0;
    for (size_t i = 0; i < d->pieces.n; i++) {
        assert_int_equal(d->pieces.piece[i].begin, at);
        assert_true(d->pieces.piece[i].size > 0);
        at += d->pieces.piece[i].size;
    }
    assert_int_equal(at, d->size);
    for (size_t i = 0; i < d->n_jobs; i++)
        assert_in_range(d->job[i].source.n, 2, (uintmax_t)max_source);
}

static void long_sentences_are_cut_at_good_boundaries(void **state) {
    (void)state;
    pk_model   *m = open_model("marian-relu");
    pk_document d;
    char        text[4000];
    size_t      n = 0;
    for (int i = 0; i < 60; i++)
        n += (size_t)sprintf(text + n, "the cat sees, %s house ", i % 2 ? "a" : "the");
    for (int32_t limit = 8; limit < 40; limit += 3) {
        pk_reader r = open_reader(m, NULL, NULL, limit);
        ASSERT_OK(pk_document_read(&d, &r, (pk_text){ text, n }));
        check_cover(&d, limit);
        assert_int_equal(d.n_wrapped, 1);
        for (size_t i = 0; i + 1 < d.pieces.n; i++) { /* cuts fall at spaces */
            const pk_piece *p = &d.pieces.piece[i];
            if (p->sentence) assert_false(d.pieces.piece[i + 1].sentence);
        }
        pk_document_free(&d);
        pk_splitter_close(r.splitter);
    }
    memset(text, 'x', sizeof text); /* nowhere to cut: still nothing is lost */
    pk_reader r = open_reader(m, NULL, NULL, 10);
    ASSERT_OK(pk_document_read(&d, &r, (pk_text){ text, sizeof text }));
    check_cover(&d, 10);
    pk_document_free(&d);
    pk_splitter_close(r.splitter);
    pk_model_close(m);
}

static void prefixes_and_targets_that_are_too_long_are_refused(void **state) {
    (void)state;
    pk_model   *m = open_model("marian-relu");
    pk_reader   r = open_reader(m, NULL, NULL, 40);
    pk_document d;
    char        text[400];
    for (size_t i = 0; i < sizeof text; i++) text[i] = "ae "[i % 3];
    ASSERT_OK(pk_document_read(&d, &r, (pk_text){ "the cat", 7 }));
    ASSERT_STATUS(PK_ARGUMENT, pk_document_set_prefix(&d, &r, (pk_text){ text, sizeof text }));
    ASSERT_STATUS(PK_ARGUMENT, pk_document_set_forced(&d, &r, (pk_text){ text, sizeof text }));
    pk_document_free(&d);
    ASSERT_OK(pk_document_read(&d, &r, (pk_text){ text, sizeof text }));
    ASSERT_STATUS(PK_ARGUMENT, pk_document_set_forced(&d, &r, (pk_text){ "a", 1 }));
    pk_document_free(&d);
    pk_splitter_close(r.splitter);
    pk_model_close(m);
}

/* a hand-made hypothesis: pieces of one word link it once to each source word they look at */
static void links_are_of_words_not_pieces(void **state) {
    (void)state;
    pk_model    *m = open_model("marian-relu");
    pk_reader    r = open_reader(m, NULL, NULL, 40);
    pk_document  d;
    pk_rendering out;
    ASSERT_OK(pk_document_read(&d, &r, (pk_text){ "the cat", 7 }));
    pk_job *job = &d.job[0];
    pk_ids  ids = { 0 }; /* output: the source, each token looking at itself */
    ASSERT_OK(pk_vocab_encode_target(m->vocab, "the cat", 7, &ids));
    int32_t looks[32], last = (int32_t)job->source.n - 2;
    for (size_t i = 0; i < ids.n; i++) looks[i] = (int32_t)i < last ? (int32_t)i : last;
    pk_hypothesis found = { .token = ids.id, .n = (int32_t)ids.n };
    ASSERT_OK(pk_job_finish(job, &found, 1, &m->data.network.config));
    ASSERT_OK(PK_TAKE(&job->hypothesis[0].looks_at, ids.n));
    memcpy(job->hypothesis[0].looks_at, looks, ids.n * sizeof *looks);
    ASSERT_OK(pk_document_render(&d, m, 0, true, NULL, false, &out));
    assert_string_equal(out.text.data, "the cat");
    assert_memory_equal(out.alignment.data, "0-0", 3);
    int links = 1;
    for (const char *c = out.alignment.data; *c; c++) links += *c == ' ';
    assert_true(links >= 2 && links <= 3);
    pk_rendering_free(&out);
    pk_ids_free(&ids);
    pk_document_free(&d);
    pk_splitter_close(r.splitter);
    pk_model_close(m);
}

/* ---- pieces that stand for bytes ---- */

typedef struct spelling { /* a model whose vocabulary has them; its network is not used */
    pk_model   *model;
    pk_vocab   *own, *bytes;
    pk_file_map spm, tokens;
} spelling;

static void spelling_open(spelling *s) {
    s->model = open_model("marian-relu");
    s->own = s->model->vocab;
    ASSERT_OK(pk_file_map_open("tests/data/vocab/bytes.spm", &s->spm));
    ASSERT_OK(pk_file_map_open("tests/data/vocab/bytes.tokens", &s->tokens));
    ASSERT_OK(pk_vocab_open(&(pk_vocab_data){ .source_spm = s->spm.data,
                                              .source_spm_size = s->spm.size,
                                              .source_tokens = (const char *)s->tokens.data,
                                              .source_tokens_size = s->tokens.size,
                                              .unk = 3,
                                              .eos = 2 },
                            &s->bytes));
    s->model->vocab = s->bytes;
    s->model->data.network.config.eos = 2;
    s->model->data.network.config.unk = 3;
}

static void spelling_close(spelling *s) {
    s->model->vocab = s->own;
    pk_vocab_close(s->bytes);
    pk_file_map_close(&s->spm);
    pk_file_map_close(&s->tokens);
    pk_model_close(s->model);
}

/* the job's output is this text, its tokens looking at source token `at`, or each at its own */
static void answer(const pk_model *m, pk_job *job, const char *text, size_t size, int32_t at) {
    pk_ids ids = { 0 };
    ASSERT_OK(pk_vocab_encode_target(m->vocab, text, size, &ids));
    const pk_hypothesis found = { .token = ids.id, .n = (int32_t)ids.n };
    ASSERT_OK(pk_job_finish(job, &found, 1, &m->data.network.config));
    ASSERT_OK(PK_TAKE(&job->hypothesis[0].looks_at, ids.n));
    for (size_t i = 0; i < ids.n; i++) job->hypothesis[0].looks_at[i] = at < 0 ? (int32_t)i : at;
    pk_ids_free(&ids);
}

#define GRIN "\xF0\x9F\x98\x80" /* an emoji */

static void bytes_belong_to_the_word_they_are_in(void **state) {
    (void)state;
    static const char text[] = "the " GRIN "\xE4\xBD\xA0 ship";
    spelling          s;
    pk_document       d;
    pk_rendering      out;
    spelling_open(&s);
    pk_reader r = open_reader(s.model, NULL, NULL, 40);
    ASSERT_OK(pk_document_read(&d, &r, (pk_text){ text, sizeof text - 1 }));
    assert_true(d.job[0].source.n > 9); /* seven of them bytes */
    answer(s.model, &d.job[0], text, sizeof text - 1, -1);
    ASSERT_OK(pk_document_render(&d, s.model, 0, true, NULL, false, &out));
    assert_string_equal(out.text.data, text);
    assert_string_equal(out.alignment.data, "0-0 1-1 2-2");
    pk_rendering_free(&out);
    pk_document_free(&d);
    pk_splitter_close(r.splitter);
    spelling_close(&s);
}

/* Characters of four tokens each, cut into jobs of any length: no character is cut, no job is too
 * long, and the answers give the text again. */
static void bytes_are_whole_across_cuts(void **state) {
    (void)state;
    spelling     s;
    pk_document  d;
    pk_rendering out;
    char         text[600] = "";
    spelling_open(&s);
    for (int i = 0; i < 90; i++) strcat(text, i % 9 == 8 ? " ship " : GRIN);
    for (int32_t tag = 0; tag < 2; tag++)
        for (size_t size = 4; size < strlen(text); size += 4)
            for (int32_t limit = 8; limit < 24; limit++) {
                pk_reader r = { .model = s.model, .max_source = limit, .one_sentence = true };
                if ((text[size] & 0xC0) == 0x80) continue;
                r.language.source_token = tag ? 5 : -1;
                r.language.target_token = -1;
                ASSERT_OK(pk_document_read(&d, &r, (pk_text){ text, size }));
                check_cover(&d, limit);
                for (size_t i = 0, job = 0; i < d.pieces.n; i++) {
                    const pk_piece p = d.pieces.piece[i];
                    if (p.sentence) answer(s.model, &d.job[job++], text + p.begin, p.size, 0);
                }
                ASSERT_OK(pk_document_render(&d, s.model, 0, false, NULL, false, &out));
                assert_int_equal(out.text.size, size);
                assert_memory_equal(out.text.data, text, size);
                pk_rendering_free(&out);
                pk_document_free(&d);
            }
    spelling_close(&s);
}

/* ---- unknown tokens ---- */

/* what comes out when the target is this and looks at that source token */
static void assert_replaced(const pk_model *m, const char *source, const char *target, int32_t at,
                            const char *expected) {
    pk_document  d;
    pk_rendering plain, out;
    pk_reader    r = open_reader(m, NULL, NULL, 40);
    ASSERT_OK(pk_document_read(&d, &r, (pk_text){ source, strlen(source) }));
    answer(m, &d.job[0], target, strlen(target), at);
    ASSERT_OK(pk_document_render(&d, m, 0, false, NULL, false, &plain));
    ASSERT_OK(pk_document_render(&d, m, 0, false, NULL, true, &out));
    assert_non_null(strstr(plain.text.data, "\xE2\x81\x87")); /* as it was */
    assert_string_equal(out.text.data, expected);
    assert_int_equal(out.n_unknown, plain.n_unknown);
    assert_true(out.n_unknown > 0);
    assert_int_equal(out.token.n, plain.token.n);
    assert_memory_equal(out.token.id, plain.token.id, out.token.n * sizeof *out.token.id);
    pk_rendering_free(&plain);
    pk_rendering_free(&out);
    pk_document_free(&d);
    pk_splitter_close(r.splitter);
}

#define NI  "\xE4\xBD\xA0" /* no piece of either side */
#define HAO "\xE5\xA5\xBD"

static void unknowns_are_what_they_looked_at(void **state) {
    (void)state;
    pk_model *m = open_model("marian-relu");
    /* the source's tokens: a word, a space, an unknown */
    assert_replaced(m, "the " NI, "the " HAO, 2, "the " NI);
    assert_replaced(m, "the " NI, "the " HAO, 1, "the " NI); /* the space belongs to what follows */
    assert_replaced(m, "the " NI, "the " HAO, 0, "the the"); /* one space, not two */
    assert_replaced(m, "the " NI, "the" HAO "e", 0, "the thee"); /* a word begins with its space */
    assert_replaced(m, "the " NI, "the" HAO "e", 2, "the" NI "e");
    assert_replaced(m, "  the  \t" NI, "the " HAO, 2, "  the " NI);
    assert_replaced(m, NI, HAO, 0, NI);
    assert_replaced(m, NI, HAO, 1, NI);
    pk_model_close(m);
    m = open_model("mbart-relu"); /* the language token is no text */
    pk_document  d;
    pk_rendering out;
    pk_reader    r = open_reader(m, "en", "de", 40);
    ASSERT_OK(pk_document_read(&d, &r, (pk_text){ NI, 3 }));
    d.job[0].n_free_prefix = 0;
    answer(m, &d.job[0], HAO, 3, 2); /* language, space, unknown */
    ASSERT_OK(pk_document_render(&d, m, 0, false, NULL, true, &out));
    assert_string_equal(out.text.data, NI);
    pk_rendering_free(&out);
    memset(d.job[0].hypothesis[0].looks_at, 0, 2 * sizeof(int32_t));
    ASSERT_OK(pk_document_render(&d, m, 0, false, NULL, true, &out));
    assert_string_equal(out.text.data, "\xE2\x81\x87");
    pk_rendering_free(&out);
    pk_document_free(&d);
    pk_splitter_close(r.splitter);
    pk_model_close(m);
}

/* ---- capitals ---- */

/* what becomes of a text: its tokens, read with or without small letters in place of capitals */
static pk_document read_text(pk_reader *r, bool capitals, const char *text) {
    pk_document d;
    r->capitals = capitals;
    ASSERT_OK(pk_document_read(&d, r, (pk_text){ text, strlen(text) }));
    return d;
}

static void assert_same_source(const pk_job *a, const pk_job *b) {
    assert_int_equal(a->source.n, b->source.n);
    assert_memory_equal(a->source.id, b->source.id, a->source.n * sizeof *a->source.id);
}

/* a sentence in capitals has the tokens of the same in small letters; what stands around it stays */
static void capitals_are_read_as_small_letters(void **state) {
    (void)state;
    static const char both[] = "A cat sees it.  THE CAT SEES A DOG. \n THE END";
    pk_model         *m = open_model("marian-relu");
    pk_reader         r = open_reader(m, "en", "de", 100);
    r.one_sentence = false;
    pk_document d = read_text(&r, true, both);
    pk_document small = read_text(&r, true, "The cat sees a dog.");
    pk_document as_is = read_text(&r, false, "THE CAT SEES A DOG.");
    assert_int_equal(d.n_jobs, 3);
    assert_int_equal(d.job[0].capitals, false);
    assert_int_equal(d.job[1].capitals, true);
    assert_int_equal(d.job[2].capitals, true);
    assert_string_equal(d.text, "A cat sees it.  The cat sees a dog. \n The end");
    assert_int_equal(d.repaired.size, 0);
    assert_same_source(&d.job[1], &small.job[0]);
    assert_true(small.job[0].capitals == false && small.folded.size == 0);
    assert_true(as_is.job[0].capitals == false && as_is.folded.size == 0);
    pk_document *all[] = { &d, &small, &as_is };
    for (int i = 0; i < 3; i++) pk_document_free(all[i]);
    pk_splitter_close(r.splitter);
    pk_model_close(m);
}

/* prefixes and drafts in capitals are those of the sentence; what is written is in capitals again */
static void capitals_are_written(void **state) {
    (void)state;
    pk_model    *m = open_model("marian-relu");
    pk_reader    r = open_reader(m, "en", "de", 100);
    pk_document  d = read_text(&r, true, "THE CAT SEES");
    pk_document  small = read_text(&r, true, "The cat sees");
    pk_rendering out;
    ASSERT_OK(pk_document_set_prefix(&d, &r, (pk_text){ "DIE KATZE", 9 }));
    ASSERT_OK(pk_document_set_prefix(&small, &r, (pk_text){ "Die katze", 9 }));
    ASSERT_OK(pk_document_set_draft(&d, &r, (pk_text){ "DIE KATZE SIEHT", 15 }));
    ASSERT_OK(pk_document_set_draft(&small, &r, (pk_text){ "Die katze sieht", 15 }));
    assert_int_equal(d.job[0].prefix.n, small.job[0].prefix.n);
    assert_int_equal(d.job[0].draft.n, small.job[0].draft.n);
    assert_memory_equal(d.job[0].prefix.id, small.job[0].prefix.id, d.job[0].prefix.n * 4);
    assert_memory_equal(d.job[0].draft.id, small.job[0].draft.id, d.job[0].draft.n * 4);
    pk_ids           *found = &d.job[0].prefix;
    float             logp[64] = { 0 };
    pk_job_hypothesis h = { .token = found->id, .logp = logp, .n = (int32_t)found->n };
    d.job[0].hypothesis = &h;
    d.job[0].n_hypotheses = 1;
    ASSERT_OK(pk_document_render(&d, m, 0, false, NULL, false, &out));
    assert_string_equal(out.text.data, "DIE KATZE");
    pk_rendering_free(&out);
    d.job[0].hypothesis = NULL;
    d.job[0].n_hypotheses = 0;
    pk_document_free(&d);
    pk_document_free(&small);
    pk_splitter_close(r.splitter);
    pk_model_close(m);
}

/* the tokens of a prefix, given to a sentence */
static pk_ids prefix_of(pk_reader *r, const char *source, const char *prefix) {
    pk_document d = read_text(r, true, source);
    ASSERT_OK(pk_document_set_prefix(&d, r, (pk_text){ prefix, strlen(prefix) }));
    const pk_ids ids = d.job[0].prefix;
    d.job[0].prefix = (pk_ids){ 0 };
    pk_document_free(&d);
    return ids;
}

/* whether a prefix in capitals is read as the same in the given letters */
static bool is_read_as(pk_reader *r, const char *prefix, const char *small) {
    pk_ids     a = prefix_of(r, "THE CAT SEES", prefix), b = prefix_of(r, "The cat sees", small);
    const bool same = a.n == b.n && !memcmp(a.id, b.id, a.n * sizeof *a.id);
    pk_ids_free(&a);
    pk_ids_free(&b);
    return same;
}

/* a prefix is in the target's language: there the word I is a word of English, or not */
static void the_word_i_is_of_its_language(void **state) {
    (void)state;
    pk_model *m = open_model("marian-relu");
    pk_reader r = open_reader(m, "en", "de", 100);
    assert_true(is_read_as(&r, "SO I SEE", "So i see"));
    assert_false(is_read_as(&r, "SO I SEE", "So I see"));
    strcpy(r.language.source_code, "de");
    strcpy(r.language.target_code, "en");
    assert_true(is_read_as(&r, "SO I SEE", "So I see"));
    pk_document d = read_text(&r, true, "SO I SEE");
    assert_string_equal(d.text, "So i see");
    pk_document_free(&d);
    pk_splitter_close(r.splitter);
    pk_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_names_the_target_of_marian),
        cmocka_unit_test(a_model_of_one_pair_needs_no_tag),
        cmocka_unit_test(mbart_needs_both_languages),
        cmocka_unit_test(a_job_has_language_and_end),
        cmocka_unit_test(long_sentences_are_cut_at_good_boundaries),
        cmocka_unit_test(prefixes_and_targets_that_are_too_long_are_refused),
        cmocka_unit_test(links_are_of_words_not_pieces),
        cmocka_unit_test(bytes_belong_to_the_word_they_are_in),
        cmocka_unit_test(bytes_are_whole_across_cuts),
        cmocka_unit_test(unknowns_are_what_they_looked_at),
        cmocka_unit_test(capitals_are_read_as_small_letters),
        cmocka_unit_test(capitals_are_written),
        cmocka_unit_test(the_word_i_is_of_its_language),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
