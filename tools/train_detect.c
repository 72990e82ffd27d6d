/* train_detect.c - learns the table of languages, src/detect/detect.table, from what
 * tools/detect_text.py gathered.
 *
 * usage: build/tools/train_detect TEXT OUT [MILLIONS]
 *
 * Multinomial logistic regression over n-grams of letters, for each script by itself. (1) The most
 * frequent n-grams of each language become candidates; (2) all are trained, on a fifth of MILLIONS
 * (6) of snippets for Latin script and fewer for others; (3) those that move logits most are kept,
 * as many as the table has room for, and trained anew, on all of the snippets; (4) rows are rounded
 * to 4 bits. For half of the snippets the softmax is over some
 * languages only: so confidences also hold for callers who choose from few. One thread, fixed seed:
 * the same text gives the same table. */
#include <inttypes.h>

#include <unicode/uscript.h>

#include "detect/detect_words.h"
#include "detect_corpus.h"

enum {
    D = PK_DETECT_LANGUAGES,
    MOST_GROUPS = 64,
    MAP_BITS = 23,
    MOST_NGRAMS = 1 << 22,
    MOST_USED = 100000
};
static const size_t candidates_per_language = 10000, counted_snippets = 15000;
static const double share_of_words = 0.25;

/* room for n-grams, in sets of 4; scripts that are not listed have one language */
static const struct {
    const char *script;
    uint32_t    n_sets;
} room[] = { { "Latn", 5700 }, { "Cyrl", 1700 }, { "Hani", 2400 },
             { "Arab", 600 },  { "Deva", 900 },  { "Beng", 400 } };

typedef struct ngram {
    uint64_t hash;
    float    count, share; /* share: in the language where it is largest; later: importance */
    float    seen;         /* sum of squared gradients, for AdaGrad */
    bool     kept;
} ngram;

typedef struct trainer {
    class_text c[D]; /* of the present group */
    int32_t    n;
    int32_t    script;
    uint32_t   n_sets;
    float      bias[D], bias_seen;
    ngram     *ngram;
    float (*row)[D];
    uint32_t n_ngrams, *map; /* of hashes to n-grams + 1 */
    /* of the present snippet */
    uint32_t *used, n_used;
    bool      counting;
} trainer;

/* ---- n-grams and their places ---- */
static uint32_t *place_of(trainer *t, uint64_t hash) {
    uint32_t mask = (1u << MAP_BITS) - 1, at = (uint32_t)hash & mask;
    while (t->map[at] && t->ngram[t->map[at] - 1].hash != hash) at = (at + 1) & mask;
    return &t->map[at];
}

static void use_ngram(void *user, uint64_t hash) {
    trainer  *t = user;
    uint32_t *place = place_of(t, hash);
    if (!*place && t->counting && t->n_ngrams < MOST_NGRAMS) {
        t->ngram[t->n_ngrams].hash = hash;
        *place = ++t->n_ngrams;
    }
    if (*place && (t->counting || t->ngram[*place - 1].kept) && t->n_used < MOST_USED)
        t->used[t->n_used++] = *place - 1;
}

static void use_word(void *user, const pk_detect_word *word) {
    trainer *t = user;
    if (word->script == t->script) pk_detect_ngrams(word, use_ngram, t);
}

/* fills t->used as pk_detect would */
static void read_snippet(trainer *t, const snippet *s) {
    t->n_used = 0;
    pk_detect_words(s->text, s->size, false, use_word, t);
    if (!t->n_used) pk_detect_words(s->text, s->size, true, use_word, t);
}

