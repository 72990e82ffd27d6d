/* lexicon_test.c - candidates by look-up: counts by hand, the sum over all links made plainly, what
 * bytes are refused, and that no allocation that fails leaves anything behind. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "lexicon/lexicon_count.h"
#include "lexicon/lexicon_draft.h"

enum { SOURCE = 4, TARGET = 5, PRINT = 77 };

/* three pairs of hand-made links; see counted_by_hand() for what follows from them */
static pk_status make_small(pk_buffer *out) {
    pk_lexicon_counter c;
    PK_TRY(pk_lexicon_counter_open(SOURCE, TARGET, &c));
    const int32_t s[] = { 1, 2 }, turned[] = { 2, 1 };
    pk_status     status = pk_lexicon_count(&c, s, 2, (int32_t[]){ 1, 2 }, 2, (uint32_t[]){ 1, 2 });
    if (status == PK_OK)
        status = pk_lexicon_count(&c, s, 2, (int32_t[]){ 1, 3 }, 2, (uint32_t[]){ 1, 2 });
    if (status == PK_OK)
        status =
            pk_lexicon_count(&c, turned, 2, (int32_t[]){ 0, 3, 1 }, 3, (uint32_t[]){ 0, 1, 2 });
    if (status == PK_OK) status = pk_lexicon_make(&c, PRINT, out);
    pk_lexicon_counter_close(&c);
    return status;
}

static void expect(const pk_lexicon *l, pk_lexicon_by by, const int32_t *source, int32_t t,
                   int32_t k, int32_t n, const int32_t *token, const double *prob) {
    const pk_lexicon_query q = { l, by, source, 2 };
    pk_lexicon_candidate   got[16];
    pk_lexicon_finder      f;
    ASSERT_OK(pk_lexicon_finder_open(&q, 4, &f));
    assert_int_equal(pk_lexicon_find(&f, t, k, got), n);
    assert_int_equal(pk_lexicon_find(&f, t, k, got), n); /* nothing is left of the first time */
    pk_lexicon_finder_close(&f);
    for (int32_t i = 0; i < n; i++) {
        assert_int_equal(got[i].token, token[i]);
        assert_true(fabs((double)got[i].prob - prob[i]) < 1e-6);
    }
}

static void counted_by_hand(void **state) {
    pk_buffer           bytes = { 0 };
    pk_lexicon          l;
    const int32_t       s[] = { 1, 2 }, other[] = { 3, 2 };
    const pk_lexicon_by apart = PK_LEXICON_BY_DISTANCES;
    (void)state;
    ASSERT_OK(make_small(&bytes));
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &l));
    ASSERT_OK(pk_lexicon_check(&l, SOURCE, TARGET, PRINT));
    /* first position: token 1 above the first word (2 of 3), or null (1 of 3), which said 0 */
    expect(&l, apart, s, 0, 9, 2, (int32_t[]){ 1, 0 }, (double[]){ 2 / 3., 1 / 3. });
    expect(&l, apart, s, 0, 1, 1, (int32_t[]){ 1 }, (double[]){ 2 / 3. });
    /* second: word 2 at distance 0 says 2 or 3 (2/3 * 1/2), word 1 at distance -1 says 1 (1/3); of
     * equal ones the lower id comes first */
    expect(&l, apart, s, 1, 9, 3, (int32_t[]){ 1, 2, 3 }, (double[]){ 1 / 3., 1 / 3., 1 / 3. });
    expect(&l, apart, s, 1, 2, 2, (int32_t[]){ 1, 2 }, (double[]){ 1 / 3., 1 / 3. });
    expect(&l, apart, s, 2, 9, 1, (int32_t[]){ 3 }, (double[]){ 1 });
    /* a position that no pair had: both words at any distance, half and half */
    expect(&l, apart, s, 3, 9, 3, (int32_t[]){ 1, 3, 2 }, (double[]){ 1 / 2., 1 / 3., 1 / 6. });
    /* a word that was never seen says nothing */
    expect(&l, apart, other, 0, 9, 1, (int32_t[]){ 0 }, (double[]){ 1 / 3. });
    /* two tokens, two, three: a constant */
    assert_int_equal(pk_lexicon_length(&l, 2), 2);
    assert_int_equal(pk_lexicon_length(&l, 50), 2);
    pk_buffer_free(&bytes);
}

