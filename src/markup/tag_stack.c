/* tag_stack.c - elements from tags. A tag without a partner in its passage is a mark: it stays
 * where it stood and holds nothing. */
#include "markup/tag_stack.h"

#include <ctype.h>
#include <string.h>

static size_t bucket(pk_text name) {
    size_t h = name.size;
    for (size_t i = 0; i < name.size; i++)
        h = h * 31 + (size_t)tolower((unsigned char)name.data[i]);
    return h % PK_TAG_BUCKETS;
}

static int32_t parent(const pk_tag_stack *s) { return s->n ? s->open[s->n - 1].tag : -1; }

static pk_status add_mark(const pk_tag_stack *s, pk_passage *p, pk_text bytes, bool stray) {
    const pk_tag tag = { .open = bytes,
                         .begin = p->text.size,
                         .end = p->text.size,
                         .parent = parent(s),
                         .mark = true,
                         .stray = stray };
    return pk_passage_add_tag(p, tag, NULL);
}

/* what was opened and not closed: its contents belong to what is around it */
static void drop(pk_tag_stack *s, pk_passage *p) {
    const pk_open_tag last = s->open[--s->n];
    s->count[bucket(last.name)]--;
    p->tag[last.tag].mark = p->tag[last.tag].stray = true;
    p->tag[last.tag].end = p->tag[last.tag].begin;
}

/* Looks for the tag's partner. The names of one bucket may differ: the search is bounded by what it
 * takes off the stack, or finds the name. */
static pk_status close_tag(pk_tag_stack *s, pk_passage *p, const pk_html_token *t) {
    size_t at = s->n;
    enum { MOST_LOOKED_AT = 64 }; /* a partner further out than that is none */
    if (s->count[bucket(t->name)])
        while (at > 0 && s->n - at < MOST_LOOKED_AT &&
               !pk_html_same_name(s->open[at - 1].name, t->name))
            at--;
    if (!s->count[bucket(t->name)] || at == 0 || !pk_html_same_name(s->open[at - 1].name, t->name))
        return add_mark(s, p, t->bytes, true);
    while (s->n > at) drop(s, p);
    pk_tag *tag = &p->tag[s->open[--s->n].tag];
    s->count[bucket(t->name)]--;
    tag->close = t->bytes;
    tag->end = p->text.size;
    return PK_OK;
}

pk_status pk_tag_stack_add(pk_tag_stack *s, pk_passage *p, const pk_html_token *t) {
    if (t->kind == PK_HTML_CLOSE) return close_tag(s, p, t);
    if (t->kind != PK_HTML_OPEN) return add_mark(s, p, t->bytes, false);
    pk_open_tag  open = { .name = t->name };
    const pk_tag tag = { .open = t->bytes, .begin = p->text.size, .parent = parent(s) };
    PK_TRY(PK_RESERVE(&s->open, s->n + 1, &s->room));
    PK_TRY(pk_passage_add_tag(p, tag, &open.tag));
    s->open[s->n++] = open;
    s->count[bucket(t->name)]++;
    return PK_OK;
}

void pk_tag_stack_end(pk_tag_stack *s, pk_passage *p, size_t keep, size_t from) {
    while (s->n > keep) drop(s, p);
    /* a mark holds nothing: what it held is its parent's; parents stand before their children */
    for (size_t i = from; i < p->n_tags; i++) {
        const int32_t up = p->tag[i].parent;
        if (up >= 0 && p->tag[up].mark) p->tag[i].parent = p->tag[up].parent;
    }
}

void pk_tag_stack_free(pk_tag_stack *s) {
    pk_memory_give(s->open);
    *s = (pk_tag_stack){ 0 };
}
