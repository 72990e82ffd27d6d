/* viz_lattice.c - a lattice: candidates of every position, the path that was chosen, and what each
 * edge is worth on hover.
 *
 * A column is a position and its cells are candidates, in the order in which they were looked up:
 * the first SHOWN of them, and the chosen one whatever its rank. A number is the probability behind
 * the token that was chosen before. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viz.h"

enum { SHOWN = 12, LINE = 27, GAP = 34, HEAD = 26, BORDER = 10 };

/* ---- what the trace says ---- */

static void *copy(const void *from, size_t n, size_t each) {
    void *to = pk_cli_grow(NULL, n ? n : 1, each);
    if (n) memcpy(to, from, n * each);
    return to;
}

void pk_viz_keep_lattice(pk_viz *v, const pk_trace_pass *pass) {
    pk_viz_free_lattice(v);
    v->step = pk_cli_grow(NULL, (size_t)pass->n_steps, sizeof *v->step);
    v->n_steps = (size_t)pass->n_steps;
    for (size_t i = 0; i < v->n_steps; i++) {
        const pk_trace_step *s = &pass->step[i];
        const size_t         from = (size_t)s->n_from, to = (size_t)s->n_to;
        v->step[i] = (pk_viz_step){ .n_from = s->n_from,
                                    .n_to = s->n_to,
                                    .chosen = -1,
                                    .from = copy(s->from, from, sizeof *s->from),
                                    .to = copy(s->to, to, sizeof *s->to),
                                    .score = copy(s->score, from * to, sizeof *s->score) };
    }
}

void pk_viz_free_lattice(pk_viz *v) {
    for (size_t i = 0; i < v->n_steps; i++) {
        free(v->step[i].from);
        free(v->step[i].to);
        free(v->step[i].score);
    }
    free(v->step);
    v->step = NULL;
    v->n_steps = 0;
}

/* the path is known by its tokens; all of it became certain in the one pass there is */
void pk_viz_choose(pk_viz *v) {
    int32_t from = 0;
    for (size_t i = 0; i < v->n_steps && i < v->n; i++) {
        pk_viz_step *s = &v->step[i];
        s->chosen_from = from;
        for (int32_t k = 0; k < s->n_to; k++)
            if (s->to[k] == v->token[i].id) s->chosen = k;
        if (s->chosen < 0 || from >= s->n_from) return;
        from = s->chosen;
        v->token[i].fixed = v->token[i].right = 1;
    }
}

double pk_viz_edge(const pk_viz_step *s, int32_t from, int32_t to) {
    const double p = exp((double)s->score[(size_t)from * (size_t)s->n_to + (size_t)to]);
    return p > 0 ? p < 1 ? p : 1 : 0; /* no number is no probability either */
}

/* ---- cells ---- */

typedef struct picture {
    const pk_viz *v;
    double       *x; /* left edges of columns, columns + 1 */
    size_t        columns;
    double        left, height;
} picture;

/* the chosen one takes the last line where it is not among the first */
static int32_t lines_of(const pk_viz_step *s) { return s->n_to < SHOWN ? s->n_to : SHOWN; }
static int32_t candidate_at(const pk_viz_step *s, int32_t line) {
    return line == SHOWN - 1 && s->chosen >= SHOWN ? s->chosen : line;
}
static int32_t line_of(const pk_viz_step *s, int32_t candidate) {
    if (candidate == s->chosen && candidate >= SHOWN) return SHOWN - 1;
    return candidate < lines_of(s) && candidate_at(s, candidate) == candidate ? candidate : -1;
}

static double cell_y(int32_t line) { return HEAD + LINE * (double)line; }

static double candidates_width(const pk_viz *v, const pk_viz_step *s) {
    double width = 58;
    for (int32_t line = 0; line < lines_of(s); line++) {
        char        *piece = pk_viz_piece(v, s->to[candidate_at(s, line)]);
        const double wide = pk_viz_text_width(piece) + 48; /* and the number */
        if (wide > width) width = wide;
        free(piece);
    }
    return width < 170 ? width : 170;
}

/* columns as far as the path goes; the caller frees x */
static picture arrange_lattice(const pk_viz *v, double left) {
    picture p = { .v = v, .left = left, .columns = v->n < v->n_steps ? v->n : v->n_steps };
    int32_t lines = 0;
    p.x = pk_cli_grow(NULL, p.columns + 1, sizeof *p.x);
    p.x[0] = left;
    for (size_t i = 0; i < p.columns; i++) {
        p.x[i + 1] = p.x[i] + candidates_width(v, &v->step[i]) + GAP;
        if (lines_of(&v->step[i]) > lines) lines = lines_of(&v->step[i]);
    }
    p.height = cell_y(lines) + BORDER;
    return p;
}

/* on hover: the candidate's rank, and its edges from all candidates of the column before */
static void put_edge_list(pk_line_writer *w, const picture *p, size_t i, int32_t candidate) {
    const pk_viz_step *s = &p->v->step[i];
    pk_viz_put(w, "<title>");
    pk_viz_put_piece(w, p->v, s->to[candidate]);
    pk_writer_print(w, ", position %zu, candidate %d of %d", i + 1, (int)candidate + 1,
                    (int)s->n_to);
    for (int32_t line = 0, shown = 0; i > 0 && line < s->n_from && shown < SHOWN; line++) {
        const pk_viz_step *before = &p->v->step[i - 1];
        const int32_t      from = line < lines_of(before) ? candidate_at(before, line) : -1;
        if (from < 0 || from >= s->n_from) break;
        pk_viz_put(w, "&#10;after ");
        pk_viz_put_piece(w, p->v, s->from[from]);
        pk_writer_print(w, ": %.4f%s", pk_viz_edge(s, from, candidate),
                        from == before->chosen ? " (chosen)" : "");
        shown++;
    }
    if (i == 0) pk_writer_print(w, "&#10;as the first: %.4f", pk_viz_edge(s, 0, candidate));
    pk_viz_put(w, "</title>");
}

