/* draft_tree_test.c - the nodes that grow are the most probable paths: against all paths, computed
 * one by one in double from what draft_tree.h says, for random places with a lexicon of successors
 * and without. Then what is damaged: numbers that are none, tokens that do not exist, no memory. */
#include "successors.h"

#include "check.h"
#include "decode/draft_tree.h"

enum { VOCAB = 12, PLACES = 5, MOST_NODES = 64 };

typedef struct scene {
    pk_draft_tree   tree;
    successors      by; /* lexicon.next_first NULL: nobody knows what follows what */
    pk_candidate    top[PLACES][PK_DRAFT_WIDTH];
    int32_t         n_top[PLACES], n_places, vocab;
    pk_draft_growth g;
} scene;

/* tokens of a list are distinct, as a session's are; some do not exist */
static int32_t any_other(int32_t vocab, bool *used) {
    for (;;) {
        const int32_t token = any(10) ? any(vocab) : any(2) ? -1 - any(3) : vocab + any(8);
        bool         *at = &used[token + 3];
        if (*at) continue;
        *at = true;
        return token;
    }
}

/* falling log-probabilities; now and then they sum up to more than 1, as of a damaged drafter */
static void fill_place(scene *c, int32_t place) {
    bool used[VOCAB + 32] = { false };
    c->n_top[place] = any(20) ? 1 + any(PK_DRAFT_WIDTH) : 0;
    float left = any(10) ? 1 : 3;
    for (int32_t i = 0; i < c->n_top[place]; i++) {
        const float share = left * any_share();
        left -= share;
        c->top[place][i] =
            (pk_candidate){ any_other(c->vocab, used), any(40) ? logf(share) : -INFINITY };
    }
}

static void open_scene(scene *c, uint32_t seed) {
    random_state = seed;
    *c = (scene){ .n_places = 2 + any(PLACES - 1), .vocab = 8 + any(VOCAB - 7) };
    if (any(3)) open_successors(&c->by, any(3) ? c->vocab : 4 + any(VOCAB - 3));
    c->g = (pk_draft_growth){ .before = any(c->vocab + 1) - 1,
                              .eos = any(c->vocab),
                              .most_nodes = 1 + (any(2) ? any(8) : any(MOST_NODES)),
                              .most_depth = any(3) ? PLACES : any(PLACES),
                              .least = any(2) ? 1e-3f : 0.1f * any_share() };
    ASSERT_OK(
        pk_draft_tree_begin(&c->tree, c->by.first ? &c->by.lexicon : NULL, PLACES, MOST_NODES));
    c->tree.n_places = c->n_places;
    for (int32_t place = 0; place < c->n_places; place++) {
        fill_place(c, place);
        pk_draft_tree_place(&c->tree, place, c->top[place], c->n_top[place], c->vocab);
    }
}

static void close_scene(scene *c) {
    pk_draft_tree_end(&c->tree);
    pk_draft_tree_end(&c->tree); /* twice is harmless */
    close_successors(&c->by);
}

/* ---- all paths ---- */

static bool exists(const scene *c, int32_t token) { return token >= 0 && token < c->vocab; }

/* the root of P(z | y) / P(z), a tenth of which is what was not seen behind y */
static double weight(const scene *c, int32_t y, int32_t z) {
    const pk_lexicon *l = &c->by.lexicon;
    double            ratio = 0.1;
    if (!l->next_first) return 1;
    const int32_t row = y < 0 ? l->target_vocab : y;
    if (row <= l->target_vocab && y < l->target_vocab && z < l->target_vocab)
        for (uint32_t k = l->next_first[row]; k < l->next_first[row + 1]; k++)
            if (l->next[k].token == z && l->share[z] > 0)
                ratio += 0.9 * (double)l->next[k].prob / (double)l->share[z];
    return sqrt(ratio);
}

/* P(candidate i of a place | the token before): what the drafter gives to tokens outside the list,
 * a thousandth at least, stays theirs */
