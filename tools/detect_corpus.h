/* detect_corpus.h - text by class, and snippets drawn from it: what train_detect.c learns from.
 *
 * A snippet is what people give a detector: a line, some neighbouring words of one, or words of a
 * list, drawn by their counts. One line of 25 is held out, for measuring. Failures end the program:
 * this is a tool, not the library. */
#ifndef PK_TOOLS_DETECT_CORPUS_H
#define PK_TOOLS_DETECT_CORPUS_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/texts.h"
#include "detect/detect_table.h"
#include "text/utf8.h"

typedef struct class_text {
    char     code[4], script_name[8];
    bool     alone; /* the script says all: nothing to learn */
    pk_texts lines, held_out, words;
    double  *up_to; /* of each word: the weights of all up to it */
} class_text;

typedef struct snippet {
    char   text[4096];
    size_t size;
} snippet;

typedef struct dice {
    uint64_t state;
} dice;

static inline double throw_dice(dice *d) { /* 0 to 1 */
    return (double)(pk_mix(d->state += PK_GOLDEN) >> 11) * 0x1p-53;
}
static inline size_t draw(dice *d, size_t n) { return (size_t)(throw_dice(d) * (double)n); }

static inline void stop(const char *what, const char *name) {
    fprintf(stderr, "train_detect: %s: %s\n", what, name);
    exit(1);
}

static inline void add_text(pk_texts *list, const char *text) {
    if (pk_texts_add(list, text, strlen(text)) != PK_OK) stop("no memory", text);
}

static inline void read_list(pk_texts *list, const char *path) {
    char  line[4096];
    FILE *f = fopen(path, "r");
    if (!f) stop("cannot read", path);
    while (fgets(line, sizeof line, f)) add_text(list, line);
    fclose(f);
}

static inline void read_lines(class_text *c, const char *path) {
    char  line[4096];
    FILE *f = fopen(path, "r");
    if (!f) stop("cannot read", path);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        add_text(pk_hash(line, strlen(line)) % 25 == 0 ? &c->held_out : &c->lines, line);
    }
    fclose(f);
}

/* frequent words count for less than their share: the rest of the language is wanted too */
static inline void read_words(class_text *c, const char *path) {
    char   line[4096];
    double sum = 0;
    FILE  *f = fopen(path, "r");
    if (!f) stop("cannot read", path);
    while (fgets(line, sizeof line, f)) {
        char *tab = strchr(line, '\t');
        if (!tab) continue;
        *tab = '\0';
        add_text(&c->words, line);
        if ((c->words.n & (c->words.n - 1)) == 0 || !c->up_to)
            c->up_to = realloc(c->up_to, 2 * (c->words.n + 1) * sizeof *c->up_to);
        sum += pow(atof(tab + 1), 0.7);
        c->up_to[c->words.n - 1] = sum;
    }
    fclose(f);
}

static inline const char *draw_word(const class_text *c, dice *d) {
    const double at = throw_dice(d) * c->up_to[c->words.n - 1];
    size_t       low = 0, high = c->words.n - 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (c->up_to[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return c->words.item[low];
}

static inline void snippet_of_words(const class_text *c, size_t n, dice *d, snippet *out) {
    out->size = 0;
    for (size_t i = 0; i < n; i++)
        out->size +=
            (size_t)snprintf(out->text + out->size, 200, "%s%.150s", i ? " " : "", draw_word(c, d));
}

/* n neighbouring words of a line, from a random one on; of scripts without spaces, letters */
static inline void snippet_of_line(const char *line, size_t n, bool letters, dice *d,
                                   snippet *out) {
    size_t begin[2048], all = 0, size = strlen(line);
    bool   inside = false;
    for (size_t at = 0; at < size && all < 2046;) {
        int32_t      c;
        const size_t step = pk_utf8_next(line + at, size - at, &c);
        const bool   space = pk_utf8_is_space(c);
        if (!space && (letters || !inside)) begin[all++] = at;
        inside = !space;
        at += step;
    }
    begin[all] = size;
    if (n > all) n = all;
    const size_t first = draw(d, all - n + 1);
    out->size = begin[first + n] - begin[first];
    if (out->size >= sizeof out->text) out->size = sizeof out->text - 1;
    memcpy(out->text, line + begin[first], out->size);
}

/* as people write: a third some words, a third a phrase, a third a whole line */
static inline void draw_snippet(const class_text *c, dice *d, double share_of_words, snippet *out) {
    const bool   letters = strcmp(c->script_name, "Hani") == 0;
    const double kind = throw_dice(d);
    size_t       n = kind < 0.35 ? 1 + draw(d, 3) : kind < 0.7 ? 3 + draw(d, 8) : 1000;
    if (c->words.n > 1000 && throw_dice(d) < share_of_words) {
        snippet_of_words(c, n > 6 ? 1 + draw(d, 6) : n, d, out);
        return;
    }
    snippet_of_line(c->lines.item[draw(d, c->lines.n)], letters ? 2 * n : n, letters, d, out);
}
#endif
