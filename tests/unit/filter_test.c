/* filter_test.c - verdicts on sentence pairs, languages, duplicates, and the report. */
#include "data/filter.h"

#include "data_help.h"

static void test_text(void **state) {
    (void)state;
    const pk_filter f = { .max_length = 4, .max_ratio = 2 };
    assert_int_equal(pk_filter_text(&f, text_of("a"), text_of("b")), PK_PAIR_KEPT);
    assert_int_equal(pk_filter_text(&f, text_of(""), text_of("b")), PK_PAIR_EMPTY);
    assert_int_equal(pk_filter_text(&f, text_of("a"), text_of(" \t\xC2\xA0")), PK_PAIR_EMPTY);
    assert_int_equal(pk_filter_text(&f, text_of("a\xFF"), text_of("b")), PK_PAIR_INVALID);
    assert_int_equal(pk_filter_text(&f, text_of("a"), text_of("\xED\xA0\x80")), PK_PAIR_INVALID);
    char long_text[2000];
    memset(long_text, 'x', sizeof long_text);
    assert_int_equal(pk_filter_text(&f, (pk_text){ long_text, 2000 }, text_of("b")),
                     PK_PAIR_LENGTH);
}

static void test_lengths(void **state) {
    (void)state;
    const pk_filter f = { .max_length = 40, .max_ratio = 3 };
    assert_int_equal(pk_filter_lengths(&f, 40, 40), PK_PAIR_KEPT);
    assert_int_equal(pk_filter_lengths(&f, 41, 40), PK_PAIR_LENGTH);
    assert_int_equal(pk_filter_lengths(&f, 40, 41), PK_PAIR_LENGTH);
    assert_int_equal(pk_filter_lengths(&f, 0, 1), PK_PAIR_EMPTY);
    assert_int_equal(pk_filter_lengths(&f, 1, 10), PK_PAIR_KEPT);
    assert_int_equal(pk_filter_lengths(&f, 1, 11), PK_PAIR_RATIO);
    assert_int_equal(pk_filter_lengths(&f, 30, 10), PK_PAIR_KEPT);
    assert_int_equal(pk_filter_lengths(&f, 31, 10), PK_PAIR_RATIO);
    const pk_filter any = { .max_length = 40 };
    assert_int_equal(pk_filter_lengths(&any, 40, 1), PK_PAIR_KEPT);
}

static pk_looks looks(const char *language, const char *text) {
    pk_language_check *c;
    ASSERT_OK(pk_language_check_open(language, &c));
    const pk_looks found = pk_language_check_text(c, text, strlen(text));
    pk_language_check_close(c);
    return found;
}

static void test_scripts(void **state) {
    (void)state;
    assert_int_equal(looks("de", "Привет, как дела?"), PK_LOOKS_OTHER_SCRIPT);
    assert_int_equal(looks("ru", "Привет, как дела?"), PK_LOOKS_RIGHT);
    assert_int_equal(looks("ru", "Hello, how are you?"), PK_LOOKS_OTHER_SCRIPT);
    assert_int_equal(looks("ru", "NATO"), PK_LOOKS_RIGHT); /* too little to decide */
    assert_int_equal(looks("ru", "Компания Microsoft выпустила Windows"), PK_LOOKS_RIGHT);
    assert_int_equal(looks("ja", "漢字とカタカナとひらがな"), PK_LOOKS_RIGHT);
    assert_int_equal(looks("zh", "ひらがなだけの文章です"), PK_LOOKS_OTHER_SCRIPT);
    assert_int_equal(looks("el", "Καλημέρα σε όλους"), PK_LOOKS_RIGHT);
    assert_int_equal(looks("sr", "Zdravo svima"), PK_LOOKS_RIGHT);
    assert_int_equal(looks("sr", "Здраво свима"), PK_LOOKS_RIGHT);
    assert_int_equal(looks("xx", "Здраво ひらがな"), PK_LOOKS_RIGHT); /* nothing is known of it */
    assert_int_equal(looks("de", "12:30 -- 45 % (!)"), PK_LOOKS_RIGHT);
    assert_int_equal(looks("de", ""), PK_LOOKS_RIGHT);
}

