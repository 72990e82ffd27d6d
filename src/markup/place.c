/* place.c - runs of target words for tags. Parents come before their children.
 *
 * owner[w] is the innermost element that has claimed target word w. An element may take words whose
 * owner is its parent, so siblings cannot overlap and children cannot leave. An element with the
 * same source words as its parent shares its run and its name as an owner. */
#include "markup/place.h"

#include <stdlib.h>
#include <string.h>

typedef struct element {
    size_t  from, to; /* words of the source that it holds */
    int32_t owner;    /* itself, or the ancestor that it shares its run with */
    int32_t depth;
    bool    placed;
} element;

typedef struct places {
    pk_passage         *p;
    const pk_word_list *source, *target;
    element            *of;    /* [tags] */
    int32_t            *owner; /* [target words] */
    size_t             *start; /* [source words + 1] where its targets begin */
    size_t             *word;  /* target words by source word, ascending */
    size_t             *mine;  /* scratch: [target words] */
    size_t             *unit;  /* first target word of each unit, and of one more */
    size_t              n_units;
} places;

/* ---- tables ---- */

static pk_status take_memory(places *s) {
    const size_t n_source = s->source->n, n_target = s->target->n;
    s->n_units = n_target ? (size_t)s->target->word[n_target - 1].unit + 1 : 0;
    PK_TRY(PK_TAKE(&s->of, s->p->n_tags));
    PK_TRY(PK_TAKE(&s->owner, n_target));
    PK_TRY(PK_TAKE(&s->start, n_source + 2));
    PK_TRY(PK_TAKE(&s->word, n_target));
    PK_TRY(PK_TAKE(&s->mine, n_target));
    return PK_TAKE(&s->unit, s->n_units + 1);
}

static void free_memory(places *s) {
    pk_memory_give(s->of);
    pk_memory_give(s->owner);
    pk_memory_give(s->start);
    pk_memory_give(s->word);
    pk_memory_give(s->mine);
    pk_memory_give(s->unit);
}

/* target words by the source word that they come from (a counting sort) */
static void fill_tables(places *s) {
    const pk_word_list *t = s->target;
    for (size_t w = 0; w < t->n; w++) {
        s->owner[w] = -1;
        if (t->word[w].source >= 0) s->start[t->word[w].source + 2]++;
    }
    for (size_t i = 2; i < s->source->n + 2; i++) s->start[i] += s->start[i - 1];
    for (size_t w = 0; w < t->n; w++)
        if (t->word[w].source >= 0) s->word[s->start[t->word[w].source + 1]++] = w;
    size_t unit = 0;
    for (size_t w = 0; w < t->n; w++)
        while (unit <= (size_t)t->word[w].unit) s->unit[unit++] = w;
    while (unit <= s->n_units) s->unit[unit++] = t->n;
}

static size_t n_targets(const places *s, size_t source) {
    return s->start[source + 1] - s->start[source];
}

/* the first source word that ends behind the byte */
static size_t word_behind(const places *s, size_t byte) {
    const int32_t at = pk_word_list_find(s->source, byte);
    if (at < 0) return 0;
    const pk_word *word = &s->source->word[at];
    const size_t   size = word->kept >= 0 ? s->p->kept[word->kept].size : word->text.size;
    return (size_t)at + (word->begin + size <= byte);
}

/* ---- elements ---- */

static int32_t owner_of_parent(const places *s, const pk_tag *t) {
    return t->parent < 0 ? -1 : s->of[t->parent].owner;
}

static void run_of_parent(const places *s, const pk_tag *t, size_t *first, size_t *last) {
    *first = t->parent < 0 ? 0 : s->p->tag[t->parent].first;
    *last = t->parent < 0 ? s->target->n : s->p->tag[t->parent].last;
}

