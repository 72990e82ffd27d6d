/* live.c - texts cut into tiles, with their drafts; what comes back is in live_answer.c. */
#include "live.h"

#include <stdlib.h>
#include <string.h>

#include "plain_text.h"
#include "translation.h"

/* characters: more is too much for an answer that describes every word, or every token */
enum { MOST_ALIGNED = 20000, MOST_TRACED = 2000, MOST_TEXTS = 1000 };

void pk_live_free(pk_tiling *l) {
    if (!l) return;
    for (size_t i = 0; i < l->n_tiles; i++) {
        free(l->tile[i].links);
        json_decref(l->tile[i].trace);
    }
    free(l->tile);
    free(l->text);
    free(l->traced);
    free(l);
}

/* ---- the fields ---- */

/* a form says "true" and "1" */
static bool read_flag(const pk_exchange *x, const char *name) {
    const pk_fields *f = &x->request.fields;
    const char      *text = pk_fields_text(f, name);
    if (pk_fields_is_missing(f, name)) return false;
    return !text || (strcmp(text, "false") && strcmp(text, "0"));
}

/* draft i of the request; NULL: it is none */
static const json_t *draft_of(const pk_exchange *x, size_t i) {
    const json_t *draft = pk_fields_get(&x->request.fields, "draft");
    return json_is_array(draft) ? json_array_get(draft, i) : draft;
}

static bool check_draft(pk_exchange *x) {
    const pk_translation *t = x->translation;
    const json_t         *draft = pk_fields_get(&x->request.fields, "draft");
    bool right = json_is_array(draft) ? t->batch && json_array_size(draft) == t->n : !t->batch;
    for (size_t i = 0; right && i < t->n; i++) right = json_is_string(draft_of(x, i));
    if (!right) pk_exchange_fail(x, 400, "Invalid request: draft parameter is not as q is");
    return right;
}

/* what describes every word or every token is bounded */
static bool check_most(pk_exchange *x, const char *name, size_t most) {
    const pk_translation *t = x->translation;
    size_t                characters = 0;
    for (size_t i = 0; i < t->n; i++)
        characters += pk_text_characters(t->text[i].data, t->text[i].size);
    if (characters <= most) return true;
    pk_exchange_fail(x, 400, "Invalid request: %s is for at most %zu characters", name, most);
    return false;
}

/* what cannot be had together */
static bool check_together(pk_exchange *x, const pk_tiling *l, bool streams) {
    const pk_translation *t = x->translation;
    const bool            markup = pk_translation_has_markup(t);
    const char           *refused = markup && l->alignment ? "alignment with html or a glossary"
                                    : markup && l->trace   ? "trace with html or a glossary"
                                    : streams && t->alternatives      ? "alternatives in a stream"
                                    : streams && l->trace             ? "trace in a stream"
                                    : t->alternatives && l->alignment ? "alignment with alternatives"
                                    : t->alternatives && l->trace     ? "trace with alternatives"
                                                                      : NULL;
    if (refused) pk_exchange_fail(x, 400, "Invalid request: no %s", refused);
    return !refused;
}

static bool check_sizes(pk_exchange *x, const pk_tiling *l, bool streams) {
    if (streams) return true;
    if (x->translation->n > MOST_TEXTS) {
        pk_exchange_fail(x, 400,
                         "Invalid request: draft, alignment and trace are for at most %d texts",
                         MOST_TEXTS);
        return false;
    }
    return (!l->alignment || check_most(x, "alignment", MOST_ALIGNED)) &&
           (!l->trace || check_most(x, "trace", MOST_TRACED));
}

bool pk_live_read(pk_exchange *x, bool streams) {
    pk_translation *t = x->translation;
    pk_tiling       l = { .alignment = read_flag(x, "alignment"), .trace = read_flag(x, "trace") };
    const bool      draft = !pk_fields_is_missing(&x->request.fields, "draft");
    if (draft && !check_draft(x)) return false;
    if (!check_together(x, &l, streams)) return false;
    if (t->alternatives || (pk_translation_has_markup(t) && !streams)) return true;
    if (!(streams || draft || l.alignment || l.trace)) return true;
    if (!check_sizes(x, &l, streams)) return false;
    t->live = malloc(sizeof *t->live);
    if (!t->live) return pk_exchange_fail(x, 503, "out of memory"), false;
    *t->live = l;
    return true;
}

