/* train_plot.c - the plot: losses above, BLEU below, over updates, as an SVG that needs nothing
 * else.
 *
 * All looks are in the style sheet, in plain colours for light and dark. Lines are thinned to what
 * can be seen; titles on the points show on hover. No element needs a script. */
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "train/train_log.h"

enum {
    WIDTH = 860,
    LEFT = 62, /* of the panels: room for numbers */
    RIGHT = 842,
    TOP = 44,   /* of the first panel: room for the legend */
    LOSS = 260, /* heights of the panels */
    BLEU = 130,
    BETWEEN = 34, /* them */
    BELOW = 52,   /* for numbers and title of the axis */
    MOST = 400    /* points of a line */
};

// clang-format off
/* class names: s0, s1, s2 and f0, f1, f2 are stroke and fill of the three series */
static const char style[] =
    "svg{font:12px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}"
    ".paper{fill:#fff}text{fill:#5d6878}.strong{fill:#1b2330;font-weight:600}"
    ".middle{text-anchor:middle}.end{text-anchor:end}"
    ".grid{stroke:#e3e7ec;stroke-width:1}.axis{stroke:#98a3b3;stroke-width:1}"
    ".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".s0{stroke:#2563eb}.s1{stroke:#d9660b}.s2{stroke:#15803d}"
    ".f0{fill:#2563eb}.f1{fill:#d9660b}.f2{fill:#15803d}"
    ".hit{fill:transparent}.hit:hover{fill:#1b2330;fill-opacity:.35}"
    ".dot{stroke:#fff;stroke-width:1.5}"
    "@media (prefers-color-scheme:dark){"
    ".paper{fill:#14181e}text{fill:#98a3b3}.strong{fill:#e4e8ee}"
    ".grid{stroke:#262d36}.axis{stroke:#5d6878}"
    ".s0{stroke:#6ea0ff}.s1{stroke:#fb923c}.s2{stroke:#4ade80}"
    ".f0{fill:#6ea0ff}.f1{fill:#fb923c}.f2{fill:#4ade80}"
    ".hit:hover{fill:#e4e8ee}.dot{stroke:#14181e}}";
// clang-format on

typedef struct series {
    const char *name;
    int         index; /* 0: loss, 1: validation loss, 2: BLEU */
} series;

typedef struct axis {
    double low, high, step; /* of the values; low and high are multiples of the step */
    double at, length;      /* where low lies, and how far high is from there; in pixels */
} axis;

/* what is drawn, and the axes of the present panel */
typedef struct chart {
    pk_buffer            *svg;
    const pk_train_point *point;
    size_t                n;
    axis                  x, y;
} chart;

static double value_of(const pk_train_point *p, int index) {
    return index == 0 ? p->loss : index == 1 ? p->valid_loss : p->valid_bleu;
}

/* a value that is not finite, or huge, would make the rest of the plot flat */
static bool measured(double value) { return isfinite(value) && fabs(value) < 1e15; }

static bool there_is(const chart *c, int index) {
    for (size_t i = 0; i < c->n; i++)
        if (measured(value_of(&c->point[i], index))) return true;
    return false;
}

/* 1, 2 or 5 times a power of ten, so that about `wanted` of them make the span */
static double nice_step(double span, double wanted) {
    const double rough = span / wanted, power = pow(10, floor(log10(rough)));
    const double digit = rough / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

/* ends moved outwards to whole steps; a single value gets room on both sides */
static axis make_axis(double low, double high, double wanted, double at, double length) {
    axis a = { .at = at, .length = length };
    if (!(high - low > 1e-9 * fmax(1, fabs(high)))) low -= 0.5, high += 0.5;
    a.step = nice_step(high - low, wanted);
    a.low = floor(low / a.step + 1e-9) * a.step;
    a.high = ceil(high / a.step - 1e-9) * a.step;
    return a;
}

/* a value in pixels */
static double pixel(const axis *a, double value) {
    return a->at + a->length * (value - a->low) / (a->high - a->low);
}

/* the axis over updates ends where they end */
static axis update_axis(const chart *c) {
    const double last = c->n ? c->point[c->n - 1].update : 1;
    axis         a = make_axis(0, last > 0 ? last : 1, 7, LEFT, RIGHT - LEFT);
    a.high = last > 0 ? last : 1;
    return a;
}

/* the axis of the values of series first .. last; about 45 pixels a step, rising upwards */
static axis value_axis(const chart *c, int first, int last, double top, double height) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < c->n; i++)
        for (int s = first; s <= last; s++) {
            const double v = value_of(&c->point[i], s);
            if (measured(v)) low = fmin(low, v), high = fmax(high, v);
        }
    return make_axis(low, high, height / 45, top + height, -height);
}

/* "20,000" as 20k: axes need little room */
static void put_number(pk_buffer *svg, double value, double step) {
    if (step >= 1e6 || (step >= 1e5 && value >= 1e6))
        pk_buffer_print(svg, value != 0 ? "%gM" : "%g", value / 1e6);
    else if (step >= 1e3)
        pk_buffer_print(svg, value != 0 ? "%gk" : "%g", value / 1e3);
    else
        pk_buffer_print(svg, "%g", fabs(value) < step * 1e-6 ? 0 : value);
}

/* ---- Parts ---- */

/* grid lines with their numbers, on the left */
static void put_values(const chart *c) {
    const axis *y = &c->y;
    for (double v = y->low; v <= y->high + y->step / 2; v += y->step) {
        const double at = pixel(y, v);
        pk_buffer_print(c->svg,
                        "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
                        RIGHT, at, at);
        pk_buffer_print(c->svg, "<text class=\"end\" x=\"%d\" y=\"%.1f\">", LEFT - 8, at + 4);
        put_number(c->svg, v, y->step);
        pk_buffer_add_text(c->svg, "</text>\n");
    }
}

