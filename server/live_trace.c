/* live_trace.c - how the sentences of a request were decoded, pass by pass, as `pronk viz --format json` shows
 * it: the final tokens with the pass that made each certain, and what every pass asked.
 *
 * An ask is accepted if every token fed before it is the final one; so it is found from those. */
#include <stdlib.h>
#include <string.h>

#include "live.h"

/* called from a thread of the translator, to which the exchange belongs then */
void pk_live_record(pk_tiling *l, const pk_trace_pass *pass) {
    const size_t n = (size_t)pass->n;
    if (pass->kept) l->tile[l->first + pass->text].decoding = pass->decoding;
    if (pass->probe || pass->model || l->lost) return;
    if (l->room - l->n_traced < n) {
        const size_t room = l->room + l->room / 2 + n + 64;
        pk_traced   *grown = realloc(l->traced, room * sizeof *grown);
        if (!grown) {
            l->lost = true;
            return;
        }
        l->traced = grown;
        l->room = room;
    }
    l->passes++;
    for (size_t i = 0; i < n; i++) {
        const pk_trace_ask *a = &pass->ask[i];
        l->traced[l->n_traced++] = (pk_traced){ .tile = l->first + pass->text,
                                                .decoding = pass->decoding,
                                                .pass = l->passes,
                                                .position = a->position,
                                                .fed_at = a->fed_at,
                                                .fed = a->token,
                                                .best = a->best,
                                                .parent = a->parent };
    }
}

typedef struct story {   /* of one tile */
    pk_traced      *ask; /* its own, in order; passes count from 1 */
    size_t          n_asks;
    const int32_t  *token;
    int32_t        *fixed; /* the pass that made each token certain; 0: none did */
    size_t          n;
    const pk_model *model;
} story;

/* asks of the decoding that was kept, with passes that count for it alone */
static bool gather(const pk_tiling *l, size_t tile, story *s) {
    int32_t last = 0, pass = 0;
    s->ask = calloc(l->n_traced + 1, sizeof *s->ask);
    s->fixed = calloc(s->n + 1, sizeof *s->fixed);
    if (!s->ask || !s->fixed) return false;
    for (size_t i = 0; i < l->n_traced; i++) {
        if (l->traced[i].tile != tile || l->traced[i].decoding != l->tile[tile].decoding) continue;
        pass += l->traced[i].pass != last;
        last = l->traced[i].pass;
        s->ask[s->n_asks] = l->traced[i];
        s->ask[s->n_asks++].pass = pass;
    }
    return true;
}

/* what stands before the first position that anything was asked about is given: a language */
static int32_t first_asked(const story *s) {
    int32_t first = INT32_MAX;
    for (size_t i = 0; i < s->n_asks; i++)
        if (s->ask[i].best >= 0 && s->ask[i].position < first) first = s->ask[i].position;
    return first;
}

static bool follows_final(const story *s, const pk_traced *a, const pk_traced *pass,
                          int32_t first) {
    const int32_t before = a->fed_at;
    if (before < 0) return true;
    if ((size_t)before >= s->n || s->token[before] != a->fed) return false;
    if (a->parent >= 0) return pass[a->parent].accepted;
    return before < first || (s->fixed[before] && s->fixed[before] < a->pass);
}

static void judge(story *s) {
    const int32_t first = first_asked(s);
    size_t        pass = 0; /* where its asks begin */
    for (size_t i = 0; i < s->n_asks; i++) {
        pk_traced *a = &s->ask[i];
        if (a->pass != s->ask[pass].pass) pass = i;
        a->accepted = follows_final(s, a, &s->ask[pass], first);
        if (!a->accepted || a->best < 0 || (size_t)a->position >= s->n) continue;
        if (!s->fixed[a->position]) s->fixed[a->position] = a->pass; /* a beam's second best too */
    }
}

/* ---- as JSON ---- */

static json_t *piece(const story *s, int32_t id) {
    json_t *text = id < 0 ? json_null() : json_string(pk_model_target_token(s->model, id));
    return text ? text : json_string("\xEF\xBF\xBD"); /* a piece that is no UTF-8 */
}

static json_t *tokens(const story *s) {
    json_t *list = json_array();
    for (size_t i = 0; i < s->n; i++)
        json_array_append_new(
            list, json_pack("{sosi}", "piece", piece(s, s->token[i]), "pass", (int)s->fixed[i]));
    return list;
}

static json_t *passes(const story *s) {
    json_t *list = json_array(), *asks = NULL;
    for (size_t i = 0; i < s->n_asks; i++) {
        const pk_traced *a = &s->ask[i];
        if (!i || a->pass != a[-1].pass) json_array_append_new(list, asks = json_array());
        json_array_append_new(asks, json_pack("{sisososb}", "position", (int)a->position, "fed",
                                              piece(s, a->fed), "best", piece(s, a->best),
                                              "accepted", (int)a->accepted));
    }
    return list;
}

json_t *pk_live_trace(pk_tiling *l, size_t tile, const int32_t *token, size_t n,
                      const pk_model *model) {
    story   s = { .token = token, .n = n, .model = model };
    json_t *made = NULL;
    if (gather(l, tile, &s)) {
        judge(&s);
        made = json_pack("{soso}", "tokens", tokens(&s), "passes", passes(&s));
    }
    free(s.ask);
    free(s.fixed);
    return made;
}
