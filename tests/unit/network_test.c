/* network_test.c - the one list of weights: names, shapes, and what each is for. */
#include "model/network.h"

#include <string.h>

#include "check.h"
#include "tiny_network.h"

static const struct expected {
    const char *name;
    pk_role     role;
    pk_stack    stack;
    int32_t     layer, rows, cols;
} expected[] = {
    { "source_embed", PK_ROLE_EMBEDDING, PK_ENCODER, -1, 40, 16 },
    { "target_embed", PK_ROLE_EMBEDDING, PK_DECODER, -1, 40, 16 },
    { "output", PK_ROLE_OUTPUT, PK_DECODER, -1, 40, 16 },
    { "output_bias", PK_ROLE_OUTPUT_BIAS, PK_DECODER, -1, 1, 40 },
    { "source_positions", PK_ROLE_POSITIONS, PK_ENCODER, -1, 48, 16 },
    { "target_positions", PK_ROLE_POSITIONS, PK_DECODER, -1, 48, 16 },
    { "target_norm.gain", PK_ROLE_GAIN, PK_DECODER, -1, 1, 16 },
    { "encoder_norm.bias", PK_ROLE_SHIFT, PK_ENCODER, -1, 1, 16 },
    { "encoder.0.qkv.w", PK_ROLE_PROJECTION, PK_ENCODER, 0, 48, 16 },
    { "encoder.1.up.w", PK_ROLE_DENSE, PK_ENCODER, 1, 24, 16 },
    { "encoder.1.down.b", PK_ROLE_BIAS, PK_ENCODER, 1, 1, 16 },
    { "decoder.0.cross_q.w", PK_ROLE_PROJECTION, PK_DECODER, 0, 16, 16 },
    { "decoder.1.cross_kv.w", PK_ROLE_PROJECTION, PK_DECODER, 1, 32, 16 },
    { "decoder.1.cross_out.w", PK_ROLE_DENSE, PK_DECODER, 1, 16, 16 },
    { "decoder.1.ffn_norm.gain", PK_ROLE_GAIN, PK_DECODER, 1, 1, 16 },
};
enum { N_EXPECTED = sizeof expected / sizeof *expected };

typedef struct seen {
    int n, found[N_EXPECTED];
} seen;

static pk_status look(void *user, const pk_weight_spec *spec, pk_weight *w) {
    seen *s = user;
    (void)w;
    s->n++;
    assert_int_equal(spec->matrix, spec->rows > 1 && spec->role != PK_ROLE_POSITIONS);
    for (int i = 0; i < N_EXPECTED; i++) {
        const struct expected *e = &expected[i];
        if (strcmp(e->name, spec->name) != 0) continue;
        s->found[i]++;
        assert_int_equal(spec->role, e->role);
        assert_int_equal(spec->stack, e->stack);
        assert_int_equal(spec->layer, e->layer);
        assert_int_equal(spec->rows, e->rows);
        assert_int_equal(spec->cols, e->cols);
    }
    return PK_OK;
}

static void each_weight_says_what_it_is_for(void **state) {
    pk_network net = { .config = tiny_config() };
    seen       s = { 0 };
    (void)state;
    net.config.share_embeddings = net.config.tie_output = 0;
    net.config.embed_norm = net.config.final_norm = 1;
    ASSERT_OK(pk_network_init(&net));
    ASSERT_OK(pk_network_walk(&net, look, &s));
    for (int i = 0; i < N_EXPECTED; i++) assert_int_equal(s.found[i], 1);
    assert_int_equal(s.n, 6 + 8 + 2 * 12 + 2 * 20);
    net.config.share_embeddings = net.config.tie_output = 1;
    s.n = 0;
    ASSERT_OK(pk_network_walk(&net, look, &s));
    assert_int_equal(s.n, 4 + 8 + 2 * 12 + 2 * 20);
    pk_network_free(&net);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_weight_says_what_it_is_for) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
