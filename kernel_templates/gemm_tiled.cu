// gemm_tiled: C = alpha * op(A) * op(B) + beta * C with tiles in shared memory.
//
// A block of TILE_WIDTH x TILE_WIDTH threads computes one tile of C of TILE_WIDTH * RESULTS_M rows
// and TILE_WIDTH * RESULTS_N columns. It walks along K in phases of TILE_WIDTH: all threads load
// one tile of A and one of B into shared memory, wait for each other, and multiply. Every element
// that was loaded once is then used TILE_WIDTH * RESULTS_N (of A) or TILE_WIDTH * RESULTS_M (of B)
// times.
//
// Thread (tx, ty) owns the results in rows ty + i * TILE_WIDTH and columns tx + j * TILE_WIDTH of
// the block's tile. A result is one chain of fused multiply-adds over k = 0 .. K-1 that starts at
// 0, so every configuration gives the same bits.
//
// Matrices are row-major with leading dimensions in elements; 1 <= m, n, k < 2^31, any alignment.
// Launch: TILE_WIDTH x TILE_WIDTH threads; as many blocks, all along x, as C has tiles, counted
// row of tiles after row of tiles.

// Threads of a block along each side, and elements of K in a phase: 8, 16 or 32.
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

// How shared memory keeps the tile of A. 0: row after row, so that a thread reads neighbours along
// K at once. 1: transposed, so that it reads the elements of several of its rows at once.
#ifndef A_TRANSPOSED
#define A_TRANSPOSED 0
#endif

// 1: the rows of a transposed tile of A are kept a few elements further apart, so that the threads
// of a warp write to different banks of shared memory. 0: they are not.
#ifndef PADDING
#define PADDING 0
#endif

// Elements that one load from global memory brings at most: 1, 2 or 4. A tile of which a thread
// loads fewer uses loads that small; a matrix that is not aligned for them is loaded singly.
#ifndef VECTOR_WIDTH
#define VECTOR_WIDTH 1
#endif

// 1: the next phase's elements travel from global memory to registers while this phase
// multiplies. 0: they are loaded when they are needed.
#ifndef PREFETCH
#define PREFETCH 0
#endif

// Not tuned but given by the problem. 1: memory holds the transpose of op(A), of op(B).
#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0
#endif

// One operand as a thread sees it. A "line" is a row of op(A) or a column of op(B): seen so, both
// operands are lines of K elements, and a result is the product of two lines.
//   kResults  lines that one thread multiplies; the tile has TILE_WIDTH times as many
//   kAlongK   memory holds a line's elements side by side; else those of neighbouring lines
//   kByLine   shared memory holds line after line; else one k after the other
//   kPadded   without kByLine: space is left between one k and the next
template <int kResults, bool kAlongK, bool kByLine, bool kPadded>
struct Operand {
  static constexpr int kLines = TILE_WIDTH * kResults;
  // Elements of one load. One thread makes kLoads of them for each phase, kStep lines apart.
  static constexpr int kVector = VECTOR_WIDTH < kResults ? VECTOR_WIDTH : kResults;
  static constexpr int kLoads = kResults / kVector;
  static constexpr int kStep = TILE_WIDTH * kVector;

  // Without kByLine, up to four elements that the same thread multiplies lie side by side: it
  // reads them with one instruction. All 32 banks serve a warp's writes when threads that write
  // neighbours along K are kSpace banks apart.
  static constexpr int kChunk = kResults < 4 ? kResults : 4;
  static constexpr int kSpace = 32 / TILE_WIDTH > kChunk ? 32 / TILE_WIDTH : kChunk;
  static constexpr int kRow = kByLine ? TILE_WIDTH : kLines + (kPadded ? kSpace : 0);
  static constexpr int kSize = kRow * (kByLine ? kLines : TILE_WIDTH);

  const float* source;       // this thread's first element of the phase, in global memory
  long long leading;         // elements from one line (kAlongK) or one k (else) to the next
  int own_line;              // of that first element, in the tile
  int own_k;                 // of that first element, in the phase
  int lines_left;            // lines of the matrix from the tile's first on
  bool whole;                // the tile has all its lines, aligned for loads of kVector
  float elements[kResults];  // loaded and not yet in shared memory

  // The place in shared memory of an element that `thread` multiplies for one of its results.
  // Linear in each argument but `result`, and there for multiples of kVector.
  static __device__ __forceinline__ int place(int thread, int result, int k) {
    if (kByLine) return (result * TILE_WIDTH + thread) * kRow + k;
    return k * kRow + (result / kChunk * TILE_WIDTH + thread) * kChunk + result % kChunk;
  }

  // matrix: op(X) as memory holds it; lines: of op(X); first_line: of this block's tile.
  __device__ __forceinline__ Operand(const float* matrix, long long ld, long long lines,
                                     long long first_line) {
    const int thread = threadIdx.y * TILE_WIDTH + threadIdx.x;
    constexpr int kLoadsPerLine = TILE_WIDTH / kVector;
    own_line = kAlongK ? thread / kLoadsPerLine : threadIdx.x * kVector;
    own_k = kAlongK ? thread % kLoadsPerLine * kVector : threadIdx.y;
    leading = ld;
    lines_left = lines - first_line < kLines ? static_cast<int>(lines - first_line) : kLines;
    const long long line = first_line + (own_line < lines_left ? own_line : 0);
    source = matrix + (kAlongK ? line * ld + own_k : own_k * ld + line);
    const bool aligned =
        reinterpret_cast<unsigned long long>(matrix) % (kVector * 4) == 0 && ld % kVector == 0;
    whole = aligned && lines_left == kLines;
  }

