// gemm_simt: C = alpha * op(A) * op(B) + beta * C with register blocking, in strict FP32.
//
// A block computes a tile of C with WARPS_M x WARPS_N warps. A warp is LANES_M x (32 / LANES_M)
// lanes, and a lane computes RESULTS_M x RESULTS_N results, in pieces of up to 4 x 4 that lie apart
// so that the lanes' pieces are neighbours. The block walks along K in k_tiles of BLOCK_K elements:
// asynchronous copies (cp.async), which need no registers, fill STAGES buffers in shared memory
// ahead of the multiplication. Shared memory keeps both operands MN-major, so that a lane loads
// four elements for one k with one instruction; an operand that is K-major in global memory is
// transposed by its copies.
//
// The warps of a block (SLICE_K) or several blocks (SPLIT_K) can share one tile's work along K.
// The parts are added in an order that is always the same, so two runs give the same bits. Without
// either, a result is one chain of fused multiply-adds over k = 0 .. K-1 that starts at 0.
//
// The arrangement of the lanes and the sequence of a k_tile follow CUTLASS's SIMT kernels
// (github.com/NVIDIA/cutlass, default_mma_core_simt.h and mma_multistage.h); the even division of
// the work among blocks follows Osama et al., "Stream-K" (arXiv 2301.03598).
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31, any alignment.
// Launch: kThreads threads and kSharedElements elements of dynamic shared memory. Blocks along x:
// one for each tile of C; with SPLIT_K any number up to the k_tiles of all tiles, or CLUSTER for
// each tile if these are fewer. workspace and raster: see kernel_template.hpp. Batches: see
// device/batch.cuh.

// The parameters that gemm_tma has as well are in device/tile_parameters.cuh.

// 1: a lane loads the elements for the next k while it multiplies those for the current k.
#ifndef DOUBLE_BUFFER
#define DOUBLE_BUFFER 1
#endif

// The layout in shared memory of an operand that is K-major in global memory. 0: MN-major,
// transposed by copies of single elements. 1: K-major, copied four elements at a time; a lane then
// loads four k of one row at once.
#ifndef SHARED_K_MAJOR
#define SHARED_K_MAJOR 0
#endif

// 1: results that cannot be stored as vectors are exchanged between lanes first.
#ifndef STAGE_EPILOGUE
#define STAGE_EPILOGUE 0
#endif

#include "device/barrier.cuh"
#include "device/batch.cuh"
#include "device/cluster.cuh"
#include "device/cp_async.cuh"
#include "device/element.cuh"
#include "device/epilogue.cuh"
#include "device/grid_dependency.cuh"
#include "device/register_tile.cuh"
#include "device/scale_alone.cuh"
#include "device/split_k.cuh"
#include "device/tile_parameters.cuh"
#include "device/vector.cuh"

using namespace autotune_device;

constexpr int kRegisters = 65536 / (MIN_BLOCKS * kThreads);  // of a thread, at most

// The block's tile of one operand. Both operands are seen as matrices whose rows run along K: row i
// is row i of op(A), or column i of op(B), and a result is the product of two rows.
//   kRows    rows of the tile
//   kKMajor  global memory holds the elements of a row side by side; otherwise the rows of one k
template <typename T, int kRows, bool kKMajor>
struct Operand {
  using Element = T;
  static constexpr int kVector = 16 / sizeof(T);
  static constexpr bool kSharedKMajor = kKMajor && SHARED_K_MAJOR;
  // The distance in shared memory from one row (kSharedKMajor) or one k (otherwise) to the next.
  // The padding between rows lets 8 lanes read 8 rows at once; the padding between k lets copies
  // write 8 k of 4 rows at once.
  static constexpr int kPitch =
      kSharedKMajor ? BLOCK_K + 4 : kRows + (kKMajor && kRows % 8 == 0 ? 4 : 0);
  static constexpr int kSize = kPitch * (kSharedKMajor ? kRows : BLOCK_K);

  // Returns the offset of an element in the k_tile's buffer in shared memory.
  static __device__ __forceinline__ int shared_offset(int row, int k) {
    return kSharedKMajor ? row * kPitch + k : k * kPitch + row;
  }

