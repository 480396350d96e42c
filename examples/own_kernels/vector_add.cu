// Adds two vectors: c = a + b, for any type that has an addition.
// The parameters choose the threads of a block, the elements of a thread, how many of them one load
// moves, and whether a thread's loads lie side by side or a block apart.
// Tune it: autotune tune --kernel vector_add.cu --size n=16777216
// In FP64: autotune tune --kernel "vector_add.cu:vector_add<double>" --size n=16777216

#pragma kernel tune(BLOCK = 32, 64, 128, 256, 512, 1024) default(256)
#pragma kernel tune(PER_THREAD = 1, 2, 4, 8, 16) tune(VECTOR = 1, 2, 4)
#pragma kernel tune(SIDE_BY_SIDE = 0, 1) tune(UNROLL = 1, 2, 4, 8, 16)
#pragma kernel restriction(PER_THREAD % VECTOR == 0, UNROLL <= PER_THREAD / VECTOR)
#pragma kernel restriction(SIDE_BY_SIDE == 0 or PER_THREAD > VECTOR)
#pragma kernel set(TILE = BLOCK * PER_THREAD) typename(T = float) tuning_key("vector_add_", T)
#pragma kernel problem_size(n) block_size(BLOCK) grid_divisor(TILE)
#pragma kernel buffers(a[n], b[n], c[n])
#pragma kernel work(operations = n)
template <typename T, int BLOCK, int PER_THREAD, int VECTOR, int SIDE_BY_SIDE, int UNROLL>
__global__ void vector_add(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c,
                           int n) {
  struct alignas(sizeof(T) * VECTOR) Vector {
    T at[VECTOR];
  };
  constexpr unsigned kVectors = PER_THREAD / VECTOR;
  constexpr unsigned kStep = SIDE_BY_SIDE ? 1 : BLOCK;
  const unsigned own = SIDE_BY_SIDE ? threadIdx.x * kVectors : threadIdx.x;
  const unsigned first = (blockIdx.x * BLOCK * kVectors + own) * VECTOR;
#pragma unroll UNROLL
  for (unsigned i = 0; i < kVectors; ++i) {
    const unsigned place = first + i * kStep * VECTOR;
    if (place + VECTOR <= static_cast<unsigned>(n)) {
      const Vector x = *reinterpret_cast<const Vector*>(a + place);
      const Vector y = *reinterpret_cast<const Vector*>(b + place);
      Vector sum;
#pragma unroll
      for (int e = 0; e < VECTOR; ++e) sum.at[e] = x.at[e] + y.at[e];
      *reinterpret_cast<Vector*>(c + place) = sum;
    } else {
      for (unsigned e = place; e < static_cast<unsigned>(n); ++e) c[e] = a[e] + b[e];
    }
  }
}
