// Where a tile lies in C, and how its results get there. Of the including kernel: SideM and SideN.
// Behind thread_tile.cuh and products.cuh.

// Where the tiles of C are: their rows and columns, and how many rows of tiles the blocks with one
// number after the other work on at a time, column after column.
struct Tiles {
  unsigned along_m, along_n, raster;
};

struct TilePosition {
  unsigned along_m, along_n;

  __device__ __forceinline__ TilePosition(unsigned tile, const Tiles& tiles) {
    const unsigned in_rows = tiles.raster * tiles.along_n;
    const unsigned first_row = tile / in_rows * tiles.raster;
    const unsigned in_group = tile % in_rows;
    const unsigned rows_left = tiles.along_m - first_row;
    const unsigned rows = rows_left < tiles.raster ? rows_left : tiles.raster;
    along_m = first_row + in_group % rows;
    along_n = in_group / rows;
  }
};

// Where a tile lies along one side of C. The last one is moved back so that it ends with the matrix
// and its copies need no checks; what it then has in common with its neighbour is the neighbour's.
struct TileSpan {
  long long first;          // line of the matrix that is the tile's first
  unsigned skipped, owned;  // lines of the tile: first the neighbour's, then its own

  __device__ __forceinline__ TileSpan(unsigned index, int lines, long long all) {
    const long long begin = static_cast<long long>(index) * lines;
    const long long last = all - lines;
    first = begin <= last ? begin : last > 0 ? last : 0;
    skipped = static_cast<unsigned>(begin - first);
    owned = all - begin < lines ? static_cast<unsigned>(all - begin) : lines;
  }
  __device__ __forceinline__ bool owns(int line) const {
    return static_cast<unsigned>(line) - skipped < owned;
  }
};

// Where a warp's lanes have come, what they wrote to shared memory before all of them see.
#ifdef __CUDA_ARCH__
__device__ __forceinline__ void sync_warp() {
  __syncwarp();
}
#else
inline void sync_warp() {
  __syncthreads();
}
#endif

// What a launch computes.
struct Gemm {
  float* c;
  long long m, n, ldc;
  float alpha, beta;

  // Stores a thread's results, from its lane's `first` on, that belong to the tile. `shared`:
  // memory for one vector of each thread, where lanes may exchange them; or nullptr.
  __device__ __forceinline__ void store(const float* results, int first, const TileSpan& in_m,
                                        const TileSpan& in_n, float* shared) const {
    constexpr int kColumns = least(kOfBlock, THREAD_N);
    constexpr int kChunk = least(kColumns, SideN::kChunk);
    const bool wide = ALIGNED || (reinterpret_cast<unsigned long long>(c) % (4 * kChunk) == 0 &&
                                  ldc % kChunk == 0 && in_n.first % kChunk == 0 && n % kChunk == 0);
    const Position position;
    if constexpr (kChunk > 1 && kChunk == SideN::kChunk) {
      if (shared != nullptr && !wide) {
        store_exchanged(results, first, in_m, in_n, position, shared);
        return;
      }
    }
    const int first_row = position.row + SideM::offset(first / THREAD_N);
    const int first_column = position.column + SideN::offset(first % THREAD_N);
    float* const own = c + (in_m.first + first_row) * ldc + in_n.first + first_column;
#pragma unroll
    for (int i = 0; i < kOfBlock / kColumns; ++i) {
      if (!in_m.owns(first_row + SideM::offset(i))) continue;
      float* const line = own + SideM::offset(i) * ldc;
#pragma unroll
      for (int j = 0; j < kColumns; j += kChunk) {
        const int column = first_column + SideN::offset(j);
        float* const to = line + SideN::offset(j);
        const float* const sums = results + i * kColumns + j;
        if (wide) {
          if (!in_n.owns(column)) continue;
          Vector<kChunk> v;
          if (beta != 0.0f) v = read<kChunk>(to);
#pragma unroll
          for (int e = 0; e < kChunk; ++e) v.at[e] = result(sums[e], v.at[e]);
          write<kChunk>(to, v);
        } else {
#pragma unroll
          for (int e = 0; e < kChunk; ++e) {
            if (in_n.owns(column + e)) to[e] = result(sums[e], beta != 0.0f ? to[e] : 0.0f);
          }
        }
      }
    }
  }

  // Where results cannot be stored as vectors. So that lanes side by side store results side by
  // side, those of a warp exchange them first. As products: sums that went there as vectors
  // themselves would get registers of the banks that b's have.
  __device__ __forceinline__ void store_exchanged(const float* results, int first,
                                                  const TileSpan& in_m, const TileSpan& in_n,
                                                  const Position& position, float* shared) const {
    constexpr int kColumns = least(kOfBlock, THREAD_N);
    constexpr int kChunk = SideN::kChunk;
    constexpr int kAcross = kLanesN * kChunk;  // results of a row side by side
    constexpr int kRows = 32 / kAcross;        // that lanes store at once
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int lane_m = position.row % (LANES_M * THREAD_M) / SideM::kChunk;
    const int lane_n = position.column % (kLanesN * THREAD_N) / kChunk;
    float* const of_warp = shared + (static_cast<int>(threadIdx.x) - lane) * kChunk;
    const int row =
        position.row + (lane / kAcross - lane_m) * SideM::kChunk + SideM::offset(first / THREAD_N);
    const int column =
        position.column - lane_n * kChunk + lane % kAcross + SideN::offset(first % THREAD_N);
    float* const own = c + (in_m.first + row) * ldc + in_n.first + column;
    meet();  // nobody reads operands there any more
#pragma unroll
    for (int i = 0; i < kOfBlock / kColumns; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; j += kChunk) {
        Vector<kChunk> v;
#pragma unroll
        for (int e = 0; e < kChunk; ++e) v.at[e] = alpha * results[i * kColumns + j + e];
        sync_warp();
        write<kChunk>(of_warp + (lane_m * kLanesN + lane_n) * kChunk, v);
        sync_warp();
        const bool owns_column = in_n.owns(column + SideN::offset(j));
#pragma unroll
        for (int e = 0; e < kChunk; ++e) {
          const int down = e * kRows * SideM::kChunk + SideM::offset(i);
          if (!owns_column || !in_m.owns(row + down)) continue;
          float* const to = own + down * ldc + SideN::offset(j);
          *to = with_before(of_warp[e * 32 + lane], beta != 0.0f ? *to : 0.0f);
        }
      }
    }
  }

  __device__ __forceinline__ float result(float sum, float before) const {
    return with_before(alpha * sum, before);
  }
  __device__ __forceinline__ float with_before(float product, float before) const {
    return beta == 0.0f ? product : fmaf(beta, before, product);
  }
};
