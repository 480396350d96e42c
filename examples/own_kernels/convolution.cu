// Filters an image: each pixel of `to` is the sum of the pixels around it in `from`, multiplied by
// the weights of a square filter; pixels outside of the image are 0. The filter has 2 * radius + 1
// rows and columns.
// The parameters choose the block, the results of a thread along both sides, whether a block copies
// its part of the image to shared memory and the filter to shared memory, the padding of rows there,
// and whether the loops over the filter are unrolled.
// Tune it: autotune tune --kernel convolution.cu --size width=4096,height=4096,radius=3

#ifndef RADIUS
#define RADIUS 3
#endif
#ifndef BLOCK_X
#define BLOCK_X 16
#define BLOCK_Y 16
#define RESULTS_X 1
#define RESULTS_Y 1
#define SHARED_IMAGE 0
#define SHARED_FILTER 0
#define PADDING 0
#define UNROLL 0
#endif

// The simple kernel: what the fast one is compared with.
#pragma kernel size(radius) define(RADIUS = radius)
#pragma kernel set(FILTER = (2 * radius + 1) * (2 * radius + 1))
#pragma kernel problem_size(width, height) block_size(32, 8)
#pragma kernel buffers(from[width * height], filter[FILTER], to[width * height])
__global__ void convolution_simple(const float* from, const float* filter, float* to, int width,
                                   int height) {
  const int x = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * 8 + threadIdx.y);
  if (x >= width || y >= height) return;
  double sum = 0;
  for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
    for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
      if (x + dx < 0 || x + dx >= width || y + dy < 0 || y + dy >= height) continue;
      sum += static_cast<double>(from[static_cast<long long>(y + dy) * width + x + dx]) *
             filter[(dy + RADIUS) * (2 * RADIUS + 1) + dx + RADIUS];
    }
  }
  to[static_cast<long long>(y) * width + x] = static_cast<float>(sum);
}

#pragma kernel size(radius) define(RADIUS = radius)
#pragma kernel tune(BLOCK_X = 8, 16, 32, 64, 128) default(16)
#pragma kernel tune(BLOCK_Y = 1, 2, 4, 8, 16) default(16)
#pragma kernel tune(RESULTS_X = 1, 2, 4) tune(RESULTS_Y = 1, 2, 4, 8)
#pragma kernel tune(SHARED_IMAGE = 0, 1) tune(SHARED_FILTER = 0, 1) tune(PADDING = 0, 1)
#pragma kernel tune(UNROLL = 0, 1)
#pragma kernel set(TILE_X = BLOCK_X * RESULTS_X, TILE_Y = BLOCK_Y * RESULTS_Y)
#pragma kernel restriction(32 <= BLOCK_X * BLOCK_Y <= 1024)
#pragma kernel restriction(SHARED_IMAGE == 1 or PADDING == 0)
#pragma kernel set(IMAGE = (TILE_Y + 2 * radius) * (TILE_X + 2 * radius + PADDING))
#pragma kernel set(FILTER = (2 * radius + 1) * (2 * radius + 1))
#pragma kernel restriction(4 * (SHARED_IMAGE * IMAGE + SHARED_FILTER * FILTER) <= 48 * 1024)
#pragma kernel problem_size(width, height) block_size(BLOCK_X, BLOCK_Y) grid_divisor(TILE_X, TILE_Y)
#pragma kernel buffers(from[width * height], filter[FILTER], to[width * height])
#pragma kernel reference(convolution_simple)
#pragma kernel work(operations = 2.0 * width * height * FILTER)
__global__ void __launch_bounds__(BLOCK_X* BLOCK_Y)
    convolution(const float* __restrict__ from, const float* __restrict__ filter,
                float* __restrict__ to, int width, int height) {
  constexpr int kDiameter = 2 * RADIUS + 1;
  constexpr int kTileX = BLOCK_X * RESULTS_X, kTileY = BLOCK_Y * RESULTS_Y;
  constexpr int kUnroll = UNROLL ? kDiameter : 1;
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int first_x = static_cast<int>(blockIdx.x) * kTileX;
  const int first_y = static_cast<int>(blockIdx.y) * kTileY;
  const auto pixel = [&](int x, int y) {
    const bool is_inside = x >= 0 && x < width && y >= 0 && y < height;
    return is_inside ? from[static_cast<long long>(y) * width + x] : 0.0f;
  };
#if SHARED_IMAGE
  __shared__ float image[kTileY + 2 * RADIUS][kTileX + 2 * RADIUS + PADDING];
  for (int y = ty; y < kTileY + 2 * RADIUS; y += BLOCK_Y) {
    for (int x = tx; x < kTileX + 2 * RADIUS; x += BLOCK_X) {
      image[y][x] = pixel(first_x + x - RADIUS, first_y + y - RADIUS);
    }
  }
#endif
#if SHARED_FILTER
  __shared__ float weights[kDiameter * kDiameter];
  for (int i = ty * BLOCK_X + tx; i < kDiameter * kDiameter; i += BLOCK_X * BLOCK_Y) {
    weights[i] = filter[i];
  }
#else
  const float* const weights = filter;
#endif
#if SHARED_IMAGE || SHARED_FILTER
  __syncthreads();
#endif
  float sums[RESULTS_Y][RESULTS_X] = {};
#pragma unroll kUnroll
  for (int dy = 0; dy < kDiameter; ++dy) {
#pragma unroll kUnroll
    for (int dx = 0; dx < kDiameter; ++dx) {
      const float weight = weights[dy * kDiameter + dx];
#pragma unroll
      for (int i = 0; i < RESULTS_Y; ++i) {
#pragma unroll
        for (int j = 0; j < RESULTS_X; ++j) {
          const int x = tx + j * BLOCK_X + dx, y = ty + i * BLOCK_Y + dy;
#if SHARED_IMAGE
          sums[i][j] += weight * image[y][x];
#else
          sums[i][j] += weight * pixel(first_x + x - RADIUS, first_y + y - RADIUS);
#endif
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < RESULTS_Y; ++i) {
#pragma unroll
    for (int j = 0; j < RESULTS_X; ++j) {
      const int x = first_x + tx + j * BLOCK_X, y = first_y + ty + i * BLOCK_Y;
      if (x < width && y < height) to[static_cast<long long>(y) * width + x] = sums[i][j];
    }
  }
}
