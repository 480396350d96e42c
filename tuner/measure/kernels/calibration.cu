// Kernels that measure the maximum rates of a device: multiply-adds from registers, and copying in
// memory.

constexpr int kThreads = 256;
constexpr int kChains = 16;  // independent of each other, so that every cycle has one to go on with
constexpr int kUnroll = 8;

// kChains * kUnroll multiply-adds a thread and iteration.
extern "C" __global__ void __launch_bounds__(kThreads)
    multiply_adds(float* out, int iterations, float factor, float summand) {
  float chains[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) chains[i] = static_cast<float>(threadIdx.x + i);
  for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
    for (int step = 0; step < kUnroll; ++step) {
#pragma unroll
      for (int i = 0; i < kChains; ++i) chains[i] = fmaf(chains[i], factor, summand);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) sum += chains[i];
  // Never so, but the compiler cannot know: without a use of the chains it would drop them.
  if (sum == 12345.678f) out[0] = sum;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    copy(const float4* from, float4* to, long long count) {
  const long long step = static_cast<long long>(gridDim.x) * kThreads;
  for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += step) {
    to[i] = from[i];
  }
}
