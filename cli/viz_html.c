/* viz_html.c - the page: what was translated, how it went, and the picture.
 *
 * One file without scripts, pictures from elsewhere or fonts. Wide pictures scroll in their own
 * frame, where the numbers of passes stay in view; the page itself is never wider than the window.
 */
#include "viz.h"

// clang-format off
static const char page_style[] =
    "*{box-sizing:border-box}"
    "body{margin:0;padding:24px;font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;"
    "color:#1b2330;background:#f6f7f9}"
    "main{max-width:1500px;margin:0 auto}"
    "h1{font-size:13px;font-weight:600;letter-spacing:.04em;color:#5d6878;margin:0 0 10px}"
    "h2{font-size:14px;margin:0 0 2px}"
    "p{margin:0;overflow-wrap:anywhere}"
    ".source{color:#5d6878}.target{font-size:19px;line-height:1.35;font-weight:500;margin:2px 0 14px}"
    "dl{display:flex;flex-wrap:wrap;gap:8px 28px;margin:0 0 18px}"
    "dl div{min-width:0}dt{font-size:12px;color:#5d6878}"
    "dd{margin:0;font-size:17px;font-weight:600;overflow-wrap:anywhere}"
    ".card{background:#fff;border:1px solid #e0e4e9;border-radius:10px;padding:14px 16px;margin:0 0 14px}"
    ".hint{font-size:13px;color:#5d6878;margin:0 0 8px;max-width:90ch}"
    ".scroll{display:flex;overflow-x:auto;max-width:100%}"
    ".scroll svg{flex:none;display:block}"
    ".scroll svg:first-child{position:sticky;left:0;background:#fff;z-index:1}"
    "ul{list-style:none;display:flex;flex-wrap:wrap;gap:6px 22px;margin:0;padding:0;font-size:13px}"
    "li{display:flex;align-items:center;gap:7px}li svg{flex:none}"
    "@media (prefers-color-scheme:dark){"
    "body{color:#e4e8ee;background:#0d1014}"
    "h1,.source,dt,.hint{color:#98a3b3}"
    ".card{background:#14181e;border-color:#29303a}"
    ".scroll svg:first-child{background:#14181e}"
    "}"
    "@media (max-width:600px){body{padding:12px}}"
    "@media print{body{background:#fff;padding:0}}";

/* swatch and meaning */
static const char *const meaning[][2] = {
    { "<rect class=\"accepted\" width=\"16\" height=\"16\" rx=\"4\"/>", "became certain in this pass" },
    { "<rect class=\"early\" width=\"16\" height=\"16\" rx=\"4\"/>", "right, but not certain yet" },
    { "<rect class=\"wrong\" width=\"16\" height=\"16\" rx=\"4\"/>", "wrong: what the model said instead" },
    { "<rect class=\"certain\" width=\"16\" height=\"16\" rx=\"4\"/>", "certain since an earlier pass" },
    { "<rect class=\"ring ring0\" x=\"1.5\" y=\"1.5\" width=\"13\" height=\"13\" rx=\"4\"/>",
      "several at once (one colour for each such pass)" },
    { "<circle class=\"good\" cx=\"8\" cy=\"8\" r=\"4\"/>", "guess accepted" },
    { "<circle class=\"late\" cx=\"8\" cy=\"8\" r=\"3.5\"/>", "right guess after a wrong one" },
    { "<path class=\"bad\" d=\"M4.5 4.5l7 7m0 -7l-7 7\"/>", "guess rejected" },
};
// clang-format on

/* the legend */
static void put_meanings(pk_line_writer *w) {
    pk_viz_put(w, "<ul class=\"legend\">\n");
    for (size_t i = 0; i < sizeof meaning / sizeof *meaning; i++) {
        pk_viz_put(w, "<li><svg class=\"viz\" width=\"16\" height=\"16\" aria-hidden=\"true\">");
        pk_viz_put(w, meaning[i][0]);
        pk_viz_put(w, "</svg>");
        pk_viz_put(w, meaning[i][1]);
        pk_viz_put(w, "</li>\n");
    }
    pk_viz_put(w, "</ul>\n");
}

