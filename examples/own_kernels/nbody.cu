// Computes the acceleration of n bodies, each of which attracts all others: every body has a
// position (x, y, z) and a mass (w), and a small distance softens close encounters.
// The parameters choose the threads of a block, the bodies of a thread, whether a block copies the
// other bodies to shared memory and how many at a time, how far the loop over them is unrolled, and
// how the inverse square root is computed.
// Tune it: autotune tune --kernel nbody.cu --size n=16384

#ifndef BLOCK
#define BLOCK 128
#define BODIES 1
#define SHARED 0
#define TILES 1
#define UNROLL 1
#define RSQRT 0
#endif

constexpr float kSoftening = 0.01f;  // the square of the distance

// The simple kernel: what the fast one is compared with.
#pragma kernel problem_size(n) block_size(128) buffers(bodies[n], acceleration[n])
__global__ void nbody_simple(const float4* bodies, float4* acceleration, int n) {
  const int i = static_cast<int>(blockIdx.x * 128 + threadIdx.x);
  if (i >= n) return;
  double sum_x = 0, sum_y = 0, sum_z = 0;
  for (int j = 0; j < n; ++j) {
    const float x = bodies[j].x - bodies[i].x, y = bodies[j].y - bodies[i].y;
    const float z = bodies[j].z - bodies[i].z;
    const float square = x * x + y * y + z * z + kSoftening;
    const float factor = bodies[j].w / (square * sqrtf(square));
    sum_x += factor * x, sum_y += factor * y, sum_z += factor * z;
  }
  acceleration[i] = make_float4(static_cast<float>(sum_x), static_cast<float>(sum_y),
                                static_cast<float>(sum_z), 0);
}

#pragma kernel tune(BLOCK = 32, 64, 128, 256, 512, 1024) default(128)
#pragma kernel tune(BODIES = 1, 2, 4, 8) tune(SHARED = 0, 1) tune(TILES = 1, 2, 4)
#pragma kernel tune(UNROLL = 1, 2, 4, 8, 16, 32, 64) tune(RSQRT = 0, 1)
#pragma kernel restriction(SHARED == 1 or TILES == 1, 16 * BLOCK * TILES * SHARED <= 48 * 1024)
#pragma kernel set(TILE = BLOCK * BODIES)
#pragma kernel problem_size(n) block_size(BLOCK) grid_divisor(TILE)
#pragma kernel buffers(bodies[n], acceleration[n]) tolerance(acceleration = 0.02, 0.001)
#pragma kernel reference(nbody_simple) work(operations = 20.0 * n * n, bytes = 32 * n)
__global__ void __launch_bounds__(BLOCK)
    nbody(const float4* __restrict__ bodies, float4* __restrict__ acceleration, int n) {
  constexpr int kUnroll = UNROLL;
  const unsigned first = blockIdx.x * BLOCK * BODIES + threadIdx.x;
  float4 own[BODIES];
  float sum_x[BODIES] = {}, sum_y[BODIES] = {}, sum_z[BODIES] = {};
#pragma unroll
  for (int b = 0; b < BODIES; ++b) {
    const unsigned i = first + b * BLOCK;
    own[b] = i < static_cast<unsigned>(n) ? bodies[i] : make_float4(0, 0, 0, 0);
  }
  const auto attract = [&](float4 other) {
#pragma unroll
    for (int b = 0; b < BODIES; ++b) {
      const float x = other.x - own[b].x, y = other.y - own[b].y, z = other.z - own[b].z;
      const float square = x * x + y * y + z * z + kSoftening;
#if RSQRT
      const float inverse = rsqrtf(square);
      const float factor = other.w * inverse * inverse * inverse;
#else
      const float factor = other.w / (square * sqrtf(square));
#endif
      sum_x[b] += factor * x, sum_y[b] += factor * y, sum_z[b] += factor * z;
    }
  };
#if SHARED
  constexpr int kTile = BLOCK * TILES;
  __shared__ float4 tile[kTile];
  for (int from = 0; from < n; from += kTile) {
    for (int i = static_cast<int>(threadIdx.x); i < kTile; i += BLOCK) {
      tile[i] = from + i < n ? bodies[from + i] : make_float4(0, 0, 0, 0);  // without a mass
    }
    __syncthreads();
#pragma unroll kUnroll
    for (int i = 0; i < kTile; ++i) attract(tile[i]);
    __syncthreads();
  }
#else
#pragma unroll kUnroll
  for (int i = 0; i < n; ++i) attract(bodies[i]);
#endif
#pragma unroll
  for (int b = 0; b < BODIES; ++b) {
    const unsigned i = first + b * BLOCK;
    if (i < static_cast<unsigned>(n)) {
      acceleration[i] = make_float4(sum_x[b], sum_y[b], sum_z[b], 0);
    }
  }
}