static int larger_share(const void *a, const void *b) {
    const ngram *x = a, *y = b;
    if (x->share != y->share) return x->share < y->share ? 1 : -1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* the best n by share, in order; rows are not moved: they must be empty or of no more use */
static void keep_best(trainer *t, uint32_t n) {
    qsort(t->ngram, t->n_ngrams, sizeof *t->ngram, larger_share);
    if (t->n_ngrams > n) memset(t->ngram + n, 0, (t->n_ngrams - n) * sizeof *t->ngram);
    if (t->n_ngrams > n) t->n_ngrams = n;
    memset(t->map, 0, sizeof *t->map << MAP_BITS);
    for (uint32_t i = 0; i < t->n_ngrams; i++) *place_of(t, t->ngram[i].hash) = i + 1;
}

static void count_language(trainer *t, const class_text *c, dice *d) {
    double all = 0;
    for (uint32_t f = 0; f < t->n_ngrams; f++) t->ngram[f].count = 0;
    for (size_t k = 0; k < counted_snippets; k++) {
        snippet s;
        draw_snippet(c, d, share_of_words, &s);
        read_snippet(t, &s);
        all += t->n_used;
        for (uint32_t u = 0; u < t->n_used; u++) t->ngram[t->used[u]].count++;
    }
    for (uint32_t f = 0; f < t->n_ngrams; f++)
        t->ngram[f].share = fmaxf(t->ngram[f].share, t->ngram[f].count / (float)all);
}

static void find_candidates(trainer *t, dice *d) {
    const uint32_t most = (uint32_t)(candidates_per_language * (size_t)t->n);
    memset(t->ngram, 0, MOST_NGRAMS * sizeof *t->ngram);
    t->n_ngrams = 0;
    keep_best(t, 0);
    t->counting = true;
    for (int32_t i = 0; i < t->n; i++) {
        count_language(t, &t->c[i], d);
        if (t->n_ngrams > MOST_NGRAMS / 2) keep_best(t, MOST_NGRAMS / 4);
    }
    t->counting = false;
    keep_best(t, most);
    for (uint32_t f = 0; f < t->n_ngrams; f++) t->ngram[f].kept = true;
}

/* ---- the model ---- */
static double divisor_of(const trainer *t) {
    return pow(t->n_used ? t->n_used : 1, PK_DETECT_POWER);
}

/* p: of each language that takes part; 0 for the others */
static void predict(const trainer *t, const bool *in, double *p) {
    float  sum[D] = { 0 };
    double best = -INFINITY, all = 0;
    for (uint32_t u = 0; u < t->n_used; u++) {
        const float *row = t->row[t->used[u]];
        for (int k = 0; k < D; k++) sum[k] += row[k];
    }
    for (int32_t i = 0; i < t->n; i++) {
        p[i] = (double)sum[i] / divisor_of(t) + (double)t->bias[i];
        if (in[i]) best = fmax(best, p[i]);
    }
    for (int32_t i = 0; i < t->n; i++) all += p[i] = in[i] ? exp(p[i] - best) : 0;
    for (int32_t i = 0; i < t->n; i++) p[i] /= all;
}

/* error: p less 1 for the right language */
static void descend(trainer *t, const double *error, double rate) {
    float  step[D] = { 0 };
    double norm = 0;
    for (int32_t i = 0; i < t->n; i++) norm += error[i] * error[i];
    t->bias_seen += (float)norm;
    for (int32_t i = 0; i < t->n; i++) {
        step[i] = (float)(rate * error[i] / divisor_of(t));
        t->bias[i] -= (float)(0.2 * rate * error[i] / sqrt((double)t->bias_seen));
    }
    norm /= divisor_of(t) * divisor_of(t);
    for (uint32_t u = 0; u < t->n_used; u++) {
        ngram *f = &t->ngram[t->used[u]];
        float *row = t->row[t->used[u]];
        f->seen += (float)norm;
        const float slow = 1 / sqrtf(f->seen + 1e-6f);
        for (int k = 0; k < D; k++) row[k] -= slow * step[k];
    }
}

/* what more people write comes more often, and is so the likelier answer */
static int32_t draw_language(const trainer *t, dice *d) {
    static const char often[] = " de fr es it pt nl pl ru tr ja zh ";
    for (;;) {
        const int32_t i = (int32_t)draw(d, (size_t)t->n);
        const char   *found = strstr(often, t->c[i].code);
        const bool    known = found && found[-1] == ' ' && found[strlen(t->c[i].code)] == ' ';
        const double  share = strcmp(t->c[i].code, "en") == 0 ? 0.6 : known ? 0.5 : 0.25;
        if (throw_dice(d) < share) return i;
    }
}

static void train(trainer *t, uint64_t snippets, double rate, dice *d) {
    double loss = 0;
    for (uint64_t n = 0; n < snippets; n++) {
        snippet       s;
        bool          in[D];
        double        p[D];
        const int32_t right = draw_language(t, d);
        draw_snippet(&t->c[right], d, share_of_words, &s);
        read_snippet(t, &s);
        if (!t->n_used) continue;
        const double rivals = throw_dice(d) < 0.5 ? 1 : throw_dice(d);
        for (int32_t i = 0; i < t->n; i++) in[i] = i == right || throw_dice(d) < rivals;
        predict(t, in, p);
        loss -= log(fmax(p[right], 1e-12));
        p[right] -= 1;
        descend(t, p, rate * (1 - (double)n / (double)snippets));
    }
    fprintf(stderr, "loss %.4f\n", loss / (double)snippets);
}

/* ---- pruning and rounding ---- */
/* how much n-grams move logits, over a sample of the text */
static void weigh_ngrams(trainer *t, dice *d) {
    for (uint32_t f = 0; f < t->n_ngrams; f++) t->ngram[f].share = 0;
    for (int n = 0; n < 200000; n++) {
        snippet s;
        draw_snippet(&t->c[draw_language(t, d)], d, share_of_words, &s);
        read_snippet(t, &s);
        for (uint32_t u = 0; u < t->n_used; u++)
            t->ngram[t->used[u]].share += (float)(1 / divisor_of(t));
    }
    for (uint32_t f = 0; f < t->n_ngrams; f++) {
        double norm = 0;
        for (int k = 0; k < t->n; k++) norm += (double)(t->row[f][k] * t->row[f][k]);
        t->ngram[f].share *= (float)sqrt(norm);
    }
}

/* the best ones that find a place: a set has room for few. They begin anew */
static void prune(trainer *t, dice *d) {
    uint8_t *taken = calloc(t->n_sets, 1);
    uint32_t kept = 0;
    weigh_ngrams(t, d);
    keep_best(t, t->n_ngrams);
    for (uint32_t f = 0; f < t->n_ngrams; f++) {
        ngram         *g = &t->ngram[f];
        const uint32_t set = (uint32_t)(g->hash % t->n_sets);
        g->kept = taken[set] < PK_DETECT_WAYS && g->share > 0;
        g->seen = 0;
        if (g->kept) taken[set]++, kept++;
    }
    memset(t->row, 0, t->n_ngrams * sizeof *t->row);
    free(taken);
    fprintf(stderr, "%u n-grams of %u kept\n", kept, t->n_ngrams);
}

/* the factor for a row, one that covers its largest number */
static uint32_t factor_of(const float *row) {
    double   most = 0;
    uint32_t which = 0;
    for (int k = 0; k < D; k++) most = fmax(most, fabs((double)row[k]));
    while (which < 15 && 7.4 * pk_detect_factor(which) < most * PK_DETECT_SCALE) which++;
    return which;
}

static int32_t rounded(float x, uint32_t factor) {
    const double whole = round((double)x * PK_DETECT_SCALE / pk_detect_factor(factor));
    return (int32_t)fmax(-7, fmin(7, whole));
}

/* The snippets are harder than what people write: many are names, or words that several languages
 * share. With this factor confidences hold for running text (bench/detect.py). */
static void sharpen(trainer *t) {
    const float factor = 1.2f;
    for (uint32_t f = 0; f < t->n_ngrams; f++)
        for (int k = 0; k < D; k++) t->row[f][k] *= factor;
    for (int k = 0; k < D; k++) t->bias[k] *= factor;
}

static void round_rows(trainer *t) {
    for (uint32_t f = 0; f < t->n_ngrams; f++) {
        const uint32_t factor = factor_of(t->row[f]);
        for (int k = 0; k < D; k++)
            t->row[f][k] =
                (float)(rounded(t->row[f][k], factor) * pk_detect_factor(factor) / PK_DETECT_SCALE);
    }
}

/* ---- the file ---- */
static void put(FILE *f, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) fputc((int)(value >> 8 * i & 255), f);
}

