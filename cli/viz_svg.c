/* viz_svg.c - the picture: arcs of the dependency graph, the tokens, and the grid below them.
 *
 * Columns are as wide as their token needs, so nothing is cut off short of very long pieces. All
 * looks are in the style sheet, in plain colours for light and dark; the same picture stands alone
 * as a file or in the page, where the numbers of passes are a picture of their own that stays in
 * view. No element needs a script: titles show on hover. */
#include <stdio.h>
#include <stdlib.h>

#include "viz.h"

enum {
    LABELS = 64,   /* width of the column of pass numbers */
    ROW = 36,      /* height of a row of cells */
    TOKENS = 34,   /* height of the row of tokens */
    MARGIN = 10,   /* at the right and the bottom */
    HIGHEST = 170, /* of the handles of an arc, in pixels; the arc itself gets to 3/4 of it */
    BANDS = 6,     /* colours of groups */
    REPEAT = 14,   /* with more passes the tokens stand below the grid, too */
    LEGEND = 96    /* height of it, in a file of its own */
};

typedef struct layout {
    const pk_viz *v;
    double       *x;                                 /* left edges of columns, n + 1 */
    double        graph, top, bottom, width, height; /* top, bottom: of the grid */
} layout;

/* Styles begin with .viz, since the page puts this sheet beside its own. */
// clang-format off
static const char style[] =
    ".viz{font:12px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}"
    ".viz text{fill:#1b2330;text-anchor:middle}"
    ".viz .small{font-size:10.5px}.viz .left{text-anchor:start}.viz .right{text-anchor:end}"
    ".viz text.muted{fill:#5d6878}.viz .strong{font-weight:600}"
    ".viz .paper{fill:#fff}"
    ".viz .wrong{fill:#fdeae6}.viz text.said{fill:#8f2b1c;font-size:10.5px}"
    ".viz .early{fill:#fdeeb5}"
    ".viz .accepted{fill:#a9dfbd}"
    ".viz .certain{fill:#eef1f4}"
    ".viz .cell:hover{stroke:#1b2330;stroke-width:1.5}"
    ".viz .hit{fill:transparent}"
    ".viz .single{fill:#eef1f4}"
    ".viz .arc{fill:none;stroke:#5d6878;stroke-width:1.3}.viz .far{opacity:.28}"
    ".viz .to:hover .arc{stroke:#c2410c;stroke-width:2.2;opacity:1}"
    ".viz .tip{fill:#5d6878}.viz .path{fill:none;stroke:#15803d;stroke-width:2.4}"
    ".viz .arc:hover{stroke:#c2410c;stroke-width:2.2;opacity:1}"
    ".viz .good{fill:#15803d}.viz .late{fill:none;stroke:#15803d;stroke-width:1.5}"
    ".viz .bad{fill:none;stroke:#c4382b;stroke-width:1.4;opacity:.75}"
    ".viz .band0{fill:#cfe0ff}.viz .band1{fill:#ffdcbc}.viz .band2{fill:#e3d5fb}"
    ".viz .band3{fill:#c6ecef}.viz .band4{fill:#f9d0e6}.viz .band5{fill:#e2e9b4}"
    ".viz .ring{fill:none;stroke-width:2}"
    ".viz .ring0{stroke:#2563eb}.viz .ring1{stroke:#d9660b}.viz .ring2{stroke:#7c3aed}"
    ".viz .ring3{stroke:#0e8a98}.viz .ring4{stroke:#cf2f86}.viz .ring5{stroke:#7a8a12}"
    "@media (prefers-color-scheme:dark){"
    ".viz text{fill:#e4e8ee}.viz text.muted{fill:#98a3b3}.viz .paper{fill:#14181e}"
    ".viz .wrong{fill:#35201e}.viz text.said{fill:#f3b3a8}.viz .early{fill:#4c4119}"
    ".viz .accepted{fill:#1d5a37}.viz .certain{fill:#20262e}"
    ".viz .cell:hover{stroke:#e4e8ee}.viz .single{fill:#262d36}"
    ".viz .arc{stroke:#98a3b3}.viz .tip{fill:#98a3b3}.viz .to:hover .arc{stroke:#fb923c}"
    ".viz .path{stroke:#4ade80}.viz .arc:hover{stroke:#fb923c}"
    ".viz .good{fill:#4ade80}.viz .late{stroke:#4ade80}.viz .bad{stroke:#f87171}"
    ".viz .band0{fill:#1e3a70}.viz .band1{fill:#653a14}.viz .band2{fill:#432a78}"
    ".viz .band3{fill:#114d55}.viz .band4{fill:#65204a}.viz .band5{fill:#434c14}"
    ".viz .ring0{stroke:#6ea0ff}.viz .ring1{stroke:#fb923c}.viz .ring2{stroke:#b794f6}"
    ".viz .ring3{stroke:#3fc6d6}.viz .ring4{stroke:#f472b6}.viz .ring5{stroke:#b8c94a}"
    "}";
