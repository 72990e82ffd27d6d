/* adopt.cu - the device's own copy of a weight, in the layout of common.cuh.
 *
 * A model has some two hundred weights and opening must be quick: bytes cross to the device as the
 * host has them, into one buffer that all weights share, and a kernel brings them into shape there.
 * What already has the right shape is copied straight to its place. */
#include "backend/cuda/common.cuh"

extern "C" {
#include "tensor/panel.h"
}

static pk_status failed(cudaError_t code, const char *what) {
    if (code == cudaErrorMemoryAllocation)
        return pk_fail_with(PK_NO_MEMORY, "%s: %s", what, cudaGetErrorString(code));
    return pk_fail_with(PK_DEVICE, "%s: %s", what, cudaGetErrorString(code));
}

/* the shared buffer, at least so large; the largest table comes first, so it hardly ever grows */
static pk_status stage(pk_cuda *c, size_t bytes) {
    if (bytes <= c->staging_bytes) return PK_OK;
    PK_TRY(pk_cuda_take_forever(c, bytes, &c->staging)); /* the smaller one stays until close() */
    c->staging_bytes = bytes;
    return PK_OK;
}

static pk_status copied(pk_cuda *c, void *to, const void *from, size_t bytes) {
    const cudaError_t code = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, c->stream);
    return code == cudaSuccess ? PK_OK : failed(code, "copying a weight to the device");
}

static pk_status finished(pk_cuda *c) {
    const cudaError_t code = cudaStreamSynchronize(c->stream);
    return code == cudaSuccess ? PK_OK : failed(code, "loading a weight on the device");
}

/* ---- shapes ---- */

static size_t panels_of(const pk_weight *w) { return ((size_t)w->rows + 15) / 16; }
static size_t tiles_of(const pk_weight *w) { return panels_of(w) * (((size_t)w->cols + 15) / 16); }

/* A matrix as the host has it: panels, on the device. */
struct panels {
    const void  *data;
    const float *scale; /* of I8 */
    int32_t      rows, cols;
};

template <typename In> static __device__ float value_at(const panels &p, int row, int col) {
    if (row >= p.rows || col >= p.cols) return 0;
    const size_t at = ((size_t)(row / 16) * (size_t)p.cols + (size_t)col) * 16 + (size_t)(row % 16);
    return to_float(static_cast<const In *>(p.data)[at]);
}

static __device__ int integer_at(const panels &p, int row, int col) {
    if (row >= p.rows || col >= p.cols) return 0;
    const size_t quads = (size_t)((p.cols + 3) / 4);
    const size_t quad = ((size_t)(row / 16) * quads + (size_t)(col / 4)) * 16 + (size_t)(row % 16);
    return static_cast<const int8_t *>(p.data)[quad * 4 + (size_t)(col % 4)];
}

template <> __device__ float value_at<int8_t>(const panels &p, int row, int col) {
    return row < p.rows ? (float)integer_at(p, row, col) * p.scale[row] : 0;
}

/* ---- one thread for each lane of each tile: element j of lane l is row l / 4 + (j / 2 % 2) * 8,
 * column l % 4 * 2 + j % 2 + j / 4 * 8 of the tile, see tile_index() ---- */

struct place_in_tiles {
    int row, col; /* of element 0 */
};
static __device__ place_in_tiles place_of(size_t piece, int tiles_across) {
    const size_t tile = piece / 32;
    const int    lane = (int)(piece % 32);
    return { (int)(tile / (size_t)tiles_across) * 16 + lane / 4,
             (int)(tile % (size_t)tiles_across) * 16 + lane % 4 * 2 };
}

template <typename In, typename Out>
static __global__ void to_tiles(Out *out, panels from, size_t pieces, int tiles_across) {
    const size_t piece = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (piece >= pieces) return;
    const place_in_tiles at = place_of(piece, tiles_across);
    alignas(16) Out      element[8];
#pragma unroll
    for (int j = 0; j < 8; j++)
        element[j] =
            from_float<Out>(value_at<In>(from, at.row + j / 2 % 2 * 8, at.col + j % 2 + j / 4 * 8));
    *reinterpret_cast<uint4 *>(out + piece * 8) = *reinterpret_cast<const uint4 *>(element);
}

static __global__ void to_integer_tiles(int8_t *out, panels from, size_t pieces, int tiles_across) {
    const size_t piece = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (piece >= pieces) return;
    const place_in_tiles at = place_of(piece, tiles_across);
    alignas(8) int8_t    element[8];
#pragma unroll
    for (int j = 0; j < 8; j++)
        element[j] = (int8_t)integer_at(from, at.row + j / 2 % 2 * 8, at.col + j % 2 + j / 4 * 8);
    *reinterpret_cast<uint2 *>(out + piece * 8) = *reinterpret_cast<const uint2 *>(element);
}

/* (panels, cols, 16) floats from panels of another type: one thread an element */
template <typename In> static __global__ void to_panels(float *out, panels from, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const size_t panel = i / 16 / (size_t)from.cols;
    const int    col = (int)(i / 16 % (size_t)from.cols);
    out[i] = value_at<In>(from, (int)panel * 16 + (int)(i % 16), col);
}