static double probability(const scene *c, int32_t place, int32_t before, int32_t i) {
    double sum = 0, rest = 1, own = 0;
    for (int32_t k = 0; k < c->n_top[place]; k++) {
        const pk_candidate t = c->top[place][k];
        const double       prob = exp((double)t.logp);
        if (!exists(c, t.token)) continue;
        const double weighed = prob * weight(c, before, t.token);
        if (k == i) own = weighed;
        sum += weighed;
        rest -= prob;
    }
    return own / (sum + (rest > 1e-3 ? rest : 1e-3));
}

typedef struct seen {
    const scene *c;
    int32_t      found;  /* nodes of the tree that are paths */
    double       worst;  /* the least probable of them */
    double       missed; /* the most probable path that is none */
} seen;

static int32_t find_node(const pk_draft_tree *t, int32_t parent, int32_t token) {
    int32_t found = -1;
    for (int32_t i = 0; i < t->n; i++) {
        if (t->node[i].parent != parent || t->node[i].token != token) continue;
        assert_int_equal(found, -1); /* no path comes twice */
        found = i;
    }
    return found;
}

/* node: of the path so far; -1: the root; -2: it is not in the tree */
static void walk(seen *s, int32_t node, int32_t before, double so_far, int32_t depth) {
    const scene *c = s->c;
    if (depth == c->n_places || depth == c->g.most_depth) return;
    for (int32_t i = 0; i < c->n_top[depth]; i++) {
        const int32_t token = c->top[depth][i].token;
        if (!exists(c, token)) continue;
        const double  prob = so_far * probability(c, depth, before, i);
        const int32_t at = node == -2 ? -1 : find_node(&c->tree, node, token);
        if (at >= 0) {
            assert_int_equal(c->tree.node[at].depth, depth + 1);
            s->found++;
            if (prob < s->worst) s->worst = prob;
        } else if (prob > s->missed)
            s->missed = prob;
        if (token != c->g.eos) walk(s, at >= 0 ? at : -2, token, prob, depth + 1);
    }
}

#define NEAR 1e-4 /* sums in float may swap paths that are as probable */

static int32_t asks_of(const scene *c) {
    int32_t asks = 0;
    for (int32_t i = 0; i < c->tree.n; i++) {
        assert_true(c->tree.node[i].parent >= -1 && c->tree.node[i].parent < i);
        asks += c->tree.node[i].token != c->g.eos;
    }
    return asks;
}

static void expect_best_paths(const scene *c, int32_t *full) {
    seen s = { .c = c, .worst = INFINITY };
    walk(&s, -1, c->g.before, 1, 0);
    const int32_t asks = asks_of(c);
    assert_int_equal(s.found, c->tree.n); /* every node is a path: nothing is behind an end */
    assert_true(asks <= c->g.most_nodes);
    assert_true(s.worst >= (double)c->g.least * (1 - NEAR));
    if (asks < c->g.most_nodes)
        assert_true(s.missed < (double)c->g.least * (1 + NEAR));
    else
        assert_true(s.missed <= s.worst * (1 + NEAR));
    *full += asks == c->g.most_nodes;
}

static void the_most_probable_paths_grow(void **unused) {
    int32_t full = 0, nodes = 0, ends = 0;
    (void)unused;
    for (uint32_t seed = 0; seed < 3000; seed++) {
        scene c;
        open_scene(&c, seed);
        const int64_t allocations = pk_memory_count();
        for (int again = 0; again < 2; again++) { /* a tree grows anew each time */
            pk_draft_tree_grow(&c.tree, &c.g);
            expect_best_paths(&c, &full);
            nodes += c.tree.n;
            ends += c.tree.n - asks_of(&c);
            c.g.most_nodes = 1 + any(MOST_NODES);
            c.g.least /= 4;
        }
        assert_int_equal(pk_memory_count(), allocations);
        close_scene(&c);
    }
    assert_true(full > 1000 && full < 5000 && nodes > 30000 && ends > 1000);
}