static const struct {
    const char *code, *text;
} sentence[] = {
    { "en", "We have to say that this is not the first time it was done." },
    { "de", "Wir müssen sagen, dass dies nicht das erste Mal ist und es so bleibt." },
    { "fr", "Nous devons dire que ce n'est pas la première fois dans les deux pays." },
    { "es", "Tenemos que decir que no es la primera vez que se hace en los dos países." },
    { "it", "Dobbiamo dire che non è la prima volta e che si è fatto anche in passato." },
    { "pt", "Temos de dizer que não é a primeira vez que isso foi feito em um dos países." },
    { "nl", "Wij moeten zeggen dat het niet de eerste keer is en dat er meer van zijn." },
    { "sv", "Vi måste säga att det inte är första gången och att det var så för alla." },
    { "da", "Vi skal sige at det ikke er første gang og at der var noget af det også her." },
    { "pl", "Musimy powiedzieć, że to nie jest pierwszy raz i że jak co roku są w domu." },
    { "cs", "Musíme říci, že to není poprvé a že se to může stát také na podzim." },
    { "ro", "Trebuie să spunem că nu este prima dată și că a fost mai bine în trecut." },
    { "hu", "Azt kell mondanunk, hogy ez nem az első alkalom, és hogy már volt ilyen." },
    { "fi", "Meidän on sanottava, että se ei ole ensimmäinen kerta ja että hän oli myös." },
    { "ru", "Мы должны сказать, что это не в первый раз и что он был как все на работе." },
    { "uk", "Ми повинні сказати, що це не вперше і що він був як всі на роботі, але й ні." },
};
enum { N_SENTENCES = sizeof sentence / sizeof *sentence };

/* each passes for its own language and is noticed in every other that is not its neighbour */
static void test_stop_words(void **state) {
    (void)state;
    int noticed = 0;
    for (int i = 0; i < N_SENTENCES; i++)
        for (int k = 0; k < N_SENTENCES; k++) {
            const pk_looks found = looks(sentence[i].code, sentence[k].text);
            if (i == k && found != PK_LOOKS_RIGHT) fail_msg("%s refused", sentence[i].code);
            noticed += i != k && found != PK_LOOKS_RIGHT;
        }
    print_message("%d of %d noticed\n", noticed, N_SENTENCES * (N_SENTENCES - 1));
    assert_true(noticed >= N_SENTENCES * (N_SENTENCES - 1) * 95 / 100);
    assert_int_equal(looks("de", sentence[0].text), PK_LOOKS_OTHER_LANGUAGE);
    assert_int_equal(looks("deu_DE", sentence[0].text), PK_LOOKS_OTHER_LANGUAGE);
    assert_int_equal(looks("en", sentence[1].text), PK_LOOKS_OTHER_LANGUAGE);
    /* an unlisted language has nothing to speak for it, so nothing speaks against it */
    assert_int_equal(looks("nb", sentence[8].text), PK_LOOKS_RIGHT);
    /* a quotation does not outweigh the sentence around it */
    assert_int_equal(looks("de", "Er sagte: \"This is the end of it\" und ging aus dem Haus in die "
                                 "Stadt."),
                     PK_LOOKS_RIGHT);
}

static void test_pairs_by_language(void **state) {
    (void)state;
    pk_filter f = { .max_length = 100 };
    ASSERT_OK(pk_language_check_open("en", &f.source));
    ASSERT_OK(pk_language_check_open("de", &f.target));
    const pk_text en = text_of(sentence[0].text), de = text_of(sentence[1].text);
    assert_int_equal(pk_filter_text(&f, en, de), PK_PAIR_KEPT);
    assert_int_equal(pk_filter_text(&f, de, en), PK_PAIR_LANGUAGE);
    assert_int_equal(pk_filter_text(&f, en, en), PK_PAIR_LANGUAGE);
    assert_int_equal(pk_filter_text(&f, en, text_of(sentence[14].text)), PK_PAIR_SCRIPT);
    pk_language_check_close(f.source);
    pk_language_check_close(f.target);
}

static void test_duplicates(void **state) {
    (void)state;
    pk_seen seen = { 0 };
    bool    before;
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < 20000; i++) {
            char a[20], b[20];
            snprintf(a, sizeof a, "s%d", i);
            snprintf(b, sizeof b, "t%d", i / 2);
            ASSERT_OK(pk_seen_add(&seen, pk_pair_hash(text_of(a), text_of(b)), &before));
            assert_int_equal(before, again);
        }
    assert_int_equal(seen.n, 20000);
    pk_seen_free(&seen);
    assert_true(pk_pair_hash(text_of("ab"), text_of("c")) !=
                pk_pair_hash(text_of("a"), text_of("bc")));
    assert_true(pk_pair_hash(text_of("a"), text_of("b")) !=
                pk_pair_hash(text_of("b"), text_of("a")));
}

static void test_report(void **state) {
    (void)state;
    pk_filter_counts c = { .source_tokens = 900, .target_tokens = 1500 };
    c.n[PK_PAIR_KEPT] = 150, c.n[PK_PAIR_LENGTH] = 30, c.n[PK_PAIR_DUPLICATE] = 20;
    pk_buffer out = { 0 };
    pk_filter_report(&c, "a and b", &out);
    assert_int_equal(pk_filter_read(&c), 200);
    assert_string_equal(out.data, "a and b\n"
                                  "           200 pairs read\n"
                                  "           150 kept (75.00 %)\n"
                                  "            30 left out: too long (15.00 %)\n"
                                  "            20 left out: seen before (10.00 %)\n"
                                  "           900 source tokens (6.0 a sentence)\n"
                                  "          1500 target tokens (10.0 a sentence)\n");
    pk_buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_stop_words),
        cmocka_unit_test(test_pairs_by_language),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
