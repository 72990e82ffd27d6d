/* viz_test.c - what is drawn and written of a trace: escaping, and the form of each format. */
#include "viz_samples.h"

#include <jansson.h>
#include <math.h>

#include "../../cli/inputs.c"
#include "../../cli/lines.c"
#include "../../cli/viz.c"
#include "../../cli/viz_html.c"
#include "../../cli/viz_lattice.c"
#include "../../cli/viz_put.c"
#include "../../cli/viz_svg.c"
#include "../../cli/viz_text.c"
#include "../../cli/viz_trace.c"

/* no model is opened here */
int  pk_cli_fail_status(const pk_cli *c, pk_status status) { return (void)c, (int)status; }
int  pk_cli_open_models(const pk_cli *c, pk_cli_models *out) { return (void)c, (void)out, 1; }
void pk_cli_close_models(pk_cli_models *models) { (void)models; }
int  pk_cli_open_translator(const pk_cli *c, const pk_cli_models *models, const char *decode,
                            pk_translator **out) {
     return (void)c, (void)models, (void)decode, (void)out, 1;
}

/* what a writer writes; the caller frees */
static char *written(void (*put)(pk_line_writer *, const char *), const char *text) {
    pk_line_writer w = { .file = -1 };
    put(&w, text);
    pk_writer_add(&w, "", 1);
    return w.data;
}

static char *drawn(void (*draw)(pk_line_writer *, const pk_viz *), const pk_viz *v) {
    pk_line_writer w = { .file = -1 };
    draw(&w, v);
    pk_writer_add(&w, "", 1);
    return w.data;
}

static void puts_as(void (*put)(pk_line_writer *, const char *), const char *text,
                    const char *expected) {
    char *found = written(put, text);
    assert_string_equal(found, expected);
    free(found);
}

static void text_is_escaped(void **state) {
    (void)state;
    puts_as(pk_viz_put_xml, "<a href=\"x\">'&'", "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
    puts_as(pk_viz_put_xml, "\xc3\xbc\xe2\x82\xac\xf0\x9f\x90\x87",
            "\xc3\xbc\xe2\x82\xac\xf0\x9f\x90\x87");
    puts_as(pk_viz_put_dot, "a\"b\\n&lt;\n", "a\\\"b\\\\n&amp;lt; ");
}

static void bad_bytes_are_replaced(void **state) {
    static const char *const bad[] = { "\xff",     "\x80",         "\xc3",        "\xc0\x80",
                                       "\xe2\x82", "\xed\xa0\x80", "\x01",        "\x1b",
                                       "\x7f",     "\xc2\x85",     "\xef\xbf\xbf" };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *clean = pk_viz_clean(bad[i]);
        assert_memory_equal(clean, "\xef\xbf\xbd", 3);
        json_t *string = json_string(clean);
        assert_non_null(string);
        json_decref(string);
        free(clean);
    }
    char *clean = pk_viz_clean("a\xf4\x90\x80\x80z");
    assert_int_equal(clean[strlen(clean) - 1], 'z');
    free(clean);
}

static void words_begin_with_a_dot(void **state) {
    pk_viz v = begin();
    char  *piece = pk_viz_piece(&v, A);
    (void)state;
    assert_string_equal(piece, "\xc2\xb7t10");
    free(piece);
}

/* every element that is opened is closed, in order; returns how many there are, -1: not so */
static int elements(const char *text) {
    char stack[32][16];
    int  depth = 0, n = 0;
    for (const char *at = text; (at = strchr(at, '<')); at++) {
        const char *end = strchr(at, '>');
        char        name[16] = "";
        if (!end) return -1;
        if (at[1] == '!') continue;
        sscanf(at + 1 + (at[1] == '/'), "%15[a-z0-9A-Z]", name);
        if (at[1] == '/') {
            if (depth == 0 || strcmp(stack[--depth], name)) return -1;
        } else if (end[-1] != '/' && strcmp(name, "meta") && strcmp(name, "link")) {
            if (depth == 32) return -1;
            snprintf(stack[depth++], sizeof stack[0], "%s", name);
        }
        n++;
    }
    return depth ? -1 : n;
}

