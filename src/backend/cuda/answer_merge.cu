/* answer_merge.cu - the second kernel of answer(): one block per question merges what the chunks
 * left.
 *
 * The chunks' lists are sorted, so the best of all is the best of their first entries; it is
 * taken off its list, and so on (a k-way merge). Log sums are added in one tree, fixed by the
 * number of chunks. */
#include "backend/cuda/answer.cuh"

static __device__ void write_best(pk_scored *out, uint2 best) {
    out->token = best.x > NONE ? (int)best.y : -1;
    out->score = best.x > NONE ? score_of(best.x) : -INFINITY;
}

/* the largest of the parts, then their sums in one fixed tree: thread, warp, block */
static __device__ void merge_sums(const asking &a, int question, bool wanted, float *out) {
    __shared__ unsigned largest_of[WARPS];
    __shared__ float    sum_of[WARPS];
    const int           lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float2       *part = a.part + (size_t)question * (size_t)a.chunks;
    unsigned            most = 0;
    for (int c = threadIdx.x; c < a.chunks; c += THREADS) most = max(most, key_of(part[c].x));
    most = __reduce_max_sync(~0u, most);
    if (lane == 0) largest_of[warp] = most;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) most = max(most, largest_of[w]);
    const float largest = score_of(most);
    float       sum = 0;
    for (int c = threadIdx.x; c < a.chunks; c += THREADS)
        sum += part[c].y == 0 ? 0 : part[c].y * expf(part[c].x - largest);
    sum = sum_of_warp(sum);
    if (lane == 0) sum_of[warp] = sum;
    __syncthreads();
    if (threadIdx.x || !wanted) return;
    for (int w = 1; w < WARPS; w++) sum += sum_of[w];
    *out = largest + logf(sum);
}

/* one token kept of each chunk */
static __device__ void merge_one(const asking &a, int question, bool wanted, pk_scored *out) {
    __shared__ uint2 best_of[WARPS];
    const int        lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint2            best = make_uint2(0, ~0u);
    for (int c = threadIdx.x; c < a.chunks; c += THREADS) {
        const uint2 other = a.list[(size_t)question * (size_t)a.chunks + (size_t)c];
        if (other.x > best.x) best = other;
    }
    best = best_of_warp(best);
    if (lane == 0) best_of[warp] = best;
    __syncthreads();
    if (warp) return;
    best = best_of_warp(lane < WARPS ? best_of[lane] : make_uint2(0, ~0u));
    if (lane == 0 && wanted) write_best(out, best);
}

/* Sorted lists that a lane takes the best from: list + c * stride for c = first, first + THREADS
 * ... */
struct lists {
    const uint2    *list;
    unsigned short *head; /* how many were taken of each */
    int             n, stride, length;
};

/* the best that this thread's lists have left; *from: whose it is */
static __device__ uint2 best_left(const lists &l, int first, int *from) {
    uint2 best = make_uint2(0, ~0u);
    for (int c = first; c < l.n; c += THREADS) {
        if (l.head[c] >= l.length) continue;
        const uint2 other = l.list[(size_t)c * (size_t)l.stride + l.head[c]];
        if (other.x > best.x) best = other, *from = c;
    }
    return best;
}

/* the n best of a warp's lists; put(k, best) is called by all lanes */
template <typename Put>
static __device__ void take_best(const lists &l, int first, int n, Put put) {
    int   from = 0;
    uint2 mine = best_left(l, first, &from);
    for (int k = 0; k < n; k++) {
        const uint2 best = best_of_warp(mine);
        put(k, best.x > NONE ? best : make_uint2(NONE, ~0u));
        if (best.x > NONE && mine.x == best.x && mine.y == best.y) {
            l.head[from]++;
            mine = best_left(l, first, &from);
        }
        __syncwarp();
    }
}

/* Each warp takes the best of its chunks, then the first warp the best of those. copied: the lists
 * fit in shared memory. Memory: (WARPS, most), then the copy, then a head for each chunk and warp.
 */
static __device__ void merge_lists(const asking &a, int question, int wanted, int most, bool copied,
                                   pk_scored *out) {
    extern __shared__ uint4 memory[];
    const int               lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = a.chunks * a.keep;
    const uint2            *list = a.list + (size_t)question * (size_t)n;
    uint2                  *best_of = reinterpret_cast<uint2 *>(memory);
    uint2                  *copy = best_of + WARPS * most;
    unsigned short         *head = reinterpret_cast<unsigned short *>(copied ? copy + n : copy);
    for (int j = threadIdx.x; copied && j < n; j += THREADS) copy[j] = list[j];
    for (int j = threadIdx.x; j < a.chunks + WARPS; j += THREADS) head[j] = 0;
    __syncthreads();
    const lists chunks = { copied ? copy : list, head, a.chunks, a.keep, min(wanted, a.keep) };
    take_best(chunks, (int)threadIdx.x, wanted, [&](int k, uint2 best) {
        if (lane == 0) best_of[warp * most + k] = best;
    });
    __syncthreads();
    if (warp) return;
    const lists warps = { best_of, head + a.chunks, WARPS, most, wanted };
    take_best(warps, lane, wanted, [&](int k, uint2 best) {
        if (lane == 0) write_best(out + k, best);
    });
}

static __global__ void __launch_bounds__(THREADS)
    merge_chunks(asking a, int32_t most, bool copied, pk_scored *top, int32_t top_stride,
                 float *log_sum) {
    const int question = (int)blockIdx.x;
    let_next_start();
    wait_for_previous();
    const pk_question q = a.question[question];
    pk_scored        *out = top + (size_t)question * (size_t)top_stride;
    if (threadIdx.x == 0) a.bound[question] = 0; /* for the next time */
    if (a.sums) merge_sums(a, question, q.log_sum, log_sum + question);
    if (most == 1)
        merge_one(a, question, q.top_k > 0, out);
    else if (q.top_k > 0)
        merge_lists(a, question, min(q.top_k, most), most, copied, out);
}

void pk_cuda_answer_merge(pk_cuda *c, const asking &a, const pk_answering *all) {
    const int32_t most = all->most_top_k < 1 ? 1 : all->most_top_k;
    const size_t  heads = (size_t)(a.chunks + WARPS) * sizeof(unsigned short);
    const size_t  lists = (size_t)WARPS * (size_t)most * sizeof(uint2);
    const size_t  copy = (size_t)a.chunks * (size_t)a.keep * sizeof(uint2);
    const bool    copied = heads + lists + copy <= 46 * 1024;
    const size_t  shared = most == 1 ? 0 : heads + lists + (copied ? copy : 0);
    launch_answer(c, merge_chunks, dim3((unsigned)a.n), shared, a, most, copied, all->top,
                  all->top_stride, all->log_sum);
}