/* ---- by neighbours ---- */

enum { TIMES = 20 };

/* one word before two others, of which each decides what it becomes */
static pk_status make_beside(pk_buffer *out) {
    pk_lexicon_counter c;
    PK_TRY(pk_lexicon_counter_open(SOURCE, TARGET, &c));
    const uint32_t link[] = { 1, 2 };
    pk_status      status = PK_OK;
    for (int i = 0; status == PK_OK && i < 2 * TIMES; i++) {
        const int32_t s[] = { 0, 1 + i % 2 }, t[] = { i % 2, 2 + i % 2 };
        status = pk_lexicon_count(&c, s, 2, t, 2, link);
    }
    if (status == PK_OK) status = pk_lexicon_make(&c, PRINT, out);
    pk_lexicon_counter_close(&c);
    return status;
}

static void neighbours_by_hand(void **state) {
    pk_buffer           bytes = { 0 };
    pk_lexicon          l;
    float               share[2];
    const int32_t       s[] = { 0, 1 }, other[] = { 0, 3 };
    const pk_lexicon_by beside = PK_LEXICON_BY_NEIGHBOURS;
    (void)state;
    ASSERT_OK(make_beside(&bytes));
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &l));
    expect(&l, PK_LEXICON_BY_DISTANCES, s, 0, 9, 2, (int32_t[]){ 0, 1 }, (double[]){ .5, .5 });
    /* at the edge as often 0 as 1; before word 1 always 0, 20 times, besides 5 from the word alone */
    expect(&l, beside, s, 0, 9, 2, (int32_t[]){ 0, 1 }, (double[]){ .25 + .45, .25 + .05 });
    expect(&l, beside, s, 1, 9, 1, (int32_t[]){ 2 }, (double[]){ 1 });
    /* beside a word that it never stood beside: as the edge says, and alone */
    expect(&l, beside, other, 0, 9, 2, (int32_t[]){ 0, 1 }, (double[]){ .5, .5 });
    /* a word that was never seen says nothing, and what null becomes is not known either */
    expect(&l, beside, other, 1, 9, 0, NULL, NULL);
    const pk_lexicon_query q = { &l, beside, s, 2 };
    pk_lexicon_align(&q, 0, 1, share);
    assert_true(share[0] == 1 && share[1] == 0);
    pk_lexicon_align(&q, 0, 4, share);
    assert_true(share[0] == 0 && share[1] == 0);
    pk_buffer_free(&bytes);
}

/* the share of each source token in a candidate */
static void links_of_a_candidate(void **state) {
    pk_buffer  bytes = { 0 };
    pk_lexicon l;
    float      share[2];
    (void)state;
    ASSERT_OK(make_small(&bytes));
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &l));
    const pk_lexicon_query q = { &l, PK_LEXICON_BY_DISTANCES, (int32_t[]){ 1, 2 }, 2 };
    pk_lexicon_align(&q, 1, 3, share);
    assert_true(share[0] == 0 && share[1] == 1);
    pk_lexicon_align(&q, 1, 1, share);
    assert_true(share[0] == 1 && share[1] == 0);
    pk_lexicon_align(&q, 0, 0, share); /* null's */
    assert_true(share[0] == 0 && share[1] == 0);
    pk_buffer_free(&bytes);
}

static void lengths_on_a_line(void **state) {
    pk_lexicon_counter c;
    pk_buffer          bytes = { 0 };
    pk_lexicon         l;
    int32_t            token[64] = { 0 };
    uint32_t           link[64] = { 0 };
    (void)state;
    ASSERT_OK(pk_lexicon_counter_open(SOURCE, TARGET, &c));
    for (int32_t n = 1; n < 20; n++) /* 2 n + 3 */
        ASSERT_OK(pk_lexicon_count(&c, token, n, token, 2 * n + 3, link));
    ASSERT_OK(pk_lexicon_make(&c, PRINT, &bytes));
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &l));
    for (int32_t n = 1; n < 100; n++) assert_int_equal(pk_lexicon_length(&l, n), 2 * n + 3);
    pk_lexicon_counter_close(&c);
    pk_buffer_free(&bytes);
}