static size_t count(const char *text, const char *part) {
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

static pk_viz hostile(void) {
    static const int32_t token[] = { HOSTILE, HOSTILE };
    pk_viz               v = begin();
    v.sentence = "</title><script>alert(1)</script>\"'&\\ \xff\x01";
    v.translation = "<img src=x onerror=alert(1)>";
    v.decode = "pj\"><b>";
    PASS(&v, { 0, START, HOSTILE, half, -1, 1 }, { 1, HOSTILE, HOSTILE, half, 0, 1 });
    pk_viz_finish(&v, token, NULL, 2);
    return v;
}

static void pages_and_pictures_are_well_formed(void **state) {
    pk_viz all[] = { sample(), chain(1), chain(5), chain(60), hostile(), drafted() };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *html = drawn(pk_viz_html, &all[i]), *svg = drawn(pk_viz_svg, &all[i]);
        assert_true(elements(html) > 30);
        assert_true(elements(svg) > 20);
        assert_int_equal(count(html, "<script"), 0);
        assert_int_equal(count(html, "<img"), 0);
        assert_int_equal(count(html, "http"), 0); /* nothing from elsewhere */
        assert_int_equal(count(svg, "<script"), 0);
        assert_int_equal(count(svg, "<svg"), 1);
        free(html);
        free(svg);
        pk_viz_free(&all[i]);
    }
}

static void the_page_says_what_happened(void **state) {
    pk_viz v = sample();
    char  *html = drawn(pk_viz_html, &v);
    (void)state;
    assert_int_equal(count(html, "class=\"cell accepted\""), 5);
    assert_int_equal(count(html, "class=\"cell early\""), 4);
    assert_int_equal(count(html, "class=\"cell wrong\""), 4);
    assert_int_equal(count(html, "class=\"arc"), 3);
    assert_int_equal(count(html, "class=\"ring ring2\""), 1);
    assert_int_equal(count(html, "<dd>1.25</dd>"), 1);
    assert_int_equal(count(html, "prefers-color-scheme:dark"), 2);
    assert_int_equal(count(html, "Pass 2, position 3: "), 1);
    assert_non_null(strstr(html, "a guess that was accepted"));
    free(html);
    pk_viz_free(&v);
}

static void the_page_names_passes_of_the_drafter(void **state) {
    pk_viz v = drafted(), alone = sample();
    char  *html = drawn(pk_viz_html, &v), *svg = drawn(pk_viz_svg, &v);
    char  *other = drawn(pk_viz_html, &alone);
    (void)state;
    assert_int_equal(count(svg, ">draft</text>"), 2);
    assert_int_equal(count(html, ">draft</text>"), 2);
    assert_int_equal(count(html, "<title>Pass 3, on the drafter, fills positions 3-4</title>"), 1);
    assert_int_equal(count(html, "<title>Pass 2, on the model, fills positions 1-3</title>"), 1);
    assert_int_equal(count(html, "Pass 1 (drafter), position 1: "), 1);
    assert_non_null(strstr(html, "of those on the drafter</dt><dd>2</dd>"));
    assert_int_equal(count(other, "draft"), 0);
    free(html);
    free(svg);
    free(other);
    pk_viz_free(&v);
    pk_viz_free(&alone);
}

static void json_names_networks_and_positions(void **state) {
    pk_viz         v = drafted();
    pk_line_writer w = { .file = -1 };
    json_error_t   error;
    (void)state;
    assert_int_equal(pk_viz_json(NULL, &w, &v), 0);
    json_t *whole = json_loadb(w.data, w.size, 0, &error),
           *passes = json_object_get(whole, "passes");
    for (size_t i = 0; i < 4; i++) {
        json_t     *pass = json_array_get(passes, i), *fills = json_object_get(pass, "fills");
        const char *network = json_string_value(json_object_get(pass, "network"));
        assert_string_equal(network, i % 2 ? "model" : "drafter");
        assert_int_equal(json_array_size(fills), i % 2 ? 3 : 2);
        assert_int_equal(json_integer_value(json_array_get(fills, 0)), i < 2 ? 0 : 2);
        json_t *last = json_object_get(pass, "asks"); /* a drafter's is not asked how probable */
        last = json_array_get(last, json_array_size(last) - 1);
        assert_int_equal(json_is_null(json_object_get(last, "probability")), i % 2 == 0);
    }
    json_decref(whole);
    free(w.data);
    pk_viz_free(&v);
}