static void put_row(const trainer *t, const float *row, FILE *file) {
    const uint32_t factor = row ? factor_of(row) : 0;
    for (int k = 0; k < t->n; k += 2) {
        const int32_t low = row ? rounded(row[k], factor) : 0;
        const int32_t high = row ? rounded(row[k + 1], factor) : 0;
        put(file, (uint64_t)(low + 8) | (uint64_t)(high + 8) << 4, 1);
    }
}

static void put_ngrams(const trainer *t, FILE *f) {
    const size_t places = (size_t)t->n_sets * PK_DETECT_WAYS;
    uint32_t    *at = calloc(places + 1, sizeof *at);
    if (!at) stop("no memory", "for the table");
    for (uint32_t i = 0; i < t->n_ngrams && places; i++) {
        size_t place = t->ngram[i].hash % t->n_sets * PK_DETECT_WAYS;
        if (!t->ngram[i].kept) continue;
        while (at[place]) place++;
        at[place] = i + 1;
    }
    for (size_t i = 0; i < places; i++) {
        const uint32_t g = at[i] ? at[i] - 1 : 0;
        put(f, at[i] ? pk_detect_fingerprint(t->ngram[g].hash) << 4 | factor_of(t->row[g]) : 0, 2);
    }
    for (size_t i = 0; i < places; i++) put_row(t, at[i] ? t->row[at[i] - 1] : NULL, f);
    free(at);
}

