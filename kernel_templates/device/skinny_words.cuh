// The products of gemm_skinny for elements of 4 bytes: the few rows pass through shared memory.
#pragma once

#include "cp_async.cuh"
#include "grid_dependency.cuh"
#include "skinny_tile.cuh"
#include "streaming_load.cuh"

namespace autotune_device {

template <typename Few, typename Many>
struct Products<Few, Many, 4> {
  // The elements of a lane that one instruction can load: kNeighbours rows of one k, or kRun k of a
  // row.
  static constexpr int kRun = kKMajor ? 4 : 1;
  // Shared memory holds kChunk elements of K of the few rows: row after row where a lane loads
  // several k at a time, otherwise k after k.
  static constexpr int kChunk = kStep * (FEW * kStep < 8192 ? 8192 / (FEW * kStep) : 1);
  static constexpr int kSharedWords = FEW * kChunk;

  // Returns the offset in shared memory of element k of row f.
  static __device__ __forceinline__ int shared_offset(int f, int k) {
    return kKMajor ? f * kChunk + k : k * FEW + f;
  }

  // Copies `count` elements of K of each of the few rows to shared memory, from k on, and fills the
  // last step. Elements beyond the count and the matrix become -0: it meets +0, and their product,
  // -0, is the one number that changes no sum. All threads of the block call this.
  static __device__ __forceinline__ void copy_few(const Rows<Few>& few, long long k, int count,
                                                  Few* shared) {
    const int rounded = (count - 1) / kStep * kStep + kStep;
    const int thread = threadIdx.x;
    const auto copy_one = [&](int f, int at_k, const Few* from) {
      Few* const to = shared + shared_offset(f, at_k);
      if (f < few.left && at_k < count) {
        cp_async<1, true>(to, from);
      } else {
        *to = -0.0f;
      }
    };
    if (kFewKMajor || (FEW == 1 && few.leading == 1)) {
#pragma unroll 1
      for (int f = 0; f < FEW; ++f) {
        const Few* const row = few.at + f * few.leading + k;
        int by_four = 0;  // elements that are copied as vectors
        if ((kKMajor || FEW == 1) && reinterpret_cast<unsigned long long>(row) % 16 == 0) {
          by_four = f < few.left ? count / 4 * 4 : 0;
#pragma unroll 4
          for (int e = 4 * thread; e < by_four; e += 4 * kThreads) {
            cp_async<4, true>(shared + shared_offset(f, e), row + e);
          }
        }
#pragma unroll 4
        for (int e = by_four + thread; e < rounded; e += kThreads) copy_one(f, e, row + e);
      }
    } else {
#pragma unroll 4
      for (int e = thread; e < FEW * rounded; e += kThreads) {
        copy_one(e % FEW, e / FEW, few.at + (k + e / FEW) * few.leading + e % FEW);
      }
    }
    cp_async_wait_all();
  }

  // A batch of the large operand in registers: UNROLL elements of each of this thread's rows.
  class Batch {
   public:
    // Returns the distance of this lane's element i along K from the first k of the batch.
    static __device__ __forceinline__ int k_offset(int i) {
      const int lane_k = static_cast<int>(threadIdx.x % 32) / kAcross;
      return (i / kRun * LANES_K + lane_k) * kRun + i % kRun;
    }

    // Loads the batch that begins at k; elements from k_end on become 0. The lanes of a warp may
    // differ in whether their rows can be loaded as vectors.
    __device__ __forceinline__ void load(const Rows<Many>& many, long long k, long long k_end,
                                         CachePolicy policy) {
      if (many.aligned && (kKMajor || many.left > row_offset(LINES - 1))) {
        load<true>(many, k, k_end, policy);
      } else {
        load<false>(many, k, k_end, policy);
      }
    }