/* the axis below all panels */
static void put_updates(const chart *c, double bottom) {
    const axis *x = &c->x;
    for (double v = x->low; v <= x->high * (1 + 1e-9); v += x->step) {
        const double at = pixel(x, v);
        pk_buffer_print(c->svg,
                        "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" "
                        "y2=\"%.1f\"/><text class=\"middle\" x=\"%.1f\" y=\"%.1f\">",
                        at, at, bottom, bottom + 5, at, bottom + 19);
        put_number(c->svg, v, x->step);
        pk_buffer_add_text(c->svg, "</text>\n");
    }
    pk_buffer_print(c->svg,
                    "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                    "<text class=\"middle\" x=\"%d\" y=\"%.1f\">updates</text>\n",
                    LEFT, RIGHT, bottom, bottom, (LEFT + RIGHT) / 2, bottom + 40);
}

/* The mean of points from .. to, which lie within a pixel or two; false: nothing was measured
 * there. The value is in .loss, whatever the series. */
static bool mean_of(const chart *c, int index, size_t from, size_t to, pk_train_point *out) {
    double sum = 0, updates = 0, n = 0;
    for (size_t i = from; i < to && i < c->n; i++) {
        const double v = value_of(&c->point[i], index);
        if (!measured(v)) continue;
        sum += v;
        updates += c->point[i].update;
        n++;
    }
    *out = (pk_train_point){ .update = updates / n, .loss = sum / n };
    return n > 0;
}

/* visits the points of a line, thinned: as its path, or as dots with titles */
static void put_points(const chart *c, const series *s, bool dots) {
    const size_t   each = (c->n + MOST - 1) / MOST;
    const char    *step = "M";
    pk_train_point p;
    for (size_t i = 0; i < c->n; i += each) {
        if (!mean_of(c, s->index, i, i + each, &p)) continue;
        const double x = pixel(&c->x, p.update), y = pixel(&c->y, p.loss);
        if (!dots) {
            pk_buffer_print(c->svg, "%s%.1f %.1f", step, x, y);
            step = "L";
            continue;
        }
        if (s->index)
            pk_buffer_print(c->svg, "<circle class=\"dot f%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>",
                            s->index, x, y);
        pk_buffer_print(c->svg,
                        "<circle class=\"hit\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"><title>update "
                        "%.0f: %s %.4g</title></circle>\n",
                        x, y, p.update, s->name, p.loss);
    }
}

/* the path first, then its points above it */
static void put_line(const chart *c, const series *s) {
    if (!there_is(c, s->index)) return;
    pk_buffer_print(c->svg, "<path class=\"line s%d\" d=\"", s->index);
    put_points(c, s, false);
    pk_buffer_add_text(c->svg, "\"/>\n");
    put_points(c, s, true);
}

/* an entry of the legend */
static void put_name(const chart *c, const series *s, double x, double y) {
    if (!there_is(c, s->index)) return;
    pk_buffer_print(c->svg,
                    "<rect class=\"f%d\" x=\"%.1f\" y=\"%.1f\" width=\"16\" height=\"4\" "
                    "rx=\"2\"/><text class=\"strong\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                    s->index, x, y - 6, x + 22, y, s->name);
}

/* losses above, BLEU below; a panel without values is left out */
static void put_panels(chart *c, bool losses, bool bleu) {
    static const series list[] = { { "training loss", 0 },
                                   { "validation loss", 1 },
                                   { "BLEU", 2 } };
    double              top = TOP;
    c->x = update_axis(c);
    if (losses) {
        put_name(c, &list[0], LEFT, top - 16);
        put_name(c, &list[1], LEFT + (there_is(c, 0) ? 140 : 0), top - 16);
        c->y = value_axis(c, 0, 1, top, LOSS);
        put_values(c);
        put_line(c, &list[0]);
        put_line(c, &list[1]);
        top += LOSS + (bleu ? BETWEEN : 0);
    }
    if (bleu) {
        put_name(c, &list[2], LEFT, top - 12);
        c->y = value_axis(c, 2, 2, top, BLEU);
        put_values(c);
        put_line(c, &list[2]);
        top += BLEU;
    }
    put_updates(c, top);
}

/* the height depends on which panels there are */
static void put_chart(chart *c) {
    const bool losses = there_is(c, 0) || there_is(c, 1), bleu = there_is(c, 2);
    const int  height = TOP + BELOW + (losses || !bleu ? LOSS : 0) + (bleu ? BLEU : 0) +
                       (losses && bleu ? BETWEEN : 0);
    pk_buffer_print(c->svg,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                    "height=\"%d\" role=\"img\"><title>Training: loss and BLEU over updates</title>"
                    "\n<style>%s</style>\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n",
                    WIDTH, height, WIDTH, height, style, WIDTH, height);
    if (losses || bleu)
        put_panels(c, losses, bleu);
    else
        pk_buffer_print(c->svg,
                        "<text class=\"middle\" x=\"%d\" y=\"%d\">nothing was measured yet"
                        "</text>\n",
                        WIDTH / 2, height / 2);
    pk_buffer_add_text(c->svg, "</svg>\n");
}

void pk_train_plot_svg(const pk_train_point *point, size_t n, pk_buffer *svg) {
    chart    c = { .svg = svg, .point = point, .n = n };
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* decimal points, not commas */
    locale_t before = uselocale(plain);
    put_chart(&c);
    uselocale(before);
    if (plain) freelocale(plain);
}
