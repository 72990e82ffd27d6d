/* cuda_edges_test.c - the edges of lattices on a GPU: close to `ref`, and bitwise the same for a
 * position among others and alone. */
#include "cuda_help.h"

enum { BLOCKS = 4, EDGE_ROWS = 100, WIDEST = 130, SCORES = EDGE_ROWS * WIDEST };

typedef struct edges_case {
    pk_tensor     hidden;
    matrix        table, bias;
    pk_edge_block block[BLOCKS];
    int32_t       tokens[BLOCKS * WIDEST], n_tokens, n_scores;
    float         sums[EDGE_ROWS];
} edges_case;

/* one row; more rows than a block of threads has; none, as what fills a launch up; many tokens */
static void make_case(edges_case *s, int a, int32_t vocab, int32_t cols, pk_dtype type) {
    static const int32_t rows[BLOCKS] = { 1, 64, 0, 35 }, tokens[BLOCKS] = { 65, 33, 9, WIDEST };
    int32_t              row = 0;
    *s = (edges_case){ 0 };
    seed = (uint64_t)(vocab + cols);
    reset_arena(a);
    s->table = random_matrix(&gpus[a], vocab, cols, type, NULL);
    s->bias = random_plain(&gpus[a], 1, vocab);
    s->hidden = random_rows(EDGE_ROWS, cols, arithmetics[a], 1);
    for (int b = 0; b < BLOCKS; b++) {
        s->block[b] = (pk_edge_block){ row, rows[b], s->n_tokens, tokens[b], s->n_scores };
        for (int32_t i = 0; i < tokens[b]; i++) s->tokens[s->n_tokens++] = below(vocab);
        row += rows[b];
        s->n_scores += rows[b] * tokens[b];
    }
    for (int32_t i = 0; i < EDGE_ROWS; i++) s->sums[i] = 3 * uniform();
}

/* blocks [first, first + n) on the device; what they do not write is 0xff */
static void run_blocks(int a, const edges_case *s, bool full, int first, int n, float *out) {
    pk_backend  *b = &gpus[a];
    const array  hidden = array_of(a, s->hidden, 0, arithmetics[a]);
    const size_t bytes = (size_t)s->n_scores * sizeof *out;
    memset(out, 0xff, bytes);
    float *const    score = upload(a, out, bytes);
    const pk_edging e = { n,
                          64,
                          WIDEST,
                          (const pk_edge_block *)upload(a, s->block, sizeof s->block) + first,
                          upload_ints(a, s->tokens, s->n_tokens),
                          full ? upload(a, s->sums, sizeof s->sums) : NULL,
                          score };
    b->edges(b->self, hidden.on, &s->table.device, &s->bias.device, &e);
    settle(b);
    b->get(b->self, out, score, bytes);
    settle(b);
    free(hidden.raw);
}

static void check_case(int a, edges_case *s, bool full) {
    static float    want[SCORES], got[SCORES], alone[SCORES];
    const pk_edging e = { BLOCKS, 64, WIDEST, s->block, s->tokens, full ? s->sums : NULL, want };
    ref.edges(ref.self, s->hidden, &s->table.wide, &s->bias.wide, &e);
    settle(&ref);
    run_blocks(a, s, full, 0, BLOCKS, got);
    for (int32_t i = 0; i < s->n_scores; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-3f * fmaxf(1, fabsf(want[i])))) {
            COMPLAIN("score %d: %.9g is not %.9g", i, (double)got[i], (double)want[i]);
            break;
        }
    for (int b = 0; b < BLOCKS; b++) {
        const size_t n = (size_t)s->block[b].n_rows * (size_t)s->block[b].n_tokens;
        run_blocks(a, s, full, b, 1, alone);
        if (memcmp(alone + s->block[b].score, got + s->block[b].score, n * sizeof *got))
            COMPLAIN("position %d alone has other bits", b);
    }
}

static void test_edges(void **state) {
    (void)state;
    NEED_GPU();
    for (int a = 0; a < ARITHMETICS; a++)
        for (pk_dtype type = PK_F32; type <= PK_I8; type++)
            for (int size = 0; size < 3; size++) {
                static const int32_t cols[] = { 512, 36, 1000 };
                edges_case           s;
                NAME_CASE("%s arithmetic, %s weights, edges, %d columns",
                          type_names[arithmetics[a]], type_names[type], cols[size]);
                make_case(&s, a, size ? 500 : 16001, cols[size], type);
                check_case(a, &s, false);
                check_case(a, &s, true);
                free(s.hidden.data), free_matrix(&s.table), free_matrix(&s.bias);
            }
    conclude();
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_edges) };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