/* ---- made up at random, and summed plainly ---- */

enum { PAIRS = 300, LONGEST = 9 };
typedef struct pair {
    int32_t  source[LONGEST], target[LONGEST], n, m;
    uint32_t link[LONGEST];
} pair;

static uint32_t dice(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*seed >> 8) * below >> 24);
}

static void make_pairs(pair *p, uint32_t seed) {
    for (int i = 0; i < PAIRS; i++) {
        p[i].n = 1 + (int32_t)dice(&seed, LONGEST);
        p[i].m = 1 + (int32_t)dice(&seed, LONGEST);
        for (int j = 0; j < LONGEST; j++) {
            p[i].source[j] = (int32_t)dice(&seed, SOURCE);
            p[i].target[j] = (int32_t)dice(&seed, TARGET);
            p[i].link[j] = dice(&seed, (uint32_t)p[i].n + 1);
        }
    }
}

/* counts of all pairs where the link of position t, and what is linked, is as said; y -1: any */
static double count_words(const pair *p, int32_t x, int32_t distance, int32_t y) {
    double n = 0;
    for (int i = 0; i < PAIRS; i++)
        for (int32_t t = 0; t < p[i].m; t++) {
            const int32_t at = (int32_t)p[i].link[t] - 1;
            const bool    is = at < 0 ? x < 0 : p[i].source[at] == x && at - t == distance;
            n += is && (y < 0 || p[i].target[t] == y);
        }
    return n;
}

/* at -2: any link */
static double count_links(const pair *p, int32_t length, int32_t t, int32_t at) {
    double n = 0;
    for (int i = 0; i < PAIRS; i++)
        if (p[i].n == length && t < p[i].m) n += at == -2 || (int32_t)p[i].link[t] - 1 == at;
    return n;
}

/* P(y | x, t), from the pairs themselves */
static double plain(const pair *p, const int32_t *source, int32_t n, int32_t t, int32_t y) {
    double sum = 0;
    for (int32_t at = -1; at < n; at++) {
        const int32_t x = at < 0 ? -1 : source[at];
        const double  all = count_words(p, x, at - t, -1), links = count_links(p, n, t, -2);
        if (all > 0 && links > 0)
            sum += count_words(p, x, at - t, y) / all * count_links(p, n, t, at) / links;
    }
    return sum;
}

static void sums_over_all_links(void **state) {
    pair                *p;
    pk_lexicon_counter   c;
    pk_buffer            bytes = { 0 };
    pk_lexicon           l;
    pk_lexicon_finder    f;
    pk_lexicon_candidate got[TARGET];
    (void)state;
    ASSERT_OK(PK_TAKE(&p, PAIRS));
    make_pairs(p, 5);
    ASSERT_OK(pk_lexicon_counter_open(SOURCE, TARGET, &c));
    for (int i = PAIRS - 1; i >= 0; i--) /* the order does not matter */
        ASSERT_OK(pk_lexicon_count(&c, p[i].source, p[i].n, p[i].target, p[i].m, p[i].link));
    ASSERT_OK(pk_lexicon_make(&c, PRINT, &bytes));
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &l));
    for (int i = 0; i < 20; i++) {
        const pk_lexicon_query q = { &l, PK_LEXICON_BY_DISTANCES, p[i].source, p[i].n };
        ASSERT_OK(pk_lexicon_finder_open(&q, LONGEST, &f));
        for (int32_t t = 0; t < LONGEST; t++) {
            const int32_t n = pk_lexicon_find(&f, t, TARGET, got);
            double        all = 0;
            for (int32_t j = 0; j < n; all += (double)got[j++].prob) {
                const double want = plain(p, p[i].source, p[i].n, t, got[j].token);
                assert_true(fabs((double)got[j].prob - want) < 1e-5);
                if (j) assert_true(got[j].prob <= got[j - 1].prob);
            }
            assert_true(n > 0 && all < 1 + 1e-5);
        }
        assert_int_equal(pk_lexicon_find(&f, LONGEST, TARGET, got), 0); /* was not prepared for */
        pk_lexicon_finder_close(&f);
    }
    pk_lexicon_counter_close(&c);
    pk_buffer_free(&bytes);
    pk_memory_give(p);
}

