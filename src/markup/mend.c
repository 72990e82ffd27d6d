/* mend.c - edits to a unit's words, collected first and made in one sweep.
 *
 * What is missing goes in place of the words that come from it. If no word does, it is put in behind
 * what comes from the word before it, or before what comes from the word behind it. */
#include "markup/mend.h"

#include <stdlib.h>
#include <string.h>

typedef struct edit {
    size_t  begin, end; /* words to replace; none: put in before `begin` */
    pk_text text;       /* empty: nothing comes in their place */
    int32_t kept, source;
    size_t  order; /* of its making: equal places keep it */
} edit;

typedef struct edits {
    edit  *edit;
    size_t n, room;
} edits;

static pk_status add_edit(edits *e, edit one) {
    PK_TRY(PK_RESERVE(&e->edit, e->n + 1, &e->room));
    one.order = e->n;
    e->edit[e->n++] = one;
    return PK_OK;
}

/* ---- where ---- */

static bool comes_from(const pk_word *word, pk_stretch from) {
    return word->source >= 0 && (size_t)word->source >= from.first &&
           (size_t)word->source < from.end && word->kept == -1;
}

/* of the runs of words that come from there, the one with the longest word; empty: there is none */
static pk_stretch longest_run(const pk_word_list *words, pk_stretch from) {
    pk_stretch best = { 0, 0 }, run = { 0, 0 };
    size_t     longest = 0, best_size = 0;
    for (size_t i = 0; i <= words->n; i++) {
        const bool in = i < words->n && comes_from(&words->word[i], from) && words->word[i].letters;
        if (in && run.first == run.end) run = (pk_stretch){ i, i }, longest = 0;
        if (in) {
            run.end = i + 1;
            if (words->word[i].text.size > longest) longest = words->word[i].text.size;
        } else if (run.end > run.first) {
            if (longest > best_size) best = run, best_size = longest;
            run.first = run.end = i;
        }
    }
    return best;
}

/* the last word, or the first, that comes from a source word; SIZE_MAX: none */
static size_t word_from(const pk_word_list *words, size_t source, bool last) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < words->n; i++)
        if (words->word[i].source == (int32_t)source && (last || found == SIZE_MAX)) found = i;
    return found;
}

/* where to put in what no word comes from: by its neighbours in the source */
static size_t place(const pk_word_list *words, pk_stretch in, pk_stretch from) {
    enum { FARTHEST = 3 };
    for (size_t d = 1; d <= FARTHEST; d++) {
        if (from.first >= in.first + d) {
            const size_t at = word_from(words, from.first - d, true);
            if (at != SIZE_MAX) return at + 1;
        }
        if (from.end - 1 + d < in.end) {
            const size_t at = word_from(words, from.end - 1 + d, false);
            if (at != SIZE_MAX) return at;
        }
    }
    if (from.first == in.first) return 0;
    size_t end = words->n; /* before the sign that ends the sentence */
    while (end > 0 && !words->word[end - 1].letters) end--;
    return end ? end : words->n;
}

/* ---- what ---- */

static bool has_kept(const pk_word_list *words, int32_t kept) {
    for (size_t i = 0; i < words->n; i++)
        if (words->word[i].kept == kept) return true;
    return false;
}

static pk_status mend_kept(const pk_unit_world *w, pk_stretch in, const pk_word_list *words,
                           edits *e) {
    for (size_t i = 0; i < words->n; i++)
        if (words->word[i].kept == PK_DROPPED)
            PK_TRY(add_edit(e, (edit){ .begin = i, .end = i + 1, .kept = -1, .source = -1 }));
    for (size_t s = in.first; s < in.end; s++) {
        const int32_t kept = w->source->word[s].kept;
        if (kept < 0 || has_kept(words, kept)) continue;
        pk_stretch run = longest_run(words, (pk_stretch){ s, s + 1 });
        if (run.first == run.end) run.first = run.end = place(words, in, (pk_stretch){ s, s + 1 });
        PK_TRY(add_edit(e, (edit){ .begin = run.first,
                                   .end = run.end,
                                   .text = w->passage->kept[kept].bytes,
                                   .kept = kept,
                                   .source = (int32_t)s }));
    }
    return PK_OK;
}

/* whether the words of the term stand there, the last perhaps with an ending */
static bool stands_at(const pk_word_list *words, size_t at, const pk_word_list *term) {
    if (at + term->n > words->n) return false;
    for (size_t i = 0; i < term->n; i++) {
        const pk_text  own = term->word[i].text;
        const pk_word *word = &words->word[at + i];
        if (word->kept != -1) return false;
        if (i + 1 == term->n) return pk_glossary_inflects(word->text, own);
        if (word->text.size != own.size || memcmp(word->text.data, own.data, own.size) != 0)
            return false;
    }
    return false;
}

