/* detect.c - which language a text is in.
 *
 * The script comes first: letters of a script only speak for languages that are written in it. For
 * each script the rows of its n-grams are summed, and the softmax over the languages asked for
 * shares out that script's part of the text. Takes no memory, keeps no state, and never fails for
 * what a text holds. */
#include <math.h>
#include <string.h>

#include <unicode/uscript.h>

#include "base/option_struct.h"
#include "detect/detect_codes.h"
#include "detect/detect_table.h"
#include "detect/detect_words.h"

enum { MOST_SCRIPTS = 6 };

/* what was read in one script */
typedef struct part {
    pk_detect_group group; /* n == 0: the table does not know this script */
    int32_t         script, letters;
    int32_t         ngrams; /* known ones */
    int32_t         sum[PK_DETECT_LANGUAGES];
} part;

typedef struct detection {
    part        part[MOST_SCRIPTS]; /* texts with more scripts are judged by the first */
    int32_t     n_parts;
    size_t      n; /* languages to choose from */
    const char *code[PK_MOST_DETECTED];
    uint64_t    key[PK_MOST_DETECTED];
    double      confidence[PK_MOST_DETECTED]; /* 0 to 1 */
} detection;

static void add_ngram(void *user, uint64_t hash) {
    part *p = user;
    p->ngrams += pk_detect_group_add(&p->group, hash, p->sum);
}

static void begin_part(part *p, int32_t script) {
    p->script = script;
    while (pk_detect_group_next(&p->group) && p->group.script != script) continue;
}

static void add_word(void *user, const pk_detect_word *word) {
    detection *d = user;
    int32_t    i = 0;
    while (i < d->n_parts && d->part[i].script != word->script) i++;
    if (i == MOST_SCRIPTS) return;
    if (i == d->n_parts) begin_part(&d->part[d->n_parts++], word->script);
    d->part[i].letters += word->n;
    pk_detect_ngrams(word, add_ngram, &d->part[i]);
}

/* How much a script's part of the text says. Latin words are common in text of all languages
 * (names, technical terms) but not the other way round, and a Chinese character says more than a
 * letter. */
static double weight_of(const part *p) {
    double each = 4;
    if (p->script == USCRIPT_LATIN) each = 1;
    if (p->script == USCRIPT_HAN || p->script == USCRIPT_HANGUL) each = 8;
    return each * p->letters * each * p->letters;
}

/* the first of the languages asked for with that key; -1: none */
static int32_t find_key(const detection *d, uint64_t key) {
    for (size_t i = 0; key && i < d->n; i++)
        if (d->key[i] == key) return (int32_t)i;
    return -1;
}

/* each language of the table counts for one of those asked for: itself, or else a relative */
static int32_t owner_of(const detection *d, const char *code) {
    const uint64_t key = pk_code_key(code);
    const int32_t  found = find_key(d, key);
    return found >= 0 ? found : find_key(d, pk_code_relative(key));
}

/* shares out a script's part of the text; it is lost where no language asked for is written so */
static void share_out(detection *d, const part *p, double share) {
    const double divisor = PK_DETECT_SCALE * pow(p->ngrams ? p->ngrams : 1, PK_DETECT_POWER);
    double       score[PK_DETECT_LANGUAGES], best = -INFINITY, sum = 0;
    int32_t      owner[PK_DETECT_LANGUAGES];
    for (int32_t i = 0; i < p->group.n; i++) {
        owner[i] = owner_of(d, pk_detect_group_code(&p->group, i));
        score[i] = p->sum[i] / divisor + pk_detect_group_bias(&p->group, i) / PK_DETECT_SCALE;
        if (owner[i] >= 0) best = fmax(best, score[i]);
    }
    for (int32_t i = 0; i < p->group.n; i++) {
        score[i] = owner[i] >= 0 ? exp(score[i] - best) : 0;
        sum += score[i];
    }
    for (int32_t i = 0; i < p->group.n; i++)
        if (owner[i] >= 0) d->confidence[owner[i]] += share * score[i] / sum;
}

static void judge(detection *d) {
    double all = 0;
    for (int32_t i = 0; i < d->n_parts; i++) all += weight_of(&d->part[i]);
    for (int32_t i = 0; i < d->n_parts; i++)
        share_out(d, &d->part[i], weight_of(&d->part[i]) / all);
}

/* all known languages, each once though it may have several scripts */
static void ask_for_all(detection *d) {
    pk_detect_group group = { 0 };
    while (pk_detect_group_next(&group))
        for (int32_t i = 0; i < group.n && d->n < PK_MOST_DETECTED; i++) {
            const uint64_t key = pk_code_key(pk_detect_group_code(&group, i));
            if (find_key(d, key) >= 0) continue;
            d->code[d->n] = pk_detect_group_code(&group, i);
            d->key[d->n++] = key;
        }
}

static pk_status ask_for(detection *d, const pk_detect_options *o) {
    if (o->n_languages > PK_MOST_DETECTED)
        PK_FAIL(PK_ARGUMENT, "%zu languages to choose from; at most %d are possible",
                o->n_languages, PK_MOST_DETECTED);
    for (d->n = 0; d->n < o->n_languages; d->n++) {
        d->code[d->n] = o->languages[d->n];
        if (!d->code[d->n]) PK_FAIL(PK_ARGUMENT, "pk_detect: language %zu is NULL", d->n + 1);
        d->key[d->n] = pk_code_key(d->code[d->n]);
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
    if (o.languages)
        PK_TRY(ask_for(&d, &o));
    else
        ask_for_all(&d);
    const size_t size = text.size < PK_DETECT_BYTES ? text.size : PK_DETECT_BYTES;
    pk_detect_words(text.data, size, false, add_word, &d);
    if (d.n_parts == 0) pk_detect_words(text.data, size, true, add_word, &d);
    judge(&d);
    *n = write_best(&d, out, room);
    return PK_OK;
}