// clang-format on

void pk_viz_svg_style(pk_line_writer *w) { pk_viz_put(w, style); }

/* of column i */
static double middle(const layout *l, size_t i) { return (l->x[i] + l->x[i + 1]) / 2; }

/* How far the handles of an arc (a cubic Bezier curve) lie above the tokens. */
static double arc_height(const layout *l, size_t from, size_t to) {
    const double h = 18 + 0.3 * (middle(l, to) - middle(l, from));
    return h < HIGHEST ? h : HIGHEST;
}

/* room for the widest of the token and of what the model said instead */
static double column_width(const pk_viz *v, size_t i) {
    char  *piece = pk_viz_piece(v, v->token[i].id);
    double width = pk_viz_text_width(piece) + 24;
    free(piece);
    for (size_t pass = 1; pass <= v->n_passes; pass++) {
        const pk_viz_cell *cell = pk_viz_at(v, pass, i);
        if (cell->state != PK_VIZ_WRONG || cell->best < 0) continue;
        piece = pk_viz_piece(v, cell->best);
        const double said = pk_viz_text_width(piece) * 0.88 + 24; /* and a symbol beside it */
        if (said > width) width = said;
        free(piece);
    }
    return width < 58 ? 58 : width > 150 ? 150 : width;
}

/* Sizes of everything; left: where the first column begins. The caller frees l.x. */
static layout arrange(const pk_viz *v, double left) {
    layout l = { .v = v, .x = pk_cli_grow(NULL, v->n + 1, sizeof *l.x) };
    l.x[0] = left;
    for (size_t i = 0; i < v->n; i++) l.x[i + 1] = l.x[i] + column_width(v, i);
    for (size_t e = 0; e < v->n_edges; e++) {
        const double h = arc_height(&l, (size_t)v->edge[e][0], (size_t)v->edge[e][1]);
        if (0.75 * h > l.graph) l.graph = 0.75 * h;
    }
    l.graph += 12;
    l.top = l.graph + TOKENS + 4;
    l.bottom = l.top + ROW * (double)v->n_passes;
    l.width = l.x[v->n] + MARGIN;
    l.height = l.bottom + (v->n_passes > REPEAT ? TOKENS : 0) + MARGIN;
    return l;
}

void pk_viz_put_rect(pk_line_writer *w, double x, double y, double width, double height) {
    pk_writer_print(w, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\"", x, y,
                    width, height);
}

/* text from outside, escaped; what is wider than `room` is squeezed into it */
void pk_viz_put_text(pk_line_writer *w, double x, double y, const char *class, const char *text,
                     double room) {
    pk_writer_print(w, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\"", x, y, class);
    if (pk_viz_text_width(text) > room)
        pk_writer_print(w, " textLength=\"%.0f\" lengthAdjust=\"spacingAndGlyphs\"", room);
    pk_viz_put(w, ">");
    pk_viz_put_xml(w, text);
    pk_viz_put(w, "</text>");
}

