/* detect_fuzz.c - any bytes through the detection of languages.
 *
 * The first byte says how many of the next two-byte codes to choose from (0: all languages); the
 * rest is the text. Laws: it never fails; confidences are 0 to 100, fall, and are at most 100
 * together; the same text gets the same answer. */
#include <string.h>

#include "fuzz_help.h"
#include "pronk.h"

enum { MOST_CODES = 15 };

static void check(const pk_detected *found, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        LAW(found[i].language && found[i].confidence >= 0 && found[i].confidence <= 100);
        LAW(i == 0 || found[i].confidence <= found[i - 1].confidence);
        sum += found[i].confidence;
    }
    LAW(sum <= 100.0001);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char        code[MOST_CODES][3] = { { 0 } };
    const char *language[MOST_CODES];
    pk_detected found[PK_MOST_DETECTED], again[PK_MOST_DETECTED];
    size_t      n_codes = size ? data[0] % (MOST_CODES + 1) : 0, n = 0, n_again = 0;
    if (size < 1 + 2 * n_codes) return 0;
    for (size_t i = 0; i < n_codes; i++)
        memcpy(code[i], data + 1 + 2 * i, 2), language[i] = code[i];
    const pk_text     text = { (const char *)data + 1 + 2 * n_codes, size - 1 - 2 * n_codes };
    pk_detect_options options = { .size = sizeof options };
    if (n_codes) options.languages = language, options.n_languages = n_codes;
    LAW(pk_detect(text, &options, found, PK_MOST_DETECTED, &n) == PK_OK);
    LAW(n == n_codes || (n_codes == 0 && n > 0));
    check(found, n);
    LAW(pk_detect(text, &options, again, PK_MOST_DETECTED, &n_again) == PK_OK && n_again == n);
    for (size_t i = 0; i < n; i++)
        LAW(again[i].language == found[i].language && again[i].confidence == found[i].confidence);
    return 0;
}
