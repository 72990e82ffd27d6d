/* linear_part.c - one part of a linear op: walks tiles and panels, and finishes the sums.
 *
 * The loops, from outside in:
 *   groups of 1 to 8 panels of w   stays in the first-level cache while all tiles pass over it
 *   tiles of x                     (height, cols) rows, prepared by prepare.c
 *   tile kernel                    sums (height, panels, 16) in registers, over all columns
 * What is done to a sum afterwards - scale, bias, activation, residual - is written once for all
 * types, so that one output is computed the same way wherever it lies. */
#include "backend/cpu/kernels/activation.h"
#include "backend/cpu/kernels/kernel_list.h"
#include "backend/cpu/kernels/tile.h"

enum {
    MOST_SUMS = 24,          /* height times panels of the largest tile kernel */
    FETCH_BYTES = 256 << 10, /* largest group that is prefetched as a whole */
    FEW_ROWS = 2,            /* as long as reading the weights takes the time */
    PAIRED_ROWS = 3,         /* of bytes, from which panels are taken two at a time */
};

#ifdef PK_ISA_avx512
enum { SHIFTED = 1 }; /* tile_i8.c adds 128 to every weight */
#else
enum { SHIFTED = 0 };
#endif

/* sum (integers) of one row and panel as floats; the product is not fused with what follows */
INLINE vf from_integers(const int32_t *sum, float x_scale, int32_t offset, const float *w_scale,
                        int32_t lanes) {
    vi integers = vi_load(sum);
    if (SHIFTED) integers = vi_sub(integers, vi_all(offset));
    const vf scales = lanes == 16 ? vf_load(w_scale) : vf_load_part(w_scale, lanes);
    return vf_mul(vf_of(integers), vf_mul(vf_all(x_scale), scales));
}

/* Where the outputs of one tile and group of panels go. `lanes` is 16 but at the matrix's end. */
typedef struct corner {
    int32_t      row, column; /* of x, of the whole output */
    float       *out;
    const float *residual;
} corner;

/* the outputs of one row and panel */
INLINE void finish(const pk_linear_part *part, const void *sum, corner at, int32_t lanes) {
    vf y;
    if (part->w->type == PK_I8)
        y = from_integers(sum, part->x->scale[at.row], part->x->offset[at.row],
                          part->w->scale + at.column, lanes);
    else
        y = vf_load(sum);
    if (part->bias) {
        const float *bias = part->bias + at.column;
        y = vf_add(y, lanes == 16 ? vf_load(bias) : vf_load_part(bias, lanes));
    }
    if (part->act != PK_LINEAR) y = activate(y, part->act);
    if (at.residual)
        y = vf_add(y, lanes == 16 ? vf_load(at.residual) : vf_load_part(at.residual, lanes));
    if (lanes == 16)
        vf_store(at.out, y);
    else
        vf_store_part(at.out, y, lanes);
}

/* sums (height, panels, 16) */
static void finish_tile(const pk_linear_part *part, const float *sums, corner at, int32_t height,
                        int32_t panels) {
    for (int32_t r = 0; r < height; r++) {
        corner here = at;
        for (int32_t p = 0; p < panels; p++, sums += PK_PANEL) {
            const int32_t left = part->w->rows - here.column;
            if (left >= 16)
                finish(part, sums, here, 16);
            else
                finish(part, sums, here, left);
            here.column += PK_PANEL, here.out += PK_PANEL;
            if (here.residual) here.residual += PK_PANEL;
        }
        at.row++, at.out += part->out_stride;
        if (at.residual) at.residual += part->residual_stride;
    }
}

static tile_kernel *find(pk_dtype type, int32_t height, int32_t panels) {
    switch (type) {
    case PK_F32: return PK_KERNEL(tile_f32)(height, panels);
    case PK_F16: return PK_KERNEL(tile_f16)(height, panels);
    default: return PK_KERNEL(tile_i8)(height, panels);
    }
}

/* The most panels, no more than `left`, for which there is a kernel of that height. Few rows of bytes
 * are done sooner than their weights are there, and two panels at a time come sooner than four. */
static int32_t panels_at_once(pk_dtype type, int32_t height, int32_t left) {
    int32_t n = type == PK_I8 && height >= PAIRED_ROWS ? 2 : 8;
    while (n > 1 && (n > left || !find(type, height, n))) n /= 2;
    return n;
}

/* How many bytes further on weights are prefetched; 0: they are not. Usually that is the next
 * group, while this one is used. Where a group is too large to wait in the second-level cache, it
 * is 2 KiB further on in the same panel. Few rows read weights so fast that the processor's own
 * prefetching keeps up with the cache, and ours would be in its way. */
static size_t fetch_ahead(const pk_linear_part *part, size_t group_bytes, bool last) {
    if (part->in_cache && part->x->rows <= FEW_ROWS) return 0;
    if (group_bytes > FETCH_BYTES) return 2048;
    return last && !part->goes_on ? 0 : group_bytes;
}

/* all tiles of the part over n panels */
static void one_group(const pk_linear_part *part, int32_t panel, int32_t n, size_t stride,
                      size_t ahead) {
    const pk_tiles    *x = part->x;
    const size_t       row_bytes = pk_tile_width(x) * (part->w->type == PK_I8 ? 1 : sizeof(float));
    const char        *w = (const char *)part->w->data + (size_t)panel * stride;
    const size_t       along = (size_t)(panel - part->first_panel) * PK_PANEL;
    const int32_t      top = pk_tile_first(x, part->first_tile);
    _Alignas(64) float sums[MOST_SUMS * PK_PANEL]; /* or int32_t */
    for (int32_t t = part->first_tile; t < part->first_tile + part->n_tiles; t++) {
        const int32_t row = pk_tile_first(x, t), height = pk_tile_height(x, t);
        const size_t  down = (size_t)(row - top);
        corner at = { row, panel * PK_PANEL, part->out + down * part->out_stride + along, NULL };
        if (part->residual) at.residual = part->residual + down * part->residual_stride + along;
        find(part->w->type, height,
             n)(w, stride, ahead, (const char *)x->data + (size_t)row * row_bytes, x->cols, sums);
        finish_tile(part, sums, at, height, n);
    }
}

/* panels at a time: as many as the tallest tile of the part has registers for */
void PK_KERNEL(linear)(const pk_linear_part *part) {
    const size_t  stride = pk_panel_stride(part->w->cols, part->w->type);
    const int32_t end = part->first_panel + part->n_panels;
    int32_t       tallest = 1;
    for (int32_t t = part->first_tile; t < part->first_tile + part->n_tiles; t++)
        if (pk_tile_height(part->x, t) > tallest) tallest = pk_tile_height(part->x, t);
    for (int32_t panel = part->first_panel, n; panel < end; panel += n) {
        n = panels_at_once(part->w->type, tallest, end - panel);
        one_group(part, panel, n, stride, fetch_ahead(part, (size_t)n * stride, panel + n >= end));
    }
}
