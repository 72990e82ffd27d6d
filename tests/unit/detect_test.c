/* detect_test.c - which language: fixed examples, restriction, codes, odd input, threads. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "detect/detect_codes.h"
#include "detect/detect_table.h"
#include "detect/detect_words.h"

static const struct {
    const char *language, *text;
} examples[] = {
    { "en", "The weather was so bad that we stayed at home all day." },
    { "de", "Das Wetter war so schlecht, dass wir den ganzen Tag zu Hause blieben." },
    { "fr", "Il faisait si mauvais que nous sommes restés à la maison toute la journée." },
    { "es", "Hacía tan mal tiempo que nos quedamos en casa todo el día." },
    { "it", "Il tempo era così brutto che siamo rimasti a casa tutto il giorno." },
    { "pt", "O tempo estava tão ruim que ficamos em casa o dia inteiro." },
    { "nl", "Het weer was zo slecht dat we de hele dag thuis zijn gebleven." },
    { "pl", "Pogoda była tak zła, że cały dzień siedzieliśmy w domu." },
    { "cs", "Počasí bylo tak špatné, že jsme zůstali celý den doma." },
    { "da", "Vejret var så dårligt, at vi blev hjemme hele dagen." },
    { "sv", "Vädret var så dåligt att vi stannade hemma hela dagen." },
    { "ro", "Vremea a fost atât de rea încât am stat acasă toată ziua." },
    { "hu", "Olyan rossz volt az idő, hogy egész nap otthon maradtunk." },
    { "fi", "Sää oli niin huono, että pysyimme kotona koko päivän." },
    { "tr", "Hava o kadar kötüydü ki bütün gün evde kaldık." },
    { "ru", "Погода была такой плохой, что мы весь день сидели дома." },
    { "uk", "Погода була такою поганою, що ми цілий день сиділи вдома." },
    { "bg", "Времето беше толкова лошо, че останахме вкъщи цял ден." },
    { "ja", "天気がとても悪かったので、一日中家にいました。" },
    { "zh", "天气太糟糕了，我们整天都待在家里。" },
    { "zt", "天氣太糟糕了，我們整天都待在家裡。" },
    { "ko", "날씨가 너무 나빠서 하루 종일 집에 있었다." },
    { "ar", "كان الطقس سيئًا للغاية لدرجة أننا بقينا في المنزل طوال اليوم." },
    { "fa", "هوا آنقدر بد بود که تمام روز در خانه ماندیم." },
    { "el", "Ο καιρός ήταν τόσο κακός που μείναμε σπίτι όλη μέρα." },
    { "he", "מזג האוויר היה כל כך גרוע שנשארנו בבית כל היום." },
    { "th", "อากาศแย่มากจนเราอยู่บ้านทั้งวัน" },
};
enum { N_EXAMPLES = sizeof examples / sizeof *examples };

static pk_detected best_of(const char *text, size_t size, const char *const *languages, size_t n) {
    pk_detected best = { "", -1 };
    size_t      found;
    ASSERT_OK(pk_detect((pk_text){ text, size },
                        PK_OPTIONS(pk_detect_options, .languages = languages, .n_languages = n),
                        &best, 1, &found));
    assert_int_equal(found, languages && n == 0 ? 0 : 1);
    return best;
}
#define BEST(text, ...)                                               \
    best_of(text, strlen(text), (const char *const[]){ __VA_ARGS__ }, \
            sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static void test_examples(void **state) {
    (void)state;
    for (size_t i = 0; i < N_EXAMPLES; i++) {
        pk_detected best;
        size_t      n;
        ASSERT_OK(
            pk_detect((pk_text){ examples[i].text, strlen(examples[i].text) }, NULL, &best, 1, &n));
        assert_int_equal(n, 1);
        assert_string_equal(best.language, examples[i].language);
        assert_true(best.confidence > 80 && best.confidence <= 100);
    }
}

static void test_two_words(void **state) {
    (void)state;
    assert_string_equal(BEST("the house", "de", "en").language, "en");
    assert_string_equal(BEST("das Haus", "en", "de").language, "de");
    assert_string_equal(BEST("GUTEN MORGEN", "en", "de").language, "de");
    assert_string_equal(BEST("bonne nuit", "en", "de", "fr").language, "fr");
}

/* only what the caller names can be found, in the caller's own words */
static void test_restriction(void **state) {
    static const char *const codes[] = { "DE_de", "pt-BR" };
    (void)state;
    const pk_detected best = best_of("das Haus", 8, codes, 2);
    assert_ptr_equal(best.language, codes[0]);
    assert_string_equal(BEST("O tempo estava tão ruim", "en", "pb").language, "pb");
    assert_string_equal(BEST("天氣太糟糕了", "en", "zh").language, "zh");
    assert_string_equal(BEST("天氣太糟糕了", "zh-Hans", "zh-Hant").language, "zh-Hant");
    assert_string_equal(BEST("天气太糟糕了", "zt", "zh").language, "zh");
    /* a language that is not known, or not written so, is never found */
    assert_true(BEST("das Haus", "xx").confidence == 0);
    assert_true(BEST("das Haus", "").confidence == 0);
    assert_true(BEST("das Haus", "ru", "el").confidence == 0);
    assert_true(BEST("das Haus", "de").confidence == 100);
    assert_int_equal(best_of("das Haus", 8, codes, 0).confidence, -1);
}