/* a token in quotation marks */
void pk_viz_put_piece(pk_line_writer *w, const pk_viz *v, int32_t id) {
    char *piece = pk_viz_piece(v, id);
    pk_viz_put(w, "\xe2\x80\x9c");
    pk_viz_put_xml(w, piece);
    pk_viz_put(w, "\xe2\x80\x9d");
    free(piece);
}

static int band(const pk_viz_token *t) { return (int)(t->group % BANDS); }

/* ---- the graph ---- */

/* all arcs to one token, in a group with it, so that hovering over it lights them up. The nearest
 * source is drawn clearly, the others of its kind faintly. */
static void put_arcs(pk_line_writer *w, const layout *l, size_t to) {
    const pk_viz *v = l->v;
    int32_t       nearest = -1;
    for (size_t e = 0; e < v->n_edges; e++)
        if (v->edge[e][1] == (int32_t)to && v->edge[e][0] > nearest) nearest = v->edge[e][0];
    for (size_t e = 0; e < v->n_edges; e++) {
        const int32_t from = v->edge[e][0];
        if (v->edge[e][1] != (int32_t)to) continue;
        const double a = middle(l, (size_t)from) + 6, b = middle(l, to) - 6, y = l->graph;
        const double up = y - arc_height(l, (size_t)from, to);
        pk_writer_print(w, "<path class=\"arc%s\" marker-end=\"url(#tip)\" ",
                        from == nearest ? "" : " far");
        pk_writer_print(w, "d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>", a, y, a, up, b, up,
                        b, y - 3);
    }
}

/* what a browser shows on hover */
static void put_token_title(pk_line_writer *w, const pk_viz *v, size_t i) {
    const pk_viz_token *t = &v->token[i];
    pk_viz_put(w, "<title>");
    pk_viz_put_piece(w, v, t->id);
    pk_writer_print(w, ", position %zu: certain in pass %d, probability %.3f", i + 1, (int)t->fixed,
                    t->probability);
    if (t->right < t->fixed) pk_writer_print(w, ", right from pass %d on", (int)t->right);
    if (t->of > 1) pk_writer_print(w, ", one of %d fixed together", (int)t->of);
    pk_viz_put(w, "</title>");
}

/* one band for each group of neighbours that became certain together */
static void put_bands(pk_line_writer *w, const layout *l, double y) {
    const pk_viz *v = l->v;
    for (size_t i = 0; i < v->n; i += (size_t)v->token[i].of) {
        const pk_viz_token *t = &v->token[i];
        const double        end = l->x[i + (size_t)t->of];
        pk_viz_put_rect(w, l->x[i] + 1.5, y, end - l->x[i] - 3, TOKENS - 8);
        if (t->of > 1)
            pk_writer_print(w, " class=\"band%d\"/>", band(t));
        else
            pk_viz_put(w, " class=\"single\"/>");
    }
}

/* the row of tokens; arcs: with the arcs that lead to each */
static void put_tokens(pk_line_writer *w, const layout *l, double y, bool arcs) {
    const pk_viz *v = l->v;
    put_bands(w, l, y);
    for (size_t i = 0; i < v->n; i++) {
        char *piece = pk_viz_piece(v, v->token[i].id);
        pk_viz_put(w, "<g class=\"to\">");
        put_token_title(w, v, i);
        if (arcs) put_arcs(w, l, i);
        pk_viz_put_rect(w, l->x[i], y, l->x[i + 1] - l->x[i], TOKENS - 8);
        pk_viz_put(w, " class=\"hit\"/>");
        pk_viz_put_text(w, middle(l, i), y + 17, v->token[i].of > 1 ? "strong" : "plain", piece,
                        l->x[i + 1] - l->x[i] - 8);
        pk_viz_put(w, "</g>\n");
        free(piece);
    }
}

