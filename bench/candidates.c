/* candidates.c - how many tokens of reference translations are among the candidates that a model
 * looks up, beside other ways to choose as many, and how long a look-up takes.
 *
 *   make build/bench/candidates
 *   build/bench/candidates MODEL.pronk TEST.source TEST.target
 *
 * For each K: the share of target tokens that are among the K candidates of their own position
 * (recall), looked up by neighbours and by distances; among one list of K for the whole sentence,
 * those with the highest sums of P(y | x_s) over source tokens; and among the union of the K best
 * of every source token (at most 40 are kept), with the mean size of that union. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/text_reader.h"
#include "engine/model.h"

enum { MOST_K = 128 };
static const int32_t     ks[] = { 1, 8, 16, 32, 64, 128 };
static const char *const ways[] = { PK_LEXICON_BY_MAP(PK_CHOICE_WORD) NULL };
enum { N_KS = sizeof ks / sizeof *ks, N_WAYS = sizeof ways / sizeof *ways - 1 };

typedef struct counts {
    double tokens, sentences, seconds[N_WAYS], lattice[N_WAYS][N_KS];
    double shared[N_KS], joined[N_KS], size[N_KS];
} counts;

typedef struct scored {
    double  sum;
    int32_t token;
} scored;

static int by_sum(const void *a, const void *b) {
    const scored *x = a, *y = b;
    if (x->sum != y->sum) return x->sum > y->sum ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* seconds of CPU that this program used: other programs do not matter */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(pk_status status) {
    if (status == PK_OK) return;
    fprintf(stderr, "%s\n", pk_last_error());
    exit(1);
}

static pk_lexicon_query query_of(const pk_lexicon *l, const pk_ids *s, int way) {
    return (pk_lexicon_query){ l, (pk_lexicon_by)way, s->id, (int32_t)s->n };
}

/* where a token stands in each position's list */
static void count_lattice(const pk_lexicon *l, const pk_ids *s, const pk_ids *t, int way,
                          counts *c) {
    static pk_lexicon_candidate found[MOST_K];
    const pk_lexicon_query      q = query_of(l, s, way);
    pk_lexicon_finder           f;
    must(pk_lexicon_finder_open(&q, (int32_t)t->n, &f));
    for (int32_t i = 0; i < (int32_t)t->n; i++) {
        const int32_t n = pk_lexicon_find(&f, i, MOST_K, found);
        int32_t       at = 0;
        while (at < n && found[at].token != t->id[i]) at++;
        for (int k = 0; k < N_KS; k++) c->lattice[way][k] += at < n && at < ks[k];
    }
    pk_lexicon_finder_close(&f);
}

/* the row of all distances of one source token */
static void add_row(const pk_lexicon *l, int32_t token, scored *all, int32_t *best_rank) {
    const uint32_t row = l->row_first[token];
    if (token < 0 || token > l->source_vocab || row == l->row_first[token + 1]) return;
    for (uint32_t i = l->entry_first[row]; i < l->entry_first[row + 1]; i++) {
        const int32_t rank = (int32_t)(i - l->entry_first[row]);
        all[l->entry[i].token].sum += (double)l->entry[i].prob;
        if (rank < best_rank[l->entry[i].token]) best_rank[l->entry[i].token] = rank;
    }
}

/* lists for the whole sentence */
static void count_sentence(const pk_lexicon *l, const pk_ids *s, const pk_ids *t, counts *c) {
    static scored  all[1 << 20];
    static int32_t best_rank[1 << 20], place[1 << 20];
    for (int32_t y = 0; y < l->target_vocab; y++)
        all[y] = (scored){ 0, y }, best_rank[y] = INT32_MAX;
    for (size_t i = 0; i < s->n; i++) add_row(l, s->id[i], all, best_rank);
    for (int32_t y = 0; y < l->target_vocab; y++)
        for (int k = 0; k < N_KS; k++) c->size[k] += best_rank[y] < ks[k];
    qsort(all, (size_t)l->target_vocab, sizeof *all, by_sum);
    for (int32_t i = 0; i < l->target_vocab; i++)
        place[all[i].token] = all[i].sum > 0 ? i : INT32_MAX;
    for (size_t i = 0; i < t->n; i++)
        for (int k = 0; k < N_KS; k++) {
            c->shared[k] += place[t->id[i]] < ks[k];
            c->joined[k] += best_rank[t->id[i]] < ks[k];
        }
}