/* all candidates come out, best first, each once; together they are at most 100 */
static void check_list(const char *text, size_t size) {
    pk_detected found[PK_MOST_DETECTED];
    size_t      n;
    double      sum = 0;
    ASSERT_OK(pk_detect((pk_text){ text, size }, NULL, found, PK_MOST_DETECTED, &n));
    assert_true(n >= 23 && n < PK_MOST_DETECTED);
    for (size_t i = 0; i < n; i++) {
        assert_true(found[i].confidence >= 0 && found[i].confidence <= 100);
        assert_true(i == 0 || found[i].confidence <= found[i - 1].confidence);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(found[i].language, found[k].language);
        sum += found[i].confidence;
    }
    assert_true(sum <= 100.0001);
}

static void test_lists(void **state) {
    (void)state;
    for (size_t i = 0; i < N_EXAMPLES; i++) check_list(examples[i].text, strlen(examples[i].text));
    check_list("Hello мир 世界 αβγ שלום नमस्ते สวัสดี 안녕", 64);
    check_list("", 0);
}

static void test_odd_input(void **state) {
    static const char *const nothing[] = {
        "", " ", "12 345,67 %", "🙂🎉", "...?!", "\xff\xfe\xc3", "\xcc\x81\xcc\x81", "ー"
    };
    (void)state;
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        const pk_detected best = BEST(nothing[i], "fr", "en");
        assert_string_equal(best.language, "fr");
        assert_true(best.confidence == 0);
    }
    assert_true(best_of(NULL, 0, NULL, 0).confidence == 0);
    /* bytes that are no UTF-8 and zeros are passed over */
    assert_string_equal(
        best_of("das\0Haus \xff ist \xc3", 16, (const char *const[]){ "en", "de" }, 2).language,
        "de");
    /* names of machines count only where there is nothing else */
    assert_string_equal(BEST("https://example.com/the_house das Haus", "en", "de").language, "de");
    assert_true(BEST("the_house@example.com", "en", "de").confidence > 0);
}

/* an accent that is written apart, as macOS does in names of files, changes nothing */
static void test_composition(void **state) {
    pk_detected apart[PK_MOST_DETECTED], joined[PK_MOST_DETECTED];
    size_t      n;
    (void)state;
    ASSERT_OK(pk_detect((pk_text){ "f\xc3\xbcr Gr\xc3\xb6\xc3\x9f"
                                   "e",
                                   13 },
                        NULL, joined, PK_MOST_DETECTED, &n));
    ASSERT_OK(pk_detect((pk_text){ "fu\xcc\x88r Gro\xcc\x88\xc3\x9f"
                                   "e",
                                   15 },
                        NULL, apart, PK_MOST_DETECTED, &n));
    for (size_t i = 0; i < n; i++) assert_true(apart[i].confidence == joined[i].confidence);
}

/* the first bytes decide, and a long text takes no longer than they do */
static void test_long_text(void **state) {
    enum { SIZE = 1 << 24 };
    char *text;
    (void)state;
    ASSERT_OK(PK_TAKE(&text, SIZE));
    for (size_t i = 0; i < SIZE; i++) text[i] = "das Haus ist klein "[i % 19];
    const pk_detected best = best_of(text, SIZE, NULL, 0);
    assert_string_equal(best.language, "de");
    memset(text, 'x', SIZE);
    best_of(text, SIZE, NULL, 0);
    pk_memory_give(text);
}

static void test_arguments(void **state) {
    const pk_text text = { "das Haus", 8 };
    const char   *many[PK_MOST_DETECTED + 1];
    pk_detected   found;
    size_t        n = 7;
    (void)state;
    ASSERT_STATUS(PK_ARGUMENT, pk_detect(text, NULL, &found, 1, NULL));
    ASSERT_STATUS(PK_ARGUMENT, pk_detect(text, NULL, NULL, 1, &n));
    assert_int_equal(n, 0);
    ASSERT_STATUS(PK_ARGUMENT, pk_detect((pk_text){ NULL, 1 }, NULL, &found, 1, &n));
    ASSERT_STATUS(PK_ARGUMENT, pk_detect(text, &(pk_detect_options){ 0 }, &found, 1, &n));
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_detect(text, PK_OPTIONS(pk_detect_options, .n_languages = 1), &found, 1, &n));
    for (size_t i = 0; i <= PK_MOST_DETECTED; i++) many[i] = "de";
    ASSERT_STATUS(PK_ARGUMENT, pk_detect(text,
                                         PK_OPTIONS(pk_detect_options, .languages = many,
                                                    .n_languages = PK_MOST_DETECTED + 1),
                                         &found, 1, &n));
    ASSERT_OK(pk_detect(
        text, PK_OPTIONS(pk_detect_options, .languages = many, .n_languages = PK_MOST_DETECTED),
        &found, 1, &n));
    many[1] = NULL;
    ASSERT_STATUS(PK_ARGUMENT,
                  pk_detect(text,
                            PK_OPTIONS(pk_detect_options, .languages = many, .n_languages = 2),
                            &found, 1, &n));
    ASSERT_OK(pk_detect(text, NULL, NULL, 0, &n));
    assert_int_equal(n, 0);
}

