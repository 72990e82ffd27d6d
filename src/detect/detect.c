/* detect.c - which language a text is in.
 *
 * The script comes first: letters of a script only speak for languages that are written in it. For
 * each script the rows of its n-grams are summed, and the softmax over the languages asked for
 * shares out that script's part of the text. Takes no memory, keeps no state, and never fails for
 * what a text holds. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <unicode/uscript.h>

#include "base/option_struct.h"
#include "detect/detect_codes.h"
#include "detect/detect_table.h"
#include "detect/detect_words.h"

enum { MOST_SCRIPTS = 6 };

/* what was read in one script */
typedef struct part {
    int32_t script, letters;
    int32_t ngrams; /* known ones */
    int32_t sum[PK_DETECT_WIDTH];
} part;

typedef struct detection {
    pk_detect_table table;
    part            part[MOST_SCRIPTS]; /* texts with more scripts are judged by the first */
    int32_t         n_parts;
    part           *now; /* of the present word */
    /* of each class: which of the languages asked for it counts for; -1: none */
    int16_t     owner[PK_DETECT_MOST_CLASSES];
    size_t      n; /* languages asked for */
    const char *code[PK_MOST_DETECTED];
    double      confidence[PK_MOST_DETECTED]; /* 0 to 1 */
} detection;

static void add_ngram(void *user, uint64_t hash) {
    detection    *d = user;
    const int8_t *row = pk_detect_table_find(&d->table, hash);
    if (!row) return;
    for (int k = 0; k < PK_DETECT_WIDTH; k++) d->now->sum[k] += row[k];
    d->now->ngrams++;
}

static void add_word(void *user, const pk_word *word) {
    detection *d = user;
    int32_t    i = 0;
    while (i < d->n_parts && d->part[i].script != word->script) i++;
    if (i == MOST_SCRIPTS) return;
    if (i == d->n_parts) d->part[d->n_parts++].script = word->script;
    d->now = &d->part[i];
    d->now->letters += word->n;
    pk_word_ngrams(word, add_ngram, d);
}

/* How much a script's part of the text says. Latin words are common in text of all languages (names,
 * technical terms) but not the other way round, and a Chinese character says more than a letter. */
static double weight_of(const part *p) {
    const double each = p->script == USCRIPT_LATIN                                ? 1
                        : p->script == USCRIPT_HAN || p->script == USCRIPT_HANGUL ? 8
                                                                                  : 4;
    return each * p->letters * each * p->letters;
}

/* the logarithm, but for a constant, of how likely it is that a class would look so */
static double score_of(const detection *d, const part *p, const pk_detect_class *class) {
    int64_t product = 0;
    for (int k = 0; k < PK_DETECT_WIDTH; k++) product += (int64_t) class->weight[k] * p->sum[k];
    const double divisor = pow(p->ngrams ? p->ngrams : 1, d->table.power);
    return ((double)product * d->table.scale / divisor + class->bias) / PK_DETECT_CLASS_SCALE;
}

/* shares out a script's part of the text; it is lost where no language asked for is written so */
static void share_out(detection *d, const part *p, double share) {
    double score[PK_DETECT_MOST_CLASSES], best = -INFINITY, sum = 0;
    for (int32_t i = 0; i < d->table.n_classes; i++) {
        pk_detect_class class;
        pk_detect_table_class(&d->table, i, &class);
        score[i] = -INFINITY;
        if (d->owner[i] < 0 || class.script != p->script) continue;
        score[i] = score_of(d, p, &class);
        best = fmax(best, score[i]);
    }
    if (best == -INFINITY) return;
    for (int32_t i = 0; i < d->table.n_classes; i++) sum += exp(score[i] - best);
    for (int32_t i = 0; i < d->table.n_classes; i++)
        if (d->owner[i] >= 0) d->confidence[d->owner[i]] += share * exp(score[i] - best) / sum;
}

static void judge(detection *d) {
    double all = 0;
    for (int32_t i = 0; i < d->n_parts; i++) all += weight_of(&d->part[i]);
    for (int32_t i = 0; i < d->n_parts; i++)
        share_out(d, &d->part[i], weight_of(&d->part[i]) / all);
}

/* all known languages, each once though it may have several scripts */
static void ask_for_all(detection *d) {
    for (int32_t i = 0; i < d->table.n_classes; i++) {
        pk_detect_class class;
        size_t k = 0;
        pk_detect_table_class(&d->table, i, &class);
        while (k < d->n && strcmp(d->code[k], class.code) != 0) k++;
        if (k == d->n) d->code[d->n++] = class.code;
        d->owner[i] = (int16_t)k;
    }
}

/* the first of the languages with that key, or -1 */
static int16_t owner_of(const uint64_t *keys, size_t n, uint64_t key) {
    for (size_t k = 0; key && k < n; k++)
        if (keys[k] == key) return (int16_t)k;
    return -1;
}

/* each class counts for one of the languages: its own, or else a relative of that */
static pk_status ask_for(detection *d, const pk_detect_options *o) {
    uint64_t key[PK_MOST_DETECTED];
    for (d->n = 0; d->n < o->n_languages; d->n++) {
        d->code[d->n] = o->languages[d->n];
        if (!d->code[d->n]) PK_FAIL(PK_ARGUMENT, "pk_detect: language %zu is NULL", d->n + 1);
        key[d->n] = pk_code_key(d->code[d->n]);
    }
    for (int32_t i = 0; i < d->table.n_classes; i++) {
        pk_detect_class class;
        pk_detect_table_class(&d->table, i, &class);
        const uint64_t own = pk_code_key(class.code);
        d->owner[i] = owner_of(key, d->n, own);
        if (d->owner[i] < 0) d->owner[i] = owner_of(key, d->n, pk_code_relative(own));
    }
    return PK_OK;
}

/* best first; equal ones in the order in which they were asked for */
static size_t write_best(detection *d, pk_detected *out, size_t room) {
    const size_t n = room < d->n ? room : d->n;
    for (size_t i = 0; i < n; i++) {
        size_t best = 0;
        for (size_t k = 1; k < d->n; k++)
            if (d->confidence[k] > d->confidence[best]) best = k;
        out[i] = (pk_detected){ d->code[best], fmin(100, 100 * d->confidence[best]) };
        d->confidence[best] = -1;
    }
    return n;
}

pk_status pk_detect(pk_text text, const pk_detect_options *opt, pk_detected *out, size_t room,
                    size_t *n) {
    pk_detect_options o;
    detection         d = { 0 };
    PK_NEED(n);
    *n = 0;
    PK_READ_OPTIONS(pk_detect_options, opt, &o);
    if (text.size) PK_NEED(text.data);
    if (room) PK_NEED(out);
    if (o.n_languages) PK_NEED(o.languages);
    if (o.n_languages > PK_MOST_DETECTED)
        PK_FAIL(PK_ARGUMENT, "pk_detect: %zu languages to choose from; at most %d are possible",
                o.n_languages, PK_MOST_DETECTED);
    pk_detect_table_get(&d.table);
    if (o.languages)
        PK_TRY(ask_for(&d, &o));
    else
        ask_for_all(&d);
    const size_t size = text.size < PK_DETECT_BYTES ? text.size : PK_DETECT_BYTES;
    pk_words_read(text.data, size, false, add_word, &d);
    if (d.n_parts == 0) pk_words_read(text.data, size, true, add_word, &d);
    judge(&d);
    *n = write_best(&d, out, room);
    return PK_OK;
}
