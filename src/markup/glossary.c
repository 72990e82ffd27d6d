/* glossary.c - a glossary: lines of `source term TAB target term`, found by the first word.
 *
 * Terms lie in one array, sorted by their first word in small letters; of one first word, the term
 * with the most words comes first. Looking a word up is a binary search for it and for what it is
 * without each ending. */
#include "markup/glossary.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>

#include "text/utf8.h"

typedef struct term {
    pk_word_list words; /* of the source side */
    pk_text      key;   /* the first word in small letters */
    pk_text      target;
    size_t       line;
} term;

struct pk_glossary {
    char     *text; /* a copy of the lines, which terms point into */
    pk_buffer keys;
    term     *term;
    size_t    n, room;
};

/* ---- words ---- */

static void add_folded(pk_text word, pk_buffer *out) {
    int32_t c;
    for (size_t at = 0; at < word.size;) {
        at += pk_utf8_next(word.data + at, word.size - at, &c);
        pk_utf8_add(out, u_tolower(c));
    }
}

/* whether the text begins with the term's word; *rest: bytes of it behind that */
static bool begins_with(pk_text text, pk_text word, size_t *rest) {
    size_t  i = 0, j = 0;
    int32_t a, b;
    while (j < word.size) {
        if (i >= text.size) return false;
        i += pk_utf8_next(text.data + i, text.size - i, &a);
        j += pk_utf8_next(word.data + j, word.size - j, &b);
        if (a != b && u_tolower(a) != b) return false;
    }
    *rest = text.size - i;
    return true;
}

/* the first N_SHORT also go with words of three letters */
static const char *const endings[] = { "s",  "es", "'s", "\xE2\x80\x99s", "e",   "en",
                                       "er", "em", "n",  "ern",           "ens", NULL };
enum { N_SHORT = 4, LEAST_LETTERS = 4 };

/* "companies" of "company": what is before the ending */
static bool has_ies(pk_text text, pk_text word) {
    size_t rest;
    if (word.size < LEAST_LETTERS || word.data[word.size - 1] != 'y' || text.size < 4) return false;
    if (strncmp(text.data + text.size - 3, "ies", 3) != 0) return false;
    return begins_with((pk_text){ text.data, text.size - 3 }, (pk_text){ word.data, word.size - 1 },
                       &rest) &&
           rest == 0;
}

bool pk_glossary_inflects(pk_text text, pk_text word) {
    size_t rest;
    if (begins_with(text, word, &rest)) {
        if (rest == 0) return true;
        const size_t letters = pk_utf8_length(word.data, word.size);
        for (int i = 0; endings[i]; i++)
            if (letters >= (size_t)LEAST_LETTERS - (i < N_SHORT) && strlen(endings[i]) == rest &&
                memcmp(text.data + text.size - rest, endings[i], rest) == 0)
                return true;
        return false;
    }
    return has_ies(text, word);
}

/* ---- reading ---- */

static pk_text trimmed(const char *begin, const char *end) {
    while (begin < end && (*begin == ' ' || *begin == '\r')) begin++;
    while (begin < end && (end[-1] == ' ' || end[-1] == '\r')) end--;
    return (pk_text){ begin, (size_t)(end - begin) };
}

static pk_status add_term(pk_glossary *g, pk_text source, pk_text target, size_t line) {
    PK_TRY(PK_RESERVE(&g->term, g->n + 1, &g->room));
    term *t = &g->term[g->n++];
    *t = (term){ .target = target, .line = line };
    PK_TRY(pk_word_list_cut(&t->words, source.data, source.size, 0, NULL, 0, 0));
    t->key.data = (const char *)g->keys.size; /* a place for now: the buffer moves */
    if (t->words.n) add_folded(t->words.word[0].text, &g->keys);
    t->key.size = g->keys.size - (size_t)t->key.data;
    return pk_buffer_status(&g->keys);
}

/* blank lines are left out; every other has two terms with a tab between them */
static pk_status read_line(pk_glossary *g, const char *begin, const char *end, size_t line) {
    if (trimmed(begin, end).size == 0) return PK_OK;
    const char *tab = memchr(begin, '\t', (size_t)(end - begin));
    if (!tab) PK_FAIL(PK_ARGUMENT, "line %zu of the glossary has no tab between two terms", line);
    const char *next = memchr(tab + 1, '\t', (size_t)(end - tab - 1));
    if (next) PK_FAIL(PK_ARGUMENT, "line %zu of the glossary has more than two columns", line);
    const pk_text source = trimmed(begin, tab), target = trimmed(tab + 1, end);
    if (!source.size || !target.size)
        PK_FAIL(PK_ARGUMENT, "line %zu of the glossary has an empty term", line);
    return add_term(g, source, target, line);
}

static pk_status read_lines(pk_glossary *g, size_t size) {
    const char *at = g->text, *end = g->text + size;
    if (size >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0) at += 3;
    for (size_t line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        PK_TRY(read_line(g, at, stop, line));
        at = stop < end ? stop + 1 : end;
    }
    return PK_OK;
}

