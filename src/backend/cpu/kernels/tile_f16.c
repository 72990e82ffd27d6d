/* tile_f16.c - tile kernels over 16-bit weights, widened exactly on the way; see tile_float.h. */
#define WEIGHT       uint16_t
#define LOAD_WEIGHTS vf_load_f16
#include "backend/cpu/kernels/tile_float.h"
TILE_LOOKUP(tile_f16)
