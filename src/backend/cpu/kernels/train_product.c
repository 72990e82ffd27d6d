/* train_product.c - the matrix product of training: out (+)= a b, with either of them
 * transposed.
 *
 * Blocks of both are packed into the layouts of the tile kernels (tile_float.h): b in panels of
 * 16 columns, a in tiles of a few rows with four columns side by side. Loops, from outside in:
 * blocks of columns of b, of depth (k), of rows of a (Goto and van de Geijn 2008). A sum is over
 * at most PK_PRODUCT_DEPTH products in order and is then added to the output. So its order
 * depends on k alone, not on where it lies in a block. */
#include "backend/cpu/kernels/kernel_list.h"
#include "backend/cpu/kernels/tile.h"
#include "backend/cpu/kernels/train_list.h"

typedef float quad __attribute__((vector_size(16)));

INLINE quad load_quad(const float *p) {
    quad v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void store_quad(float *p, quad v) { memcpy(p, &v, sizeof v); }

/* transposes 4 x 4 numbers: to[i * apart + j] = from[j * step + i] */
INLINE void transpose(float *to, size_t apart, const float *from, size_t step) {
    const quad a = load_quad(from), b = load_quad(from + step);
    const quad c = load_quad(from + 2 * step), d = load_quad(from + 3 * step);
    const quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const quad cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store_quad(to, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
    store_quad(to + apart, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
    store_quad(to + 2 * apart, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    store_quad(to + 3 * apart, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

/* to (k, 16) = columns of b; lanes from `width` on are zeros */
static void pack_panel(float *to, pk_view b, int32_t k, int32_t width) {
    int32_t p = 0;
    if (width == PK_PANEL && b.col == 1) {
        for (; p < k; p++) vf_store(to + p * PK_PANEL, vf_load(b.at + (size_t)p * b.row));
    } else if (width == PK_PANEL && b.row == 1) {
        for (; p + 4 <= k; p += 4)
            for (int lane = 0; lane < PK_PANEL; lane += 4)
                transpose(to + p * PK_PANEL + lane, PK_PANEL, b.at + p + (size_t)lane * b.col,
                          b.col);
    }
    for (; p < k; p++)
        for (int lane = 0; lane < PK_PANEL; lane++)
            to[p * PK_PANEL + lane] =
                lane < width ? b.at[(size_t)p * b.row + (size_t)lane * b.col] : 0;
}

/* to (quads, height, 4) = rows of a; what fills up the last quad is not read */
static void pack_tile(float *to, pk_view a, int32_t k, int32_t height) {
    int32_t p = 0;
    for (; p + 4 <= k; p += 4, to += 4 * height) {
        const float *from = a.at + (size_t)p * a.col;
        int32_t      r = 0;
        if (a.col == 1) {
            for (; r < height; r++) store_quad(to + 4 * r, load_quad(from + (size_t)r * a.row));
            continue;
        }
        for (; a.row == 1 && r + 4 <= height; r += 4) transpose(to + 4 * r, 4, from + r, a.col);
        for (; r < height; r++)
            for (int i = 0; i < 4; i++) to[4 * r + i] = from[(size_t)r * a.row + (size_t)i * a.col];
    }
    for (int32_t r = 0; r < height; r++)
        for (int32_t i = 0; i < k - p; i++)
            to[4 * r + i] = a.at[(size_t)r * a.row + (size_t)(p + i) * a.col];
}

/* Where a block lies, what its sums are added to, and its packed numbers. */
typedef struct block {
    const float *a, *b; /* tiles; panels */
    float       *out;   /* of the block's first row and column */
    size_t       stride;
    const float *bias; /* of its first column; NULL: zeros */
    bool         add;  /* to what is there */
    int32_t      m, n, k;
} block;

/* one vector of sums goes to the output: added to it, or to the bias, or alone */
INLINE void finish(const block *b, const float *sum, int32_t row, int32_t column, int32_t lanes) {
    float *out = b->out + (size_t)row * b->stride + column;
    vf     y = vf_load(sum);
    if (b->add)
        y = vf_add(load_some(out, lanes), y);
    else if (b->bias)
        y = vf_add(load_some(b->bias + column, lanes), y);
    store_some(out, y, lanes);
}

/* sums (height, panels, 16) */
static void finish_tile(const block *b, const float *sums, int32_t row, int32_t column,
                        int32_t height, int32_t panels) {
    for (int32_t r = 0; r < height; r++)
        for (int32_t p = 0; p < panels; p++, sums += PK_PANEL)
            finish(b, sums, row + r, column + p * PK_PANEL, b->n - column - p * PK_PANEL);
}

/* floats of the packed tiles of so many rows; whole tiles come before the last, so this is an
 * offset */
static size_t tile_floats(int32_t k, int32_t height) {
    return ((size_t)k + 3) / 4 * 4 * (size_t)height;
}

/* One packed block of a times one of b. Some panels stay in the first-level cache while all
 * tiles pass over them. */
static void multiply(const block *b) {
    const int32_t      n_panels = (b->n + PK_PANEL - 1) / PK_PANEL;
    const size_t       panel = (size_t)b->k * PK_PANEL;
    _Alignas(64) float sums[24 * PK_PANEL];
    int32_t            at_once = 2;
    if (!PK_KERNEL(tile_f32)(TALLEST, at_once)) at_once = 1;
    for (int32_t p = 0, n; p < n_panels; p += n) {
        n = n_panels - p < at_once ? n_panels - p : at_once;
        for (int32_t row = 0, height; row < b->m; row += height) {
            height = b->m - row < TALLEST ? b->m - row : TALLEST;
            PK_KERNEL(tile_f32)
            (height, n)(b->b + (size_t)p * panel, panel * sizeof(float),
                        (size_t)n * panel * sizeof(float), b->a + tile_floats(b->k, row), b->k,
                        sums);
            finish_tile(b, sums, row, p * PK_PANEL, height, n);
        }
    }
}

/* all rows of the part times one packed block of b */
static void all_rows(const pk_product_part *part, block b, int32_t depth, float *packed) {
    float *const out = b.out;
    b.a = packed;
    for (int32_t row = 0; row < part->m; row += PK_PRODUCT_ROWS) {
        const int32_t left = part->m - row;
        b.m = left < PK_PRODUCT_ROWS ? left : PK_PRODUCT_ROWS;
        b.out = out + (size_t)row * part->out_stride;
        for (int32_t r = 0; r < b.m; r += TALLEST) {
            pk_view a = part->a;
            a.at += (size_t)(row + r) * a.row + (size_t)depth * a.col;
            pack_tile(packed + tile_floats(b.k, r), a, b.k, b.m - r < TALLEST ? b.m - r : TALLEST);
        }
        multiply(&b);
    }
}

/* scratch: a packed block of a, then one of b; b is packed once for all rows of the part */
void PK_KERNEL(train_product)(const pk_product_part *part, float *scratch) {
    float *packed = scratch + PK_PRODUCT_ROWS * PK_PRODUCT_DEPTH;
    for (int32_t column = 0; column < part->n; column += PK_PRODUCT_COLUMNS) {
        const int32_t left = part->n - column;
        block         b = { .b = packed, .stride = part->out_stride, .add = part->add };
        b.n = left < PK_PRODUCT_COLUMNS ? left : PK_PRODUCT_COLUMNS;
        b.bias = part->bias ? part->bias + column : NULL;
        b.out = part->out + column;
        int32_t depth = 0;
        do { /* once even where k is 0: the output is set */
            b.k = part->k - depth < PK_PRODUCT_DEPTH ? part->k - depth : PK_PRODUCT_DEPTH;
            for (int32_t c = 0; c < b.n; c += PK_PANEL) {
                pk_view from = part->b;
                from.at += (size_t)depth * from.row + (size_t)(column + c) * from.col;
                pack_panel(packed + (size_t)c * (size_t)b.k, from, b.k,
                           b.n - c < PK_PANEL ? b.n - c : PK_PANEL);
            }
            all_rows(part, b, depth, scratch);
            b.add = true;
            depth += PK_PRODUCT_DEPTH;
        } while (depth < part->k);
    }
}
