/* subtitles_share.c - the words of a passage to its cues and lines, in proportion.
 *
 * Where to cut: at the gap nearest to the place that is due, but rather behind a sign (a comma, a
 * full stop) if one is near. */
#include <string.h>

#include "markup/subtitles.h"
#include "text/utf8.h"

enum { NARROWEST = 24, NEAR = 6 }; /* characters: a line has at least; a sign is worth so many */

static size_t width(pk_text t) { return pk_utf8_length(t.data, t.size); }

/* the longest line of one cue */
static size_t longest_line(const pk_passage *p, const pk_tag *cue) {
    size_t longest = 0;
    for (size_t at = cue->begin; at < cue->end;) {
        const char  *end = memchr(p->text.data + at, '\n', cue->end - at);
        const size_t stop = end ? (size_t)(end - p->text.data) : cue->end;
        const bool   carriage = end && stop > at && p->text.data[stop - 1] == '\r';
        const size_t n = width((pk_text){ p->text.data + at, stop - at - carriage });
        if (n > longest) longest = n;
        at = stop + 1;
    }
    return longest;
}

pk_subtitle_lines pk_subtitles_lines(const pk_markup *m) {
    pk_subtitle_lines lines = { NARROWEST, "\n" };
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->passage[i].n_tags; k++) {
            const pk_tag *cue = &m->passage[i].tag[k];
            if (!cue->cue) continue;
            const size_t n = longest_line(&m->passage[i], cue);
            if (n > lines.longest) lines.longest = n;
            if (memmem(cue->open.data, cue->open.size, "\r\n", 2)) lines.end = "\r\n";
        }
    return lines;
}

/* characters of the words [first, last), with the gaps between them */
static size_t width_of(const pk_word_list *l, size_t first, size_t last) {
    size_t n = 0;
    for (size_t w = first; w < last; w++)
        n += width(l->word[w].text) + (w > first && l->word[w].gap.size);
    return n;
}

/* the word in (first, last) to cut before, so that `due` characters come before it; 0: none */
static size_t cut_near(const pk_word_list *l, size_t first, size_t last, size_t due) {
    size_t best = 0, at = 0, cost = SIZE_MAX;
    for (size_t w = first; w < last; w++) {
        const pk_word *word = &l->word[w];
        if (w > first && word->gap.size) {
            size_t far = at > due ? at - due : due - at;
            far += l->word[w - 1].letters || !l->word[w - 1].text.size ? NEAR : 0;
            if (far < cost) cost = far, best = w;
            at++;
        }
        at += width(word->text);
    }
    return best;
}

/* line ends that the words brought become spaces, then lines are cut anew, all about as long */
static void wrap(const pk_tag *cue, size_t n_lines, pk_subtitle_lines lines, pk_word_list *l) {
    static const pk_text space = { " ", 1 };
    for (size_t w = cue->first; w < cue->last; w++)
        if (w == cue->first)
            l->word[w].gap.size = 0;
        else if (l->word[w].gap.size)
            l->word[w].gap = space;
    const size_t all = width_of(l, cue->first, cue->last);
    if (all <= lines.longest) return;
    size_t n = (all + lines.longest - 1) / lines.longest, first = cue->first;
    if (n < n_lines) n = n_lines;
    for (size_t left = n; left > 1; left--) {
        const size_t w = cut_near(l, first, cue->last, width_of(l, first, cue->last) / left);
        if (!w) break;
        l->word[w].gap = (pk_text){ lines.end, strlen(lines.end) };
        first = w;
    }
}

static size_t lines_of(const pk_passage *p, const pk_tag *cue) {
    size_t n = 1;
    for (size_t i = cue->begin; i < cue->end; i++) n += p->text.data[i] == '\n';
    return n;
}

static size_t text_width(const pk_passage *p, const pk_tag *cue) {
    return width((pk_text){ p->text.data + cue->begin, cue->end - cue->begin });
}

void pk_subtitles_share(pk_passage *p, pk_subtitle_lines lines, pk_word_list *target) {
    size_t all = 0, first = 0;
    for (size_t i = 0; i < p->n_tags; i++)
        if (p->tag[i].cue) all += text_width(p, &p->tag[i]);
    for (size_t i = 0; i < p->n_tags; i++) {
        pk_tag *cue = &p->tag[i];
        if (!cue->cue) continue;
        const size_t own = text_width(p, cue);
        size_t       end = target->n;
        if (own < all) {
            const size_t rest = width_of(target, first, target->n);
            end = cut_near(target, first, target->n, rest * own / (all ? all : 1));
            if (!end) end = target->n; /* one word for several cues: the first has it */
        }
        cue->first = first;
        cue->last = first = end;
        all -= own;
        if (!p->lines)
            wrap(cue, lines_of(p, cue), lines, target);
        else if (cue->first < cue->last)
            target->word[cue->first].gap.size = 0;
    }
    target->tail.size = 0;
}