/* which source positions target token t of a pair counts for: its own link, or those of the nearest
 * linked tokens within two */
static int32_t find_seen(const pair *p, int32_t t, int32_t *at) {
    int32_t n = 0;
    if (p->link[t]) at[n++] = (int32_t)p->link[t] - 1;
    for (int32_t step = -1; step <= 1 && !p->link[t]; step += 2)
        for (int32_t u = t + step; u >= 0 && u < p->m && u - t >= -2 && u - t <= 2; u += step)
            if (p->link[u]) {
                if (!n || at[0] != (int32_t)p->link[u] - 1) at[n++] = (int32_t)p->link[u] - 1;
                break;
            }
    return n;
}

static int32_t token_at(const int32_t *source, int32_t n, int32_t at) {
    return at < 0 || at >= n ? SOURCE : source[at];
}

/* links of x whose neighbour on this side (0: any) is as said; y -1: of any target token */
static double count_beside(const pair *p, int32_t x, int32_t side, int32_t neighbour, int32_t y) {
    double n = 0;
    for (int i = 0; i < PAIRS; i++)
        for (int32_t t = 0; t < p[i].m; t++) {
            int32_t       at[2];
            const int32_t seen = find_seen(&p[i], t, at);
            for (int32_t j = 0; j < seen; j++)
                n += p[i].source[at[j]] == x && (y < 0 || p[i].target[t] == y) &&
                     (!side || token_at(p[i].source, p[i].n, at[j] + side) == neighbour);
        }
    return n;
}

/* P(y | x_a, its neighbours), not yet divided by the sum over all y */
static double plain_beside(const pair *p, const int32_t *source, int32_t n, int32_t a, int32_t y) {
    const int32_t x = source[a];
    const double  alone = count_beside(p, x, 0, 0, y) / count_beside(p, x, 0, 0, -1);
    double        sum = 0;
    for (int32_t side = -1; side <= 1; side += 2) {
        const int32_t neighbour = token_at(source, n, a + side);
        const double  all = count_beside(p, x, side, neighbour, -1);
        const double  some = count_beside(p, x, side, neighbour, y);
        sum += all < 16 ? alone / 2 : ((some < 3 ? 0 : some) + 5 * alone) / (all + 5) / 2;
    }
    return sum;
}

/* P(y | x, t) for all y into prob[TARGET], from the pairs themselves */
static void sum_beside(const pair *p, const int32_t *source, int32_t n, int32_t t, double *prob) {
    double flat = 0;
    for (int32_t y = 0; y < TARGET; y++) prob[y] = 0;
    for (int32_t a = 0; a < n; a++) {
        double each[TARGET], all = 0;
        for (int32_t y = 0; y < TARGET; y++) all += each[y] = plain_beside(p, source, n, a, y);
        const double weight = pow(count_links(p, n, t, a), 0.75);
        for (int32_t y = 0; y < TARGET; y++) prob[y] += weight * each[y] / all;
        flat += weight;
    }
    for (int32_t y = 0; y < TARGET; y++) prob[y] /= flat;
}

