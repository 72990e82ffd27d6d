/* viz_text.c - the decoding of a sentence for programs: JSON, and DOT for Graphviz.
 *
 * Positions count from 0 and passes from 1; pass 0 is a token that no pass of the trace decided. */
#include <jansson.h>
#include <stdlib.h>

#include "viz.h"

/* the piece as the model has it */
static json_t *piece_json(const pk_viz *v, int32_t id) {
    if (id < 0) return json_null();
    char   *clean = pk_viz_clean(v->name(v->names, id));
    json_t *text = json_string(clean);
    free(clean);
    return text;
}

/* the piece with a space for a word's beginning */
static json_t *text_json(const pk_viz *v, int32_t id) {
    static const char symbol[] = "\xe2\x96\x81"; /* U+2581 */
    char             *clean = pk_viz_clean(v->name(v->names, id));
    size_t            n = 0;
    for (const char *at = clean; *at; n++) {
        const bool begins = at[0] == symbol[0] && at[1] == symbol[1] && at[2] == symbol[2];
        clean[n] = begins ? ' ' : *at;
        at += begins ? 3 : 1;
    }
    json_t *text = json_stringn(clean, n);
    free(clean);
    return text;
}

static json_t *clean_json(const char *text) {
    char   *clean = pk_viz_clean(text);
    json_t *string = json_string(clean);
    free(clean);
    return string;
}

/* the final tokens, each with the pass that fixed it */
static json_t *tokens_json(const pk_viz *v) {
    json_t *list = json_array();
    for (size_t i = 0; i < v->n; i++)
        json_array_append_new(list,
                              json_pack("{so so sf si}", "text", text_json(v, v->token[i].id),
                                        "piece", piece_json(v, v->token[i].id), "probability",
                                        v->token[i].probability, "pass", (int)v->token[i].fixed));
    return list;
}

/* null where it was not asked for; 0 where nothing was */
static json_t *probability_json(const pk_viz_ask *a) {
    if (a->best < 0) return json_real(0);
    return a->probability < 0 ? json_null() : json_real(a->probability);
}

/* asks of a free prefix (position < 0) are left out */
static json_t *asks_json(const pk_viz *v, size_t pass) {
    json_t *list = json_array();
    for (size_t i = v->first[pass - 1]; i < v->first[pass]; i++) {
        const pk_viz_ask *a = &v->ask[i];
        if (a->position < 0) continue;
        json_array_append_new(list, json_pack("{si so so so sb}", "position", (int)a->position,
                                              "fed", piece_json(v, a->fed), "best",
                                              piece_json(v, a->best), "probability",
                                              probability_json(a), "accepted", (int)a->accepted));
    }
    return list;
}

static json_t *filled_json(const pk_viz *v, size_t pass) {
    int32_t     *position;
    const size_t n = pk_viz_filled(v, pass, &position);
    json_t      *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_integer(position[i]));
    free(position);
    return list;
}

static json_t *passes_json(const pk_viz *v) {
    json_t *list = json_array();
    for (size_t pass = 1; pass <= v->n_passes; pass++)
        json_array_append_new(list, json_pack("{si ss so so}", "number", (int)pass, "network",
                                              pk_viz_drafts(v, pass) ? "drafter" : "model", "fills",
                                              filled_json(v, pass), "asks", asks_json(v, pass)));
    return list;
}

static json_t *edges_json(const pk_viz *v) {
    json_t *list = json_array();
    for (size_t e = 0; e < v->n_edges; e++)
        json_array_append_new(list, json_pack("[ii]", (int)v->edge[e][0], (int)v->edge[e][1]));
    return list;
}

/* of every position its candidates, with their probabilities behind the token chosen before */
static json_t *lattice_json(const pk_viz *v) {
    json_t *list = json_array();
    for (size_t i = 0; i < v->n_steps && i < v->n; i++) {
        const pk_viz_step *s = &v->step[i];
        json_t            *candidates = json_array();
        for (int32_t k = 0; k < s->n_to && s->chosen_from < s->n_from; k++)
            json_array_append_new(
                candidates, json_pack("{so sf sb}", "piece", piece_json(v, s->to[k]), "probability",
                                      pk_viz_edge(s, s->chosen_from, k), "chosen", k == s->chosen));
        json_array_append_new(list, candidates);
    }
    return list;
}

/* json_pack fails as a whole where memory runs out: one check is enough */
int pk_viz_json(const pk_cli *c, pk_line_writer *w, const pk_viz *v) {
    json_t *whole =
        json_pack("{so so so so so so}", "sentence", clean_json(v->sentence), "translation",
                  clean_json(v->translation), "decode", clean_json(v->decode), "tokens",
                  tokens_json(v), "passes", passes_json(v), "edges", edges_json(v));
    if (whole && v->n_steps) json_object_set_new(whole, "lattice", lattice_json(v));
    char *text = whole ? json_dumps(whole, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(whole);
    if (!text) return pk_cli_fail(c, "out of memory");
    pk_viz_put(w, text);
    pk_viz_put(w, "\n");
    free(text);
    return 0;
}

/* a node for each token, those of one pass in one column */
static void put_nodes(pk_line_writer *w, const pk_viz *v) {
    for (size_t i = 0; i < v->n; i++) {
        const pk_viz_token *t = &v->token[i];
        char               *piece = pk_viz_piece(v, t->id);
        pk_writer_print(w, "  t%zu [label=\"", i);
        pk_viz_put_dot(w, piece);
        pk_writer_print(w, "\\npass %d, %.2f\"", (int)t->fixed, t->probability);
        if (t->of > 1) pk_writer_print(w, ", style=\"filled,rounded\", fillcolor=\"#cfe0ff\"");
        pk_viz_put(w, "];\n");
        free(piece);
    }
    for (size_t i = 0; i < v->n; i += (size_t)v->token[i].of) {
        if (v->token[i].of < 2) continue;
        pk_viz_put(w, "  { rank=same;");
        for (size_t k = i; k < i + (size_t)v->token[i].of; k++) pk_writer_print(w, " t%zu;", k);
        pk_viz_put(w, " }\n");
    }
}

void pk_viz_dot(pk_line_writer *w, const pk_viz *v) {
    pk_viz_put(w, "digraph decoding {\n  rankdir=LR;\n  label=\"");
    pk_viz_put_dot(w, v->sentence);
    pk_viz_put(w, "\\n");
    pk_viz_put_dot(w, v->translation);
    pk_viz_put(w, "\";\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    put_nodes(w, v);
    for (size_t e = 0; e < v->n_edges; e++)
        pk_writer_print(w, "  t%d -> t%d;\n", (int)v->edge[e][0], (int)v->edge[e][1]);
    pk_viz_put(w, "}\n");
}