  // Brings this thread's elements of one phase into registers and moves on to the next phase.
  // k_left: elements of K from this phase's first on. Beyond the matrix `outside` is taken.
  __device__ __forceinline__ void load(int k_left, float outside) {
    if (whole && k_left >= TILE_WIDTH) {
      load_whole();
    } else {
      load_checked(k_left, outside);
    }
    source += kAlongK ? TILE_WIDTH : TILE_WIDTH * leading;
  }

  __device__ __forceinline__ void load_whole() {
    const float* from = source;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      from = static_cast<const float*>(__builtin_assume_aligned(from, kVector * sizeof(float)));
#pragma unroll
      for (int e = 0; e < kVector; ++e) elements[i * kVector + e] = from[e];
      from += kStep * (kAlongK ? leading : 1);
    }
  }

  // For the edges of the matrix. Instead of a line that the matrix does not have, this thread's
  // first is read: what is computed from it is never stored.
  __device__ __forceinline__ void load_checked(int k_left, float outside) {
    const float* from = source;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const int line = own_line + i * kStep + (kAlongK ? 0 : e);
        const int k = own_k + (kAlongK ? e : 0);
        const int k_on = (k < k_left ? k : k_left - 1) - own_k;
        const float* existing = line < lines_left ? from + (kAlongK ? 0 : e) : source;
        const float element = existing[kAlongK ? k_on : k_on * leading];
        elements[i * kVector + e] = k < k_left ? element : outside;
      }
      from += kStep * (kAlongK ? leading : 1);
    }
  }

  // Puts the loaded elements into the tile in shared memory.
  __device__ __forceinline__ void store(float* tile) const {
    // The first element's result is below kVector anyway: the remainder says so to the compiler.
    float* first = tile + place(own_line % TILE_WIDTH, own_line / TILE_WIDTH % kVector, own_k);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        first[place(kAlongK ? 0 : e, i * kVector, kAlongK ? e : 0)] = elements[i * kVector + e];
      }
    }
  }
};

using OperandA = Operand<RESULTS_M, !TRANSPOSE_A, !A_TRANSPOSED, PADDING && !TRANSPOSE_A>;
using OperandB = Operand<RESULTS_N, TRANSPOSE_B, false, TRANSPOSE_B>;

// One phase: adds TILE_WIDTH products to each of this thread's results.
__device__ __forceinline__ void multiply(const float* a_tile, const float* b_tile,
                                         float (&sums)[RESULTS_M][RESULTS_N]) {
  constexpr int kUnroll = UNROLL;  // a pragma takes a constant, but no macro
#pragma unroll kUnroll
  for (int k = 0; k < TILE_WIDTH; ++k) {
    float a[RESULTS_M];
    float b[RESULTS_N];
#pragma unroll
    for (int i = 0; i < RESULTS_M; ++i) a[i] = a_tile[OperandA::place(threadIdx.y, i, k)];
#pragma unroll
    for (int j = 0; j < RESULTS_N; ++j) b[j] = b_tile[OperandB::place(threadIdx.x, j, k)];
#pragma unroll
    for (int i = 0; i < RESULTS_M; ++i) {
#pragma unroll
      for (int j = 0; j < RESULTS_N; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(TILE_WIDTH* TILE_WIDTH)
    gemm_tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
               long long m, long long n, long long k, long long lda, long long ldb, long long ldc,
               float alpha, float beta, float*, unsigned) {
  alignas(16) __shared__ float a_tile[OperandA::kSize];
  alignas(16) __shared__ float b_tile[OperandB::kSize];

  const unsigned tiles_n = static_cast<unsigned>((n + OperandB::kLines - 1) / OperandB::kLines);
  const long long first_row = static_cast<long long>(blockIdx.x / tiles_n) * OperandA::kLines;
  const long long first_column = static_cast<long long>(blockIdx.x % tiles_n) * OperandB::kLines;
  OperandA operand_a(a, lda, m, first_row);
  OperandB operand_b(b, ldb, n, first_column);

  // Beyond K, -0 of A meets +0 of B. Their product, -0, is the one number that changes no sum.
  const auto load = [&](int k_left) {
    operand_a.load(k_left, -0.0f);
    operand_b.load(k_left, 0.0f);
  };

  float sums[RESULTS_M][RESULTS_N] = {};
  if (PREFETCH) load(static_cast<int>(k));
  for (int k_left = static_cast<int>(k); k_left > 0; k_left -= TILE_WIDTH) {
    if (!PREFETCH) load(k_left);
    operand_a.store(a_tile);
    operand_b.store(b_tile);
    __syncthreads();  // both tiles are complete
    if (PREFETCH && k_left > TILE_WIDTH) load(k_left - TILE_WIDTH);
    multiply(a_tile, b_tile, sums);
    __syncthreads();  // nobody reads the tiles any more
  }

  float* const own = c + (first_row + threadIdx.y) * ldc + first_column + threadIdx.x;
#pragma unroll
  for (int i = 0; i < RESULTS_M; ++i) {
#pragma unroll
    for (int j = 0; j < RESULTS_N; ++j) {
      const int line_a = threadIdx.y + i * TILE_WIDTH;
      const int line_b = threadIdx.x + j * TILE_WIDTH;
      if (line_a < operand_a.lines_left && line_b < operand_b.lines_left) {
        float& result = own[i * TILE_WIDTH * ldc + j * TILE_WIDTH];
        const float product = alpha * sums[i][j];
        result = beta == 0.0f ? product : fmaf(beta, result, product);
      }
    }
  }
}