static void sums_over_all_neighbours(void **state) {
    pair                *p;
    pk_lexicon_counter   c;
    pk_buffer            bytes = { 0 };
    pk_lexicon           l;
    pk_lexicon_finder    f;
    pk_lexicon_candidate got[TARGET];
    double               prob[TARGET];
    (void)state;
    ASSERT_OK(PK_TAKE(&p, PAIRS));
    make_pairs(p, 7);
    ASSERT_OK(pk_lexicon_counter_open(SOURCE, TARGET, &c));
    for (int i = PAIRS - 1; i >= 0; i--) /* the order does not matter */
        ASSERT_OK(pk_lexicon_count(&c, p[i].source, p[i].n, p[i].target, p[i].m, p[i].link));
    ASSERT_OK(pk_lexicon_make(&c, PRINT, &bytes));
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &l));
    for (int i = 0; i < 20; i++) {
        const pk_lexicon_query q = { &l, PK_LEXICON_BY_NEIGHBOURS, p[i].source, p[i].n };
        ASSERT_OK(pk_lexicon_finder_open(&q, LONGEST, &f));
        for (int32_t t = 0; t < LONGEST; t++) {
            const int32_t n = pk_lexicon_find(&f, t, TARGET, got);
            sum_beside(p, p[i].source, p[i].n, t, prob);
            assert_int_equal(n, TARGET);
            for (int32_t j = 0; j < n; j++)
                assert_true(fabs((double)got[j].prob - prob[got[j].token]) < 1e-5);
        }
        pk_lexicon_finder_close(&f);
    }
    pk_lexicon_counter_close(&c);
    pk_buffer_free(&bytes);
    pk_memory_give(p);
}

/* no more than PK_LEXICON_TOP for a source token and a distance */
static void only_the_most_frequent(void **state) {
    pk_lexicon_counter   c;
    pk_buffer            bytes = { 0 };
    pk_lexicon           l;
    pk_lexicon_finder    f;
    pk_lexicon_candidate got[200];
    const int32_t        x = 0;
    const uint32_t       link = 1;
    (void)state;
    ASSERT_OK(pk_lexicon_counter_open(1, 100, &c));
    for (int32_t y = 0; y < 100; y++)
        for (int32_t times = 0; times <= y; times++)
            ASSERT_OK(pk_lexicon_count(&c, &x, 1, &y, 1, &link));
    ASSERT_OK(pk_lexicon_make(&c, PRINT, &bytes));
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &l));
    const pk_lexicon_query q = { &l, PK_LEXICON_BY_DISTANCES, &x, 1 };
    ASSERT_OK(pk_lexicon_finder_open(&q, 1, &f));
    assert_int_equal(pk_lexicon_find(&f, 0, 200, got), PK_LEXICON_TOP);
    for (int32_t i = 0; i < PK_LEXICON_TOP; i++) assert_int_equal(got[i].token, 99 - i);
    assert_true(fabs((double)got[0].prob - 100 / 5050.) < 1e-6); /* a share of all, kept or not */
    pk_lexicon_finder_close(&f);
    pk_lexicon_counter_close(&c);
    pk_buffer_free(&bytes);
}

/* ---- what is refused ---- */

/* looks up all positions of two tokens, in both ways */
static void look_up(const pk_lexicon *l) {
    const int32_t source[] = { 0, 1 };
    for (int by = 0; by < 2; by++) {
        const pk_lexicon_query q = { l, (pk_lexicon_by)by, source, 2 };
        pk_lexicon_finder      f;
        pk_lexicon_candidate   got[8];
        float                  share[2];
        ASSERT_OK(pk_lexicon_finder_open(&q, 4, &f));
        for (int32_t t = 0; t < 4; t++) {
            assert_in_range(pk_lexicon_find(&f, t, 8, got), 0, 8);
            pk_lexicon_align(&q, t, 1, share);
        }
        pk_lexicon_finder_close(&f);
    }
}

/* a part is refused; a damaged byte is refused, or does no harm */
static void check_bytes(pk_buffer *bytes) {
    pk_lexicon l;
    size_t     refused = 0;
    for (size_t cut = 0; cut < bytes->size; cut++)
        ASSERT_STATUS(PK_FORMAT, pk_lexicon_read(bytes->data, cut, &l));
    for (size_t i = 0; i < bytes->size; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            bytes->data[i] ^= (char)(1 << bit);
            if (pk_lexicon_read(bytes->data, bytes->size, &l) != PK_OK)
                refused++;
            else
                look_up(&l);
            bytes->data[i] ^= (char)(1 << bit);
        }
    assert_true(refused > 200);
}

