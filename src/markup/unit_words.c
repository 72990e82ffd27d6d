/* unit_words.c - from a hypothesis to words that know where they come from.
 *
 *   cut    the output into words; a placeholder is the kept span that it stands for
 *   link   each word to a source word: the one that most bytes of its pieces looked at
 *   mend   (mend.c) what the model lost, wrote twice, or wrote in other terms */
#include <string.h>

#include "markup/mend.h"
#include "markup/unit.h"

size_t pk_mask_lost(const pk_mask *m, const char *text, size_t size) {
    size_t   once = 0, twice = 0;
    pk_found found;
    /* a unit is short: looking back from each placeholder is cheap */
    for (size_t at = 0; pk_mask_find(m, text, size, &at, &found);) {
        bool   seen = false;
        size_t back = 0;
        for (pk_found other; pk_mask_find(m, text, found.begin, &back, &other);)
            seen |= other.kept == found.kept;
        once += !seen;
        twice += seen;
    }
    return m->n - once + twice;
}

/* ---- cut ---- */

/* the placeholders of an output as spans to cut at; *kept[i]: which each is, PK_DROPPED: again */
static pk_status find_all(const pk_mask *m, const char *text, size_t size, pk_kept **spans,
                          pk_ids *kept) {
    pk_found found;
    size_t   room = 0;
    for (size_t at = 0; pk_mask_find(m, text, size, &at, &found);) {
        int32_t which = found.kept;
        for (size_t i = 0; i < kept->n; i++)
            if (kept->id[i] == which) which = PK_DROPPED;
        PK_TRY(PK_RESERVE(spans, kept->n + 1, &room));
        (*spans)[kept->n] = (pk_kept){ .begin = found.begin, .size = found.size };
        PK_TRY(pk_ids_add(kept, which));
    }
    return PK_OK;
}

static pk_status cut(const pk_mask *m, const char *text, size_t size, pk_word_list *out) {
    pk_kept  *spans = NULL;
    pk_ids    kept = { 0 };
    pk_status status;
    PK_GOTO(find_all(m, text, size, &spans, &kept));
    PK_GOTO(pk_word_list_cut(out, text, size, 0, spans, kept.n, 0));
    for (size_t i = 0; i < out->n; i++)
        if (out->word[i].kept >= 0) out->word[i].kept = kept.id[out->word[i].kept];
done:
    pk_memory_give(spans);
    pk_ids_free(&kept);
    return status;
}

/* ---- link ---- */

/* Majority of bytes, in one sweep (Boyer and Moore): a vote for another word takes away. Letters
 * come from letters and signs from signs. */
static void vote(pk_word *word, const pk_word_list *source, int32_t from, size_t bytes,
                 int64_t *weight) {
    if (from < 0 || word->kept != -1 || word->letters != source->word[from].letters) return;
    *weight += word->source == from ? (int64_t)bytes : -(int64_t)bytes;
    if (*weight >= 0 && word->source >= 0) return;
    word->source = from;
    *weight = *weight < 0 ? -*weight : *weight;
}

static size_t overlap(const pk_word *word, const pk_link *link) {
    const size_t begin = word->begin > link->target_begin ? word->begin : link->target_begin;
    const size_t a = word->begin + word->text.size, b = link->target_begin + link->target_size;
    const size_t end = a < b ? a : b;
    return end > begin ? end - begin : 0;
}

static pk_status link_words(const pk_mask *m, const pk_hypothesis_view *h, const pk_unit_world *w,
                            pk_word_list *words) {
    int64_t *weight;
    size_t   first = 0;
    PK_TRY(PK_TAKE(&weight, words->n));
    for (size_t i = 0; i < h->n_links; i++) {
        const pk_link *link = &h->link[i];
        const size_t   byte = pk_mask_origin(m, w->passage, link->source_begin, false);
        const int32_t  from = pk_word_list_find(w->source, byte);
        const pk_word *word = words->word;
        while (first < words->n && word[first].begin + word[first].text.size <= link->target_begin)
            first++;
        for (size_t j = first; j < words->n && overlap(&word[j], link); j++)
            vote(&words->word[j], w->source, from, overlap(&word[j], link), &weight[j]);
    }
    pk_memory_give(weight);
    return PK_OK;
}

