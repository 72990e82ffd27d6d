/* detection.c - the language of one or several texts together, as requests ask for it. */
#include "detection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plain_text.h"

/* sums, until all texts are seen */
typedef struct tally {
    pk_language_guess guess;
    size_t            n;
} tally;

enum { MOST = 4096 }; /* bytes: the first of a long text are as good as all of it */

/* the same of what stands between tags */
static pk_text without_tags(pk_text text, char out[MOST]) {
    size_t n = 0;
    bool   tag = false;
    for (size_t i = 0; i < text.size && n < MOST; i++) {
        if (text.data[i] == '<') tag = true;
        if (!tag) out[n++] = text.data[i];
        if (tag && text.data[i] == '>') tag = false, out[n++] = ' ';
    }
    return (pk_text){ out, n };
}

static pk_text beginning(pk_text text) {
    if (text.size <= MOST) return text;
    text.size = MOST;
    while (text.size && (text.data[text.size] & 0xC0) == 0x80) text.size--;
    return text;
}

/* which of the languages (codes as people write them: "pt-BR"), and how sure that is; -1: no telling */
static int find_best(pk_text text, const char *const *names, size_t n, double *confidence) {
    pk_detected             best;
    size_t                  found = 0;
    const pk_detect_options o = { .size = sizeof o, .languages = names, .n_languages = n };
    if (pk_detect(text, &o, &best, 1, &found) != PK_OK || !found || best.confidence <= 0) return -1;
    *confidence = best.confidence;
    for (size_t i = 0; i < n; i++)
        if (names[i] == best.language) return (int)i;
    return -1;
}

static void add(tally *t, const pk_languages *l, const char *const *names, pk_text text,
                bool html) {
    double confidence = 0;
    char   plain[MOST];
    text = html ? without_tags(text, plain) : beginning(text);
    const int at = pk_text_is_translatable(text.data, text.size)
                       ? find_best(text, names, l->n, &confidence)
                       : -1;
    if (at < 0) return;
    t[at].guess.confidence += confidence;
    t[at].guess.size += pk_text_characters(text.data, text.size);
    t[at].n++;
}

/* confidence counts as much as there is text */
static int by_weight(const void *a, const void *b) {
    const pk_language_guess *x = a, *y = b;
    const double one = x->confidence * (double)x->size, two = y->confidence * (double)y->size;
    return (one < two) - (one > two);
}

static pk_language_guess *collect(const tally *t, const pk_languages *l, size_t *n) {
    pk_language_guess *guess = calloc(l->n + 1, sizeof *guess);
    *n = 0;
    for (size_t i = 0; guess && i < l->n; i++) {
        if (!t[i].n) continue;
        guess[*n] = t[i].guess;
        guess[*n].confidence = round(guess[*n].confidence / (double)t[i].n);
        strcpy(guess[(*n)++].code, l->code[i]);
    }
    if (guess && *n) qsort(guess, *n, sizeof *guess, by_weight);
    if (guess && !*n) {
        strcpy(guess[0].code, "en");
        *n = 1;
    }
    return guess;
}

pk_language_guess *pk_detection_guess(pk_models *m, const pk_text *text, size_t n, bool html,
                                      size_t *n_guesses) {
    pk_languages       l = { 0 };
    pk_language_guess *guess = NULL;
    if (!pk_models_languages(m, &l)) return NULL;
    const char **name = calloc(l.n + 1, sizeof *name);
    tally       *t = calloc(l.n + 1, sizeof *t);
    if (name && t) {
        for (size_t i = 0; i < l.n; i++) name[i] = pk_language_outside(l.code[i]);
        for (size_t i = 0; i < n; i++) add(t, &l, name, text[i], html);
        guess = collect(t, &l, n_guesses);
    }
    free(name);
    free(t);
    pk_languages_free(&l);
    return guess;
}