    template <bool kWide>
    __device__ __forceinline__ void load(const Rows<Many>& many, long long k, long long k_end,
                                         CachePolicy policy) {
      if (kKMajor) {
#pragma unroll
        for (int i = 0; i < UNROLL; i += 4) {
          const long long own = k + k_offset(i);
#pragma unroll
          for (int row = 0; row < LINES; ++row) {
            const int existing = minimum(row_offset(row), many.left - 1);
            const Many* const from = many.at + existing * many.leading + own;
            if (kWide && own + 4 <= k_end) {
              const auto v = load_once<4, L2_PERSIST>(from, policy);
#pragma unroll
              for (int e = 0; e < 4; ++e) at[i + e][row] = v.at[e];
            } else {
#pragma unroll
              for (int e = 0; e < 4; ++e) {
                at[i + e][row] =
                    own + e < k_end ? load_once<1, L2_PERSIST>(from + e, policy).at[0] : 0.0f;
              }
            }
          }
        }
      } else {
        constexpr int kWidth = kWide ? kNeighbours : 1;
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
          const long long own = k + k_offset(i);
          const Many* const from = many.at + own * many.leading;
#pragma unroll
          for (int row = 0; row < LINES; row += kWidth) {
            const int existing = kWide ? row_offset(row) : minimum(row_offset(row), many.left - 1);
            Vector<Many, kWidth> v = {};
            if (own < k_end) v = load_once<kWidth, L2_PERSIST>(from + existing, policy);
#pragma unroll
            for (int e = 0; e < kWidth; ++e) at[i][row + e] = v.at[e];
          }
        }
      }
    }

    // Adds the products of this batch to the sums. few: the few rows in shared memory, from the
    // batch's first k on.
    __device__ __forceinline__ void multiply(const Few* few, Sums& sums) const {
      if (kKMajor) {
#pragma unroll
        for (int i = 0; i < UNROLL; i += 4) {
#pragma unroll
          for (int f = 0; f < FEW; ++f) {
            const auto v = load_vector<4>(few + shared_offset(f, k_offset(i)));
#pragma unroll
            for (int e = 0; e < 4; ++e) add(v.at[e], i + e, sums[f]);
          }
        }
      } else {
        constexpr int kWidth = minimum(FEW, 4);
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
#pragma unroll
          for (int f = 0; f < FEW; f += kWidth) {
            const auto v = load_vector<kWidth>(few + shared_offset(f, k_offset(i)));
#pragma unroll
            for (int e = 0; e < kWidth; ++e) add(v.at[e], i, sums[f + e]);
          }
        }
      }
    }

   private:
    Many at[UNROLL][LINES];

    __device__ __forceinline__ void add(Few factor, int i, Accumulator* sums) const {
#pragma unroll
      for (int row = 0; row < LINES; ++row) sums[row] = multiply_add(factor, at[i][row], sums[row]);
    }
  };

  // Waits for the launch before and adds the products of the elements [begin, end) of K to the sums.
  // All threads of the block call this.
  static __device__ __forceinline__ void accumulate(const Rows<Few>& few, const Rows<Many>& many,
                                                    long long begin, long long end,
                                                    Accumulator* shared, Sums& sums) {
    griddep_wait(static_cast<int>(end - begin) | few.left | many.left);
    const int own = static_cast<int>(threadIdx.x) / (32 * WARPS) * kBatch;  // of a step
    const CachePolicy policy = l2_persist_policy<L2_PERSIST>();
    Batch next;
    next.load(many, begin + own, end, policy);
    for (long long chunk = begin; chunk < end; chunk += kChunk) {
      const int count = end - chunk < kChunk ? static_cast<int>(end - chunk) : kChunk;
      if (chunk > begin) __syncthreads();  // all threads have read the previous chunk
      copy_few(few, chunk, count, shared);
      __syncthreads();
#pragma unroll 1
      for (int k = own; k < count; k += kStep) {
        const Batch batch = next;
        next.load(many, chunk + k + kStep, end, policy);
        batch.multiply(shared + shared_offset(0, k), sums);
      }
    }
    __syncthreads();
  }
};

}  // namespace autotune_device
