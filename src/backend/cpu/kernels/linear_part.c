/* linear_part.c - one part of a linear op: walks tiles and panels, and finishes the sums.
 *
 * A group of panels stays in the nearest cache while all tiles of the part pass over it. What is done
 * to a sum afterwards - scale, bias, activation, residual - is written once for all types, so that
 * one output is computed the same way wherever it lies. */
#include "backend/cpu/kernels/kernel_list.h"
#include "backend/cpu/kernels/tile.h"

#ifdef PK_ISA_avx512
enum { SHIFTED = 1 };                           /* tile_i8.c adds 128 to every weight */
#else
enum { SHIFTED = 0 };
#endif

INLINE vf activate(vf x, pk_act act) {
    switch (act) {
    case PK_RELU: return vf_max(x, vf_all(0));
    case PK_GELU:
        return vf_mul(vf_mul(vf_all(0.5f), x),
                      vf_add(vf_all(1), vf_erf(vf_mul(x, vf_all(0.707106781f)))));
    case PK_SWISH: return vf_div(x, vf_add(vf_all(1), vf_exp(vf_sub(vf_all(0), x))));
    default: return x;
    }
}

/* sum (integers) of one row and panel as floats; the product is not fused with what follows */
INLINE vf from_integers(const int32_t *sum, float x_scale, int32_t offset, const float *w_scale,
                        int32_t lanes) {
    vi integers = vi_load(sum);
    if (SHIFTED) integers = vi_sub(integers, vi_all(offset));
    const vf scales = lanes == 16 ? vf_load(w_scale) : vf_load_part(w_scale, lanes);
    return vf_mul(vf_of(integers), vf_mul(vf_all(x_scale), scales));
}

/* the 16 (or fewer, at the end of the matrix) outputs of one row and panel */
INLINE void finish(const pk_linear_part *part, const void *sum, int32_t row, int32_t panel) {
    const int32_t column = panel * PK_PANEL;
    const int32_t lanes = part->w->rows - column < 16 ? part->w->rows - column : 16;
    const size_t  down = (size_t)(row - pk_tile_first(part->x, part->first_tile));
    const size_t  along = (size_t)(panel - part->first_panel) * PK_PANEL;
    vf            y;
    if (part->w->type == PK_I8)
        y = from_integers(sum, part->x->scale[row], part->x->offset[row], part->w->scale + column,
                          lanes);
    else y = vf_load(sum);
    if (part->bias) {
        const float *bias = part->bias + column;
        y = vf_add(y, lanes == 16 ? vf_load(bias) : vf_load_part(bias, lanes));
    }
    if (part->act != PK_LINEAR) y = activate(y, part->act);
    if (part->residual) {
        const float *residual = part->residual + down * part->residual_stride + along;
        y = vf_add(y, lanes == 16 ? vf_load(residual) : vf_load_part(residual, lanes));
    }
    float *out = part->out + down * part->out_stride + along;
    if (lanes == 16) vf_store(out, y);
    else vf_store_part(out, y, lanes);
}

static tile_kernel *find(pk_dtype type, int32_t height, int32_t panels) {
    switch (type) {
    case PK_F32: return PK_KERNEL(tile_f32)(height, panels);
    case PK_F16: return PK_KERNEL(tile_f16)(height, panels);
    default: return PK_KERNEL(tile_i8)(height, panels);
    }
}

static void one_tile(const pk_linear_part *part, int32_t tile, int32_t panel, int32_t panels,
                     size_t stride) {
    const pk_tiles *x = part->x;
    const int32_t   first = pk_tile_first(x, tile), height = pk_tile_height(x, tile);
    const size_t    element = part->w->type == PK_I8 ? 1 : sizeof(float);
    _Alignas(64) float sums[PK_TILE_MAX * 2 * PK_PANEL + 8 * PK_PANEL];    /* or int32_t */
    find(part->w->type, height, panels)((const char *)part->w->data + (size_t)panel * stride, stride,
                                        (const char *)x->data + (size_t)first * pk_tile_width(x) * element,
                                        x->cols, sums);
    for (int32_t r = 0; r < height; r++)
        for (int32_t p = 0; p < panels; p++)
            finish(part, sums + (r * panels + p) * PK_PANEL, first + r, panel + p);
}

/* the most panels, no more than `left`, for which there is a kernel of that height */
static int32_t panels_at_once(pk_dtype type, int32_t height, int32_t left) {
    int32_t n = 8;
    while (n > 1 && (n > left || !find(type, height, n))) n /= 2;
    return n;
}

void PK_KERNEL(linear)(const pk_linear_part *part) {
    const size_t  stride = pk_panel_stride(part->w->cols, part->w->type);
    const int32_t end = part->first_panel + part->n_panels, last = part->first_tile + part->n_tiles;
    int32_t       tallest = 1;
    for (int32_t t = part->first_tile; t < last; t++)
        if (pk_tile_height(part->x, t) > tallest) tallest = pk_tile_height(part->x, t);
    for (int32_t panel = part->first_panel, n; panel < end; panel += n) {
        n = panels_at_once(part->w->type, tallest, end - panel);
        for (int32_t t = part->first_tile; t < last; t++) one_tile(part, t, panel, n, stride);
    }
}
