/* tiny_network.c - random weights in panels. */
#include "tiny_network.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/panel.h"

float tiny_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*seed >> 40) / 8388608.0 - 1.0);
}

pk_config tiny_config(void) {
    pk_config c;
    pk_config_defaults(&c);
    c.source_vocab = c.target_vocab = 40;
    c.dim = 16;
    c.encoder_layers = c.decoder_layers = 2;
    c.encoder_heads = c.decoder_heads = 2;
    c.encoder_ffn = c.decoder_ffn = 24;
    c.max_source = c.max_target = 48;
    c.embed_scale = 4;
    c.act = PK_SWISH;
    c.eos = 0;
    return c;
}

static pk_status take(tiny_network *t, size_t bytes, void **out) {
    PK_TRY(PK_GROW(&t->block, t->n_blocks + 1));
    PK_TRY(pk_memory_take(bytes, 1, out));
    t->block[t->n_blocks++] = *out;
    return PK_OK;
}

typedef struct filler {
    tiny_network *t;
    pk_dtype      type;
} filler;

static float value_for(filler *f, const pk_weight_spec *spec) {
    const float r = tiny_random(&f->t->seed);
    if (spec->role == PK_ROLE_GAIN) return 1 + 0.1f * r;
    if (!spec->matrix) return spec->role == PK_ROLE_POSITIONS ? r : 0.2f * r;
    return pk_role_is_table(spec->role) ? 0.6f * r : r * 2.5f / sqrtf((float)spec->cols);
}

static pk_status fill(void *user, const pk_weight_spec *spec, pk_weight *w) {
    filler      *f = user;
    const size_t n = (size_t)spec->rows * (size_t)spec->cols;
    float       *plain;
    void        *panels, *scale = NULL;
    PK_TRY(take(f->t, n * sizeof *plain, (void **)&plain));
    for (size_t i = 0; i < n; i++) plain[i] = value_for(f, spec);
    *w = (pk_weight){ plain, NULL, spec->rows, spec->cols, PK_F32, true };
    if (!spec->matrix) return PK_OK;
    PK_TRY(take(f->t, pk_panel_bytes(spec->rows, spec->cols, f->type), &panels));
    if (f->type == PK_I8) PK_TRY(take(f->t, (size_t)spec->rows * sizeof(float), &scale));
    pk_panel_pack(panels, scale, spec->cols, f->type, 0, spec->rows, plain);
    *w = (pk_weight){ panels, scale, spec->rows, spec->cols, f->type, false };
    return PK_OK;
}

pk_status tiny_network_open(const pk_config *config, pk_dtype type, uint64_t seed,
                            tiny_network *out) {
    *out = (tiny_network){ .net.config = *config, .seed = seed };
    filler f = { out, type };
    PK_TRY(pk_config_check(config));
    PK_TRY(pk_network_init(&out->net));
    PK_TRY(pk_network_walk(&out->net, fill, &f));
    pk_network_share(&out->net);
    return PK_OK;
}

void tiny_network_close(tiny_network *t) {
    for (size_t i = 0; i < t->n_blocks; i++) pk_memory_give(t->block[i]);
    pk_memory_give(t->block);
    pk_network_free(&t->net);
}
