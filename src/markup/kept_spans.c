/* kept_spans.c - see kept_spans.h. Every step is a sweep or a binary search: n log n in all. */
#include "markup/kept_spans.h"

#include <stdlib.h>

typedef struct span {
    size_t      begin, end;
    const char *from, *to; /* bytes of the input */
    bool        broken;    /* a tag covers only a part of it */
} span;

typedef struct spans {
    span  *span;
    size_t n, room;
} spans;

static const pk_origin *origin_of(const pk_passage *p, size_t byte) {
    size_t low = 0, high = p->n_origins;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (p->origin[middle].text <= byte)
            low = middle;
        else
            high = middle;
    }
    return &p->origin[low];
}

static const char *input_at(const pk_passage *p, size_t byte) {
    const pk_origin *o = origin_of(p, byte);
    return o->size == o->input_size ? o->input + (byte - o->text) : o->input;
}

static const char *input_behind(const pk_passage *p, size_t byte) {
    const pk_origin *o = origin_of(p, byte - 1);
    return o->size == o->input_size ? o->input + (byte - o->text) : o->input + o->input_size;
}

static pk_status add(spans *s, const pk_passage *p, size_t begin, size_t end) {
    if (begin >= end) return PK_OK;
    PK_TRY(PK_RESERVE(&s->span, s->n + 1, &s->room));
    s->span[s->n++] =
        (span){ begin, end, input_at(p, begin), input_behind(p, end), .broken = false };
    return PK_OK;
}

/* the ranges that do not meet what is kept already */
static pk_status take_free(const pk_passage *p, const pk_byte_ranges *r, spans *out) {
    size_t k = 0;
    for (size_t i = 0; i < r->n; i++) {
        while (k < p->n_kept && p->kept[k].begin + p->kept[k].size <= r->range[i].begin) k++;
        if (k < p->n_kept && p->kept[k].begin < r->range[i].end) continue;
        PK_TRY(add(out, p, r->range[i].begin, r->range[i].end));
    }
    return PK_OK;
}

/* the first span that ends behind the byte */
static size_t ending_behind(const spans *s, size_t byte) {
    size_t low = 0, high = s->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->span[middle].end <= byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* the span with the byte inside it, not at its ends; NULL: none */
static span *around(const spans *s, size_t byte) {
    const size_t low = ending_behind(s, byte);
    return low < s->n && s->span[low].begin < byte ? &s->span[low] : NULL;
}

/* a tag that is partly inside a span breaks it */
static void find_broken(const pk_passage *p, const spans *s) {
    for (size_t i = 0; i < p->n_tags; i++) {
        const pk_tag *t = &p->tag[i];
        span         *b = around(s, t->begin), *e = around(s, t->end);
        if (b && t->end > b->end) b->broken = true;
        if (e && t->begin < e->begin) e->broken = true;
    }
}

static int by_value(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* broken spans are cut at all beginnings and ends of tags */
static pk_status cut_broken(const pk_passage *p, spans *s) {
    size_t   *edge;
    spans     cut = { 0 };
    size_t    n = 0, at = 0;
    pk_status status;
    PK_TRY(PK_TAKE(&edge, 2 * p->n_tags));
    for (size_t i = 0; i < p->n_tags; i++) edge[n++] = p->tag[i].begin, edge[n++] = p->tag[i].end;
    if (n) qsort(edge, n, sizeof *edge, by_value);
    for (size_t i = 0; i < s->n; i++) {
        size_t begin = s->span[i].begin;
        while (at < n && edge[at] <= begin) at++;
        for (; s->span[i].broken && at < n && edge[at] < s->span[i].end; at++) {
            PK_GOTO(add(&cut, p, begin, edge[at]));
            begin = edge[at];
        }
        PK_GOTO(add(&cut, p, begin, s->span[i].end));
    }
    status = PK_OK;
done:
    pk_memory_give(edge);
    pk_memory_give(status == PK_OK ? s->span : cut.span);
    if (status == PK_OK) *s = cut;
    return status;
}

/* Tags inside a span are written with its bytes. One that opens with the span or closes with it,
 * but does not hold all of it, is outside these bytes: they are extended. */
static void take_tags_in(pk_passage *p, const spans *s) {
    for (size_t i = 0; i < p->n_tags; i++) {
        pk_tag *t = &p->tag[i];
        span   *b = around(s, t->begin), *e = around(s, t->end);
        span   *in = b ? b : e;
        if (!in || t->begin < in->begin || t->end > in->end) continue;
        t->inside = true;
        if (t->mark) continue;
        if (t->begin == in->begin && t->open.data < in->from) in->from = t->open.data;
        if (t->end == in->end && t->close.data + t->close.size > in->to)
            in->to = t->close.data + t->close.size;
    }
}

static bool has_bytes(const span *s, pk_text bytes) {
    return bytes.data >= s->from && bytes.data < s->to;
}

/* Marks at the ends of a span can be among its bytes now that these were extended. What is inside
 * has no children: they belong to what is around it. */
static void take_marks_in(pk_passage *p, const spans *s) {
    for (size_t i = 0; i < p->n_tags; i++) {
        pk_tag      *t = &p->tag[i];
        const size_t k = ending_behind(s, t->begin);
        if (t->mark && k < s->n && has_bytes(&s->span[k], t->open)) t->inside = true;
        if (t->mark && k > 0 && has_bytes(&s->span[k - 1], t->open)) t->inside = true;
        if (t->parent >= 0 && p->tag[t->parent].inside) t->parent = p->tag[t->parent].parent;
    }
}

static int by_place(const void *a, const void *b) {
    const pk_kept *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

pk_status pk_passage_keep(pk_passage *p, const pk_byte_ranges *ranges) {
    spans     s = { 0 };
    pk_status status = take_free(p, ranges, &s);
    if (status == PK_OK && s.n) {
        find_broken(p, &s);
        status = cut_broken(p, &s);
    }
    if (status == PK_OK) take_tags_in(p, &s);
    if (status == PK_OK) take_marks_in(p, &s);
    for (size_t i = 0; i < s.n && status == PK_OK; i++) {
        const span *at = &s.span[i];
        status = pk_passage_add_kept(
            p,
            (pk_kept){ at->begin, at->end - at->begin, { at->from, (size_t)(at->to - at->from) } });
    }
    if (p->n_kept) qsort(p->kept, p->n_kept, sizeof *p->kept, by_place);
    pk_memory_give(s.span);
    return status;
}