/* what is taken later is not more probable */
static void the_best_come_first(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < 500; seed++) {
        scene c;
        open_scene(&c, seed);
        const int32_t most = c.g.most_nodes;
        pk_guess_node node[2 * MOST_NODES + 1];
        pk_draft_tree_grow(&c.tree, &c.g);
        const int32_t n = c.tree.n;
        memcpy(node, c.tree.node, (size_t)n * sizeof *node);
        for (c.g.most_nodes = 0; c.g.most_nodes <= most; c.g.most_nodes++) {
            pk_draft_tree_grow(&c.tree, &c.g); /* a smaller tree is the beginning of a larger one */
            assert_true(c.tree.n <= n && (c.g.most_nodes > 0 || c.tree.n == 0));
            if (c.tree.n) assert_memory_equal(c.tree.node, node, (size_t)c.tree.n * sizeof *node);
        }
        close_scene(&c);
    }
}

/* ---- by hand ---- */

enum { END, THE, A, CAT, DOG };

static void say(pk_draft_tree *t, int32_t place, int32_t n, const int32_t *token,
                const float *prob) {
    pk_candidate top[PK_DRAFT_WIDTH];
    for (int32_t i = 0; i < n; i++) top[i] = (pk_candidate){ token[i], logf(prob[i]) };
    pk_draft_tree_place(t, place, top, n, 5);
    t->n_places = place + 1;
}

static void expect_node(const pk_draft_tree *t, int32_t i, int32_t token, int32_t parent,
                        int32_t depth) {
    assert_true(i < t->n);
    assert_int_equal(t->node[i].token, token);
    assert_int_equal(t->node[i].parent, parent);
    assert_int_equal(t->node[i].depth, depth);
}

/* "the" 0.6, "a" 0.3, then "cat" 0.5, the end 0.4; a lexicon turns the order */
static void a_small_tree_by_hand(void **unused) {
    static const uint32_t             first[] = { 0, 0, 1, 2, 2, 2, 2 };
    static const pk_lexicon_candidate next[] = { { END, 0.9f }, { CAT, 0.9f } };
    static const float                share[] = { 0.1f, 0.1f, 0.1f, 0.1f, 0.1f };
    const pk_lexicon l = { .target_vocab = 5, .next_first = first, .next = next, .share = share };
    pk_draft_growth  g = {
         .before = -1, .eos = END, .most_nodes = 3, .most_depth = 9, .least = 1e-3f
    };
    pk_draft_tree t;
    (void)unused;
    for (int known = 0; known < 2; known++) {
        ASSERT_OK(pk_draft_tree_begin(&t, known ? &l : NULL, 2, 3));
        say(&t, 0, 2, (int32_t[]){ THE, A }, (float[]){ 0.6f, 0.3f });
        say(&t, 1, 2, (int32_t[]){ CAT, END }, (float[]){ 0.5f, 0.4f });
        assert_int_equal(pk_draft_tree_best(&t, 0), THE);
        assert_int_equal(pk_draft_tree_best(&t, 1), CAT);
        pk_draft_tree_grow(&t, &g);
        expect_node(&t, 0, THE, -1, 1); /* 0.6 */
        /* "a" 0.3, "the cat" 0.3, the end behind "the" 0.24 */
        if (!known) assert_int_equal(t.n, 3);
        if (!known) assert_true(find_node(&t, -1, A) > 0 && find_node(&t, 0, CAT) > 0);
        /* the end is 8.2 times as probable behind "the" as anywhere, "cat" behind "a" */
        if (known) assert_int_equal(t.n, 4);
        if (known) expect_node(&t, 1, END, 0, 2);
        if (known) expect_node(&t, 2, A, -1, 1);
        if (known) expect_node(&t, 3, CAT, 2, 2);
        pk_draft_tree_end(&t);
    }
}

