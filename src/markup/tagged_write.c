/* tagged_write.c - a walk over the tree of tags, without recursion: markup may be nested deeply.
 *
 * Words are written as the walk gets to them. The gap before a word is written before the tags that
 * open there, so that tags stand at their words. */
#include "markup/tagged_write.h"

#include <stdlib.h>

#include "markup/html.h"
#include "text/utf8.h"

typedef struct writer {
    const pk_passage   *p;
    const pk_word_list *target;
    pk_buffer          *out;
    size_t              at;     /* the next word */
    bool                gapped; /* the gap before it is written */
    bool                escape;
} writer;

typedef struct child {
    int32_t tag, parent;
    size_t  first;
} child;

static void write_text(const writer *w, pk_text text, bool raw) {
    if (w->escape && !raw)
        pk_html_escape(text, w->out);
    else
        pk_buffer_add(w->out, text.data, text.size);
}

static void write_gap(writer *w) {
    if (w->gapped || w->at >= w->target->n) return;
    write_text(w, w->target->word[w->at].gap, false);
    w->gapped = true;
}

static void write_words(writer *w, size_t until) {
    for (; w->at < until; w->at++) {
        const pk_word *word = &w->target->word[w->at];
        write_gap(w);
        write_text(w, word->text, word->kept >= 0);
        w->gapped = false;
    }
}

static bool space_at(const pk_passage *p, size_t byte) {
    int32_t c;
    if (byte >= p->text.size) return false;
    pk_utf8_next(p->text.data + byte, p->text.size - byte, &c);
    return pk_utf8_is_space(c);
}

static bool space_before(const pk_passage *p, size_t byte) {
    while (byte > 0 && (p->text.data[byte - 1] & 0xC0) == 0x80) byte--;
    return byte > 0 && space_at(p, byte - 1);
}

/* a tag that holds no words: a space that stood before it in the source is written before it */
static void write_mark(writer *w, const pk_tag *t) {
    write_words(w, t->first);
    const bool before = space_before(w->p, t->begin), gap = before && !w->gapped;
    if (before) write_gap(w);
    pk_buffer_add(w->out, t->open.data, t->open.size);
    pk_buffer_add(w->out, t->close.data, t->close.size);
    if (gap && space_at(w->p, t->end) && w->at < w->target->n) pk_buffer_add_text(w->out, " ");
}

static int by_place(const void *a, const void *b) {
    const child *x = a, *y = b;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* the tags, those of one parent together in the order of their words */
static size_t list_children(const pk_passage *p, child *list) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_tags; i++)
        if (!p->tag[i].inside) list[n++] = (child){ (int32_t)i, p->tag[i].parent, p->tag[i].first };
    if (n) qsort(list, n, sizeof *list, by_place);
    return n;
}

/* where the children of each tag begin in the list; [n_tags] is unused, parents count from -1 */
static void index_children(const child *list, size_t n, size_t *begin, size_t n_tags) {
    size_t at = 0;
    for (size_t i = 0; i < n_tags + 1; i++) {
        while (at < n && list[at].parent + 1 < (int32_t)i) at++;
        begin[i] = at;
    }
}

/* next[i + 1]: the next child of tag i to write; the walk needs no other stack than parents */
static void walk(writer *w, const child *list, size_t n, size_t *next) {
    int32_t at = -1;
    for (;;) {
        const size_t  k = next[at + 1];
        const pk_tag *t = k < n && list[k].parent == at ? &w->p->tag[list[k].tag] : NULL;
        if (t) {
            next[at + 1]++;
            if (t->first == t->last && !t->cue &&
                (t->mark || next[list[k].tag + 1] >= n ||
                 list[next[list[k].tag + 1]].parent != list[k].tag)) {
                write_mark(w, t);
                continue;
            }
            write_words(w, t->first);
            if (t->first < t->last) write_gap(w);
            pk_buffer_add(w->out, t->open.data, t->open.size);
            at = list[k].tag;
            continue;
        }
        if (at < 0) break;
        write_words(w, w->p->tag[at].last);
        pk_buffer_add(w->out, w->p->tag[at].close.data, w->p->tag[at].close.size);
        at = w->p->tag[at].parent;
    }
}

pk_status pk_passage_write(const pk_passage *p, const pk_word_list *target, bool escape,
                           pk_buffer *out) {
    writer    w = { .p = p, .target = target, .out = out, .escape = escape };
    child    *list = NULL;
    size_t   *next = NULL;
    pk_status status;
    PK_GOTO(PK_TAKE(&list, p->n_tags));
    PK_GOTO(PK_TAKE(&next, p->n_tags + 1));
    const size_t n = list_children(p, list);
    index_children(list, n, next, p->n_tags);
    walk(&w, list, n, next);
    write_words(&w, target->n);
    write_text(&w, target->tail, false);
    status = pk_buffer_status(out);
done:
    pk_memory_give(list);
    pk_memory_give(next);
    return status;
}
