/* live_answer.c - what comes back of tiles: the texts put together, word links, traces. */
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "plain_text.h"
#include "translation.h"

bool pk_live_keep(pk_tiling *l, const pk_result *result, const pk_model *model) {
    for (size_t i = 0; i < pk_result_count(result); i++) {
        pk_hypothesis_view view;
        pk_tile           *tile = &l->tile[l->first + i];
        if (pk_result_hypothesis(result, i, 0, &view) != PK_OK) continue;
        if (l->alignment && view.alignment && !(tile->links = strdup(view.alignment))) return false;
        if (!l->trace) continue;
        tile->trace = pk_live_trace(l, l->first + i, view.token, (size_t)view.n_tokens, model);
        if (!tile->trace) return false;
    }
    return !l->lost;
}

/* ---- texts ---- */

/* the first tile of text i, or of the next one that has any */
static size_t first_tile(const pk_tiling *l, size_t i) {
    size_t low = 0, high = l->n_tiles;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (l->tile[middle].text < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* all tiles are there: not for streams */
static json_t *text_of(const pk_translation *t, size_t i) {
    const size_t begin = first_tile(t->live, i), end = first_tile(t->live, i + 1);
    size_t       size = 0, at = 0;
    for (size_t k = begin; k < end; k++) size += pk_translation_text(t, k).size;
    char *text = malloc(size + 1);
    for (size_t k = begin; text && k < end; k++) {
        const pk_text one = pk_translation_text(t, k);
        memcpy(text + at, one.data, one.size);
        at += one.size;
    }
    json_t *made = text ? json_stringn(text, size) : NULL;
    free(text);
    return made;
}

/* ---- words ---- */

typedef struct words { /* of a text: first character and the one behind the last, for each */
    size_t (*range)[2];
    size_t n;
} words;

/* as the library counts them: between white space */
static bool is_space(uint32_t c) {
    return (c >= 9 && c <= 13) || (c >= 0x1C && c <= ' ') || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

static bool find_words(pk_text text, words *out) {
    *out = (words){ .range = calloc(text.size / 2 + 1, sizeof *out->range) };
    size_t character = 0;
    bool   inside = false;
    for (size_t at = 0; out->range && at < text.size; character++) {
        const bool space = is_space(pk_text_next(text.data, text.size, &at));
        if (!space && !inside) out->range[out->n++][0] = character;
        if (!space) out->range[out->n - 1][1] = character + 1;
        inside = !space;
    }
    return out->range != NULL;
}

/* [source begin, end, target begin, end] of one link; links of words that are not there are left out */
static void add_link(json_t *list, const words *from, const words *to, long a, long b, size_t begin,
                     size_t to_begin) {
    if (a < 0 || b < 0 || (size_t)a >= from->n || (size_t)b >= to->n) return;
    json_array_append_new(list, json_pack("[IIII]", (json_int_t)(begin + from->range[a][0]),
                                          (json_int_t)(begin + from->range[a][1]),
                                          (json_int_t)(to_begin + to->range[b][0]),
                                          (json_int_t)(to_begin + to->range[b][1])));
}

json_t *pk_live_links(const pk_translation *t, size_t tile, size_t to) {
    const pk_tile *one = &t->live->tile[tile];
    const size_t   k = tile - t->live->first;
    words          source, target = { 0 };
    json_t        *list = json_array();
    const bool     right =
        find_words(t->text[k], &source) && find_words(pk_translation_text(t, k), &target);
    char *at = one->links;
    while (right && at && *at) {
        char      *end;
        const long a = strtol(at, &end, 10);
        if (*end != '-') break;
        add_link(list, &source, &target, a, strtol(end + 1, &end, 10), one->begin, to);
        at = end;
    }
    free(source.range);
    free(target.range);
    return list;
}

/* ---- the answer ---- */

static size_t characters(pk_text text) { return pk_text_characters(text.data, text.size); }

/* the sentences of text i: where they stand in both texts, and what was asked for */
static json_t *sentences_of(const pk_translation *t, size_t i) {
    const pk_tiling *l = t->live;
    json_t          *list = json_array();
    size_t           to = 0;
    for (size_t k = first_tile(l, i); k < first_tile(l, i + 1); k++) {
        const pk_tile *tile = &l->tile[k];
        const size_t   n = characters(pk_translation_text(t, k));
        const size_t   end = tile->begin + characters(t->text[k]);
        json_array_append_new(list,
                              json_pack("{s[II]s[II]so}", "source", (json_int_t)tile->begin,
                                        (json_int_t)end, "target", (json_int_t)to,
                                        (json_int_t)(to + n), "links", pk_live_links(t, k, to)));
        to += n;
    }
    return list;
}

static json_t *traces_of(const pk_translation *t, size_t i) {
    const pk_tiling *l = t->live;
    json_t          *list = json_array();
    for (size_t k = first_tile(l, i); k < first_tile(l, i + 1); k++)
        if (l->tile[k].trace) json_array_append(list, l->tile[k].trace);
    return list;
}

/* one value, or an array of as many as there are texts */
static bool add(const pk_translation *t, json_t *answer, const char *name,
                json_t *(*make)(const pk_translation *, size_t)) {
    json_t *all = t->batch ? json_array() : make(t, 0);
    for (size_t i = 0; t->batch && i < t->live->n; i++) json_array_append_new(all, make(t, i));
    return !json_object_set_new(answer, name, all);
}

bool pk_live_add(const pk_translation *t, json_t *answer) {
    return add(t, answer, "translatedText", text_of) &&
           (!t->live->alignment || add(t, answer, "alignment", sentences_of)) &&
           (!t->live->trace || add(t, answer, "trace", traces_of));
}
