// gemm_tiled: C = alpha * op(A) * op(B) + beta * C with tiles in shared memory.
//
// A block of TILE_WIDTH x TILE_WIDTH threads computes one tile of C of TILE_WIDTH * RESULTS_M rows
// and TILE_WIDTH * RESULTS_N columns. It walks along K in k_tiles of TILE_WIDTH elements: all
// threads load one tile of A and one of B into shared memory, synchronize, and multiply. Each
// loaded element of A is used TILE_WIDTH * RESULTS_N times, each element of B TILE_WIDTH *
// RESULTS_M times.
//
// Thread (tx, ty) computes the results in rows ty + i * TILE_WIDTH and columns tx + j * TILE_WIDTH
// of the block's tile. A result is one chain of fused multiply-adds over k = 0 .. K-1 that starts
// at 0, so every configuration gives the same bits.
//
// The element types are macros (device/element.cuh): 16-bit elements are multiplied and added in
// FP32; ELEMENT_A=double and so on compile the kernel in FP64.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31, any alignment.
// Launch: TILE_WIDTH x TILE_WIDTH threads; as many blocks, all along x, as C has tiles, which are
// numbered row by row. Batches: see device/batch.cuh.

// Threads of a block along each side, and elements of K in a k_tile: 8, 16 or 32.
#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

// Results of one thread along M: 1, 2, 4, 8, 16 or 32.
#ifndef RESULTS_M
#define RESULTS_M 4
#endif

// Results of one thread along N: 1, 2, 4, 8, 16 or 32; RESULTS_M * RESULTS_N is at most 32.
#ifndef RESULTS_N
#define RESULTS_N 4
#endif

// Steps along K that the inner loop takes between two branches: 1, 2, 4, 8, or TILE_WIDTH for no
// branch at all.
#ifndef UNROLL
#define UNROLL TILE_WIDTH
#endif

// The layout of A's tile in shared memory. 0: row after row, so that a thread loads neighbours
// along K at once. 1: transposed, so that it loads the elements of several of its rows at once.
#ifndef A_TRANSPOSED
#define A_TRANSPOSED 0
#endif

// 1: the rows of a transposed tile of A are padded by a few elements, so that the threads of a warp
// write to different banks of shared memory. 0: they are not.
#ifndef PADDING
#define PADDING 0
#endif

// The most elements that one load from global memory moves: 1, 2 or 4, and at most 16 bytes. Loads
// are narrower where a thread has fewer elements of a tile to load; a matrix that is not aligned is
// loaded element by element.
#ifndef VECTOR_WIDTH
#define VECTOR_WIDTH 1
#endif

// 1: the elements of the next k_tile are loaded from global memory into registers while this k_tile
// is multiplied. 0: they are loaded when they are needed.
#ifndef PREFETCH
#define PREFETCH 0
#endif

#include "device/batch.cuh"
#include "device/element.cuh"
#include "device/scale_alone.cuh"
#include "device/vector.cuh"

using namespace autotune_device;

// One operand as a thread sees it. Both operands are seen as matrices whose rows run along K: row i
// is row i of op(A), or column i of op(B), and a result is the product of two rows.
//   kResults       rows that one thread multiplies; the tile has TILE_WIDTH times as many
//   kKMajor        global memory holds the elements of a row side by side; otherwise the rows of
//                  one k
//   kSharedKMajor  shared memory holds row after row; otherwise one k after the other
//   kPadded        without kSharedKMajor: there is padding between one k and the next
template <typename T, int kResults, bool kKMajor, bool kSharedKMajor, bool kPadded>
struct Operand {
  static constexpr int kRows = TILE_WIDTH * kResults;
  static constexpr int kVectorElements = 16 / sizeof(T);
  // Elements of one load. A thread makes kLoads of them for each k_tile, kStep rows apart.
  static constexpr int kVector = minimum(minimum(VECTOR_WIDTH, kVectorElements), kResults);
  static constexpr int kLoads = kResults / kVector;
  static constexpr int kStep = TILE_WIDTH * kVector;

  // Without kSharedKMajor, up to 16 bytes of elements that the same thread multiplies lie side by
  // side, so that it loads them with one instruction. All 32 banks serve a warp's writes when
  // threads that write neighbours along K are kSpace banks apart.
  static constexpr int kChunk = minimum(kResults, kVectorElements);
  static constexpr int kSpace = maximum(32 / TILE_WIDTH, kChunk);
  static constexpr int kPitch = kSharedKMajor ? TILE_WIDTH : kRows + (kPadded ? kSpace : 0);
  static constexpr int kSize = kPitch * (kSharedKMajor ? kRows : TILE_WIDTH);