/* columns never get narrower than can be read, however many there are */
static void columns_keep_their_width(void **state) {
    (void)state;
    for (size_t n = 1; n <= 60; n += 59) {
        pk_viz v = chain(n);
        layout l = arrange(&v, 0);
        for (size_t i = 0; i < n; i++) assert_true(l.x[i + 1] - l.x[i] >= 58);
        assert_true(l.width >= 58 * (double)n);
        free(l.x);
        pk_viz_free(&v);
    }
}

static void json_holds_it_all(void **state) {
    pk_viz         v = sample();
    pk_line_writer w = { .file = -1 };
    json_error_t   error;
    const char    *sentence, *text, *piece, *fed, *best;
    int            pass, position, accepted, from, to;
    double         p, q;
    (void)state;
    assert_int_equal(pk_viz_json(NULL, &w, &v), 0);
    json_t *whole = json_loadb(w.data, w.size, 0, &error);
    assert_non_null(whole);
    assert_int_equal(json_unpack(whole, "{s:s}", "sentence", &sentence), 0);
    assert_string_equal(sentence, "in");
    json_t *token = json_array_get(json_object_get(whole, "tokens"), 1);
    assert_int_equal(json_unpack(token, "{s:s s:s s:F s:i}", "text", &text, "piece", &piece,
                                 "probability", &p, "pass", &pass),
                     0);
    assert_string_equal(text, " t11");
    assert_string_equal(piece, "\xe2\x96\x81t11");
    assert_int_equal(pass, 2);
    json_t *second = json_array_get(json_object_get(whole, "passes"), 1);
    assert_int_equal(json_integer_value(json_object_get(second, "number")), 2);
    json_t *ask = json_array_get(json_object_get(second, "asks"), 0);
    assert_int_equal(json_unpack(ask, "{s:i s:s s:s s:F s:b}", "position", &position, "fed", &fed,
                                 "best", &best, "probability", &q, "accepted", &accepted),
                     0);
    assert_int_equal(position, 1);
    assert_int_equal(accepted, 1);
    json_t *edges = json_object_get(whole, "edges");
    assert_int_equal(json_array_size(edges), 3);
    assert_int_equal(json_unpack(json_array_get(edges, 2), "[i,i]", &from, &to), 0);
    assert_int_equal(10 * from + to, 14);
    json_decref(whole);
    free(w.data);
    pk_viz_free(&v);
}

static void hostile_text_stays_text_in_json_and_dot(void **state) {
    pk_viz         v = hostile();
    pk_line_writer w = { .file = -1 };
    json_error_t   error;
    (void)state;
    assert_int_equal(pk_viz_json(NULL, &w, &v), 0);
    json_t *whole = json_loadb(w.data, w.size, 0, &error);
    assert_non_null(whole);
    assert_string_equal(json_string_value(json_object_get(whole, "sentence")),
                        "</title><script>alert(1)</script>\"'&\\ \xef\xbf\xbd\xef\xbf\xbd");
    json_decref(whole);
    free(w.data);
    char *dot = drawn(pk_viz_dot, &v);
    assert_non_null(strstr(dot, "t0 [label=\"\xc2\xb7<script>\\\"&amp;'\\\\\\npass 1"));
    free(dot);
    pk_viz_free(&v);
}

static void dot_has_nodes_and_edges(void **state) {
    pk_viz v = sample();
    char  *dot = drawn(pk_viz_dot, &v);
    (void)state;
    assert_int_equal(count(dot, "[label="), 5);
    assert_int_equal(count(dot, " -> "), 3);
    assert_non_null(strstr(dot, "  t1 -> t4;\n"));
    assert_non_null(strstr(dot, "{ rank=same; t2; t3; }"));
    assert_int_equal(count(dot, "{"), count(dot, "}"));
    free(dot);
    pk_viz_free(&v);
}

