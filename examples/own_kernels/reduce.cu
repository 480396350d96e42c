// Adds the elements of a vector to one number. Each block adds its share and then, with one atomic
// addition, its sum to the result, which must be 0 before the launch.
// The parameters choose the threads of a block, the blocks of the launch, the elements that one load
// moves, the loads that a thread has under way, and how the threads of a block combine their sums:
// through shared memory, or within warps by shuffles.
// Tune it: autotune tune --kernel reduce.cu --size n=16777216

#ifndef BLOCK
#define BLOCK 256
#define BLOCKS 1024
#define VECTOR 1
#define UNROLL 1
#define SHUFFLE 0
#endif

// The simple kernel: what the fast one is compared with.
#pragma kernel problem_size(1) block_size(1024) buffers(x[n], sum[1]) inout(sum)
__global__ void reduce_simple(const float* x, float* sum, int n) {
  __shared__ double part[1024];
  double own = 0;
  for (long long i = threadIdx.x; i < n; i += 1024) own += x[i];
  part[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < 1024; ++i) own += part[i];
  sum[0] = static_cast<float>(sum[0] + own);
}

// Sums of whole numbers are exact in FP32, so one element that is lost or added twice is found.
#pragma kernel tune(BLOCK = 64, 128, 256, 512, 1024) default(256)
#pragma kernel tune(BLOCKS = 64, 128, 256, 512, 1024, 2048, 4096, 8192) default(1024)
#pragma kernel tune(VECTOR = 1, 2, 4) tune(UNROLL = 1, 2, 4, 8, 16) tune(SHUFFLE = 0, 1)
#pragma kernel block_size(BLOCK) grid_size(min(BLOCKS, div_ceil(n, BLOCK)))
#pragma kernel buffers(x[n], sum[1]) inout(sum)
#pragma kernel data(x = integers(-2, 2), sum = constant(0)) tolerance(sum = 0.5)
#pragma kernel reference(reduce_simple) work(operations = n, bytes = 4 * n)
__global__ void reduce(const float* __restrict__ x, float* __restrict__ sum, int n) {
  struct alignas(4 * VECTOR) Vector {
    float at[VECTOR];
  };
  const long long thread = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * BLOCK;
  const long long vectors = n / VECTOR;
  const Vector* const from = reinterpret_cast<const Vector*>(x);
  float own = 0;
  long long i = thread;
  for (; i + (UNROLL - 1) * threads < vectors; i += UNROLL * threads) {
    Vector loaded[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) loaded[u] = from[i + u * threads];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
      for (int e = 0; e < VECTOR; ++e) own += loaded[u].at[e];
    }
  }
  for (; i < vectors; i += threads) {
    for (int e = 0; e < VECTOR; ++e) own += from[i].at[e];
  }
  for (long long rest = vectors * VECTOR + thread; rest < n; rest += threads) own += x[rest];

#if SHUFFLE && defined(__CUDA_ARCH__)  // the CPU device has no shuffles
  constexpr int kParts = BLOCK / 32;
  __shared__ float part[kParts];
  for (int step = 16; step > 0; step /= 2) own += __shfl_down_sync(0xffffffff, own, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = own;
#else
  constexpr int kParts = BLOCK;
  __shared__ float part[kParts];
  part[threadIdx.x] = own;
#endif
  __syncthreads();
  for (int step = kParts / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}
