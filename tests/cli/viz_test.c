/* viz_test.c - grid and graph from traces with known answers, escaping, and the form of each
 * format.
 */
#include "cli_stubs.h"

#include <jansson.h>
#include <math.h>

#include "../../cli/inputs.c"
#include "../../cli/lines.c"
#include "../../cli/viz.c"
#include "../../cli/viz_html.c"
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

enum { START = 0, PAD = 1, END = 2, HOSTILE = 3, MASK = 4, A = 10, B, C, D };

static const char *test_name(const void *names, int32_t id) {
    static const char *const piece[] = { "<s>", "<pad>", "</s>", "\xe2\x96\x81<script>\"&'\\",
                                         "<mask>" };
    static char              other[16];
    (void)names;
    if (id >= 0 && id <= MASK) return piece[id];
    snprintf(other, sizeof other, "\xe2\x96\x81t%d", (int)id);
    return other;
}

static const float half = -0.693147f;

static pk_viz begin(void) {
    return (pk_viz){ .sentence = "in", .translation = "out", .decode = "pj", .name = test_name };
}

/* an ask about the position behind the token that it is fed, or about one further on */
typedef struct row {
    int32_t position, token, best;
    float   log_prob;
    int32_t parent, kept;
} row;

static void trace_rows(pk_viz *v, int32_t model, int32_t ahead, const row *r, int32_t n) {
    pk_trace_ask ask[16];
    for (int32_t i = 0; i < n; i++)
        ask[i] = (pk_trace_ask){ .position = r[i].position,
                                 .token = r[i].token,
                                 .best = r[i].best,
                                 .log_prob = r[i].log_prob,
                                 .parent = r[i].parent,
                                 .kept = r[i].kept,
                                 .fed_at = r[i].position - 1 - ahead };
    pk_viz_trace(v, &(pk_trace_pass){ .n = n, .ask = ask, .model = model });
}

/* asks of one pass on a network */
#define PASS_ON(v, model, ahead, ...)                                             \
    do {                                                                          \
        const row row_[] = { __VA_ARGS__ };                                       \
        trace_rows(v, model, ahead, row_, (int32_t)(sizeof row_ / sizeof *row_)); \
    } while (0)
#define PASS(v, ...) PASS_ON(v, 0, 0, __VA_ARGS__)

/* Jacobi over A B C D END: C is right too early, C and D are fixed together, a guess is accepted,
 * one comes after a wrong one, and END is right, wrong and right again. */
static pk_viz sample(void) {
    static const int32_t token[] = { A, B, C, D, END };
    static const float   log_prob[] = { -0.105361f, half, half, half, 0 };
    pk_viz               v = begin();
    PASS(&v, { 0, START, A, half, -1, 1 }, { 1, PAD, 99, half, 0, 0 }, { 2, PAD, C, half, 1, 0 },
         { 3, PAD, 50, half, 2, 0 }, { 4, PAD, END, half, 3, 0 });
    PASS(&v, { 1, A, B, half, -1, 1 }, { 2, 99, C, half, 0, 0 }, { 3, C, 50, half, 1, 0 },
         { 4, 50, 7, half, 2, 0 });
    PASS(&v, { 2, B, C, half, -1, 1 }, { 3, C, D, half, 0, 1 }, { 4, 50, END, half, 1, 0 });
    PASS(&v, { 4, D, END, half, -1, 1 }, { 5, END, 7, half, 0, 0 });
    pk_viz_finish(&v, token, log_prob, 5);
    return v;
}

static void the_grid_is_as_known(void **state) {
    static const char        letter[] = ".WRAC";
    static const char *const rows[] = { "AWRWR", "CARWW", "CCAAR", "CCCCA" };
    pk_viz                   v = sample();
    (void)state;
    assert_int_equal(v.n_passes, 4);
    for (size_t pass = 1; pass <= 4; pass++)
        for (size_t i = 0; i < 5; i++)
            if (letter[pk_viz_at(&v, pass, i)->state] != rows[pass - 1][i])
                fail_msg("pass %zu, position %zu", pass, i);
    assert_int_equal(pk_viz_at(&v, 1, 1)->best, 99);
    assert_true(fabs(pk_viz_at(&v, 1, 1)->probability - 0.5) < 1e-5);
    assert_true(fabs(pk_viz_at(&v, 1, 0)->probability - 0.9) < 1e-5); /* the final token's own */
    pk_viz_free(&v);
}

