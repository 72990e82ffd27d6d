/* document_test.c - languages, and texts as sentences: what a model with several languages is told,
 * where long sentences are cut, which words an alignment links. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "engine/document.h"

#define FOLDER "tests/data/models/"

static pk_model *open_model(const char *name) {
    pk_model *m;
    char      path[128];
    snprintf(path, sizeof path, FOLDER "%s", name);
    ASSERT_OK(pk_model_open(path, NULL, &m));
    return m;
}

static void a_tag_tells_marian_the_target(void **state) {
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

static void long_sentences_are_cut_at_good_places(void **state) {
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
static void links_join_words_not_pieces(void **state) {
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
    ASSERT_OK(pk_document_render(&d, m, 0, true, &out));
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_tells_marian_the_target),
        cmocka_unit_test(a_model_of_one_pair_needs_no_tag),
        cmocka_unit_test(mbart_needs_both_languages),
        cmocka_unit_test(a_job_has_language_and_end),
        cmocka_unit_test(long_sentences_are_cut_at_good_places),
        cmocka_unit_test(prefixes_and_targets_that_are_too_long_are_refused),
        cmocka_unit_test(links_join_words_not_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