static int compare_text(pk_text a, pk_text b) {
    const int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* of two terms with the same words the first line counts */
static int by_key(const void *a, const void *b) {
    const term *x = a, *y = b;
    const int   order = compare_text(x->key, y->key);
    if (order) return order;
    if (x->words.n != y->words.n) return x->words.n > y->words.n ? -1 : 1;
    return x->line < y->line ? -1 : 1;
}

static pk_status read_all(pk_glossary *g, pk_text tsv) {
    PK_TRY(pk_memory_copy_text(tsv.data ? tsv.data : "", tsv.size, &g->text));
    if (!pk_utf8_valid(g->text, tsv.size)) PK_FAIL(PK_ARGUMENT, "the glossary is not UTF-8 text");
    if (memchr(g->text, '\0', tsv.size)) PK_FAIL(PK_ARGUMENT, "the glossary has a NUL byte");
    pk_buffer_add(&g->keys, "", 0);
    PK_TRY(read_lines(g, tsv.size));
    for (size_t i = 0; i < g->n; i++)
        g->term[i].key.data = g->keys.data + (size_t)g->term[i].key.data;
    if (g->n) qsort(g->term, g->n, sizeof *g->term, by_key);
    return PK_OK;
}

pk_status pk_glossary_open(pk_text tsv, pk_glossary **out) {
    pk_glossary *g;
    PK_NEED(out);
    *out = NULL;
    if (tsv.size) PK_NEED(tsv.data);
    PK_TRY(PK_TAKE(&g, 1));
    const pk_status status = read_all(g, tsv);
    if (status != PK_OK)
        pk_glossary_close(g);
    else
        *out = g;
    return status;
}

void pk_glossary_close(pk_glossary *g) {
    if (!g) return;
    for (size_t i = 0; i < g->n; i++) pk_word_list_free(&g->term[i].words);
    pk_memory_give(g->term);
    pk_buffer_free(&g->keys);
    pk_memory_give(g->text);
    pk_memory_give(g);
}

size_t pk_glossary_count(const pk_glossary *g) { return g ? g->n : 0; }

/* ---- matching ---- */

static size_t lower_bound(const pk_glossary *g, pk_text key) {
    size_t low = 0, high = g->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_text(g->term[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* whether the term's words stand there; only the last may have an ending */
static bool stands_at(const term *t, const pk_word_list *text, size_t at) {
    const size_t n = t->words.n;
    size_t       rest;
    if (!n || at + n > text->n) return false;
    for (size_t i = 0; i < n; i++) {
        const pk_word *word = &text->word[at + i];
        const pk_text  own = t->words.word[i].text;
        if (word->kept >= 0) return false;
        if (i + 1 == n) return pk_glossary_inflects(word->text, own);
        if (!begins_with(word->text, own, &rest) || rest) return false;
    }
    return false;
}

/* the longest term with this first word that stands there */
static const term *find_with(const pk_glossary *g, pk_text key, const pk_word_list *text,
                             size_t at) {
    for (size_t i = lower_bound(g, key); i < g->n && !compare_text(g->term[i].key, key); i++)
        if (stands_at(&g->term[i], text, at)) return &g->term[i];
    return NULL;
}

static const term *longer(const term *a, const term *b) {
    return !a || (b && b->words.n > a->words.n) ? b : a;
}

/* the word as it is, without each ending, and with -y for -ies */
static const term *find_at(const pk_glossary *g, const pk_word_list *text, size_t at,
                           pk_buffer *word) {
    pk_buffer_clear(word);
    add_folded(text->word[at].text, word);
    if (word->failed) return NULL;
    const term *best = find_with(g, (pk_text){ word->data, word->size }, text, at);
    for (int i = 0; endings[i]; i++) {
        const size_t n = strlen(endings[i]);
        if (word->size > n && memcmp(word->data + word->size - n, endings[i], n) == 0)
            best = longer(best, find_with(g, (pk_text){ word->data, word->size - n }, text, at));
    }
    if (!best && word->size > 3 && strncmp(word->data + word->size - 3, "ies", 3) == 0) {
        word->data[word->size - 3] = 'y';
        best = find_with(g, (pk_text){ word->data, word->size - 2 }, text, at);
    }
    return best;
}

pk_status pk_glossary_match(const pk_glossary *g, const pk_word_list *text, pk_term_matches *out) {
    pk_buffer word = { 0 };
    pk_status status = PK_OK;
    for (size_t at = 0; g && g->n && at < text->n && status == PK_OK;) {
        const bool  plain = text->word[at].kept < 0;
        const term *t = plain ? find_at(g, text, at, &word) : NULL;
        if (t) status = PK_RESERVE(&out->match, out->n + 1, &out->room);
        if (t && status == PK_OK)
            out->match[out->n++] = (pk_term_match){ at, t->words.n, t->target };
        at += t ? t->words.n : 1;
    }
    if (status == PK_OK) status = pk_buffer_status(&word);
    pk_buffer_free(&word);
    return status;
}