/* ---- the grid ---- */

static const char *const state_class[] = { "", "wrong", "early", "accepted", "certain" };
static const char *const state_text[] = { "", "not the final token", "right, but not certain yet",
                                          "became certain in this pass", "certain" };
static const char *const guess_text[] = { "", "nothing (padding)", "a wrong guess",
                                          "a right guess after a wrong one",
                                          "a guess that was accepted" };

/* on hover: what the model chose, and what it was fed */
static void put_cell_title(pk_line_writer *w, const pk_viz *v, size_t pass, size_t i) {
    const pk_viz_cell *cell = pk_viz_at(v, pass, i);
    const bool         final = cell->state == PK_VIZ_ACCEPTED || cell->best < 0;
    pk_writer_print(w, "<title>Pass %zu%s, position %zu: ", pass,
                    pk_viz_drafts(v, pass) ? " (drafter)" : "", i + 1);
    pk_viz_put_piece(w, v, final ? v->token[i].id : cell->best);
    if (cell->probability >= 0) pk_writer_print(w, ", probability %.3f", cell->probability);
    pk_writer_print(w, ": %s", state_text[cell->state]);
    if (cell->guess == PK_VIZ_GUESS_PADDING) pk_viz_put(w, "&#10;Fed here: nothing (padding)");
    if (cell->guess > PK_VIZ_GUESS_PADDING) {
        pk_viz_put(w, "&#10;Fed here: ");
        pk_viz_put_piece(w, v, cell->guessed);
        pk_writer_print(w, ", %s", guess_text[cell->guess]);
    }
    pk_viz_put(w, "</title>");
}

/* a dot, a ring or a cross in the corner: what became of the guess that was fed */
static void put_symbol(pk_line_writer *w, pk_viz_guess guess, double x, double y) {
    if (guess == PK_VIZ_GUESS_ACCEPTED)
        pk_writer_print(w, "<circle class=\"good\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", x, y);
    if (guess == PK_VIZ_GUESS_LATE)
        pk_writer_print(w, "<circle class=\"late\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.8\"/>", x, y);
    if (guess == PK_VIZ_GUESS_WRONG)
        pk_writer_print(w, "<path class=\"bad\" d=\"M%.1f %.1fl4.6 4.6m0 -4.6l-4.6 4.6\"/>",
                        x - 2.3, y - 2.3);
}

/* the token the model chose, or the final one where it became certain, above its probability */
static void put_cell(pk_line_writer *w, const layout *l, size_t pass, size_t i) {
    static const char *const choice[] = { "", "said", "small", "small strong", "" };
    const pk_viz_cell       *cell = pk_viz_at(l->v, pass, i);
    const double             y = l->top + ROW * (double)(pass - 1), width = l->x[i + 1] - l->x[i];
    const bool               other = cell->state == PK_VIZ_WRONG && cell->best >= 0;
    char                    *piece = pk_viz_piece(l->v, other ? cell->best : l->v->token[i].id);
    char                     number[32];
    snprintf(number, sizeof number, "%.2f", cell->probability);
    pk_viz_put(w, "<g>");
    put_cell_title(w, l->v, pass, i);
    pk_viz_put_rect(w, l->x[i] + 1.5, y + 1.5, width - 3, ROW - 3);
    pk_writer_print(w, " class=\"cell %s\"/>", state_class[cell->state]);
    pk_viz_put_text(w, middle(l, i), y + 15, choice[cell->state], piece, (width - 22) / 0.88);
    if (cell->probability >= 0)
        pk_viz_put_text(w, middle(l, i), y + 28.5,
                        cell->state == PK_VIZ_ACCEPTED ? "strong" : "small muted", number, width);
    put_symbol(w, cell->guess, l->x[i + 1] - 7.5, y + 7.5);
    pk_viz_put(w, "</g>\n");
    free(piece);
}

