// Transposes a matrix: column c of `from` becomes row c of `to`. A block reads a tile row by row
// into shared memory and writes it column by column, so that both the reads and the writes of a warp
// are neighbours.
// The parameters choose the tile, the threads of a block, the padding that keeps a column of the
// tile out of one bank of shared memory, how far the loops are unrolled, and the order of the tiles.
// Tune it: autotune tune --kernel transpose.cu --size width=4096,height=4096

#pragma kernel tune(TILE_X = 8, 16, 32, 64, 128) default(32)
#pragma kernel tune(TILE_Y = 8, 16, 32, 64, 128) default(32)
#pragma kernel tune(THREADS = 32, 64, 128, 256, 512, 1024) default(256)
#pragma kernel tune(PADDING = 0, 1, 2) tune(UNROLL = 1, 2, 4, 8) tune(DOWN_FIRST = 0, 1)
#pragma kernel set(PER_THREAD = TILE_X * TILE_Y / THREADS) typename(T = float)
#pragma kernel restriction((TILE_X * TILE_Y) % THREADS == 0, UNROLL <= PER_THREAD)
#pragma kernel restriction(4 * TILE_Y * (TILE_X + PADDING) <= 48 * 1024)
#pragma kernel block_size(THREADS) grid_size(div_ceil(width, TILE_X) * div_ceil(height, TILE_Y))
#pragma kernel buffers(from[width * height], to[width * height])
template <typename T, int TILE_X, int TILE_Y, int THREADS, int PADDING, int UNROLL, bool DOWN_FIRST>
__global__ void transpose(const T* __restrict__ from, T* __restrict__ to, int width, int height) {
  __shared__ T tile[TILE_Y][TILE_X + PADDING];
  const int tiles_x = (width + TILE_X - 1) / TILE_X;
  const int tiles_y = (height + TILE_Y - 1) / TILE_Y;
  const int block = static_cast<int>(blockIdx.x);
  const int first_x = (DOWN_FIRST ? block / tiles_y : block % tiles_x) * TILE_X;
  const int first_y = (DOWN_FIRST ? block % tiles_y : block / tiles_x) * TILE_Y;
  constexpr int kPerThread = TILE_X * TILE_Y / THREADS;
#pragma unroll UNROLL
  for (int i = 0; i < kPerThread; ++i) {
    const int element = i * THREADS + static_cast<int>(threadIdx.x);
    const int x = element % TILE_X, y = element / TILE_X;
    if (first_x + x < width && first_y + y < height) {
      tile[y][x] = from[static_cast<long long>(first_y + y) * width + first_x + x];
    }
  }
  __syncthreads();
#pragma unroll UNROLL
  for (int i = 0; i < kPerThread; ++i) {
    const int element = i * THREADS + static_cast<int>(threadIdx.x);
    const int x = element / TILE_Y, y = element % TILE_Y;
    if (first_x + x < width && first_y + y < height) {
      to[static_cast<long long>(first_x + x) * height + first_y + y] = tile[y][x];
    }
  }
}
