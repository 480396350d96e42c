// The place of a tile in C, and the epilogue: C = alpha * sums + beta * C for the results of a
// tile.
#pragma once

#include "element.cuh"
#include "register_tile.cuh"
#include "sync.cuh"
#include "tile_parameters.cuh"
#include "vector.cuh"

namespace autotune_device {

// The rows or columns of C that a tile covers. The last tile along a side is moved back to end with
// the matrix, so that its copies need no bounds checks; the rows or columns that it then shares
// with its neighbour are stored by the neighbour.
struct TileSpan {
  long long first;          // row or column of C that is the tile's first
  unsigned skipped, owned;  // the neighbour's, at the tile's begin, and the tile's own behind them

  __device__ __forceinline__ TileSpan(unsigned index, int extent, long long all) {
    const long long begin = static_cast<long long>(index) * extent;
    const long long last = all - extent;
    first = begin <= last ? begin : last > 0 ? last : 0;
    skipped = static_cast<unsigned>(begin - first);
    owned = all - begin < extent ? static_cast<unsigned>(all - begin) : extent;
  }

  // Returns whether this tile stores its row or column `index`.
  __device__ __forceinline__ bool owns(int index) const {
    return static_cast<unsigned>(index) - skipped < owned;
  }
};

// Stores the results of a launch. SideM and SideN: the kernel's Side types.
template <typename SideM, typename SideN>
struct Epilogue {
  using Position = LanePosition<SideM, SideN>;

  ElementC* c;
  long long m, n, ldc;
  Accumulator alpha, beta;

  // Stores kBlockResults results of this thread that belong to the tile; `first` is the number of
  // the first of them among the lane's results. staging: shared memory for one vector of each
  // thread, through which lanes exchange results that cannot be stored as vectors; or nullptr. All
  // computing threads of the block call this.
  __device__ __forceinline__ void store(const Accumulator* results, int first, const TileSpan& in_m,
                                        const TileSpan& in_n, Accumulator* staging) const {
    constexpr int kColumns = minimum(kBlockResults, RESULTS_N);
    constexpr int kChunk = minimum(kColumns, SideN::kChunk);
    const bool wide =
        ALIGNED || (reinterpret_cast<unsigned long long>(c) % (sizeof(ElementC) * kChunk) == 0 &&
                    ldc % kChunk == 0 && in_n.first % kChunk == 0 && n % kChunk == 0);
    const Position position;
    if constexpr (kChunk > 1 && kChunk == SideN::kChunk) {
      if (staging != nullptr && !wide) {
        store_staged(results, first, in_m, in_n, position, staging);
        return;
      }
    }
    const int first_row = position.row + SideM::offset(first / RESULTS_N);
    const int first_column = position.column + SideN::offset(first % RESULTS_N);
    ElementC* const own = c + (in_m.first + first_row) * ldc + in_n.first + first_column;
#pragma unroll
    for (int i = 0; i < kBlockResults / kColumns; ++i) {
      if (!in_m.owns(first_row + SideM::offset(i))) continue;
      ElementC* const row = own + SideM::offset(i) * ldc;
#pragma unroll
      for (int j = 0; j < kColumns; j += kChunk) {
        const int column = first_column + SideN::offset(j);
        ElementC* const to = row + SideN::offset(j);
        const Accumulator* const sums = results + i * kColumns + j;
        if (wide) {
          if (!in_n.owns(column)) continue;
          Vector<ElementC, kChunk> v;
          if (beta != Accumulator(0)) v = load_vector<kChunk>(to);
#pragma unroll
          for (int e = 0; e < kChunk; ++e) {
            v.at[e] = scaled_result(alpha * sums[e], beta, v.at[e]);
          }
          store_vector<kChunk>(to, v);
        } else {
#pragma unroll
          for (int e = 0; e < kChunk; ++e) {
            if (!in_n.owns(column + e)) continue;
            const Accumulator previous = beta != Accumulator(0) ? to[e] : Accumulator(0);
            to[e] = scaled_result(alpha * sums[e], beta, previous);
          }
        }
      }
    }
  }

 private:
  // Stores results that cannot be stored as vectors. The lanes of a warp exchange their results
  // first, so that neighbouring lanes store neighbouring results. The exchanged values are products
  // with alpha: sums that are stored as vectors themselves would be allocated to the register banks
  // of b's elements.
  __device__ __forceinline__ void store_staged(const Accumulator* results, int first,
                                               const TileSpan& in_m, const TileSpan& in_n,
                                               const Position& position,
                                               Accumulator* staging) const {
    constexpr int kColumns = minimum(kBlockResults, RESULTS_N);
    constexpr int kChunk = SideN::kChunk;
    constexpr int kAcross = kLanesN * kChunk;  // neighbouring results of a row
    constexpr int kRows = 32 / kAcross;        // rows that the lanes store at once
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int lane_m = position.row % (LANES_M * RESULTS_M) / SideM::kChunk;
    const int lane_n = position.column % (kLanesN * RESULTS_N) / kChunk;
    Accumulator* const of_warp = staging + (static_cast<int>(threadIdx.x) - lane) * kChunk;
    const int row =
        position.row + (lane / kAcross - lane_m) * SideM::kChunk + SideM::offset(first / RESULTS_N);
    const int column =
        position.column - lane_n * kChunk + lane % kAcross + SideN::offset(first % RESULTS_N);
    ElementC* const own = c + (in_m.first + row) * ldc + in_n.first + column;
    ComputeThreads::sync();  // all threads have read their operands from this memory
#pragma unroll
    for (int i = 0; i < kBlockResults / kColumns; ++i) {
      ElementC* to[kChunk];
      bool owns_row[kChunk];
#pragma unroll
      for (int e = 0; e < kChunk; ++e) {
        const int down = e * kRows * SideM::kChunk + SideM::offset(i);
        to[e] = own + down * ldc;
        owns_row[e] = in_m.owns(row + down);
      }
#pragma unroll
      for (int j = 0; j < kColumns; j += kChunk) {
        Vector<Accumulator, kChunk> v;
#pragma unroll
        for (int e = 0; e < kChunk; ++e) v.at[e] = alpha * results[i * kColumns + j + e];
        sync_warp();
        store_vector<kChunk>(of_warp + (lane_m * kLanesN + lane_n) * kChunk, v);
        sync_warp();
        // All loads go before the stores, which the compiler takes to be to the same memory.
#pragma unroll
        for (int e = 0; e < kChunk; ++e) v.at[e] = of_warp[e * 32 + lane];
        const int across = SideN::offset(j);
        const bool owns_column = in_n.owns(column + across);
        if (beta != Accumulator(0)) {
#pragma unroll
          for (int e = 0; e < kChunk; ++e) {
            if (owns_column && owns_row[e]) {
              v.at[e] = multiply_add(beta, to[e][across], v.at[e]);
            }
          }
        }
#pragma unroll
        for (int e = 0; e < kChunk; ++e) {
          if (owns_column && owns_row[e]) to[e][across] = v.at[e];
        }
      }
    }
  }
};

}  // namespace autotune_device