/* ---- cutting ---- */

typedef struct cut { /* a text in tiles: where each begins, in bytes */
    size_t *begin;
    size_t  n;
} cut;

/* every sentence but the first begins a tile; a text of white space is one, and so is one without anything */
static bool cut_text(pk_text text, const char *language, cut *out) {
    pk_span *span = NULL;
    size_t   n = 0;
    bool     first = true;
    *out = (cut){ 0 };
    if (pk_text_split(text, language, &span, &n) != PK_OK) return false;
    out->begin = calloc(n + 2, sizeof *out->begin);
    for (size_t i = 0; out->begin && i < n; i++) {
        if (!span[i].sentence) continue;
        out->begin[out->n++] = first ? 0 : span[i].begin;
        first = false;
    }
    if (!out->n) out->n = 1;
    if (out->begin) out->begin[out->n] = text.size;
    pk_free(span);
    return out->begin != NULL;
}

static pk_text part(pk_text text, const cut *c, size_t i) {
    return (pk_text){ text.data + c->begin[i], c->begin[i + 1] - c->begin[i] };
}

/* for n tiles, and the texts that they are */
static bool make_room(pk_translation *t, size_t n) {
    pk_tiling *l = t->live;
    if (n <= l->tile_room) return true;
    const size_t room = 2 * n;
    pk_tile     *tile = realloc(l->tile, room * sizeof *tile);
    if (tile) l->tile = tile;
    pk_text *text = tile ? realloc(t->text, room * sizeof *text) : NULL;
    if (text) t->text = text;
    if (text) l->tile_room = room;
    return text != NULL;
}

/* tiles of one text behind those that are there, with the drafts: one each where there are as many, or all of
 * it for each */
static bool add_tiles(pk_translation *t, size_t number, const cut *c, pk_text draft,
                      const cut *drafts) {
    pk_tiling *l = t->live;
    if (!make_room(t, l->n_tiles + c->n)) return false;
    for (size_t i = 0, characters = 0; i < c->n; i++) {
        const pk_text own = drafts->n == c->n ? part(draft, drafts, i) : draft;
        t->text[t->n] = part(l->text[number], c, i);
        l->tile[t->n] = (pk_tile){ .text = number, .begin = characters, .draft = own };
        characters += pk_text_characters(t->text[t->n].data, t->text[t->n].size);
        l->n_tiles = ++t->n;
    }
    return true;
}

static bool cut_one(pk_exchange *x, size_t i) {
    pk_translation *t = x->translation;
    const json_t   *given = draft_of(x, i);
    const char     *data = json_string_value(given);
    const pk_text   draft = { data ? data : "", json_string_length(given) };
    cut             tiles, drafts = { 0 };
    const bool      done = cut_text(t->live->text[i], t->from, &tiles) &&
                      cut_text(draft, t->to, &drafts) && add_tiles(t, i, &tiles, draft, &drafts);
    free(tiles.begin);
    free(drafts.begin);
    return done;
}

bool pk_live_cut(pk_exchange *x) {
    pk_translation *t = x->translation;
    pk_tiling      *l = t->live;
    bool            done = true;
    if (!l) return true;
    l->text = t->text;
    l->n = t->n;
    t->text = NULL;
    t->n = 0;
    for (size_t i = 0; done && i < l->n; i++) done = cut_one(x, i);
    if (!done) pk_exchange_fail(x, 503, "out of memory");
    return done;
}

pk_text *pk_live_drafts(const pk_tiling *l, size_t n) {
    pk_text *draft = calloc(n + 1, sizeof *draft);
    for (size_t i = 0; draft && i < n; i++) draft[i] = l->tile[l->first + i].draft;
    return draft;
}