static void guesses_are_judged(void **state) {
    pk_viz v = sample();
    (void)state;
    assert_int_equal(pk_viz_at(&v, 1, 0)->guess, PK_VIZ_GUESS_PADDING);
    assert_int_equal(pk_viz_at(&v, 2, 1)->guess, PK_VIZ_GUESS_WRONG);
    assert_int_equal(pk_viz_at(&v, 2, 1)->guessed, 99);
    assert_int_equal(pk_viz_at(&v, 2, 2)->guess, PK_VIZ_GUESS_LATE);
    assert_int_equal(pk_viz_at(&v, 3, 2)->guess, PK_VIZ_GUESS_ACCEPTED);
    assert_int_equal(pk_viz_at(&v, 3, 3)->guess, PK_VIZ_GUESS_WRONG);
    assert_int_equal(pk_viz_at(&v, 4, 0)->guess, PK_VIZ_NO_GUESS);
    pk_viz_free(&v);
}

static void tokens_know_when_and_with_whom(void **state) {
    static const int32_t fixed[] = { 1, 2, 3, 3, 4 }, right[] = { 1, 2, 1, 3, 3 };
    static const int32_t group[] = { 0, 1, 2, 2, 3 }, of[] = { 1, 1, 2, 2, 1 };
    pk_viz               v = sample();
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(v.token[i].fixed, fixed[i]);
        assert_int_equal(v.token[i].right, right[i]);
        assert_int_equal(v.token[i].group, group[i]);
        assert_int_equal(v.token[i].of, of[i]);
    }
    assert_int_equal(v.n_groups, 4);
    pk_viz_free(&v);
}

static void edges_are_as_known(void **state) {
    static const int32_t edge[][2] = { { 0, 1 }, { 1, 3 }, { 1, 4 } };
    pk_viz               v = sample();
    (void)state;
    assert_int_equal(v.n_edges, 3);
    assert_memory_equal(v.edge, edge, sizeof edge);
    pk_viz_free(&v);
}

/* greedy over n tokens named from 100 on */
static pk_viz chain(size_t n) {
    int32_t *token = malloc(n * sizeof *token);
    pk_viz   v = begin();
    for (size_t i = 0; i < n; i++) {
        token[i] = 100 + (int32_t)i;
        PASS(&v, { (int32_t)i, token[i] - 1, token[i], half, -1, 1 });
    }
    pk_viz_finish(&v, token, NULL, n);
    free(token);
    return v;
}

static void greedy_is_a_chain(void **state) {
    pk_viz v = chain(60);
    (void)state;
    assert_int_equal(v.n_edges, 59);
    for (int32_t e = 0; e < 59; e++) {
        assert_int_equal(v.edge[e][0], e);
        assert_int_equal(v.edge[e][1], e + 1);
    }
    pk_viz_free(&v);
}

/* what the edges imply is exactly what was fixed before a token became right, and none of them is
 * implied by the others: checked on random windows of guesses */
static void edges_are_a_transitive_reduction(void **state) {
    enum { N = 12 };
    (void)state;
    srand(1);
    for (int repetition = 0; repetition < 200; repetition++) {
        pk_viz v = { .n = N, .token = pk_cli_grow(NULL, N, sizeof *v.token) };
        bool   before[N][N] = { 0 }, path[N][N] = { 0 };
        for (int i = 0, pass = 1; i < N; i++) {
            pass += rand() % 2;
            v.token[i] = (pk_viz_token){ .fixed = pass, .right = 1 + rand() % pass };
        }
        find_edges(&v);
        for (int i = 0; i < N; i++)
            for (int j = i + 1; j < N; j++) before[i][j] = v.token[i].fixed < v.token[j].right;
        for (size_t e = 0; e < v.n_edges; e++) path[v.edge[e][0]][v.edge[e][1]] = true;
        for (size_t e = 0; e < v.n_edges; e++) /* no detour */
            for (int k = 0; k < N; k++)
                assert_false(before[v.edge[e][0]][k] && before[k][v.edge[e][1]]);
        for (int k = 0; k < N; k++)
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) path[i][j] |= path[i][k] && path[k][j];
        assert_memory_equal(path, before, sizeof path);
        pk_viz_free(&v);
    }
}

/* whether or not the result names them */
static void language_tokens_are_left_out(void **state) {
    enum { LANGUAGE = 5 };
    static const int32_t token[] = { LANGUAGE, A, END };
    static const float   log_prob[] = { 0, -0.693147f, 0 };
    (void)state;
    for (size_t skip = 0; skip < 2; skip++) {
        pk_viz v = begin();
        PASS(&v, { 0, END, -1, 0, -1, 1 }, { 1, LANGUAGE, A, half, 0, 1 });
        PASS(&v, { 2, A, END, half, -1, 0 });
        pk_viz_finish(&v, token + skip, log_prob + skip, 3 - skip);
        assert_int_equal(v.n, 2);
        assert_int_equal(v.token[0].id, A);
        assert_true(fabs(v.token[0].probability - 0.5) < 1e-5);
        assert_int_equal(v.token[0].fixed, 1);
        assert_int_equal(v.token[1].fixed, 2);
        assert_int_equal(v.ask[1].position, 0);
        pk_viz_free(&v);
    }
}