static int ascending(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

static bool source_has_letters(const places *s, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (s->source->word[i].letters) return true;
    return false;
}

/* target words that come from the element and are still its parent's, in order */
static size_t collect(const places *s, const element *e, int32_t parent) {
    const bool letters = source_has_letters(s, e->from, e->to);
    size_t     n = 0;
    for (size_t i = e->from; i < e->to; i++)
        for (size_t k = s->start[i]; k < s->start[i + 1]; k++)
            if (s->owner[s->word[k]] == parent && s->target->word[s->word[k]].letters == letters)
                s->mine[n++] = s->word[k];
    if (n > 1) qsort(s->mine, n, sizeof *s->mine, ascending);
    return n;
}

/* Whether the words of [from, to) may be bridged: all are the parent's. Each one costs as much as a
 * word of one's own brings; signs and words that come from nowhere cost nothing. */
static bool bridge(const places *s, size_t from, size_t to, int32_t parent, int64_t *score) {
    for (size_t w = from; w < to; w++) {
        const pk_word *word = &s->target->word[w];
        *score -= word->letters && word->source >= 0;
        if (*score <= 0 || s->owner[w] != parent) return false;
    }
    return true;
}

/* the best run over the collected words: most of one's own, least of others' */
static void best_run(const places *s, size_t n, int32_t parent, size_t *first, size_t *last) {
    int64_t score = 0, best = 0;
    size_t  begin = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t w = s->mine[i];
        if (i == 0 || !bridge(s, s->mine[i - 1] + 1, w, parent, &score)) score = 0, begin = w;
        score++;
        if (score > best) best = score, *first = begin, *last = w + 1;
    }
}

static bool is_free_sign(const places *s, size_t w, int32_t parent) {
    return s->owner[w] == parent && !s->target->word[w].letters;
}

/* signs at the ends of the element in the source are in it in the target too */
static void take_signs(const places *s, const element *e, int32_t parent, size_t *first,
                       size_t *last) {
    for (size_t i = e->to; i > e->from && !s->source->word[i - 1].letters; i--)
        if (*last < s->target->n && is_free_sign(s, *last, parent)) ++*last;
    for (size_t i = e->from; i < e->to && !s->source->word[i].letters; i++)
        if (*first > 0 && is_free_sign(s, *first - 1, parent)) --*first;
}

static void claim(places *s, size_t i, size_t first, size_t last) {
    pk_tag *t = &s->p->tag[i];
    t->first = first;
    t->last = last;
    s->of[i].placed = true;
    s->of[i].owner = (int32_t)i;
    for (size_t w = first; w < last; w++) s->owner[w] = (int32_t)i;
}

/* the words that the element holds; depth and owner come from its parent */
static void begin_element(places *s, size_t i) {
    const pk_tag *t = &s->p->tag[i];
    element      *e = &s->of[i];
    e->from = word_behind(s, t->begin);
    e->to = t->end > t->begin ? word_behind(s, t->end - 1) + 1 : e->from;
    if (e->to > s->source->n) e->to = s->source->n;
    if (e->to < e->from) e->to = e->from;
    e->depth = t->parent < 0 ? 1 : s->of[t->parent].depth + 1;
    e->owner = (int32_t)i;
}

/* an element that holds all that its parent holds shares its run */
static bool share(places *s, size_t i) {
    pk_tag        *t = &s->p->tag[i];
    element       *e = &s->of[i];
    const element *up = t->parent < 0 ? NULL : &s->of[t->parent];
    const bool     all = up ? up->placed && e->from == up->from && e->to == up->to
                            : e->from == 0 && e->to == s->source->n;
    if (!all || e->from == e->to) return false;
    run_of_parent(s, t, &t->first, &t->last);
    e->owner = up ? up->owner : -1;
    e->depth = up ? up->depth : 1;
    e->placed = true;
    return true;
}