static void put_group(const trainer *t, FILE *f) {
    put(f, (uint32_t)t->script, 4);
    put(f, (uint32_t)t->n, 4);
    put(f, t->n_sets, 4);
    for (int32_t i = 0; i < t->n; i++) {
        fwrite(t->c[i].code, 1, 4, f);
        put(f, (uint32_t)(int32_t)lround((double)t->bias[i] * PK_DETECT_SCALE), 4);
    }
    put_ngrams(t, f);
}

/* ---- measuring ---- */
/* share of held-out pieces of so many words that are right; languages below the mean are named */
static void measure(trainer *t, size_t words, dice *d) {
    double right[D] = { 0 }, all[D] = { 0 }, mean = 0;
    bool   in[D];
    memset(in, 1, sizeof in);
    for (int32_t i = 0; i < t->n; i++) {
        const pk_texts *lines = &t->c[i].held_out;
        for (size_t k = 0; k < 400; k++) {
            snippet s;
            double  p[D];
            int32_t best = i;
            snippet_of_line(lines->item[draw(d, lines->n)], words, t->script == USCRIPT_HAN, d, &s);
            read_snippet(t, &s);
            predict(t, in, p);
            for (int32_t r = 0; r < t->n; r++)
                if (p[r] > p[best]) best = r;
            right[i] += best == i;
            all[i]++;
        }
        mean += right[i] / all[i] / t->n;
    }
    fprintf(stderr, "pieces of %zu: %.2f %%;", words, 100 * mean);
    for (int32_t i = 0; i < t->n; i++)
        if (right[i] / all[i] < mean - 0.02)
            fprintf(stderr, " %s %.0f", t->c[i].code, 100 * right[i] / all[i]);
    fprintf(stderr, "\n");
}

static void measure_all(trainer *t, dice *d) {
    static const size_t words[] = { 2, 4, 1000 };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) measure(t, words[i], d);
}