  const T* source;       // this thread's first element of the k_tile, in global memory
  long long leading;     // elements from one row (kKMajor) or one k (otherwise) to the next
  int own_row;           // of that first element, in the tile
  int own_k;             // of that first element, in the k_tile
  int rows_left;         // rows of the matrix from the tile's first row on
  bool whole;            // the tile has all its rows, aligned for loads of kVector elements
  T elements[kResults];  // loaded and not yet in shared memory

  // Returns the offset in shared memory of an element that `thread` multiplies for one of its
  // results. It is linear in each argument except `result`, and there for multiples of kVector.
  static __device__ __forceinline__ int shared_offset(int thread, int result, int k) {
    if (kSharedKMajor) return (result * TILE_WIDTH + thread) * kPitch + k;
    return k * kPitch + (result / kChunk * TILE_WIDTH + thread) * kChunk + result % kChunk;
  }

  // matrix: op(X) as memory holds it; rows: of op(X); first_row: of this block's tile.
  __device__ __forceinline__ Operand(const T* matrix, long long ld, long long rows,
                                     long long first_row) {
    const int thread = threadIdx.y * TILE_WIDTH + threadIdx.x;
    constexpr int kLoadsPerRow = TILE_WIDTH / kVector;
    own_row = kKMajor ? thread / kLoadsPerRow : threadIdx.x * kVector;
    own_k = kKMajor ? thread % kLoadsPerRow * kVector : threadIdx.y;
    leading = ld;
    rows_left = rows - first_row < kRows ? static_cast<int>(rows - first_row) : kRows;
    const long long row = first_row + (own_row < rows_left ? own_row : 0);
    source = matrix + (kKMajor ? row * ld + own_k : own_k * ld + row);
    const bool aligned =
        reinterpret_cast<unsigned long long>(matrix) % (kVector * sizeof(T)) == 0 &&
        ld % kVector == 0;
    whole = aligned && rows_left == kRows;
  }

  // Loads this thread's elements of one k_tile into registers and advances to the next k_tile.
  // k_left: elements of K from this k_tile's first on. `outside` replaces elements beyond K.
  __device__ __forceinline__ void load(int k_left, T outside) {
    if (whole && k_left >= TILE_WIDTH) {
      load_whole();
    } else {
      load_checked(k_left, outside);
    }
    source += kKMajor ? TILE_WIDTH : TILE_WIDTH * leading;
  }

  __device__ __forceinline__ void load_whole() {
    const T* from = source;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      from = static_cast<const T*>(__builtin_assume_aligned(from, kVector * sizeof(T)));
#pragma unroll
      for (int e = 0; e < kVector; ++e) elements[i * kVector + e] = from[e];
      from += kStep * (kKMajor ? leading : 1);
    }
  }

  // Loads at the edges of the matrix. A row that the matrix does not have is replaced by this
  // thread's first row: what is computed from it is never stored.
  __device__ __forceinline__ void load_checked(int k_left, T outside) {
    const T* from = source;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const int row = own_row + i * kStep + (kKMajor ? 0 : e);
        const int k = own_k + (kKMajor ? e : 0);
        const int k_on = (k < k_left ? k : k_left - 1) - own_k;
        const T* existing = row < rows_left ? from + (kKMajor ? 0 : e) : source;
        const T element = existing[kKMajor ? k_on : k_on * leading];
        elements[i * kVector + e] = k < k_left ? element : outside;
      }
      from += kStep * (kKMajor ? leading : 1);
    }
  }

  // Stores the loaded elements to the tile in shared memory.
  __device__ __forceinline__ void store(T* tile) const {
    // The first element's result is less than kVector anyway: the remainder tells the compiler so.
    T* first = tile + shared_offset(own_row % TILE_WIDTH, own_row / TILE_WIDTH % kVector, own_k);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        first[shared_offset(kKMajor ? 0 : e, i * kVector, kKMajor ? e : 0)] =
            elements[i * kVector + e];
      }
    }
  }
};