/* ---- the ways ---- */

static unsigned blocks_for(size_t n) { return (unsigned)((n + 255) / 256); }

/* the host's bytes, and its scales behind them, in the shared buffer */
static pk_status put_panels(pk_cuda *c, const pk_weight *host, panels *out) {
    const size_t bytes = pk_panel_bytes(host->rows, host->cols, host->type);
    const size_t behind = (bytes + 255) / 256 * 256;
    const size_t scales = host->type == PK_I8 ? (size_t)host->rows * sizeof(float) : 0;
    PK_TRY(stage(c, behind + scales));
    PK_TRY(copied(c, c->staging, host->data, bytes));
    float *scale = reinterpret_cast<float *>(static_cast<char *>(c->staging) + behind);
    if (scales) PK_TRY(copied(c, scale, host->scale, scales));
    *out = { c->staging, scales ? scale : NULL, host->rows, host->cols };
    return PK_OK;
}

static pk_status adopt_bytes(pk_cuda *c, const void *data, size_t bytes, void **out) {
    PK_TRY(pk_cuda_take_forever(c, bytes, out));
    PK_TRY(copied(c, *out, data, bytes));
    return finished(c);
}

static pk_status adopt_integers(pk_cuda *c, const pk_weight *host, pk_weight *out) {
    const size_t pieces = tiles_of(host) * 32;
    panels       from;
    void        *data = NULL, *scale = NULL;
    PK_TRY(pk_cuda_take_forever(c, pieces * 8, &data));
    PK_TRY(pk_cuda_take_forever(c, panels_of(host) * 16 * sizeof(float), &scale));
    PK_TRY(put_panels(c, host, &from));
    PK_TRY(copied(c, scale, host->scale, (size_t)host->rows * sizeof(float)));
    to_integer_tiles<<<blocks_for(pieces), 256, 0, c->stream>>>(static_cast<int8_t *>(data), from,
                                                                pieces, (host->cols + 15) / 16);
    const cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess) return failed(code, "laying a matrix out");
    *out = { data, static_cast<const float *>(scale), host->rows, host->cols, PK_I8, false };
    return finished(c);
}

template <typename Out>
static void lay_tiles(pk_cuda *c, pk_dtype type, Out *out, panels from, size_t pieces) {
    const int across = (from.cols + 15) / 16;
    if (type == PK_F16)
        to_tiles<__half><<<blocks_for(pieces), 256, 0, c->stream>>>(out, from, pieces, across);
    else
        to_tiles<float><<<blocks_for(pieces), 256, 0, c->stream>>>(out, from, pieces, across);
}

static pk_status adopt_tiles(pk_cuda *c, const pk_weight *host, pk_weight *out) {
    const size_t pieces = tiles_of(host) * 32;
    panels       from;
    void        *data = NULL;
    PK_TRY(pk_cuda_take_forever(c, pieces * 16, &data));
    PK_TRY(put_panels(c, host, &from));
    if (c->arithmetic == PK_F16)
        lay_tiles(c, host->type, static_cast<__half *>(data), from, pieces);
    else
        lay_tiles(c, host->type, static_cast<__nv_bfloat16 *>(data), from, pieces);
    const cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess) return failed(code, "laying a matrix out");
    *out = { data, NULL, host->rows, host->cols, c->arithmetic, false };
    return finished(c);
}

static pk_status adopt_floats(pk_cuda *c, const pk_weight *host, pk_weight *out) {
    const size_t n = panels_of(host) * (size_t)host->cols * 16;
    panels       from;
    void        *data = NULL;
    *out = { NULL, NULL, host->rows, host->cols, PK_F32, false };
    if (host->type == PK_F32) {
        PK_TRY(adopt_bytes(c, host->data, n * sizeof(float), &data)); /* as the host has it */
        out->data = data;
        return PK_OK;
    }
    PK_TRY(pk_cuda_take_forever(c, n * sizeof(float), &data));
    PK_TRY(put_panels(c, host, &from));
    float *to = static_cast<float *>(data);
    if (host->type == PK_F16)
        to_panels<__half><<<blocks_for(n), 256, 0, c->stream>>>(to, from, n);
    else
        to_panels<int8_t><<<blocks_for(n), 256, 0, c->stream>>>(to, from, n);
    const cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess) return failed(code, "laying a matrix out");
    out->data = data;
    return finished(c);
}

pk_status pk_cuda_adopt(pk_cuda *c, const pk_weight *host, pk_weight *out) {
    *out = *host;
    if (!host->data || host->rows < 1 || host->cols < 1) return PK_OK; /* the network has none */
    if (host->plain) {
        void *data = NULL;
        PK_TRY(adopt_bytes(c, host->data, (size_t)host->rows * (size_t)host->cols * sizeof(float),
                           &data));
        out->data = data;
        return PK_OK;
    }
    if (host->type == PK_BF16)
        PK_FAIL(PK_ARGUMENT, "a matrix of bf16 cannot come from a host's memory; use f16 or f32");
    if (c->arithmetic == PK_F32) return adopt_floats(c, host, out);
    return host->type == PK_I8 ? adopt_integers(c, host, out) : adopt_tiles(c, host, out);
}
