/* tile_f32.c - tile kernels over 32-bit weights; see tile_float.h. */
#define WEIGHT       float
#define LOAD_WEIGHTS vf_load
#include "backend/cpu/kernels/tile_float.h"
TILE_LOOKUP(tile_f32)