/* The term is there where a word comes from it and the term stands there; or it stands anywhere and
 * no word comes from it, so that there is nothing to replace. */
static bool has_term(const pk_word_list *words, const pk_word_list *term, pk_stretch from) {
    bool there = false, replaceable = false;
    for (size_t i = 0; i < words->n; i++) {
        const bool stands = stands_at(words, i, term);
        for (size_t k = 0; stands && k < term->n; k++)
            if (comes_from(&words->word[i + k], from)) return true;
        there |= stands;
        replaceable |= comes_from(&words->word[i], from);
    }
    return there && !replaceable;
}

static pk_status mend_term(const pk_term_match *t, pk_stretch in, const pk_word_list *words,
                           edits *e) {
    const pk_stretch from = { t->first, t->first + t->n };
    pk_word_list     term = { 0 };
    pk_status  status = pk_word_list_cut(&term, t->target.data, t->target.size, 0, NULL, 0, 0);
    const bool there = status == PK_OK && has_term(words, &term, from);
    pk_word_list_free(&term);
    if (status != PK_OK || there) return status;
    pk_stretch run = longest_run(words, from);
    if (run.first == run.end) run.first = run.end = place(words, in, from);
    return add_edit(e, (edit){ .begin = run.first,
                               .end = run.end,
                               .text = t->target,
                               .kept = -1,
                               .source = (int32_t)t->first });
}

static pk_status mend_terms(const pk_unit_world *w, pk_stretch in, const pk_word_list *words,
                            edits *e) {
    for (size_t i = 0; i < w->terms->n; i++) {
        const pk_term_match *t = &w->terms->match[i];
        if (t->first >= in.end) break; /* they are in order */
        if (t->first >= in.first) PK_TRY(mend_term(t, in, words, e));
    }
    return PK_OK;
}

/* ---- the sweep ---- */

static int by_place(const void *a, const void *b) {
    const edit *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* what an edit brings: a kept span is one word, a term its words */
static pk_status put_in(const edit *e, pk_text gap, pk_word_list *out) {
    const size_t at = out->n;
    if (e->kept >= 0)
        return pk_word_list_add(out, (pk_word){ .gap = gap,
                                                .text = e->text,
                                                .kept = e->kept,
                                                .source = e->source,
                                                .letters = true });
    PK_TRY(pk_word_list_cut(out, e->text.data, e->text.size, 0, NULL, 0, 0));
    for (size_t i = at; i < out->n; i++) out->word[i].source = e->source;
    if (out->n > at) out->word[at].gap = gap;
    return PK_OK;
}

static const pk_text one_space = { " ", 1 };

/* an edit replaces words that an earlier one has taken already? Then it is put in behind that. */
static pk_status make_edits(const edits *e, const pk_word_list *words, pk_word_list *out) {
    size_t at = 0;
    bool   apart = false; /* the next word needs a space before it */
    for (size_t i = 0; i <= e->n; i++) {
        const edit  *one = i < e->n ? &e->edit[i] : NULL;
        const size_t until = one ? one->begin : words->n;
        for (; at < until; at++) {
            PK_TRY(pk_word_list_add(out, words->word[at]));
            pk_word *last = &out->word[out->n - 1];
            if (apart && !last->gap.size && last->letters) last->gap = one_space;
            apart = false;
        }
        if (!one) break;
        const bool replaces = one->begin == at && one->end > at;
        if (replaces || !one->text.size) at = at > one->end ? at : one->end;
        if (!one->text.size) continue;
        PK_TRY(put_in(one,
                      replaces ? words->word[one->begin].gap
                      : out->n ? one_space
                               : (pk_text){ "", 0 },
                      out));
        apart = !replaces;
    }
    out->tail = words->tail;
    return PK_OK;
}

/* only a kept span comes from itself: tags around it hold nothing else */
static void unlink_kept(const pk_unit_world *w, pk_word_list *words) {
    for (size_t i = 0; i < words->n; i++) {
        pk_word *word = &words->word[i];
        if (word->kept < 0 && word->source >= 0 && w->source->word[word->source].kept >= 0)
            word->source = -1;
    }
}

pk_status pk_mend(const pk_unit_world *w, pk_stretch in, pk_word_list *words) {
    edits        e = { 0 };
    pk_word_list mended = { 0 };
    pk_status    status = mend_kept(w, in, words, &e);
    if (status == PK_OK) status = mend_terms(w, in, words, &e);
    if (status == PK_OK && e.n) {
        qsort(e.edit, e.n, sizeof *e.edit, by_place);
        status = make_edits(&e, words, &mended);
        if (status == PK_OK) {
            pk_word_list_free(words);
            *words = mended;
            mended = (pk_word_list){ 0 };
        }
    }
    unlink_kept(w, words);
    pk_word_list_free(&mended);
    pk_memory_give(e.edit);
    return status;
}