/* what the depth, the end and the least probability leave out */
static void what_does_not_grow(void **unused) {
    pk_draft_growth g = {
        .before = THE, .eos = END, .most_nodes = 40, .most_depth = 2, .least = 0.2f
    };
    pk_draft_tree t;
    (void)unused;
    ASSERT_OK(pk_draft_tree_begin(&t, NULL, 3, 40));
    pk_draft_tree_grow(&t, &g); /* no place at all */
    assert_int_equal(t.n, 0);
    say(&t, 0, 3, (int32_t[]){ END, A, DOG }, (float[]){ 0.5f, 0.3f, 0.19f });
    say(&t, 1, 1, (int32_t[]){ CAT }, (float[]){ 0.9f });
    say(&t, 2, 1, (int32_t[]){ CAT }, (float[]){ 1 });
    pk_draft_tree_grow(&t, &g);
    assert_int_equal(t.n, 3);
    expect_node(&t, 0, END, -1, 1);
    expect_node(&t, 1, A, -1, 1);
    expect_node(&t, 2, CAT, 1, 2);
    g.most_nodes = 1; /* an end symbol is no ask */
    pk_draft_tree_grow(&t, &g);
    assert_int_equal(t.n, 2);
    g.most_nodes = 0;
    pk_draft_tree_grow(&t, &g);
    assert_int_equal(t.n, 0);
    g.most_nodes = 40, g.most_depth = 0;
    pk_draft_tree_grow(&t, &g);
    assert_int_equal(t.n, 0);
    pk_draft_tree_end(&t);
}

/* Paths of 0.5, 0.25, 0.125 and 0.0625; a cost of 1 should bring 2 tokens. The second ask is dear, the
 * third and fourth cost nothing more, those behind 0.1 each. */
static void nodes_that_do_not_pay_are_left_out(void **unused) {
    static const float cost[] = { 0, 1, 1.3f, 1.3f, 1.3f }, low[] = { 0, 1, 1.01f };
    pk_draft_growth g = { .before = -1, .eos = END, .most_nodes = 4, .most_depth = 9, .worth = 2 };
    pk_draft_tree   t;
    (void)unused;
    ASSERT_OK(pk_draft_tree_begin(&t, NULL, 4, 4));
    for (int32_t i = 0; i < 4; i++) say(&t, i, 1, (int32_t[]){ CAT }, (float[]){ 0.5f });
    g.cost = cost, g.n_cost = 5, g.more = 0.1f;
    pk_draft_tree_grow(&t, &g); /* 0.5 + 0.25 + 0.125 for 0.6: the fourth, 0.0625, costs 0.2 */
    assert_int_equal(t.n, 3);
    g.n_cost = 2; /* an ask costs 0.1, 0.2 tokens: two of them pay */
    pk_draft_tree_grow(&t, &g);
    assert_int_equal(t.n, 2);
    g.cost = low, g.n_cost = 3, g.more = 0.01f;
    pk_draft_tree_grow(&t, &g);
    assert_int_equal(t.n, 4);
    g.more = 0.5f, g.cost = (float[]){ 0, 1, 2, 3 }, g.n_cost = 4;
    pk_draft_tree_grow(&t, &g); /* nothing pays */
    assert_int_equal(t.n, 0);
    g.worth = 0; /* nobody asked */
    pk_draft_tree_grow(&t, &g);
    assert_int_equal(t.n, 4);
    pk_draft_tree_end(&t);
}

static void tokens_that_do_not_exist_are_left_out(void **unused) {
    static const pk_candidate top[] = { { -1, 0 },         { 5, 0 },      { PK_NO_TOKEN, 0 },
                                        { 1 << 30, 0 },    { CAT, -1 },   { INT32_MIN, -1 },
                                        { INT32_MAX, -2 }, { DOG, -1.5f } };
    const pk_draft_growth     g = {
            .before = -1, .eos = END, .most_nodes = 9, .most_depth = 9, .least = 1e-3f
    };
    pk_draft_tree t;
    (void)unused;
    ASSERT_OK(pk_draft_tree_begin(&t, NULL, 2, 9));
    pk_draft_tree_place(&t, 0, top, 8, 5);
    pk_draft_tree_place(&t, 1, top, 4, 5); /* nothing is left */
    t.n_places = 2;
    assert_int_equal(pk_draft_tree_best(&t, 0), CAT);
    assert_int_equal(pk_draft_tree_best(&t, 1), -1);
    pk_draft_tree_grow(&t, &g);
    assert_int_equal(t.n, 2);
    expect_node(&t, 0, CAT, -1, 1);
    expect_node(&t, 1, DOG, -1, 1);
    pk_draft_tree_end(&t);
}