static void bytes_are_checked(void **state) {
    pk_buffer  bytes = { 0 };
    pk_lexicon l;
    (void)state;
    ASSERT_OK(make_beside(&bytes));
    check_bytes(&bytes);
    pk_buffer_clear(&bytes);
    ASSERT_OK(make_small(&bytes));
    check_bytes(&bytes);
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &l));
    ASSERT_STATUS(PK_FORMAT, pk_lexicon_check(&l, SOURCE, TARGET + 1, PRINT));
    assert_non_null(strstr(pk_last_error(), "another vocabulary"));
    ASSERT_STATUS(PK_FORMAT, pk_lexicon_check(&l, SOURCE, TARGET, PRINT + 1));
    assert_non_null(strstr(pk_last_error(), "another vocabulary"));
    pk_buffer_free(&bytes);
}

/* version 1 has no neighbours: it is read, and looked up by distances */
static void a_table_without_neighbours(void **state) {
    pk_buffer     bytes = { 0 }, old = { 0 };
    pk_lexicon    l;
    const int32_t s[] = { 0, 1 };
    (void)state;
    ASSERT_OK(make_beside(&bytes));
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &l));
    l.beside_first = NULL;
    pk_lexicon_write(&l, &old);
    assert_true(old.size < bytes.size && old.data[8] == 1 && bytes.data[8] == 2);
    ASSERT_OK(pk_lexicon_read(old.data, old.size, &l));
    assert_null(l.beside_first);
    expect(&l, PK_LEXICON_BY_NEIGHBOURS, s, 0, 9, 2, (int32_t[]){ 0, 1 }, (double[]){ 0.5, 0.5 });
    look_up(&l);
    check_bytes(&old);
    old.data[8] = 4;
    ASSERT_STATUS(PK_UNSUPPORTED, pk_lexicon_read(old.data, old.size, &l));
    pk_buffer_free(&bytes);
    pk_buffer_free(&old);
}

/* what follows each of the five target tokens, and what a text begins with */
static const uint32_t             next_first[] = { 0, 2, 3, 3, 3, 3, 4 };
static const pk_lexicon_candidate next[] = { { 1, 0.75f }, { 4, 0.004f }, { 2, 1 }, { 0, 0.5f } };
static const float                share[] = { 0.25f, 0.25f, 0.25f, 0.125f, 0.125f };

static pk_status make_followed(pk_buffer *out) {
    pk_buffer  bytes = { 0 };
    pk_lexicon l;
    pk_status  status = make_beside(&bytes);
    if (status == PK_OK) status = pk_lexicon_read(bytes.data, bytes.size, &l);
    l.next_first = next_first, l.next = next, l.share = share;
    if (status == PK_OK) status = pk_lexicon_write_small(&l, out);
    pk_buffer_free(&bytes);
    return status;
}

static void draft(const pk_lexicon *l) {
    const int32_t    source[] = { 0, 1 }, output[] = { 0, 1, 2 };
    pk_lexicon_draft d;
    float            of_all;
    ASSERT_OK(pk_lexicon_draft_open(l, source, 2, TARGET, 4, &d));
    for (int32_t n = 0; n < 3; n++)
        assert_in_range(pk_lexicon_draft_next(&d, output, n, 0, &of_all) + 1, 0, TARGET);
    pk_lexicon_draft_close(&d);
}

/* Of all rows that of any distance stays, and of rows what is not rare; neighbours, links and lengths
 * do not. What follows what comes along. */
