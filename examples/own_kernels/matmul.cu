// The tiled product of two matrices that are stored row after row: c = a * b, where a has m rows and
// k columns and b has n columns. A block computes a tile of c; it goes along k in phases, in which it
// copies a tile of a and one of b to shared memory and multiplies them.
// The parameters choose the side of a block (TILE_WIDTH), the results that a thread keeps in
// registers along both sides of c, the depth of a phase, the padding of the tiles in shared memory
// and how far the loop over a phase is unrolled.
// Tune it: autotune tune --kernel matmul.cu --size m=1024,n=1024,k=1024

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#define RESULTS_X 1
#define RESULTS_Y 1
#define DEPTH 16
#define PADDING 0
#define UNROLL 1
#endif

// The simple kernel: what the fast one is compared with.
#pragma kernel problem_size(n, m) block_size(16, 16) buffers(a[m * k], b[k * n], c[m * n])
__global__ void matmul_simple(const float* a, const float* b, float* c, int m, int n, int k) {
  const int column = static_cast<int>(blockIdx.x * 16 + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * 16 + threadIdx.y);
  if (row >= m || column >= n) return;
  double sum = 0;
  for (int i = 0; i < k; ++i) {
    sum += static_cast<double>(a[static_cast<long long>(row) * k + i]) *
           b[static_cast<long long>(i) * n + column];
  }
  c[static_cast<long long>(row) * n + column] = static_cast<float>(sum);
}

#pragma kernel tune(TILE_WIDTH = 2, 4, 8, 16, 32) default(16)
#pragma kernel tune(RESULTS_X = 1, 2, 4, 8) tune(RESULTS_Y = 1, 2, 4, 8)
#pragma kernel tune(DEPTH = 2, 4, 8, 16, 32) default(16)
#pragma kernel tune(PADDING = 0, 1) tune(UNROLL = 1, 2, 4, 8, 16)
#pragma kernel set(TILE_X = TILE_WIDTH * RESULTS_X, TILE_Y = TILE_WIDTH * RESULTS_Y)
#pragma kernel restriction(TILE_WIDTH <= DEPTH * 4, DEPTH <= TILE_WIDTH * 4, UNROLL <= DEPTH)
#pragma kernel restriction((RESULTS_X * RESULTS_Y) * TILE_WIDTH <= 512)
#pragma kernel restriction(4 * (TILE_Y * (DEPTH + PADDING) + DEPTH * TILE_X) <= 48 * 1024)
#pragma kernel problem_size(n, m) block_size(TILE_WIDTH, TILE_WIDTH) grid_divisor(TILE_X, TILE_Y)
#pragma kernel buffers(a[m * k], b[k * n], c[m * n]) tolerance(c = 0.001, 0.0001)
#pragma kernel reference(matmul_simple)
#pragma kernel work(operations = 2.0 * m * n * k, bytes = 4.0 * (m * k + k * n + m * n))
__global__ void __launch_bounds__(TILE_WIDTH* TILE_WIDTH)
    matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
           int n, int k) {
  constexpr int kTileX = TILE_WIDTH * RESULTS_X, kTileY = TILE_WIDTH * RESULTS_Y;
  constexpr int kThreads = TILE_WIDTH * TILE_WIDTH;
  constexpr int kUnroll = UNROLL;
  __shared__ float a_tile[kTileY][DEPTH + PADDING];
  __shared__ float b_tile[DEPTH][kTileX];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int thread = ty * TILE_WIDTH + tx;
  const long long first_row = static_cast<long long>(blockIdx.y) * kTileY;
  const long long first_column = static_cast<long long>(blockIdx.x) * kTileX;

  float sums[RESULTS_Y][RESULTS_X] = {};
  for (int phase = 0; phase < k; phase += DEPTH) {
    for (int e = thread; e < kTileY * DEPTH; e += kThreads) {
      const long long row = first_row + e / DEPTH, column = phase + e % DEPTH;
      a_tile[e / DEPTH][e % DEPTH] = row < m && column < k ? a[row * k + column] : 0;
    }
    for (int e = thread; e < DEPTH * kTileX; e += kThreads) {
      const long long row = phase + e / kTileX, column = first_column + e % kTileX;
      b_tile[e / kTileX][e % kTileX] = row < k && column < n ? b[row * n + column] : 0;
    }
    __syncthreads();  // both tiles are complete
#pragma unroll kUnroll
    for (int i = 0; i < DEPTH; ++i) {
      float left[RESULTS_Y], right[RESULTS_X];
#pragma unroll
      for (int y = 0; y < RESULTS_Y; ++y) left[y] = a_tile[ty + y * TILE_WIDTH][i];
#pragma unroll
      for (int x = 0; x < RESULTS_X; ++x) right[x] = b_tile[i][tx + x * TILE_WIDTH];
#pragma unroll
      for (int y = 0; y < RESULTS_Y; ++y) {
#pragma unroll
        for (int x = 0; x < RESULTS_X; ++x) sums[y][x] += left[y] * right[x];
      }
    }
    __syncthreads();  // all threads have read both tiles
  }
#pragma unroll
  for (int y = 0; y < RESULTS_Y; ++y) {
#pragma unroll
    for (int x = 0; x < RESULTS_X; ++x) {
      const long long row = first_row + ty + y * TILE_WIDTH;
      const long long column = first_column + tx + x * TILE_WIDTH;
      if (row < m && column < n) c[row * n + column] = sums[y][x];
    }
  }
}