/* it takes no memory, so none can be missing */
static void test_takes_no_memory(void **state) {
    const int64_t before = pk_memory_count();
    (void)state;
    for (size_t i = 0; i < N_EXAMPLES; i++) check_list(examples[i].text, strlen(examples[i].text));
    assert_int_equal(pk_memory_count(), before);
}

static void detect_examples(pk_detected *out) {
    for (size_t i = 0; i < N_EXAMPLES; i++) {
        size_t n;
        pk_detect((pk_text){ examples[i].text, strlen(examples[i].text) }, NULL, &out[i], 1, &n);
    }
}

static void *detect_again(void *user) {
    for (int i = 0; i < 20; i++) detect_examples(user);
    return NULL;
}

/* same text, same answer, to the last bit and whoever else asks */
static void test_threads(void **state) {
    enum { N_THREADS = 4 };
    static pk_detected alone[N_EXAMPLES], found[N_THREADS][N_EXAMPLES];
    pthread_t          thread[N_THREADS];
    (void)state;
    detect_examples(alone);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, detect_again, found[i]), 0);
    for (size_t i = 0; i < N_THREADS; i++) pthread_join(thread[i], NULL);
    for (size_t i = 0; i < N_THREADS; i++)
        for (size_t k = 0; k < N_EXAMPLES; k++) {
            assert_ptr_equal(found[i][k].language, alone[k].language);
            assert_true(found[i][k].confidence == alone[k].confidence);
        }
}

static void test_codes(void **state) {
    (void)state;
    assert_true(pk_code_key("en") == pk_code_key("EN-us") && pk_code_key("en") != 0);
    assert_true(pk_code_key("de_DE.UTF-8") == pk_code_key("de"));
    assert_true(pk_code_key("zh_TW") == pk_code_key("zt"));
    assert_true(pk_code_key("zh-Hant-HK") == pk_code_key("zt"));
    assert_true(pk_code_key("zh-CN") == pk_code_key("zh"));
    assert_true(pk_code_key("no") == pk_code_key("nb"));
    assert_true(pk_code_key("de") != pk_code_key("dex"));
    assert_true(pk_code_key("") == 0 && pk_code_key("-") == 0 && pk_code_key("abcdefgh") == 0);
    assert_true(pk_code_relative(pk_code_key("zh")) == pk_code_key("zt"));
    assert_true(pk_code_relative(pk_code_key("zt")) == pk_code_key("zh"));
    assert_true(pk_code_relative(pk_code_key("de")) == 0);
}

/* the table is what its reader takes it for: groups with languages, codes of letters, an end */
static void test_table(void **state) {
    pk_detect_group g = { 0 };
    int32_t         groups = 0, sum[PK_DETECT_LANGUAGES] = { 0 };
    (void)state;
    for (; pk_detect_group_next(&g); groups++) {
        assert_true(g.script > 1 && g.n <= PK_DETECT_LANGUAGES);
        assert_true(g.n == 1 || g.n_sets > 0);
        for (int32_t i = 0; i < g.n; i++) {
            const size_t n = strlen(pk_detect_group_code(&g, i));
            assert_true(n >= 2 && n <= 3);
        }
    }
    assert_true(groups > 20);
    assert_false(pk_detect_group_add(&g, 0, sum));
    for (int k = 0; k < PK_DETECT_LANGUAGES; k++) assert_int_equal(sum[k], 0);
}

static void count_ngram(void *user, uint64_t hash) {
    (void)hash;
    ++*(int *)user;
}
static void count_ngrams(void *user, const pk_detect_word *word) {
    assert_int_equal(word->letter[0], ' ');
    assert_int_equal(word->letter[word->n + 1], ' ');
    pk_detect_ngrams(word, count_ngram, user);
}

/* " ab " has a, b, " a", ab, "b ", " ab", "ab ", " ab " */
static void test_ngrams(void **state) {
    int n = 0;
    (void)state;
    pk_detect_words("ab", 2, false, count_ngrams, &n);
    assert_int_equal(n, 8);
    pk_detect_words("a1 -b c/d", 9, false, count_ngrams, &n);
    assert_int_equal(n, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),        cmocka_unit_test(test_two_words),
        cmocka_unit_test(test_restriction),     cmocka_unit_test(test_lists),
        cmocka_unit_test(test_odd_input),       cmocka_unit_test(test_composition),
        cmocka_unit_test(test_long_text),       cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_takes_no_memory), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_codes),           cmocka_unit_test(test_table),
        cmocka_unit_test(test_ngrams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