/* all positions of a lattice with k=64, delta=3, as the strategy looks them up */
static void time_look_up(const pk_lexicon *l, const pk_ids *s, int way, counts *c) {
    pk_lexicon_candidate   found[64];
    pk_lexicon_finder      f;
    const pk_lexicon_query q = query_of(l, s, way);
    const double           since = now();
    const int32_t          longest = pk_lexicon_length(l, q.n) + 3;
    must(pk_lexicon_finder_open(&q, longest + 1, &f));
    for (int32_t t = 0; t <= longest; t++) pk_lexicon_find(&f, t, 64, found);
    pk_lexicon_finder_close(&f);
    c->seconds[way] += now() - since;
}

static void print(const counts *c) {
    printf("%.0f sentences, %.1f target tokens each; a look-up of a sentence (k=64, delta=3), in "
           "us of CPU:",
           c->sentences, c->tokens / c->sentences);
    for (int way = 0; way < N_WAYS; way++)
        printf(" %.1f by %s%s", c->seconds[way] / c->sentences * 1e6, ways[way],
               way < N_WAYS - 1 ? "," : "\n");
    printf("     K");
    for (int way = 0; way < N_WAYS; way++) printf("  by %-10s", ways[way]);
    printf(" one list  union of lists (size)\n");
    for (int k = 0; k < N_KS; k++) {
        printf("%6d", ks[k]);
        for (int way = 0; way < N_WAYS; way++)
            printf(" %12.2f%%", 100 * c->lattice[way][k] / c->tokens);
        printf(" %8.2f%% %8.2f%% (%.0f)\n", 100 * c->shared[k] / c->tokens,
               100 * c->joined[k] / c->tokens, c->size[k] / c->sentences);
    }
}

static void print_size(const pk_model_data *m) {
    const pk_lexicon *l = &m->lexicon;
    const uint32_t    rows = l->row_first[l->source_vocab + 1];
    printf("table: %.1f MB; %u entries by distances", (double)m->lexicon_bytes.size / 1e6,
           l->entry_first[rows]);
    if (l->beside_first)
        printf(", %u by neighbours", l->beside_entry_first[l->beside_first[l->source_vocab]]);
    else
        printf(", none by neighbours: distances serve for both");
    printf("\n");
}

int main(int argc, char **argv) {
    pk_model       *m;
    pk_text_reader *text[2];
    pk_ids          id[2] = { { 0 } };
    counts          c = { 0 };
    if (argc != 4) return fprintf(stderr, "usage: candidates MODEL SOURCE TARGET\n"), 2;
    must(pk_model_open(argv[1], NULL, &m));
    const pk_lexicon *l = &m->data.lexicon;
    if (!l->source_vocab) return fprintf(stderr, "%s has no candidates\n", argv[1]), 1;
    for (int side = 0; side < 2; side++) must(pk_text_reader_open(argv[2 + side], &text[side]));
    for (;;) {
        const char *line[2];
        size_t      size[2];
        for (int side = 0; side < 2; side++) {
            must(pk_text_reader_next(text[side], &line[side], &size[side]));
            id[side].n = 0;
        }
        if (!line[0] || !line[1]) break;
        must(pk_vocab_encode_source(m->vocab, line[0], size[0], &id[0], NULL));
        must(pk_vocab_encode_target(m->vocab, line[1], size[1], &id[1]));
        if (!id[0].n || !id[1].n) continue;
        c.sentences++;
        c.tokens += (double)id[1].n;
        for (int way = 0; way < N_WAYS; way++) {
            time_look_up(l, &id[0], way, &c);
            count_lattice(l, &id[0], &id[1], way, &c);
        }
        count_sentence(l, &id[0], &id[1], &c);
    }
    print_size(&m->data);
    print(&c);
    for (int side = 0; side < 2; side++) pk_text_reader_close(text[side]), pk_ids_free(&id[side]);
    pk_model_close(m);
    return 0;
}