static void put_candidate(pk_line_writer *w, const picture *p, size_t i, int32_t line) {
    const pk_viz_step *s = &p->v->step[i];
    const int32_t      candidate = candidate_at(s, line);
    const bool         chosen = candidate == s->chosen;
    const double       x = p->x[i], y = cell_y(line), width = p->x[i + 1] - x - GAP;
    char              *piece = pk_viz_piece(p->v, s->to[candidate]);
    char               number[32];
    snprintf(number, sizeof number, "%.2f", pk_viz_edge(s, s->chosen_from, candidate));
    pk_viz_put(w, "<g>");
    put_edge_list(w, p, i, candidate);
    pk_viz_put_rect(w, x, y + 1.5, width, LINE - 3);
    pk_writer_print(w, " class=\"cell %s\"/>", chosen ? "accepted" : "certain");
    pk_viz_put_text(w, x + 7, y + 17.5, chosen ? "left strong" : "left", piece, width - 44);
    pk_viz_put_text(w, x + width - 6, y + 17.5, "right small muted", number, 40);
    pk_viz_put(w, "</g>\n");
    free(piece);
}

/* ---- edges ---- */

static void put_line(pk_line_writer *w, const picture *p, size_t i, int32_t from, int32_t to,
                     bool chosen) {
    const double a = p->x[i] - GAP, b = p->x[i], y = cell_y(from) + LINE / 2.0,
                 z = cell_y(to) + LINE / 2.0;
    pk_writer_print(w, "<path class=\"%s\" ", chosen ? "path" : "arc far");
    pk_writer_print(w, "d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\">", a, y, a + GAP / 2.0, y,
                    b - GAP / 2.0, z, b, z);
}

/* the best of the edges that lead to a candidate, faintly; those of the path last, over them */
static void put_edges(pk_line_writer *w, const picture *p, size_t i, bool path) {
    const pk_viz_step *s = &p->v->step[i], *before = &p->v->step[i - 1];
    for (int32_t line = 0; line < lines_of(s); line++) {
        const int32_t to = candidate_at(s, line);
        int32_t       best = path ? before->chosen : 0;
        for (int32_t k = 1; k < s->n_from && !path; k++)
            if (pk_viz_edge(s, k, to) > pk_viz_edge(s, best, to)) best = k;
        const int32_t from = best < 0 || best >= s->n_from ? -1 : line_of(before, best);
        const bool    chosen = to == s->chosen && best == before->chosen;
        if (from < 0 || chosen != path) continue;
        put_line(w, p, i, from, line, path);
        pk_viz_put(w, "<title>");
        pk_viz_put_piece(w, p->v, s->from[best]);
        pk_viz_put(w, " &#8594; ");
        pk_viz_put_piece(w, p->v, s->to[to]);
        pk_writer_print(w, ": %.4f</title></path>\n", pk_viz_edge(s, best, to));
    }
}

static void put_columns(pk_line_writer *w, const picture *p) {
    char number[32];
    for (int path = 0; path < 2; path++)
        for (size_t i = 1; i < p->columns; i++) put_edges(w, p, i, path);
    for (size_t i = 0; i < p->columns; i++) {
        const double middle = (p->x[i] + p->x[i + 1] - GAP) / 2;
        snprintf(number, sizeof number, "%zu", i + 1);
        pk_viz_put_text(w, middle, HEAD - 9, "small muted", number, 40);
        for (int32_t line = 0; line < lines_of(&p->v->step[i]); line++)
            put_candidate(w, p, i, line);
    }
}

void pk_viz_lattice_body(pk_line_writer *w, const pk_viz *v) {
    picture p = arrange_lattice(v, 0);
    pk_viz_put_open(w, p.x[p.columns] - GAP + BORDER, p.height,
                    " role=\"img\" aria-label=\"lattice\"");
    put_columns(w, &p);
    pk_viz_put(w, "</svg>");
    free(p.x);
}

void pk_viz_lattice_svg(pk_line_writer *w, const pk_viz *v) {
    picture      p = arrange_lattice(v, BORDER);
    const double width = p.x[p.columns] - GAP + BORDER;
    pk_viz_put_open(w, width < 400 ? 400 : width, p.height + 30,
                    " xmlns=\"http://www.w3.org/2000/svg\"");
    pk_viz_put(w, "<title>");
    pk_viz_put_xml(w, v->translation);
    pk_viz_put(w, "</title><style>");
    pk_viz_svg_style(w);
    pk_viz_put(w, "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    put_columns(w, &p);
    pk_writer_print(w, "<text x=\"10\" y=\"%.1f\" class=\"left muted\">", p.height + 18);
    pk_viz_put_xml(w, v->sentence);
    pk_viz_put(w, " &#8594; ");
    pk_viz_put_xml(w, v->translation);
    pk_viz_put(w, "</text>\n</svg>\n");
    free(p.x);
}
