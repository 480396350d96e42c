// Lets heat flow in a plate: in each step a point becomes the mean of itself and its four
// neighbours; points outside of the plate are 0. One launch computes all steps of a tile: a block
// copies the tile with a rim of as many points as there are steps to shared memory, and the part of
// it that is right shrinks by a rim of one with each step.
// The parameters choose the block, the points of a thread along both sides, the steps that a thread
// computes at once between two barriers (temporal blocking: more work, fewer copies through shared
// memory), the padding of rows there, and how far the loop over points is unrolled.
// Tune it: autotune tune --kernel stencil.cu --size width=4096,height=4096,steps=4

#ifndef STEPS
#define STEPS 4
#endif
#ifndef BLOCK_X
#define BLOCK_X 32
#define BLOCK_Y 8
#define POINTS_X 1
#define POINTS_Y 1
#define AT_ONCE 1
#define PADDING 0
#define UNROLL 1
#endif

// The simple kernel: what the fast one is compared with. A thread computes a point's value from all
// points that have a part in it, step by step.
#pragma kernel size(steps) define(STEPS = steps)
#pragma kernel problem_size(width, height) block_size(16, 4)
#pragma kernel buffers(from[width * height], to[width * height])
__global__ void stencil_simple(const float* from, float* to, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * 16 + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * 4 + threadIdx.y);
  if (x >= width || y >= height) return;
  constexpr int kSide = 2 * STEPS + 1;
  float points[kSide * kSide], next[kSide * kSide];
  const auto is_inside = [&](int i, int j) {
    const int px = x + j - STEPS, py = y + i - STEPS;
    return px >= 0 && px < width && py >= 0 && py < height;
  };
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      const long long place = static_cast<long long>(y + i - STEPS) * width + x + j - STEPS;
      points[i * kSide + j] = is_inside(i, j) ? from[place] : 0;
    }
  }
  for (int step = 1; step <= STEPS; ++step) {
    for (int i = step; i < kSide - step; ++i) {
      for (int j = step; j < kSide - step; ++j) {
        const float* const p = points + i * kSide + j;
        const float sum = p[0] + p[-1] + p[1] + p[-kSide] + p[kSide];
        next[i * kSide + j] = is_inside(i, j) ? 0.2f * sum : 0;
      }
    }
    for (int i = 0; i < kSide * kSide; ++i) points[i] = next[i];
  }
  to[static_cast<long long>(y) * width + x] = points[STEPS * kSide + STEPS];
}

constexpr int kTileX = BLOCK_X * POINTS_X, kTileY = BLOCK_Y * POINTS_Y;
constexpr int kPitch = kTileX + 2 * STEPS + PADDING;
constexpr int kRows = kTileY + 2 * STEPS;

// A point of a tile in shared memory after kSteps more steps. `x` and `y` are its place in the plate.
template <int kSteps>
struct After {
  static __device__ __forceinline__ float value(const float* point, int x, int y, int width,
                                                int height) {
    using Before = After<kSteps - 1>;
    if (x < 0 || x >= width || y < 0 || y >= height) return 0;
    return 0.2f * (Before::value(point, x, y, width, height) +
                   Before::value(point - 1, x - 1, y, width, height) +
                   Before::value(point + 1, x + 1, y, width, height) +
                   Before::value(point - kPitch, x, y - 1, width, height) +
                   Before::value(point + kPitch, x, y + 1, width, height));
  }
};
template <>
struct After<0> {
  static __device__ __forceinline__ float value(const float* point, int, int, int, int) {
    return *point;
  }
};

#pragma kernel size(steps) define(STEPS = steps)
#pragma kernel tune(BLOCK_X = 16, 32, 64, 128) default(32) tune(BLOCK_Y = 1, 2, 4, 8, 16) default(8)
#pragma kernel tune(POINTS_X = 1, 2, 4) tune(POINTS_Y = 1, 2, 4, 8)
#pragma kernel tune(AT_ONCE = 1, 2, 3) tune(PADDING = 0, 1) tune(UNROLL = 1, 2, 4)
#pragma kernel set(TILE_X = BLOCK_X * POINTS_X, TILE_Y = BLOCK_Y * POINTS_Y)
#pragma kernel set(POINTS = (TILE_Y + 2 * steps) * (TILE_X + 2 * steps + PADDING))
#pragma kernel restriction(32 <= BLOCK_X * BLOCK_Y <= 1024, AT_ONCE <= steps)
#pragma kernel restriction(2 * 4 * POINTS <= 48 * 1024)
#pragma kernel problem_size(width, height) block_size(BLOCK_X, BLOCK_Y) grid_divisor(TILE_X, TILE_Y)
#pragma kernel buffers(from[width * height], to[width * height])
#pragma kernel reference(stencil_simple)
#pragma kernel work(operations = 5.0 * width * height * steps, bytes = 8.0 * width * height)
__global__ void __launch_bounds__(BLOCK_X* BLOCK_Y)
    stencil(const float* __restrict__ from, float* __restrict__ to, int width, int height) {
  constexpr int kUnroll = UNROLL;
  __shared__ float tiles[2][kRows * kPitch];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int left = static_cast<int>(blockIdx.x) * kTileX - STEPS;  // of the tile with its rim
  const int top = static_cast<int>(blockIdx.y) * kTileY - STEPS;

  // Calls a function for each point of this thread that is at least `rim` points inside of the tile.
  const auto each = [&](int rim, auto function) {
    for (int y = rim + ty; y < kRows - rim; y += BLOCK_Y) {
#pragma unroll kUnroll
      for (int x = rim + tx; x < kTileX + 2 * STEPS - rim; x += BLOCK_X) function(x, y);
    }
  };
  each(0, [&](int x, int y) {
    const int px = left + x, py = top + y;
    const bool is_inside = px >= 0 && px < width && py >= 0 && py < height;
    tiles[0][y * kPitch + x] = is_inside ? from[static_cast<long long>(py) * width + px] : 0;
  });
  __syncthreads();

  int done = 0, now = 0;
  for (; done + AT_ONCE < STEPS; done += AT_ONCE, now = 1 - now) {
    each(done + AT_ONCE, [&](int x, int y) {
      tiles[1 - now][y * kPitch + x] =
          After<AT_ONCE>::value(tiles[now] + y * kPitch + x, left + x, top + y, width, height);
    });
    __syncthreads();
  }
  constexpr int kLast = STEPS % AT_ONCE == 0 ? AT_ONCE : STEPS % AT_ONCE;
  each(STEPS, [&](int x, int y) {
    const int px = left + x, py = top + y;
    if (px >= width || py >= height) return;
    to[static_cast<long long>(py) * width + px] =
        After<kLast>::value(tiles[now] + y * kPitch + x, px, py, width, height);
  });
}