static void place_element(places *s, size_t i) {
    pk_tag *t = &s->p->tag[i];
    size_t  first = 0, last = 0;
    begin_element(s, i);
    if (t->cue) {
        claim(s, i, t->first, t->last);
        return;
    }
    element *e = &s->of[i];
    if (e->from == e->to || e->depth > PK_DEEPEST || share(s, i)) return;
    if (t->parent >= 0 && !s->of[t->parent].placed) return;
    const int32_t parent = owner_of_parent(s, t);
    best_run(s, collect(s, e, parent), parent, &first, &last);
    if (first == last) return;
    take_signs(s, e, parent, &first, &last);
    claim(s, i, first, last);
}

/* ---- elements that no word comes from ---- */

/* a word of a neighbour in the source that nobody else has; best one of several */
static bool borrow(const places *s, size_t source, int32_t parent, size_t least, size_t *word) {
    size_t n = 0;
    for (size_t k = s->start[source]; k < s->start[source + 1]; k++) {
        const size_t w = s->word[k];
        if (s->owner[w] != parent || !s->target->word[w].letters) continue;
        *word = w;
        n++;
    }
    return n >= least;
}

static void place_by_neighbours(places *s, size_t i) {
    enum { FARTHEST = 3 };
    const pk_tag  *t = &s->p->tag[i];
    const element *e = &s->of[i];
    const int32_t  parent = owner_of_parent(s, t);
    size_t         word;
    if (e->placed || e->from == e->to || e->depth > PK_DEEPEST) return;
    if (t->parent >= 0 && !s->of[t->parent].placed) return;
    for (size_t least = 2; least > 0; least--)
        for (size_t d = 1; d <= FARTHEST; d++) {
            const bool ahead =
                e->to - 1 + d < s->source->n && borrow(s, e->to - 1 + d, parent, least, &word);
            if (!ahead && !(e->from >= d && borrow(s, e->from - d, parent, least, &word))) continue;
            claim(s, i, word, word + 1);
            return;
        }
}

/* ---- marks, and elements that hold nothing ---- */

static size_t inside_parent(const places *s, const pk_tag *t, size_t at) {
    size_t first, last;
    run_of_parent(s, t, &first, &last);
    return at < first ? first : at > last ? last : at;
}

/* before what comes from the word behind it, or behind what comes from the word before it */
static size_t by_words(const places *s, size_t behind) {
    enum { FARTHEST = 3 };
    for (size_t d = 0; d < FARTHEST; d++) {
        if (behind + d < s->source->n && n_targets(s, behind + d))
            return s->word[s->start[behind + d]];
        if (behind > d && n_targets(s, behind - 1 - d))
            return s->word[s->start[behind - d] - 1] + 1;
    }
    return s->source->n ? behind * s->target->n / s->source->n : 0;
}

static void place_mark(places *s, size_t i) {
    pk_tag      *t = &s->p->tag[i];
    const size_t behind = word_behind(s, t->begin), n = s->source->n;
    size_t       at = s->target->n;
    if (behind == 0)
        at = 0;
    else if (behind < n && s->source->word[behind].unit != s->source->word[behind - 1].unit)
        at = s->unit[s->source->word[behind].unit];
    else if (behind < n)
        at = by_words(s, behind);
    t->first = t->last = inside_parent(s, t, at);
}

pk_status pk_place_tags(pk_passage *p, const pk_word_list *source, const pk_word_list *target) {
    places    s = { .p = p, .source = source, .target = target };
    pk_status status = take_memory(&s);
    if (status == PK_OK) {
        fill_tables(&s);
        for (size_t i = 0; i < p->n_tags; i++)
            if (!p->tag[i].mark && !p->tag[i].inside) place_element(&s, i);
        for (size_t i = 0, stray = 0; i < p->n_tags; i++) {
            pk_tag *t = &p->tag[i];
            if (t->inside) continue;
            if (!t->mark) place_by_neighbours(&s, i);
            if (t->mark || !s.of[i].placed) place_mark(&s, i);
            if (!t->stray) continue;
            if (t->first < stray) t->first = t->last = inside_parent(&s, t, stray);
            stray = t->first;
        }
    }
    free_memory(&s);
    return status;
}