using OperandA = Operand<ElementA, RESULTS_M, !TRANSPOSE_A, !A_TRANSPOSED, PADDING && !TRANSPOSE_A>;
using OperandB = Operand<ElementB, RESULTS_N, TRANSPOSE_B, false, TRANSPOSE_B>;

// Adds the TILE_WIDTH products of one k_tile to each of this thread's results.
__device__ __forceinline__ void multiply(const ElementA* a_tile, const ElementB* b_tile,
                                         Accumulator (&sums)[RESULTS_M][RESULTS_N]) {
  constexpr int kUnroll = UNROLL;  // the pragma takes a constant, not a macro
#pragma unroll kUnroll
  for (int k = 0; k < TILE_WIDTH; ++k) {
    Accumulator a[RESULTS_M];
    Accumulator b[RESULTS_N];
#pragma unroll
    for (int i = 0; i < RESULTS_M; ++i) {
      a[i] = to_accumulator(a_tile[OperandA::shared_offset(threadIdx.y, i, k)]);
    }
#pragma unroll
    for (int j = 0; j < RESULTS_N; ++j) {
      b[j] = to_accumulator(b_tile[OperandB::shared_offset(threadIdx.x, j, k)]);
    }
#pragma unroll
    for (int i = 0; i < RESULTS_M; ++i) {
#pragma unroll
      for (int j = 0; j < RESULTS_N; ++j) sums[i][j] = multiply_add(a[i], b[j], sums[i][j]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(TILE_WIDTH* TILE_WIDTH)
    gemm_tiled(const ElementA* __restrict__ a, const ElementB* __restrict__ b,
               ElementC* __restrict__ c, long long m, long long n, long long k, long long lda,
               long long ldb, long long ldc, Scalar alpha, Scalar beta, float*,
               unsigned BATCH_PARAMETERS) {
  alignas(16) __shared__ ElementA a_tile[OperandA::kSize];
  alignas(16) __shared__ ElementB b_tile[OperandB::kSize];

  const unsigned tiles_n = static_cast<unsigned>((n + OperandB::kRows - 1) / OperandB::kRows);
  const unsigned tiles_m = static_cast<unsigned>((m + OperandA::kRows - 1) / OperandA::kRows);
  const ProductBatch products{BATCH_ARGUMENTS, tiles_m * tiles_n};
  if (scales_alone(alpha, beta, c, m, n, k, ldc, products)) return;
  const unsigned product = products.product(blockIdx.x);
  if (!products.has(product)) return;
  const unsigned tile = products.in_product(blockIdx.x);
  const long long first_row = static_cast<long long>(tile / tiles_n) * OperandA::kRows;
  const long long first_column = static_cast<long long>(tile % tiles_n) * OperandB::kRows;
  OperandA operand_a(products.a(a, product), lda, m, first_row);
  OperandB operand_b(products.b(b, product), ldb, n, first_column);

  // Beyond K, -0 of A meets +0 of B. Their product, -0, is the one number that changes no sum.
  const auto load = [&](int k_left) {
    operand_a.load(k_left, to_element<ElementA>(-0.0f));
    operand_b.load(k_left, to_element<ElementB>(0.0f));
  };

  Accumulator sums[RESULTS_M][RESULTS_N] = {};
  if (PREFETCH && k > 0) load(static_cast<int>(k));
  for (int k_left = static_cast<int>(k); k_left > 0; k_left -= TILE_WIDTH) {
    if (!PREFETCH) load(k_left);
    operand_a.store(a_tile);
    operand_b.store(b_tile);
    __syncthreads();  // both tiles are complete
    if (PREFETCH && k_left > TILE_WIDTH) load(k_left - TILE_WIDTH);
    multiply(a_tile, b_tile, sums);
    __syncthreads();  // all threads have read both tiles
  }

  ElementC* const own =
      products.c(c, product) + (first_row + threadIdx.y) * ldc + first_column + threadIdx.x;
#pragma unroll
  for (int i = 0; i < RESULTS_M; ++i) {
#pragma unroll
    for (int j = 0; j < RESULTS_N; ++j) {
      const int row_a = threadIdx.y + i * TILE_WIDTH;
      const int row_b = threadIdx.x + j * TILE_WIDTH;
      if (row_a < operand_a.rows_left && row_b < operand_b.rows_left) {
        store_result(own + i * TILE_WIDTH * ldc + j * TILE_WIDTH, value_of(alpha) * sums[i][j],
                     value_of(beta));
      }
    }
  }
}
