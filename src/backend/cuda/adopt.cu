/* adopt.cu - the device's own copy of a weight, in the layout of common.cuh.
 *
 * A model has some two hundred weights and opening must be quick:
 *
 *   host panels --copy--> staging buffer on the device --kernel--> tiles (or panels) of the device
 *
 * Some panels at a time go through the buffer, which all weights share. What already has the right
 * layout is copied straight to its final address. */
#include "backend/cuda/parts.cuh"

extern "C" {
#include "tensor/panel.h"
}

static pk_status failed(cudaError_t code, const char *what) {
    if (code == cudaErrorMemoryAllocation)
        return pk_fail_with(PK_NO_MEMORY, "%s: %s", what, cudaGetErrorString(code));
    return pk_fail_with(PK_DEVICE, "%s: %s", what, cudaGetErrorString(code));
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
static size_t tiles_across(const pk_weight *w) { return ((size_t)w->cols + 15) / 16; }

/* what a weight becomes: its type here, and the bytes of each of its panels of 16 rows */
struct form {
    pk_dtype type;
    size_t   data, scale;
};
static form form_of(const pk_cuda *c, const pk_weight *host) {
    if (c->arithmetic == PK_F32) return { PK_F32, (size_t)host->cols * 16 * sizeof(float), 0 };
    const size_t lanes = tiles_across(host) * 32;
    if (host->type == PK_I8) return { PK_I8, lanes * 8, 16 * sizeof(float) };
    return { c->arithmetic, lanes * 16, 0 };
}

/* Some panels of a matrix as the host has it, on the device. */
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

struct lane_element {
    int row, col; /* of element 0 */
};
static __device__ lane_element lane_element_of(size_t piece, int across) {
    const size_t tile = piece / 32;
    const int    lane = (int)(piece % 32);
    return { (int)(tile / (size_t)across) * 16 + lane / 4,
             (int)(tile % (size_t)across) * 16 + lane % 4 * 2 };
}

/* 16-bit tiles: a thread writes the 16 bytes of one lane */
template <typename In, typename Out>
static __global__ void to_tiles(Out *out, panels from, size_t pieces, int across) {
    const size_t piece = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (piece >= pieces) return;
    const lane_element at = lane_element_of(piece, across);
    alignas(16) Out    element[8];
#pragma unroll
    for (int j = 0; j < 8; j++)
        element[j] =
            from_float<Out>(value_at<In>(from, at.row + j / 2 % 2 * 8, at.col + j % 2 + j / 4 * 8));
    *reinterpret_cast<uint4 *>(out + piece * 8) = *reinterpret_cast<const uint4 *>(element);
}

/* I8 tiles: a thread writes the 8 bytes of one lane */
static __global__ void to_integer_tiles(int8_t *out, panels from, size_t pieces, int across) {
    const size_t piece = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (piece >= pieces) return;
    const lane_element at = lane_element_of(piece, across);
    alignas(8) int8_t  element[8];
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

/* ---- a few panels at a time ---- */

static unsigned blocks_for(size_t n) { return (unsigned)((n + 255) / 256); }

template <typename In, typename Out>
static void lay_tiles(pk_cuda *c, void *out, panels from, size_t pieces) {
    to_tiles<In, Out><<<blocks_for(pieces), 256, 0, c->stream>>>(static_cast<Out *>(out), from,
                                                                 pieces, (from.cols + 15) / 16);
}

template <typename In> static void lay_floats(pk_cuda *c, void *out, panels from, size_t n) {
    to_panels<In><<<blocks_for(n), 256, 0, c->stream>>>(static_cast<float *>(out), from, n);
}

/* from the host's type to the device's */
static void lay_out(pk_cuda *c, pk_dtype from_type, pk_dtype type, void *out, panels from) {
    const size_t n_panels = ((size_t)from.rows + 15) / 16, across = ((size_t)from.cols + 15) / 16;
    const size_t pieces = n_panels * across * 32, numbers = n_panels * (size_t)from.cols * 16;
    if (type == PK_I8)
        to_integer_tiles<<<blocks_for(pieces), 256, 0, c->stream>>>(static_cast<int8_t *>(out),
                                                                    from, pieces, (int)across);
    else if (type == PK_F32 && from_type == PK_I8)
        lay_floats<int8_t>(c, out, from, numbers);
    else if (type == PK_F32)
        lay_floats<__half>(c, out, from, numbers);
    else if (type == PK_F16 && from_type == PK_F16)
        lay_tiles<__half, __half>(c, out, from, pieces);
    else if (type == PK_F16)
        lay_tiles<float, __half>(c, out, from, pieces);
    else if (from_type == PK_F16)
        lay_tiles<__half, __nv_bfloat16>(c, out, from, pieces);
    else
        lay_tiles<float, __nv_bfloat16>(c, out, from, pieces);
}

static const size_t usual_staging = (size_t)8 << 20;

/* bytes of n panels in the host's layout, and the offset of their scales behind them */
static size_t staged_bytes(const pk_weight *host, size_t n, size_t *scales_at) {
    const size_t bytes = n * pk_panel_bytes(16, host->cols, host->type);
    *scales_at = (bytes + 255) / 256 * 256;
    return *scales_at + (host->type == PK_I8 ? n * 16 * sizeof(float) : 0);
}

/* how many panels cross at a time: as many as the buffer holds, which must hold one */
static pk_status stage(pk_cuda *c, const pk_weight *host, size_t *at_a_time) {
    size_t       scales_at;
    const size_t one = staged_bytes(host, 1, &scales_at) + 256;
    const size_t need = one > usual_staging ? one : usual_staging;
    if (need > c->staging_bytes) {
        PK_TRY(pk_cuda_take(c, need, false, &c->staging));
        c->staging_bytes = need;
    }
    *at_a_time = c->staging_bytes / one;
    return PK_OK;
}

/* panels [first, first + n), in the shared buffer */
static pk_status put_panels(pk_cuda *c, const pk_weight *host, size_t first, size_t n,
                            panels *out) {
    const size_t each = pk_panel_bytes(16, host->cols, host->type);
    const size_t left = (size_t)host->rows - first * 16, rows = left < n * 16 ? left : n * 16;
    const char  *data = static_cast<const char *>(host->data) + first * each;
    size_t       scales_at;
    staged_bytes(host, n, &scales_at);
    float *scale = reinterpret_cast<float *>(static_cast<char *>(c->staging) + scales_at);
    PK_TRY(copied(c, c->staging, data, n * each));
    if (host->type == PK_I8)
        PK_TRY(copied(c, scale, host->scale + first * 16, rows * sizeof(float)));
    *out = { c->staging, scale, (int32_t)rows, host->cols };
    return PK_OK;
}

/* all panels, in groups that fit the buffer; the stream keeps copies and kernels in order */
static pk_status adopt_panels(pk_cuda *c, const pk_weight *host, const form *f, void *data,
                              size_t at_a_time) {
    const size_t n_panels = panels_of(host);
    for (size_t first = 0; first < n_panels; first += at_a_time) {
        const size_t n = n_panels - first < at_a_time ? n_panels - first : at_a_time;
        panels       from;
        PK_TRY(put_panels(c, host, first, n, &from));
        lay_out(c, host->type, f->type, static_cast<char *>(data) + first * f->data, from);
        const cudaError_t code = cudaGetLastError();
        if (code != cudaSuccess) return failed(code, "laying a matrix out");
    }
    return PK_OK;
}

/* ---- whole weights ---- */

/* copied as it is */
static pk_status adopt_plain(pk_cuda *c, const pk_weight *host, size_t numbers, pk_weight *out) {
    void *data = NULL;
    PK_TRY(pk_cuda_take(c, numbers * sizeof(float), false, &data));
    *out = { data, NULL, host->rows, host->cols, PK_F32, host->plain };
    if (c->counting) return PK_OK;
    PK_TRY(copied(c, data, host->data, numbers * sizeof(float)));
    return finished(c);
}

/* through the buffer, with the layout changed on the device */
static pk_status adopt_matrix(pk_cuda *c, const pk_weight *host, pk_weight *out) {
    const form   f = form_of(c, host);
    const size_t n_panels = panels_of(host);
    size_t       at_a_time;
    void        *data = NULL, *scale = NULL;
    PK_TRY(stage(c, host, &at_a_time));
    PK_TRY(pk_cuda_take(c, n_panels * f.data, false, &data));
    if (f.scale) PK_TRY(pk_cuda_take(c, n_panels * f.scale, false, &scale));
    *out = { data, static_cast<const float *>(scale), host->rows, host->cols, f.type, false };
    if (c->counting) return PK_OK;
    if (f.scale) PK_TRY(copied(c, scale, host->scale, (size_t)host->rows * sizeof(float)));
    PK_TRY(adopt_panels(c, host, &f, data, at_a_time));
    return finished(c);
}

pk_status pk_cuda_adopt(pk_cuda *c, const pk_weight *host, pk_weight *out) {
    *out = *host;
    if (!host->data || host->rows < 1 || host->cols < 1) return PK_OK; /* the network has none */
    if (host->plain) return adopt_plain(c, host, (size_t)host->rows * (size_t)host->cols, out);
    if (host->type == PK_BF16)
        PK_FAIL(PK_ARGUMENT, "a matrix of bf16 cannot come from a host's memory; use f16 or f32");
    if (host->type == PK_F32 && c->arithmetic == PK_F32) /* as the host has it */
        return adopt_plain(c, host, panels_of(host) * (size_t)host->cols * 16, out);
    return adopt_matrix(c, host, out);
}