static bool same_text(pk_text a, pk_text b) {
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* a word that stands once in the source as it is there (a name, a number) comes from that */
static void link_equals(const pk_word_list *source, pk_stretch in, pk_word_list *words) {
    for (size_t i = 0; i < words->n; i++) {
        pk_word *word = &words->word[i];
        int32_t  only = -1;
        if (!word->letters || word->kept != -1 || word->text.size < 2) continue;
        for (size_t j = in.first; j < in.end; j++)
            if (source->word[j].kept < 0 && same_text(word->text, source->word[j].text))
                only = only == -1 ? (int32_t)j : -2;
        if (only >= 0) word->source = only;
    }
}

/* a kept span comes from itself */
static void link_kept(const pk_word_list *source, pk_stretch in, pk_word_list *words) {
    for (size_t i = 0; i < words->n; i++)
        for (size_t j = in.first; words->word[i].kept >= 0 && j < in.end; j++)
            if (source->word[j].kept == words->word[i].kept) words->word[i].source = (int32_t)j;
}

/* ---- the whole ---- */

/* the source words of a unit */
static pk_stretch words_of(const pk_word_list *source, const pk_unit *u) {
    const int32_t before = u->begin ? pk_word_list_find(source, u->begin - 1) : -1;
    const int32_t last = pk_word_list_find(source, u->begin + u->size - 1);
    return (pk_stretch){ (size_t)(before + 1), (size_t)(last + 1) };
}

static pk_status translated(const pk_unit *u, int32_t rank, const pk_unit_world *w, pk_stretch in,
                            pk_word_list *out) {
    pk_mask            m = { 0 };
    pk_hypothesis_view h;
    pk_status          status;
    const int32_t      n = pk_result_hypotheses(u->result, u->at);
    PK_GOTO(pk_result_hypothesis(u->result, u->at, rank < n ? rank : n - 1, &h));
    PK_GOTO(pk_mask_make(w->passage, u->begin, u->size, u->scheme, &m));
    PK_GOTO(cut(&m, h.text, h.text_size, out));
    PK_GOTO(link_words(&m, &h, w, out));
    link_equals(w->source, in, out);
    link_kept(w->source, in, out);
    PK_GOTO(pk_mend(w, in, out));
done:
    pk_mask_free(&m);
    return status;
}

/* nothing was to be translated: the source's own words */
static pk_status copied(const pk_unit_world *w, pk_stretch in, pk_word_list *out) {
    for (size_t i = in.first; i < in.end; i++) {
        pk_word word = w->source->word[i];
        word.source = (int32_t)i;
        PK_TRY(pk_word_list_add(out, word));
    }
    return PK_OK;
}

/* Before the first word comes what stood before the unit. Kept spans are written as their own
 * bytes. */
pk_status pk_unit_words(const pk_unit *u, int32_t number, int32_t rank, const pk_unit_world *w,
                        pk_word_list *out) {
    const pk_stretch in = words_of(w->source, u);
    pk_word_list     words = { 0 };
    pk_status status = u->copied ? copied(w, in, &words) : translated(u, rank, w, in, &words);
    for (size_t i = 0; i < words.n && status == PK_OK; i++) {
        pk_word word = words.word[i];
        if (i == 0 && in.first < in.end) word.gap = w->source->word[in.first].gap;
        if (word.kept >= 0) word.text = w->passage->kept[word.kept].bytes;
        word.unit = number;
        status = pk_word_list_add(out, word);
    }
    pk_word_list_free(&words);
    return status;
}