static void learn_group(trainer *t, uint64_t snippets, dice *d) {
    memset(t->row, 0, candidates_per_language * D * sizeof *t->row);
    memset(t->bias, 0, sizeof t->bias);
    t->bias_seen = 1e-3f;
    find_candidates(t, d);
    train(t, snippets / 5, 0.5, d); /* enough to see which n-grams matter */
    measure_all(t, d);
    prune(t, d);
    train(t, snippets, 0.5, d);
    measure_all(t, d);
    sharpen(t);
    round_rows(t);
    measure_all(t, d);
}

/* reads a line of the list of classes; false where it is not of that script */
static bool open_class(const char *folder, const char *line, const char *script, class_text *c) {
    char path[4096], alone[16];
    memset(c, 0, sizeof *c);
    c->alone = sscanf(line, "%3s %7s %15s", c->code, c->script_name, alone) == 3;
    if (strcmp(c->script_name, script) != 0) return false;
    if (c->alone) return true;
    snprintf(path, sizeof path, "%s/%s.%s.lines", folder, c->code, c->script_name);
    read_lines(c, path);
    if (c->lines.n < 100 || c->held_out.n == 0) stop("too little text", path);
    snprintf(path, sizeof path, "%s/%s.%s.words", folder, c->code, c->script_name);
    read_words(c, path);
    return true;
}

static void open_group(trainer *t, const char *folder, const pk_texts *lines, const char *script) {
    UErrorCode  error = U_ZERO_ERROR;
    UScriptCode code;
    t->n = 0;
    t->n_sets = t->n_ngrams = 0;
    for (size_t i = 0; i < lines->n; i++)
        t->n += open_class(folder, lines->item[i], script, &t->c[t->n]);
    if (uscript_getCode(script, &code, 1, &error) < 1) stop("no script", script);
    t->script = code;
    for (size_t i = 0; i < sizeof room / sizeof *room; i++)
        if (strcmp(room[i].script, script) == 0) t->n_sets = room[i].n_sets;
}

/* a script the first time that it comes; `done` lists those before */
static bool is_new(const char *script, char *done, size_t size) {
    char name[16];
    snprintf(name, sizeof name, " %s ", script);
    if (strstr(done, name)) return false;
    strncat(done, name, size - strlen(done) - 1);
    return true;
}

static void learn_all(trainer *t, const char *folder, double millions, FILE *out) {
    dice     d = { 1 };
    char     done[MOST_GROUPS * 8] = "", script[8], path[4096];
    pk_texts lines = { 0 };
    snprintf(path, sizeof path, "%s/classes", folder);
    read_list(&lines, path);
    for (size_t i = 0; i < lines.n; i++) {
        if (sscanf(lines.item[i], "%*s %7s", script) != 1) continue;
        if (!is_new(script, done, sizeof done)) continue;
        open_group(t, folder, &lines, script);
        fprintf(stderr, "== %s, %d languages\n", script, t->n);
        if (t->n_sets) learn_group(t, (uint64_t)(1e6 * millions * sqrt(t->n / 37.)), &d);
        put_group(t, out);
    }
}

int main(int n, char **argument) {
    static trainer t;
    if (n < 3) stop("usage", "train_detect TEXT OUT [MILLIONS]");
    t.ngram = calloc(MOST_NGRAMS, sizeof *t.ngram);
    t.row = calloc(candidates_per_language * D, sizeof *t.row);
    t.map = calloc(1u << MAP_BITS, sizeof *t.map);
    t.used = calloc(MOST_USED, sizeof *t.used);
    if (!t.ngram || !t.row || !t.map || !t.used) stop("no memory", "for n-grams");
    FILE *out = fopen(argument[2], "wb");
    if (!out) stop("cannot write", argument[2]);
    fwrite("pkdetct3", 1, 8, out);
    learn_all(&t, argument[1], n > 3 ? atof(argument[3]) : 6, out);
    put(out, 0, 12);
    if (fclose(out) != 0) stop("cannot write", argument[2]);
    return 0;
}
