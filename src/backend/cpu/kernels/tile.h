/* tile.h - which tiles each instruction set has: (height, panels) pairs that keep all the sums
 * in registers, 32 of 512 bits for avx512, 16 of 256 bits for avx2.
 *
 * A tile is `height` rows of x times `panels` panels of 16 outputs: height * panels vectors of
 * sums. TILES(X) lists every pair. The wider ones come first in a row; the narrow ones are for
 * the last panels of a matrix. */
#ifndef PK_CPU_TILE_H
#define PK_CPU_TILE_H

#define TILES_8(X, h) X(h, 8) X(h, 4) X(h, 2) X(h, 1)
#define TILES_4(X, h) X(h, 4) X(h, 2) X(h, 1)
#define TILES_2(X, h) X(h, 2) X(h, 1)
#define TILES_1(X, h) X(h, 1)

#if defined PK_ISA_avx512
#define TILES(X)  \
    TILES_8(X, 1) \
    TILES_8(X, 2) \
    TILES_8(X, 3) \
    TILES_4(X, 4) \
    TILES_4(X, 5) \
    TILES_4(X, 6) \
    TILES_2(X, 7) TILES_2(X, 8) TILES_2(X, 9) TILES_2(X, 10) TILES_2(X, 11) TILES_2(X, 12)
#define TALLEST 12
#elif defined PK_ISA_avx2
#define TILES(X) TILES_4(X, 1) TILES_2(X, 2) TILES_2(X, 3) TILES_1(X, 4) TILES_1(X, 5) TILES_1(X, 6)
#define TALLEST  6
#else
#define TILES(X) TILES_1(X, 1) TILES_1(X, 2)
#define TALLEST  2
#endif

/* Makes the compiler forget how a pointer was computed. Otherwise it derives each panel's pointer
 * from the first and keeps more offsets than there are registers. */
#define OPAQUE(pointer) __asm__("" : "+r"(pointer))

/* a table [height][log2(panels)] of the kernels that DEFINE_TILE made, and its look-up */
#define TILE_NAME_(h, n) tile_##h##x##n
#define TILE_ENTRY(h, n) [h][__builtin_ctz(n)] = TILE_NAME_(h, n),
#define TILE_LOOKUP(name)                                                            \
    tile_kernel *PK_KERNEL(name)(int32_t height, int32_t panels) {                   \
        static tile_kernel *const table[PK_TILE_MAX + 1][4] = { TILES(TILE_ENTRY) }; \
        return panels > 8 ? NULL : table[height][__builtin_ctz((unsigned)panels)];   \
    }
#endif