static void a_small_part_for_drafts(void **state) {
    pk_buffer                   whole = { 0 }, bytes = { 0 };
    pk_lexicon                  l, small;
    const pk_lexicon_candidate *row, *kept;
    (void)state;
    ASSERT_OK(make_beside(&whole));
    ASSERT_OK(pk_lexicon_read(whole.data, whole.size, &l));
    ASSERT_OK(make_followed(&bytes));
    assert_int_equal(bytes.data[8], 3);
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &small));
    ASSERT_OK(pk_lexicon_check(&small, l.source_vocab, l.target_vocab, l.fingerprint));
    assert_null(small.beside_first);
    assert_int_equal(small.longest, 0);
    for (int32_t x = 0; x <= l.source_vocab; x++) {
        const int32_t n = pk_lexicon_row(&l, x, &row);
        assert_int_equal(pk_lexicon_row(&small, x, &kept), n);
        if (n) assert_memory_equal(row, kept, (size_t)n * sizeof *row);
    }
    assert_int_equal(small.next_first[1], 1); /* the second of four in a thousand is rare */
    assert_int_equal(small.next_first[TARGET + 1], 3);
    assert_true(small.next[0].token == 1 && small.next[1].token == 2 && small.next[2].token == 0);
    assert_memory_equal(small.share, share, sizeof share);
    draft(&small);
    look_up(&small);
    check_bytes(&bytes);
    pk_buffer_clear(&bytes);
    ASSERT_OK(pk_lexicon_write_small(&l, &bytes)); /* nothing is known of what follows */
    assert_int_equal(bytes.data[8], 1);
    ASSERT_OK(pk_lexicon_read(bytes.data, bytes.size, &small));
    assert_null(small.next_first);
    pk_buffer_free(&whole);
    pk_buffer_free(&bytes);
}

static pk_status make_and_free(void *user) {
    pk_buffer       bytes = { 0 };
    const pk_status made = make_followed(&bytes), all = pk_buffer_status(&bytes);
    (void)user;
    pk_buffer_free(&bytes);
    return made == PK_OK ? all : made;
}

static void nothing_to_count(void **state) {
    pk_lexicon_counter c;
    pk_buffer          bytes = { 0 };
    (void)state;
    ASSERT_STATUS(PK_UNSUPPORTED, pk_lexicon_counter_open(1 << 20, 5, &c));
    ASSERT_OK(pk_lexicon_counter_open(SOURCE, TARGET, &c));
    ASSERT_OK(pk_lexicon_count(&c, NULL, 0, NULL, 0, NULL));
    ASSERT_STATUS(PK_FORMAT, pk_lexicon_make(&c, PRINT, &bytes));
    pk_lexicon_counter_close(&c);
    pk_buffer_free(&bytes);
}

static pk_status make_and_find(void *user) {
    pk_buffer            bytes = { 0 };
    pk_lexicon           l;
    pk_lexicon_finder    f = { 0 };
    pk_lexicon_candidate got[4];
    pk_status            status = make_beside(&bytes);
    if (status == PK_OK) status = pk_lexicon_read(bytes.data, bytes.size, &l);
    const int32_t          source[] = { 0, 1 };
    const pk_lexicon_query q = { &l, *(const pk_lexicon_by *)user, source, 2 };
    if (status == PK_OK) status = pk_lexicon_finder_open(&q, 1, &f);
    if (status == PK_OK) pk_lexicon_find(&f, 0, 4, got);
    pk_lexicon_finder_close(&f);
    pk_buffer_free(&bytes);
    return status;
}

static void every_allocation(void **state) {
    (void)state;
    for (pk_lexicon_by by = PK_LEXICON_BY_NEIGHBOURS; by <= PK_LEXICON_BY_DISTANCES; by++)
        assert_true(check_every_allocation(make_and_find, &by) > 10);
    assert_true(check_every_allocation(make_and_free, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_by_hand),
        cmocka_unit_test(links_of_a_candidate),
        cmocka_unit_test(lengths_on_a_line),
        cmocka_unit_test(sums_over_all_links),
        cmocka_unit_test(neighbours_by_hand),
        cmocka_unit_test(sums_over_all_neighbours),
        cmocka_unit_test(a_table_without_neighbours),
        cmocka_unit_test(only_the_most_frequent),
        cmocka_unit_test(bytes_are_checked),
        cmocka_unit_test(a_small_part_for_drafts),
        cmocka_unit_test(nothing_to_count),
        cmocka_unit_test(every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