/* below the pass that fixed it, a token is one tall field of a plain colour */
static void put_certain(pk_line_writer *w, const layout *l, size_t i) {
    const pk_viz_token *t = &l->v->token[i];
    const double        y = l->top + ROW * (double)t->fixed;
    if (!t->fixed || (size_t)t->fixed >= l->v->n_passes) return;
    pk_viz_put(w, "<g>");
    put_token_title(w, l->v, i);
    pk_viz_put_rect(w, l->x[i] + 1.5, y + 1.5, l->x[i + 1] - l->x[i] - 3, l->bottom - y - 3);
    pk_viz_put(w, " class=\"cell certain\"/></g>\n");
}

/* rings around the cells of tokens fixed in one pass */
static void put_rings(pk_line_writer *w, const layout *l) {
    const pk_viz *v = l->v;
    for (size_t i = 0; i < v->n; i += (size_t)v->token[i].of) {
        const pk_viz_token *t = &v->token[i];
        if (t->of < 2 || !t->fixed) continue;
        pk_viz_put_rect(w, l->x[i] + 1.5, l->top + ROW * (double)(t->fixed - 1) + 1.5,
                        l->x[i + (size_t)t->of] - l->x[i] - 3, ROW - 3);
        pk_writer_print(w, " class=\"ring ring%d\"/>\n", band(t));
    }
}

/* rings come last: they are drawn over the cells */
static void put_grid(pk_line_writer *w, const layout *l) {
    const pk_viz *v = l->v;
    for (size_t i = 0; i < v->n; i++) put_certain(w, l, i);
    for (size_t pass = 1; pass <= v->n_passes; pass++)
        for (size_t i = 0; i < v->n; i++) {
            const pk_viz_state state = pk_viz_at(v, pass, i)->state;
            if (state != PK_VIZ_OUT && state != PK_VIZ_CERTAIN) put_cell(w, l, pass, i);
        }
    put_rings(w, l);
}

/* the marker is the tip of an arc */
static void put_body(pk_line_writer *w, const layout *l) {
    pk_viz_put(w, "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" "
                  "markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">"
                  "<path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n");
    put_tokens(w, l, l->graph, true);
    put_grid(w, l);
    if (l->v->n_passes > REPEAT) put_tokens(w, l, l->bottom + 6, false);
}

/* on hover: the network, and the positions that the pass filled, as ranges */
static void put_pass_title(pk_line_writer *w, const pk_viz *v, size_t pass) {
    int32_t     *position;
    const size_t n = pk_viz_filled(v, pass, &position);
    pk_writer_print(w, "<title>Pass %zu, on the %s, fills %s", pass,
                    pk_viz_drafts(v, pass) ? "drafter" : "model",
                    n == 0   ? "no position"
                    : n == 1 ? "position"
                             : "positions");
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && position[end] == position[end - 1] + 1;) end++;
        pk_writer_print(w, "%s %d", i ? "," : "", (int)position[i] + 1);
        if (end > i + 1) pk_writer_print(w, "-%d", (int)position[end - 1] + 1);
    }
    pk_viz_put(w, "</title>");
    free(position);
}

/* its number and, where there were several, how many tokens it made certain; a drafter makes none
 */
static void put_label(pk_line_writer *w, const layout *l, size_t pass) {
    const pk_viz *v = l->v;
    const double  y = l->top + ROW * (double)(pass - 1) + 22;
    int           fixed = 0;
    for (size_t i = 0; i < v->n; i++) fixed += v->token[i].fixed == (int32_t)pass;
    pk_viz_put(w, "<g>");
    put_pass_title(w, v, pass);
    pk_writer_print(w, "<text x=\"26\" y=\"%.1f\" class=\"right\">%zu</text>", y, pass);
    if (pk_viz_drafts(v, pass))
        pk_writer_print(w, "<text x=\"60\" y=\"%.1f\" class=\"right small muted\">draft</text>", y);
    else if (fixed > 1)
        pk_writer_print(w, "<text x=\"56\" y=\"%.1f\" class=\"right strong\">+%d</text>", y, fixed);
    pk_viz_put(w, "</g>\n");
}