static void nothing_to_translate_is_refused(void **state) {
    static const char *const blank[] = { "", " ", "\t \n" };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const char *operand[] = { blank[i] };
        pk_cli      c = { .operand = { operand, 1 } };
        message[0] = 0;
        assert_int_equal(pk_cli_viz(&c), PK_EXIT_USAGE);
        assert_non_null(strstr(message, "the sentence is empty"));
    }
}

/* two positions and the end: the path is B D, which the look-up ranked second and first */
static pk_viz lattice(void) {
    static const int32_t start = START, first[] = { A, B }, second[] = { D, C, HOSTILE, END },
                         last[] = { C, END };
    static const float one[] = { -1, half }, two[] = { -3, -3, -3, -9, half, -2, NAN, -8 },
                       three[] = { -5, -0.1f, -5, -0.2f, -5, -0.3f };
    const pk_trace_step  step[] = { { 0, 1, 2, &start, first, one },
                                    { 1, 2, 4, first, second, two },
                                    { 2, 3, 2, second, last, three } };
    static const int32_t token[] = { B, D, END };
    static const float   log_prob[] = { half, half, -0.1f };
    pk_viz               v = begin();
    pk_viz_trace(&v, &(pk_trace_pass){ .n_steps = 3, .step = step });
    pk_viz_finish(&v, token, log_prob, 3);
    return v;
}

static void a_lattice_shows_its_path(void **state) {
    pk_viz v = lattice();
    (void)state;
    assert_int_equal(v.n_steps, 3);
    assert_int_equal(v.step[0].chosen, 1);
    assert_int_equal(v.step[1].chosen, 0);
    assert_int_equal(v.step[1].chosen_from, 1);
    assert_int_equal(v.step[2].chosen, 1);
    assert_true(fabs(pk_viz_edge(&v.step[1], 1, 0) - 0.5) < 1e-6);
    assert_true(pk_viz_edge(&v.step[1], 1, 2) == 0); /* no number */
    for (size_t i = 0; i < 3; i++) assert_int_equal(v.token[i].fixed, 1);
    char *page = drawn(pk_viz_html, &v), *file = drawn(pk_viz_svg, &v);
    for (int i = 0; i < 2; i++) {
        const char *text = i ? file : page;
        assert_non_null(strstr(text, "class=\"path\""));
        assert_non_null(strstr(text, "position 2, candidate 1 of 4"));
        assert_non_null(strstr(text, "0.5000 (chosen)"));
        assert_null(strstr(text, "<script"));
        assert_null(strstr(text, "nan"));
    }
    free(page), free(file);
    pk_line_writer w = { .file = -1 };
    pk_cli         c = { 0 };
    assert_int_equal(pk_viz_json(&c, &w, &v), 0);
    pk_writer_add(&w, "", 1);
    json_t *whole = json_loads(w.data, 0, NULL);
    json_t *second = json_array_get(json_object_get(whole, "lattice"), 1);
    assert_int_equal(json_array_size(second), 4);
    assert_true(json_is_true(json_object_get(json_array_get(second, 0), "chosen")));
    assert_true(fabs(json_real_value(json_object_get(json_array_get(second, 0), "probability")) -
                     0.5) < 1e-6);
    json_decref(whole);
    free(w.data);
    pk_viz_free(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lattice_shows_its_path),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(bad_bytes_are_replaced),
        cmocka_unit_test(words_begin_with_a_dot),
        cmocka_unit_test(pages_and_pictures_are_well_formed),
        cmocka_unit_test(the_page_says_what_happened),
        cmocka_unit_test(the_page_names_passes_of_the_drafter),
        cmocka_unit_test(json_names_networks_and_positions),
        cmocka_unit_test(columns_keep_their_width),
        cmocka_unit_test(json_holds_it_all),
        cmocka_unit_test(hostile_text_stays_text_in_json_and_dot),
        cmocka_unit_test(dot_has_nodes_and_edges),
        cmocka_unit_test(nothing_to_translate_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
