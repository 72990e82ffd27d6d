/* answer_f32.cu - the first kernel of answer() for F32: logits by fma, one chain over k in order.
 *
 * Weights and hidden states pass through shared memory 32 columns at a time, three steps deep; warp
 * w multiplies for questions w * N .. w * N + N - 1, each lane for 4 tokens. */
#include "backend/cuda/answer.cuh"

enum { STEP = 32, STAGES = 3, PANEL_STRIDE = STEP * 16 + 16 };

template <int N> struct stage_f32 {
    float weights[WARPS][PANEL_STRIDE]; /* a chunk's panels: (STEP, 16) each */
    float states[STEP][8 * N + 4];
};

/* columns begin .. begin + STEP - 1 of the chunk's panels; zeros past the ends */
template <int N>
static __device__ void fetch_weights_f32(stage_f32<N> *to, const output_layer &l, int begin) {
    const float *data = static_cast<const float *>(l.data);
#pragma unroll
    for (int u = 0; u < WARPS * STEP * 4 / THREADS; u++) {
        const int    piece = (int)threadIdx.x + THREADS * u;
        const int    p = piece / (STEP * 4), k = piece / 4 % STEP, quarter = piece % 4;
        const int    panel = (int)blockIdx.y * WARPS + p;
        const bool   there = panel < l.panels && begin + k < l.cols;
        const size_t at = ((size_t)panel * (size_t)l.cols + (size_t)(begin + k)) * 16;
        copy_or_clear<16>(&to->weights[p][k * 16 + quarter * 4],
                          data + (there ? at + quarter * 4 : 0), there);
    }
}

/* the same columns of the hidden states, transposed: (STEP, questions) */
template <int N>
static __device__ void fetch_states_f32(stage_f32<N> *to, const questions *asked,
                                        const float *hidden, int stride, int cols, int begin) {
    const int k = threadIdx.x % STEP;
#pragma unroll
    for (int u = 0; u < N; u++) {
        const int    question = (int)threadIdx.x / STEP + WARPS * u;
        const bool   there = begin + k < cols;
        const size_t at = (size_t)asked[question].asked.row * (size_t)stride + (size_t)(begin + k);
        copy_or_clear<4>(&to->states[k][question], hidden + (there ? at : 0), there);
    }
}

template <int N>
static __device__ __forceinline__ void read_states_f32(float x[N], const float *states) {
    if constexpr (N == 1) {
        x[0] = states[0];
    } else {
#pragma unroll
        for (int j = 0; j < N; j += 4) {
            const float4 four = *reinterpret_cast<const float4 *>(states + j);
            x[j] = four.x, x[j + 1] = four.y, x[j + 2] = four.z, x[j + 3] = four.w;
        }
    }
}

/* STEP columns: N questions times 4 tokens per lane */
template <int N>
static __device__ __forceinline__ void multiply_f32(float sum[N][4], const stage_f32<N> *s) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll 4
    for (int k = 0; k < STEP; k++) {
        const float4 w =
            *reinterpret_cast<const float4 *>(&s->weights[lane / 4][k * 16 + lane % 4 * 4]);
        float x[N];
        read_states_f32<N>(x, &s->states[k][warp * N]);
#pragma unroll
        for (int j = 0; j < N; j++) {
            sum[j][0] = __fmaf_rn(w.x, x[j], sum[j][0]);
            sum[j][1] = __fmaf_rn(w.y, x[j], sum[j][1]);
            sum[j][2] = __fmaf_rn(w.z, x[j], sum[j][2]);
            sum[j][3] = __fmaf_rn(w.w, x[j], sum[j][3]);
        }
    }
}

/* adds the bias; lane l has tokens 4l .. 4l + 3 of the chunk */
template <int N>
static __device__ __forceinline__ void store_logits_f32(float *logits, const float sum[N][4],
                                                        const output_layer &l, int vocab) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float     bias[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int token = (int)blockIdx.y * CHUNK + lane * 4 + e;
        bias[e] = l.bias && token < vocab ? l.bias[token] : 0;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        *reinterpret_cast<float4 *>(logits + (warp * N + j) * LOGITS_STRIDE + lane * 4) =
            make_float4(sum[j][0] + bias[0], sum[j][1] + bias[1], sum[j][2] + bias[2],
                        sum[j][3] + bias[3]);
}

/* blocks: (groups of 8 * N questions, chunks). Weights are fetched before the kernel before this
 * one has ended; hidden states only after that. */
template <int N>
static __global__ void __launch_bounds__(THREADS, 2)
    best_of_chunk_f32(const float *hidden, int32_t stride, output_layer layer, asking a) {
    extern __shared__ uint4 memory[];
    questions              *asked = reinterpret_cast<questions *>(memory);
    float                  *logits = reinterpret_cast<float *>(asked + 8 * N);
    stage_f32<N> *stage = reinterpret_cast<stage_f32<N> *>(logits + 8 * N * LOGITS_STRIDE);
    const int     steps = (layer.cols + STEP - 1) / STEP;
    float         sum[N][4] = {};

    let_next_start();
    fetch_weights_f32<N>(&stage[0], layer, 0);
    fetch_weights_f32<N>(&stage[1], layer, STEP); /* all zeros where there is no second step */
    wait_for_previous();
    coming<N> c;
    fetch_questions(c, a);
    store_questions(asked, c);
    __syncthreads();
    fetch_states_f32<N>(&stage[0], asked, hidden, stride, layer.cols, 0);
    copies_commit();
    fetch_states_f32<N>(&stage[1], asked, hidden, stride, layer.cols, STEP);
    copies_commit();
    for (int s = 0; s < steps; s++) {
        copies_wait<1>(); /* all but the last group */
        __syncthreads();  /* step s is there for all, and all are done with step s - 1 */
        if (s + 2 < steps) {
            fetch_weights_f32<N>(&stage[(s + 2) % STAGES], layer, (s + 2) * STEP);
            fetch_states_f32<N>(&stage[(s + 2) % STAGES], asked, hidden, stride, layer.cols,
                                (s + 2) * STEP);
        }
        copies_commit(); /* an empty one at the end keeps the count */
        multiply_f32<N>(sum, &stage[s % STAGES]);
    }
    copies_done();
    store_logits_f32<N>(logits, sum, layer, a.vocab);
    __syncthreads();
    ask_all<N>(a, asked, logits, known_bounds<N>(a));
}

template <int N>
static void launch_f32(pk_cuda *c, pk_tensor hidden, const output_layer &layer, const asking &a) {
    launch_answer(c, best_of_chunk_f32<N>, grid_for<N>(a),
                  base_bytes(8 * N) + STAGES * sizeof(stage_f32<N>), (const float *)hidden.data,
                  hidden.stride, layer, a);
}

void pk_cuda_answer_f32(pk_cuda *c, pk_tensor hidden, const output_layer &layer, const asking &a) {
    if (a.n <= 8)
        launch_f32<1>(c, hidden, layer, a);
    else if (a.n <= 32)
        launch_f32<4>(c, hidden, layer, a);
    else
        launch_f32<8>(c, hidden, layer, a);
}