static void put_labels(pk_line_writer *w, const layout *l) {
    pk_viz_put_text(w, 8, l->graph + 17, "left muted", "pass", LABELS);
    for (size_t pass = 1; pass <= l->v->n_passes; pass++) put_label(w, l, pass);
}

void pk_viz_put_open(pk_line_writer *w, double width, double height, const char *more) {
    pk_writer_print(w, "<svg class=\"viz\" width=\"%.0f\" height=\"%.0f\" ", width, height);
    pk_writer_print(w, "viewBox=\"0 0 %.0f %.0f\"", width, height);
    pk_viz_put(w, more);
    pk_viz_put(w, ">\n");
}

void pk_viz_svg_labels(pk_line_writer *w, const pk_viz *v) {
    layout l = arrange(v, 0);
    pk_viz_put_open(w, LABELS, l.height, " aria-hidden=\"true\"");
    put_labels(w, &l);
    pk_viz_put(w, "</svg>");
    free(l.x);
}

void pk_viz_svg_body(pk_line_writer *w, const pk_viz *v) {
    layout l = arrange(v, 0);
    pk_viz_put_open(w, l.width, l.height, " role=\"img\" aria-label=\"graph and grid\"");
    put_body(w, &l);
    pk_viz_put(w, "</svg>");
    free(l.x);
}

static void put_legend(pk_line_writer *w, double y) {
    static const char *const text[] = { "wrong", "right, not certain", "accepted", "certain" };
    for (int i = 0; i < 4; i++) {
        pk_viz_put_rect(w, 8 + 165 * i, y, 14, 14);
        pk_writer_print(w, " class=\"%s\"/>", state_class[i + 1]);
        pk_viz_put_text(w, 28 + 165 * i, y + 11, "left", text[i], 160);
    }
    static const char *const guess[] = { "guess wrong", "guess right, too late", "guess accepted" };
    for (int i = 0; i < 3; i++) {
        put_symbol(w, (pk_viz_guess)(PK_VIZ_GUESS_WRONG + i), 15 + 165 * i, y + 31);
        pk_viz_put_text(w, 28 + 165 * i, y + 35, "left", guess[i], 160);
    }
    pk_viz_put(w, "<rect x=\"504\" y=\"");
    pk_writer_print(w, "%.1f\" width=\"12\" height=\"12\" rx=\"4\" class=\"ring ring0\"/>", y + 25);
    pk_viz_put_text(w, 523, y + 35, "left", "certain together", 160);
}

void pk_viz_svg(pk_line_writer *w, const pk_viz *v) {
    if (v->n_steps) {
        pk_viz_lattice_svg(w, v);
        return;
    }
    layout       l = arrange(v, LABELS);
    const double width = l.width < 660 ? 660 : l.width;
    pk_viz_put_open(w, width, l.height + LEGEND, " xmlns=\"http://www.w3.org/2000/svg\"");
    pk_viz_put(w, "<title>");
    pk_viz_put_xml(w, v->translation);
    pk_viz_put(w, "</title><style>");
    pk_viz_svg_style(w);
    pk_viz_put(w, "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    put_labels(w, &l);
    put_body(w, &l);
    put_legend(w, l.height + 8);
    pk_writer_print(w, "<text x=\"8\" y=\"%.1f\" class=\"left muted\">", l.height + 70);
    pk_viz_put_xml(w, v->sentence);
    pk_viz_put(w, " &#8594; ");
    pk_viz_put_xml(w, v->translation);
    pk_viz_put(w, "</text>\n</svg>\n");
    free(l.x);
}
