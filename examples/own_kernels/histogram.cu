// Counts how often each number from 0 to 255 occurs. Each block counts in shared memory by atomic
// additions and then adds its counts to the result, which must be 0 before the launch.
// The parameters choose the threads of a block, the blocks of the launch, the copies of the counts
// in shared memory among which the threads are distributed (0: none, all threads count in global
// memory), whether the copies of a count lie side by side, the elements that one load moves, and
// the loads that a thread has under way.
// Tune it: autotune tune --kernel histogram.cu --size n=16777216

#ifndef BLOCK
#define BLOCK 256
#define BLOCKS 512
#define COPIES 1
#define SIDE_BY_SIDE 0
#define VECTOR 1
#define UNROLL 1
#endif

// The simple kernel: what the fast one is compared with.
#pragma kernel problem_size(n) block_size(256) buffers(x[n], counts[256]) inout(counts)
__global__ void histogram_simple(const int* x, int* counts, int n) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < n) atomicAdd(counts + x[i], 1);
}

#pragma kernel tune(BLOCK = 64, 128, 256, 512, 1024) default(256)
#pragma kernel tune(BLOCKS = 128, 256, 512, 1024, 2048, 4096) default(512)
#pragma kernel tune(COPIES = 0, 1, 2, 4, 8, 16, 32) default(1) tune(SIDE_BY_SIDE = 0, 1)
#pragma kernel tune(VECTOR = 1, 2, 4) tune(UNROLL = 1, 2, 4, 8)
#pragma kernel restriction(SIDE_BY_SIDE == 0 or COPIES > 1)
#pragma kernel block_size(BLOCK) grid_size(min(BLOCKS, div_ceil(n, BLOCK)))
#pragma kernel buffers(x[n], counts[256]) inout(counts)
#pragma kernel data(x = integers(0, 255), counts = constant(0))
#pragma kernel reference(histogram_simple) work(operations = n, bytes = 4 * n)
__global__ void histogram(const int* __restrict__ x, int* __restrict__ counts, int n) {
  struct alignas(4 * VECTOR) Vector {
    int at[VECTOR];
  };
#if COPIES > 0
  constexpr int kBins = 256;
  __shared__ int own[kBins * COPIES];
  for (int i = static_cast<int>(threadIdx.x); i < kBins * COPIES; i += BLOCK) own[i] = 0;
  __syncthreads();
  const int copy = static_cast<int>(threadIdx.x) % COPIES;
  int* const first = own + (SIDE_BY_SIDE ? copy : copy * kBins);
  constexpr int kStep = SIDE_BY_SIDE ? COPIES : 1;
#else
  int* const first = counts;
  constexpr int kStep = 1;
#endif
  const long long thread = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * BLOCK;
  const long long vectors = n / VECTOR;
  const Vector* const from = reinterpret_cast<const Vector*>(x);
  long long i = thread;
  for (; i + (UNROLL - 1) * threads < vectors; i += UNROLL * threads) {
    Vector loaded[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) loaded[u] = from[i + u * threads];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
      for (int e = 0; e < VECTOR; ++e) atomicAdd(first + loaded[u].at[e] * kStep, 1);
    }
  }
  for (; i < vectors; i += threads) {
    for (int e = 0; e < VECTOR; ++e) atomicAdd(first + from[i].at[e] * kStep, 1);
  }
  for (long long rest = vectors * VECTOR + thread; rest < n; rest += threads) {
    atomicAdd(first + x[rest] * kStep, 1);
  }
#if COPIES > 0
  __syncthreads();
  for (int bin = static_cast<int>(threadIdx.x); bin < kBins; bin += BLOCK) {
    int count = 0;
#pragma unroll
    for (int c = 0; c < COPIES; ++c) {
      count += own[SIDE_BY_SIDE ? bin * COPIES + c : c * kBins + bin];
    }
    if (count > 0) atomicAdd(counts + bin, count);
  }
#endif
}
