/* glossary_fuzz.c - any bytes as a glossary and a text: up to the first NUL byte the one, behind it
 * the other. Matches are in order, do not overlap and have a target. */
#include "fuzz_help.h"
#include "markup/glossary.h"
#include "text/utf8.h"

static void check_matches(const pk_glossary *g, const char *text, size_t size) {
    pk_word_list    words = { 0 };
    pk_term_matches found = { 0 };
    size_t          behind = 0;
    LAW(pk_word_list_cut(&words, text, size, 0, NULL, 0, 0) == PK_OK);
    LAW(pk_glossary_match(g, &words, &found) == PK_OK);
    for (size_t i = 0; i < found.n; i++) {
        LAW(found.match[i].first >= behind && found.match[i].n && found.match[i].target.size);
        behind = found.match[i].first + found.match[i].n;
        LAW(behind <= words.n);
    }
    pk_memory_give(found.match);
    pk_word_list_free(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t  *end = size ? memchr(data, 0, size) : NULL;
    const size_t    n = end ? (size_t)(end - data) : size;
    pk_glossary    *g = NULL;
    const pk_status status = pk_glossary_open((pk_text){ (const char *)data, n }, &g);
    if (status == PK_OK && end) {
        pk_buffer text = { 0 };
        pk_utf8_repair((const char *)end + 1, size - n - 1, &text);
        if (text.data) check_matches(g, text.data, text.size);
        pk_buffer_free(&text);
    }
    pk_glossary_close(g);
    fuzz_check_end(status);
    return 0;
}
