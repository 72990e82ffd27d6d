/* table.c - the kernels of one instruction set, gathered. */
#include "backend/cpu/kernels/kernel_list.h"
#include "backend/cpu/kernels/tile.h"
#include "backend/cpu/kernels/train_list.h"

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const pk_cpu_kernels PK_PASTE(pk_, kernels, PK_ISA) = {
    .name = TEXT(PK_ISA),
    .tile_rows = { TALLEST, TALLEST, TALLEST },
    .prepare = PK_KERNEL(prepare),
    .linear = PK_KERNEL(linear),
    .attend = PK_KERNEL(attend),
    .norm = PK_KERNEL(norm),
    .embed = PK_KERNEL(embed),
    .narrow = PK_KERNEL(narrow),
    .best = PK_KERNEL(best),
    .exp_sum = PK_KERNEL(exp_sum),
    .train = &PK_KERNEL(train_kernels),
};
