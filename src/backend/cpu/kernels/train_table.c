/* train_table.c - the kernels of training of one instruction set, gathered. */
#include "backend/cpu/kernels/train_list.h"

const pk_train_kernels PK_KERNEL(train_kernels) = {
    .product = PK_KERNEL(train_product),
    .embed = PK_KERNEL(train_embed),
    .add_dropped = PK_KERNEL(train_add_dropped),
    .activate = PK_KERNEL(train_activate),
    .activate_back = PK_KERNEL(train_activate_back),
    .add_norm = PK_KERNEL(train_add_norm),
    .norm = PK_KERNEL(norm_keep),
    .add_norm_back = PK_KERNEL(train_add_norm_back),
    .gains = PK_KERNEL(train_gains),
    .attend = PK_KERNEL(train_attend),
    .attend_back = PK_KERNEL(train_attend_back),
    .loss = PK_KERNEL(train_loss),
    .squares = PK_KERNEL(train_squares),
    .update = PK_KERNEL(train_update),
};
