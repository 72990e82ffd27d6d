/* teach.c - one pass of a network that learns, with arrays laid out by hand. */
#include "teach.h"

#include <string.h>

#include "backend/list.h"
#include "model/forward.h"

enum { MOST_INTS = 1 << 16, SCRATCH = 64 << 20 };

pk_status teach_open(const char *device, int32_t threads, pk_dtype type, const pk_config *config,
                     const pk_parameters_options *options, teach *t) {
    *t = (teach){ .scratch_bytes = SCRATCH };
    PK_TRY(pk_backend_open(device, threads, type, &t->on));
    if (!t->on.train) PK_FAIL(PK_UNSUPPORTED, "%s cannot train", device);
    PK_TRY(t->on.train->reserve(t->on.self, 4096, 4096, 512));
    PK_TRY(pk_parameters_open(&t->on, config, options, &t->p));
    PK_TRY(pk_device_take(&t->on, t->scratch_bytes, &t->scratch));
    PK_TRY(pk_device_take(&t->on, MOST_INTS * sizeof(int32_t), &t->block));
    PK_TRY(pk_device_take(&t->on, sizeof *t->sums, (void **)&t->sums));
    return pk_tape_open(&t->tape);
}

void teach_close(teach *t) {
    pk_tape_close(t->tape);
    if (t->on.close) {
        pk_device_give(&t->on, t->scratch);
        pk_device_give(&t->on, t->block);
        pk_device_give(&t->on, t->sums);
        pk_parameters_close(&t->p);
    }
    pk_backend_close(&t->on);
}

typedef struct layout { /* arrays of one batch; each is a part of `ints` */
    int32_t *ints, used;
    int32_t *source, *source_pos, *source_first, *source_count, *source_segment;
    int32_t *input, *pos, *first, *count, *cross_first, *cross_count, *target_segment, *target;
    int32_t  n_source, n_target, longest;
} layout;

static int32_t *part(layout *l, int32_t n) {
    int32_t *at = l->ints + l->used;
    l->used += (n + 15) / 16 * 16;
    return at;
}

static void lay_out(layout *l, const teach_sentence *s, int32_t n) {
    for (int32_t i = 0; i < n; i++) l->n_source += s[i].n_source, l->n_target += s[i].n_target;
    int32_t **const of_source[] = { &l->source, &l->source_pos, &l->source_first,
                                    &l->source_count };
    int32_t **const of_target[] = { &l->input,       &l->pos,         &l->first, &l->count,
                                    &l->cross_first, &l->cross_count, &l->target };
    for (size_t i = 0; i < 4; i++) *of_source[i] = part(l, l->n_source);
    for (size_t i = 0; i < 7; i++) *of_target[i] = part(l, l->n_target);
    l->source_segment = part(l, n + 1), l->target_segment = part(l, n + 1);
    for (int32_t i = 0, a = 0, b = 0; i < n; a += s[i].n_source, b += s[i].n_target, i++) {
        for (int32_t j = 0; j < s[i].n_source; j++) {
            l->source[a + j] = s[i].source[j], l->source_pos[a + j] = j;
            l->source_first[a + j] = a, l->source_count[a + j] = s[i].n_source;
        }
        for (int32_t j = 0; j < s[i].n_target; j++) {
            l->input[b + j] = s[i].input[j], l->target[b + j] = s[i].target[j];
            l->pos[b + j] = j, l->first[b + j] = b, l->count[b + j] = j + 1;
            l->cross_first[b + j] = a, l->cross_count[b + j] = s[i].n_source;
        }
        l->source_segment[i + 1] = a + s[i].n_source, l->target_segment[i + 1] = b + s[i].n_target;
        if (s[i].n_source > l->longest) l->longest = s[i].n_source;
        if (s[i].n_target > l->longest) l->longest = s[i].n_target;
    }
}

/* the same array on the device */
static const int32_t *there(const teach *t, const layout *l, const int32_t *array) {
    return (const int32_t *)t->block + (array - l->ints);
}

static pk_attention see(const teach *t, const layout *l, int32_t heads, int32_t n, int32_t *first,
                        int32_t *count, int32_t *query_segment, int32_t *key_segment) {
    return (pk_attention){ .heads = heads,
                           .first = there(t, l, first),
                           .count = there(t, l, count),
                           .n_segments = n,
                           .longest_segment = l->longest,
                           .query_segment = there(t, l, query_segment),
                           .key_segment = there(t, l, key_segment) };
}

/* forward pass, loss, and with how->learn the backward pass */
static pk_status compute(teach *t, layout *l, int32_t n, const teach_how *how) {
    const pk_config   *c = &t->p.net.config;
    pk_arena           arena = { .base = t->scratch, .size = t->scratch_bytes };
    pk_run             r;
    const pk_attention source = see(t, l, c->encoder_heads, n, l->source_first, l->source_count,
                                    l->source_segment, l->source_segment);
    const pk_attention self =
        see(t, l, c->decoder_heads, n, l->first, l->count, l->target_segment, l->target_segment);
    const pk_attention        cross = see(t, l, c->decoder_heads, n, l->cross_first, l->cross_count,
                                          l->target_segment, l->source_segment);
    const pk_lesson_questions q = { .n = l->n_target,
                                    .target = there(t, l, l->target),
                                    .smoothing = how->smoothing,
                                    .vocab = c->target_vocab,
                                    .never = c->pad };
    pk_tape_begin(t->tape, &r, &t->on, &arena, &t->p.learned, &how->dropout, how->key, false);
    const pk_target target = { .n = l->n_target,
                               .asked = l->n_target,
                               .token = there(t, l, l->input),
                               .pos = there(t, l, l->pos),
                               .self = &self,
                               .cross = &cross,
                               .source =
                                   pk_encode(&r, &t->p.net, there(t, l, l->source),
                                             there(t, l, l->source_pos), l->n_source, &source) };
    pk_tensor       hidden = pk_decode(&r, &t->p.net, &target);
    pk_tape_loss(&r, hidden, &t->p.net.output, &t->p.net.output_bias, &q, t->sums, NULL,
                 how->learn);
    if (how->learn) pk_tape_backward(&r, how->done, how->user);
    return pk_run_status(&r);
}

pk_status teach_run(teach *t, const teach_sentence *sentence, int32_t n, const teach_how *how,
                    pk_loss_sums *out) {
    static int32_t ints[MOST_INTS];
    memset(ints, 0, sizeof ints);
    layout l = { .ints = ints };
    lay_out(&l, sentence, n);
    t->on.train->clear(t->on.self, t->sums, sizeof *t->sums);
    t->on.put(t->on.self, t->block, ints, (size_t)l.used * sizeof *ints);
    PK_TRY(compute(t, &l, n, how));
    t->on.get(t->on.self, out, t->sums, sizeof *out);
    return t->on.status(t->on.self);
}