  // The division of a k_tile's elements among the threads. A thread copies kElements elements at a
  // time, from row own_row() and own_k() on, then those kRowStep rows and kKStep k further, as far
  // as the k_tile has them.
  template <int kElements>
  struct Shares {
    // Threads side by side.
    static constexpr int kAcross = kSharedKMajor ? BLOCK_K / kElements
                                   : kKMajor     ? 8
                                             : greatest_common_divisor(kRows / kElements, kThreads);
    static constexpr int kAlong = kThreads / kAcross;
    static constexpr int kRowStep = kKMajor ? kAlong : kAcross * kElements;
    static constexpr int kKStep = kSharedKMajor ? BLOCK_K : kKMajor ? kAcross : kAlong;
    static constexpr int kRowsEach = (kRows + kRowStep - 1) / kRowStep;
    static constexpr int kKEach = (BLOCK_K + kKStep - 1) / kKStep;
    // Whether every thread has kRowsEach rows and kKEach k.
    static constexpr bool kEvenRows = kRows % kRowStep == 0;
    static constexpr bool kEvenK = BLOCK_K % kKStep == 0;

    static __device__ __forceinline__ int own_row() {
      const int t = threadIdx.x;
      return kKMajor ? t / kAcross : t % kAcross * kElements;
    }
    static __device__ __forceinline__ int own_k() {
      const int t = threadIdx.x;
      return kSharedKMajor ? t % kAcross * kElements : kKMajor ? t % kAcross : t / kAcross;
    }
  };
  static constexpr int kWidest = kSharedKMajor || (!kKMajor && kRows % kVector == 0) ? kVector : 1;

  const T* tile;      // the first element of the tile, in global memory
  const T* own;       // this thread's first element of the k_tile that is copied next
  long long leading;  // elements from one row (kKMajor) or one k (otherwise) to the next
  int rows_left;      // rows of the matrix from the tile's first row on, at most kRows
  bool wide;          // all copies except those at the end of K are of kWidest elements

  __device__ __forceinline__ Operand(const T* source, long long ld, long long rows,
                                     long long first_row, long long first_k)
      : leading(ld) {
    tile = source + (kKMajor ? first_row * ld + first_k : first_k * ld + first_row);
    rows_left = rows - first_row < kRows ? static_cast<int>(rows - first_row) : kRows;
    wide = ALIGNED || (reinterpret_cast<unsigned long long>(source) % (kWidest * sizeof(T)) == 0 &&
                       ld % kWidest == 0 &&
                       (kKMajor || (first_row % kWidest == 0 && rows_left % kWidest == 0)));
    own = tile + (wide ? offset(Shares<kWidest>::own_row(), Shares<kWidest>::own_k())
                       : offset(Shares<1>::own_row(), Shares<1>::own_k()));
  }

  // Returns the offset of an element in global memory from the first element of the tile.
  __device__ __forceinline__ long long offset(int row, long long k) const {
    return kKMajor ? row * leading + k : k * leading + row;
  }

  // Starts to copy the next k_tile to `to`. The matrix must have all of its elements.
  __device__ __forceinline__ void copy_unchecked(T* to) {
    if (kWidest == 1 || __builtin_expect(wide, 1)) {
      copy_from<kWidest, false>(own, to, BLOCK_K, T(0));
    } else {
      copy_from<1, false>(own, to, BLOCK_K, T(0));
    }
    advance();
  }

  // Starts to copy any k_tile. first_k: the first k of the k_tile, counted from the tile's first.
  // k_left: elements of K from there on. `outside` replaces elements beyond the matrix.
  __device__ __forceinline__ void copy(T* to, int first_k, int k_left, T outside) {
    if (wide && (ALIGNED || !kSharedKMajor || k_left >= BLOCK_K || k_left % kWidest == 0)) {
      copy_from<kWidest, true>(own, to, k_left, outside);
    } else {
      const T* from = tile + offset(Shares<1>::own_row(), first_k + Shares<1>::own_k());
      copy_from<1, true>(from, to, k_left, outside);
    }
    advance();
  }

  __device__ __forceinline__ void advance() { own += kKMajor ? BLOCK_K : BLOCK_K * leading; }