/* ---- damage ---- */

/* no node for what has no probability, and none behind it */
static void numbers_that_are_none(void **unused) {
    static const float bad[] = { NAN, -NAN, -INFINITY, INFINITY };
    (void)unused;
    for (uint32_t seed = 0; seed < 400; seed++) {
        scene         c;
        const int32_t kind = (int32_t)(seed % 4);
        open_scene(&c, seed);
        const int32_t place = any(c.n_places);
        if (!c.n_top[place]) c.n_top[place] = 1, c.top[place][0].token = 1;
        const int32_t i = any(c.n_top[place]), token = c.top[place][i].token;
        c.top[place][i].logp = bad[kind];
        pk_draft_tree_place(&c.tree, place, c.top[place], c.n_top[place], c.vocab);
        pk_draft_tree_grow(&c.tree, &c.g);
        assert_true(asks_of(&c) <= c.g.most_nodes);
        for (int32_t k = 0; k < c.tree.n; k++) {
            assert_true(exists(&c, c.tree.node[k].token));
            assert_true(c.tree.node[k].depth != place + 1 || c.tree.node[k].token != token);
        }
        close_scene(&c);
    }
}

/* any bits in a lexicon: some tree, of tokens that exist */
static void a_damaged_lexicon_does_no_harm(void **unused) {
    static const float bad[] = { NAN, -1, INFINITY, -INFINITY, 0, 1e-45f, 3e38f };
    (void)unused;
    for (uint32_t seed = 0; seed < 1000; seed++) {
        scene c;
        open_scene(&c, seed);
        const int32_t rows = c.by.first ? c.by.lexicon.target_vocab + 1 : 0;
        const int32_t n = rows ? (int32_t)c.by.first[rows] : 0;
        for (int32_t i = 0; i < n; i++) {
            if (any(3) == 0) c.by.next[i].prob = ANY_OF(bad);
            if (any(3) == 0) c.by.next[i].token = any(2) ? INT32_MAX : INT32_MIN;
        }
        for (int32_t y = 0; y + 1 < rows; y++)
            if (any(3) == 0) c.by.share[y] = ANY_OF(bad);
        pk_draft_tree_grow(&c.tree, &c.g);
        assert_true(asks_of(&c) <= c.g.most_nodes);
        for (int32_t k = 0; k < c.tree.n; k++) {
            const pk_guess_node *node = &c.tree.node[k];
            assert_true(exists(&c, node->token) && node->depth <= c.n_places);
            if (node->parent >= 0)
                assert_int_equal(c.tree.node[node->parent].depth + 1, node->depth);
        }
        close_scene(&c);
    }
}

static pk_status attempt(void *unused) {
    pk_draft_tree   t = { 0 };
    const pk_status status = pk_draft_tree_begin(&t, NULL, PLACES, MOST_NODES);
    (void)unused;
    pk_draft_tree_end(&t);
    pk_draft_tree_end(&t);
    return status;
}

static void failed_allocations(void **unused) {
    pk_draft_tree none = { 0 };
    (void)unused;
    assert_int_equal(check_every_allocation(attempt, NULL), 4);
    pk_draft_tree_end(&none); /* which was never begun */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_probable_paths_grow),
        cmocka_unit_test(the_best_come_first),
        cmocka_unit_test(a_small_tree_by_hand),
        cmocka_unit_test(what_does_not_grow),
        cmocka_unit_test(nodes_that_do_not_pay_are_left_out),
        cmocka_unit_test(tokens_that_do_not_exist_are_left_out),
        cmocka_unit_test(numbers_that_are_none),
        cmocka_unit_test(a_damaged_lexicon_does_no_harm),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
