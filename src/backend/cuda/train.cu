/* train.cu - the cuda backend's table of training, and what needs no file of its own. */
#include "backend/cuda/train.cuh"

#include "backend/cuda/parts.cuh"

static void clear(void *self, void *memory, size_t bytes) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    if (bytes) pk_cuda_good(c, cudaMemsetAsync(memory, 0, bytes, c->stream), "clearing memory");
}

/* Only the products need memory of their own: all other ops work in place. */
static pk_status reserve(void *self, int32_t rows, int32_t cols, int32_t longest_segment) {
    pk_cuda *c = static_cast<pk_cuda *>(self);
    (void)rows, (void)cols, (void)longest_segment;
    pk_cuda_use(c);
    return pk_cuda_open_products(c);
}

static constexpr pk_training table_of_training() {
    pk_training t = {};
    t.embed = pk_cuda_train_embed, t.embed_back = pk_cuda_train_embed_back;
    t.product = pk_cuda_product, t.product_back = pk_cuda_product_back;
    t.activate = pk_cuda_activate, t.activate_back = pk_cuda_activate_back;
    t.add_norm = pk_cuda_add_norm, t.add_norm_back = pk_cuda_add_norm_back;
    t.norm = pk_cuda_train_norm, t.norm_back = pk_cuda_norm_back;
    t.attend = pk_cuda_train_attend, t.attend_back = pk_cuda_attend_back;
    t.loss = pk_cuda_loss, t.loss_bytes = pk_cuda_loss_bytes;
    t.squares = pk_cuda_squares, t.update = pk_cuda_update;
    t.clear = clear, t.round_weights = pk_cuda_round_weights, t.reserve = reserve;
    t.link_id = pk_cuda_link_id, t.link = pk_cuda_link_ranks;
    t.sum_linked = pk_cuda_sum_linked, t.wait_linked = pk_cuda_wait_linked;
    return t;
}

const pk_training pk_cuda_training = table_of_training();