/* a name and, behind it, the value that the caller writes */
static void put_fact(pk_line_writer *w, const char *name) {
    pk_viz_put(w, "<div><dt>");
    pk_viz_put(w, name);
    pk_viz_put(w, "</dt><dd>");
}

static size_t count_drafts(const pk_viz *v) {
    size_t n = 0;
    for (size_t pass = 1; pass <= v->n_passes; pass++) n += pk_viz_drafts(v, pass);
    return n;
}

/* tokens, passes and how many tokens were fixed together */
static void put_facts(pk_line_writer *w, const pk_viz *v) {
    size_t together = 0, drafts = count_drafts(v);
    for (size_t i = 0; i < v->n; i++) together += v->token[i].of > 1;
    pk_viz_put(w, "<dl>\n");
    put_fact(w, "strategy");
    pk_viz_put_xml(w, v->decode);
    pk_viz_put(w, "</dd></div>\n");
    put_fact(w, "tokens");
    pk_writer_print(w, "%zu</dd></div>\n", v->n);
    put_fact(w, "passes");
    pk_writer_print(w, "%zu</dd></div>\n", v->n_passes);
    if (drafts) {
        put_fact(w, "of those on the drafter");
        pk_writer_print(w, "%zu</dd></div>\n", drafts);
    }
    put_fact(w, "tokens per pass");
    pk_writer_print(w, "%.2f</dd></div>\n", v->n_passes ? (double)v->n / (double)v->n_passes : 0.0);
    put_fact(w, "fixed several at once");
    pk_writer_print(w, "%zu</dd></div>\n</dl>\n", together);
}

static void put_head(pk_line_writer *w, const pk_viz *v) {
    pk_viz_put(w, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n"
                  "<link rel=\"icon\" href=\"data:,\">\n<title>");
    pk_viz_put_xml(w, v->sentence);
    pk_viz_put(w, "</title>\n<style>");
    pk_viz_put(w, page_style);
    pk_viz_svg_style(w);
    pk_viz_put(w, "</style>\n</head>\n<body>\n<main>\n<h1>pronk viz</h1>\n<p class=\"source\" "
                  "dir=\"auto\">");
    pk_viz_put_xml(w, v->sentence);
    pk_viz_put(w, "</p>\n<p class=\"target\" dir=\"auto\">");
    pk_viz_put_xml(w, v->translation);
    pk_viz_put(w, "</p>\n");
}

/* a lattice is one pass: its candidates and the path are what there is to see */
static void put_lattice(pk_line_writer *w, const pk_viz *v) {
    pk_viz_put(
        w, "<div class=\"card\">\n<h2>Candidates of each position, and the path through "
           "them</h2>\n<p class=\"hint\">A column is a position of the translation, from the "
           "most probable candidate of the look-up down. A number is the probability of the "
           "candidate behind the one chosen before it; thin lines are the best edges to each, the "
           "green one is the path. Hover over a candidate for its edges.</p>\n"
           "<div class=\"scroll\" tabindex=\"0\"><span></span>");
    pk_viz_lattice_body(w, v);
    pk_viz_put(w, "</div>\n</div>\n</main>\n</body>\n</html>\n");
}

void pk_viz_html(pk_line_writer *w, const pk_viz *v) {
    put_head(w, v);
    put_facts(w, v);
    if (v->n_steps) {
        put_lattice(w, v);
        return;
    }
    pk_viz_put(w,
               "<div class=\"card\">\n<h2>What each token waited for, and what each pass "
               "said</h2>\n<p class=\"hint\">An arc leads from a token to one that became right "
               "only after it was certain. Below, a row is a pass and a number the probability "
               "of the model&#8217;s choice. A dot before a piece marks the beginning of a word. "
               "Hover for details.");
    if (count_drafts(v))
        pk_viz_put(w,
                   " Passes marked &#8220;draft&#8221; are the drafter&#8217;s: what it says are "
                   "guesses, which the model checks.");
    pk_viz_put(w, "</p>\n<div class=\"scroll\" tabindex=\"0\">");
    pk_viz_svg_labels(w, v);
    pk_viz_svg_body(w, v);
    pk_viz_put(w, "</div>\n</div>\n<div class=\"card\">\n");
    put_meanings(w);
    pk_viz_put(w, "</div>\n</main>\n</body>\n</html>\n");
}