/* the translation's second token was no row's first choice; rows go on after its end */
static void beams_do_not_break_it(void **state) {
    static const int32_t token[] = { A, B, END };
    static const float   log_prob[] = { half, half, half };
    pk_viz               v = begin();
    (void)state;
    PASS(&v, { 0, START, D, half, -1, 1 });
    PASS(&v, { 1, D, B, half, -1, 1 }, { 1, A, C, half, -1, 1 });
    PASS(&v, { 2, D, C, half, -1, 1 }, { 2, B, END, half, -1, 1 });
    PASS(&v, { 3, D, C, half, -1, 1 });
    pk_viz_finish(&v, token, log_prob, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(v.token[i].fixed, i + 1);
    assert_int_equal(pk_viz_at(&v, 2, 1)->state, PK_VIZ_ACCEPTED);
    assert_int_equal(pk_viz_at(&v, 2, 1)->best, C);
    assert_int_equal(pk_viz_at(&v, 4, 2)->state, PK_VIZ_CERTAIN);
    pk_viz_free(&v);
}

/* A B C END: two tokens are drafted at masks, the first of them right, and the model checks */
static pk_viz drafted(void) {
    static const int32_t token[] = { A, B, C, END };
    static const float   log_prob[] = { half, half, half, half };
    pk_viz               v = begin();
    PASS_ON(&v, 1, -1, { -1, START, -1, 0, -1, 1 }, { 0, MASK, A, half, 0, 0 },
            { 1, MASK, 99, half, 1, 0 });
    PASS(&v, { 0, START, A, half, -1, 1 }, { 1, A, B, half, 0, 1 }, { 2, 99, 50, half, 1, 0 });
    PASS_ON(&v, 1, -1, { 0, A, -1, 0, -1, 1 }, { 1, B, -1, 0, 0, 1 }, { 2, MASK, C, half, 1, 0 },
            { 3, MASK, END, half, 2, 0 });
    PASS(&v, { 2, B, C, half, -1, 1 }, { 3, C, END, half, 0, 1 }, { 4, END, 50, half, 1, 0 });
    pk_viz_finish(&v, token, log_prob, 4);
    return v;
}

static void a_drafter_makes_nothing_certain(void **state) {
    static const int32_t fixed[] = { 2, 2, 4, 4 };
    pk_viz               v = drafted();
    (void)state;
    assert_int_equal(v.n_passes, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(v.token[i].id, i < 3 ? A + (int32_t)i : END);
        assert_int_equal(v.token[i].fixed, fixed[i]);
        assert_int_equal(v.token[i].right, fixed[i]); /* by the model's word */
        assert_int_equal(pk_viz_drafts(&v, i + 1), i % 2 == 0);
    }
    assert_int_equal(pk_viz_at(&v, 1, 0)->state, PK_VIZ_RIGHT);
    assert_int_equal(pk_viz_at(&v, 1, 1)->state, PK_VIZ_WRONG);
    assert_int_equal(pk_viz_at(&v, 1, 1)->guess, PK_VIZ_GUESS_PADDING); /* a mask says nothing */
    assert_int_equal(pk_viz_at(&v, 2, 0)->guess, PK_VIZ_GUESS_ACCEPTED);
    assert_int_equal(pk_viz_at(&v, 2, 1)->guess, PK_VIZ_GUESS_WRONG);
    assert_int_equal(pk_viz_at(&v, 3, 0)->state, PK_VIZ_CERTAIN);
    assert_int_equal(pk_viz_at(&v, 3, 2)->state, PK_VIZ_RIGHT);
    pk_viz_free(&v);
}

static void passes_know_what_they_fill(void **state) {
    static const int32_t want[][4] = { { 0, 1 }, { 0, 1, 2 }, { 2, 3 }, { 2, 3, 4 } };
    static const size_t  n[] = { 2, 3, 2, 3 };
    pk_viz               v = drafted();
    (void)state;
    for (size_t pass = 1; pass <= 4; pass++) {
        int32_t *position;
        assert_int_equal(pk_viz_filled(&v, pass, &position), n[pass - 1]);
        assert_memory_equal(position, want[pass - 1], n[pass - 1] * sizeof *position);
        free(position);
    }
    pk_viz_free(&v);
}

/* every second token from left to right, then those between them at once: hybrid-regressive */
static void masks_are_filled_for_good_by_the_last_answer(void **state) {
    static const int32_t token[] = { A, B, C, END }, fixed[] = { 3, 1, 4, 2 };
    static const float   log_prob[] = { half, half, half, half };
    pk_viz               v = begin();
    int32_t             *position;
    (void)state;
    PASS_ON(&v, 0, 1, { 1, START, B, half, -1, 1 });
    PASS_ON(&v, 0, 1, { 3, B, END, half, -1, 1 });
    PASS_ON(&v, 0, -1, { 0, MASK, A, half, -1, 0 }, { 1, B, -1, 0, 0, 0 },
            { 2, MASK, C, half, 1, 0 }, { 3, END, -1, 0, 2, 0 });
    PASS_ON(&v, 0, -1, { 0, A, -1, 0, -1, 0 }, { 1, B, -1, 0, 0, 0 }, { 2, MASK, C, half, 1, 0 });
    pk_viz_finish(&v, token, log_prob, 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(v.token[i].fixed, fixed[i]);
    assert_int_equal(v.token[2].right, 3);
    assert_int_equal(pk_viz_at(&v, 3, 0)->state, PK_VIZ_ACCEPTED);
    assert_int_equal(pk_viz_at(&v, 4, 0)->state, PK_VIZ_CERTAIN);
    assert_int_equal(pk_viz_at(&v, 3, 2)->state, PK_VIZ_RIGHT);
    assert_int_equal(pk_viz_at(&v, 4, 2)->state, PK_VIZ_ACCEPTED);
    assert_int_equal(pk_viz_filled(&v, 3, &position), 2);
    assert_int_equal(position[0] + 10 * position[1], 20);
    free(position);
    pk_viz_free(&v);
}

/* a drafter's first pass is fed the language, too */
static void language_tokens_are_left_out_before_masks(void **state) {
    enum { LANGUAGE = 5 };
    static const int32_t token[] = { LANGUAGE, A, END };
    (void)state;
    for (size_t skip = 0; skip < 2; skip++) {
        pk_viz v = begin();
        PASS_ON(&v, 1, -1, { -1, START, -1, 0, -1, 1 }, { 0, LANGUAGE, -1, 0, 0, 1 },
                { 1, MASK, A, half, 1, 0 });
        PASS(&v, { 0, START, -1, 0, -1, 1 }, { 1, LANGUAGE, A, half, 0, 1 },
             { 2, A, END, half, 1, 1 });
        pk_viz_finish(&v, token + skip, NULL, 3 - skip);
        assert_int_equal(v.n, 2);
        for (int i = 0; i < 2; i++) assert_int_equal(v.token[i].fixed, 2);
        assert_int_equal(pk_viz_at(&v, 1, 0)->state, PK_VIZ_RIGHT);
        pk_viz_free(&v);
    }
}

static void probes_and_other_sentences_are_no_passes(void **state) {
    const pk_trace_ask  ask = { 0, START, A, half, -1, 1, -1 };
    const pk_trace_pass probe = { .probe = 1, .n = 1, .ask = &ask };
    const pk_trace_pass second = { .sentence = 1, .n = 1, .ask = &ask };
    pk_viz              v = begin();
    (void)state;
    pk_viz_trace(&v, &probe);
    assert_int_equal(v.n_passes, 0);
    pk_viz_trace(&v, &second);
    assert_int_equal(v.n_passes, 0);
    assert_int_equal(v.sentences, 2);
    pk_viz_finish(&v, NULL, NULL, 0);
    pk_viz_free(&v);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_grid_is_as_known),
        cmocka_unit_test(guesses_are_judged),
        cmocka_unit_test(tokens_know_when_and_with_whom),
        cmocka_unit_test(edges_are_as_known),
        cmocka_unit_test(greedy_is_a_chain),
        cmocka_unit_test(edges_are_a_transitive_reduction),
        cmocka_unit_test(language_tokens_are_left_out),
        cmocka_unit_test(beams_do_not_break_it),
        cmocka_unit_test(a_drafter_makes_nothing_certain),
        cmocka_unit_test(passes_know_what_they_fill),
        cmocka_unit_test(masks_are_filled_for_good_by_the_last_answer),
        cmocka_unit_test(language_tokens_are_left_out_before_masks),
        cmocka_unit_test(probes_and_other_sentences_are_no_passes),
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