  // from: this thread's first element.
  template <int kElements, bool kChecked>
  __device__ __forceinline__ void copy_from(const T* from, T* to, int k_left, T outside) const {
    using S = Shares<kElements>;
    to += shared_offset(S::own_row(), S::own_k());
#pragma unroll
    for (int i = 0; i < S::kRowsEach; ++i) {
      const int row = S::own_row() + i * S::kRowStep;
      const T* element = from;
      if (S::kEvenRows || row < kRows) {
#pragma unroll
        for (int j = 0; j < S::kKEach; ++j) {
          const int k = S::own_k() + j * S::kKStep;
          T* const target = to + shared_offset(i * S::kRowStep, j * S::kKStep);
          if (!S::kEvenK && k >= BLOCK_K) continue;
          if (!kChecked || (row < rows_left && k < k_left)) {
            cp_async<kElements>(target, element);
          } else {
#pragma unroll
            for (int e = 0; e < kElements; ++e) target[e] = outside;
          }
          element += S::kKStep * (kKMajor ? 1 : leading);
        }
      }
      from += S::kRowStep * (kKMajor ? leading : 1);
    }
  }
};

using OperandA = Operand<ElementA, kTileM, !TRANSPOSE_A>;
using OperandB = Operand<ElementB, kTileN, TRANSPOSE_B>;
constexpr int kStage = OperandA::kSize + OperandB::kSize;
// Elements that the slices exchange at first: half of all results.
constexpr int kExchanged = SLICE_K > 1 ? kThreads* kThreadResults / 2 : 0;
constexpr int kBuffers = maximum(STAGES * kStage, kExchanged);
constexpr int kSharedElements = kBuffers + Cluster::kSharedElements;
using SideM = Side<RESULTS_M, LANES_M, OperandA::kSharedKMajor>;
using SideN = Side<RESULTS_N, kLanesN, OperandB::kSharedKMajor>;
using FragmentA = LaneFragment<OperandA, SideM, RESULTS_M>;
using FragmentB = LaneFragment<OperandB, SideN, RESULTS_N>;
using Position = LanePosition<SideM, SideN>;

// Adds the products of the first k_end elements of K, counted from where the operands begin, to the
// sums of this thread. All threads of the block call this.
__device__ __forceinline__ void accumulate(OperandA& a, OperandB& b, int k_end,
                                           const Position& position, Accumulator* shared,
                                           Sums& sums) {
  constexpr int kSteps = kSliceK / kStepK;
  const int k_tiles = (k_end - 1) / BLOCK_K + 1;
  const bool whole = a.rows_left == kTileM && b.rows_left == kTileN;
  const int unchecked_k_tiles = whole ? k_end / BLOCK_K : 0;
  int copied = 0;  // k_tiles
  Accumulator* filling = shared;
  const auto copy_next = [&] {
    Accumulator* const filling_b = filling + OperandA::kSize;
    if (__builtin_expect(copied < unchecked_k_tiles, 1)) {
      a.copy_unchecked(filling);
      b.copy_unchecked(filling_b);
    } else if (copied < k_tiles) {
      // Beyond K, -0 of A meets +0 of B. Their product, -0, is the one number that changes no sum.
      a.copy(filling, copied * BLOCK_K, k_end - copied * BLOCK_K, ElementA(-0.0f));
      b.copy(filling_b, copied * BLOCK_K, k_end - copied * BLOCK_K, ElementB(0.0f));
    }
    cp_async_commit();
    ++copied;
    filling = filling == shared + (STAGES - 1) * kStage ? shared : filling + kStage;
  };

#pragma unroll 1
  for (int stage = 0; stage < STAGES - 1; ++stage) copy_next();

  const int first_k = position.slice * kSliceK;
  const int own_offset_a = OperandA::shared_offset(position.row, first_k);
  const int own_offset_b = OperandA::kSize + OperandB::shared_offset(position.column, first_k);
  const ElementA* own_a = shared + own_offset_a;  // this thread's elements for the step's first k
  const ElementB* own_b = shared + own_offset_b;
  const Accumulator* reading = shared;
  int step = 0;
  const auto next_step = [&] {
    if (++step < kSteps) {
      own_a += OperandA::shared_offset(0, kStepK);
      own_b += OperandB::shared_offset(0, kStepK);
      return;
    }
    cp_async_wait<STAGES - 2>();
    __syncthreads();  // the next k_tile is complete, and all threads have read the current one
    step = 0;
    reading = reading == shared + (STAGES - 1) * kStage ? shared : reading + kStage;
    own_a = reading + own_offset_a;
    own_b = reading + own_offset_b;
  };

  cp_async_wait<STAGES - 2>();
  __syncthreads();
  FragmentA fragments_a[2];
  FragmentB fragments_b[2];
  if (DOUBLE_BUFFER) {
    fragments_a[0].load(own_a, 0);
    fragments_b[0].load(own_b, 0);
  }
  const auto buffer = [](int k, int depth) { return DOUBLE_BUFFER ? k / depth % 2 : 0; };
#pragma unroll 1
  for (int steps = k_tiles * kSteps; steps > 0; --steps) {
    if (step == 0) copy_next();
#pragma unroll
    for (int k = 0; k < kStepK; ++k) {
      const int loaded = DOUBLE_BUFFER ? k + 1 : k;
      if (loaded == kStepK) next_step();
      fragments_a[buffer(loaded, FragmentA::kDepth)].load(own_a, loaded % kStepK);
      fragments_b[buffer(loaded, FragmentB::kDepth)].load(own_b, loaded % kStepK);
      multiply(fragments_a[buffer(k, FragmentA::kDepth)], fragments_b[buffer(k, FragmentB::kDepth)],
               k, sums);
    }
    if (!DOUBLE_BUFFER) next_step();
  }
}

extern "C" __global__ void CLUSTER_ATTRIBUTE __launch_bounds__(kThreads, MIN_BLOCKS)
    gemm_simt(const ElementA* __restrict__ a, const ElementB* __restrict__ b,
              ElementC* __restrict__ c, long long m, long long n, long long k, long long lda,
              long long ldb, long long ldc, Scalar alpha, Scalar beta,
              float* __restrict__ workspace, unsigned raster BATCH_PARAMETERS) {
#ifdef __CUDACC__
  extern __shared__ __align__(16) Accumulator shared[];
#else
  alignas(16) __shared__ Accumulator shared[kSharedElements];
#endif
  const Cluster cluster(shared + kBuffers);
  cluster.init();
  const Position position;
  const TileGrid tiles{static_cast<unsigned>((m - 1) / kTileM + 1),
                       static_cast<unsigned>((n - 1) / kTileN + 1), raster};
  const ProductBatch products{BATCH_ARGUMENTS, tiles.along_m * tiles.along_n};
  if (scales_alone(alpha, beta, c, m, n, k, ldc, products)) return;
  const long long all_tiles =
      products.tiles_of_row(static_cast<long long>(tiles.along_m) * tiles.along_n);
  const BlockShares partition(all_tiles, k);

  // Computes one tile, or adds this block's part of it to the parts of other blocks.
  const auto compute = [&](const WorkTile& work) {
    const unsigned product = products.product(work.tile);
    const unsigned tile = products.in_product(work.tile);
    const TileSpan in_m(tiles.row_of(tile), kTileM, m);
    const TileSpan in_n(tiles.column_of(tile), kTileN, n);
    const long long first_k = work.first_k(BLOCK_K);
    OperandA operand_a(products.a(a, product), lda, m, in_m.first, first_k);
    OperandB operand_b(products.b(b, product), ldb, n, in_n.first, first_k);
    const int k_count = static_cast<int>((SPLIT_K == 1 ? k : work.k_end(BLOCK_K, k)) - first_k);
    Sums sums = {};
    // The second block of a cluster may have no elements of K.
    const int positive = CLUSTER > 1 && k_count < 1 ? 1 : k_count;
    cluster.wait_init();
    if (!products.has(product)) return;
    griddep_wait(positive | operand_a.rows_left | operand_b.rows_left);
    accumulate(operand_a, operand_b, k_count, position, shared, sums);
    Accumulator* const results = &sums[0][0];
    add_slices<SLICE_K, kThreadResults>(results, shared);
    cluster.add(results);
    bool stores = true;
    if (SPLIT_K != 1 && (CLUSTER > 1 || k_count < k)) {
      const Parts<kRegisters> parts(workspace, partition, work.tile, all_tiles);
      if (CLUSTER == 1 || parts.count > 1) stores = add_blocks(parts, results);
    }
    if (!stores) return;
    const int first = position.slice * kSliceResults + Cluster::rank() * kBlockResults;
    const Epilogue<SideM, SideN> epilogue{products.c(c, product), m, n, ldc, value_of(alpha),
                                          value_of(beta)};
    epilogue.store(results, first, in_m, in_n, STAGE_EPILOGUE ? shared : nullptr);
  };

  WorkTiles work_tiles(partition);
  WorkTile work = work_tiles.first();
  do {
    compute(work);
    if (SPLIT_K == 0) __syncthreads();  // all threads have read shared memory
  } while (work_tiles.next(work));
}
