// The reference of matrix multiplication in FP64: sums, and the magnitudes that rounding errors are
// relative to. They are the sums of absolute values; of results of 16 bits they are the results'
// own magnitudes and sum_units of the sums of absolute values, kSumUnit of them each. None of a
// template's code is used here. Compiled behind
// element.cuh with ELEMENT_A, ELEMENT_B and ELEMENT_C; loops are unrolled only where it pays, since
// every start of a measuring process compiles this.

constexpr int kThreads = 256;
constexpr float kSumUnit = 0x1p-30f;

using Index = long long;

// A strided view of an operand: element (i, j) of op(X) is at data[i * row + j * column], and one
// of the strides is 1.
template <typename Element>
struct View {
  const Element* data;
  Index row;
  Index column;
};

constexpr int kTile = 64;   // rows and columns of C that a block computes
constexpr int kDepth = 16;  // of K at a time
constexpr int kSide = 16;   // threads of a block along each side
constexpr int kResults = kTile / kSide;

// A tile of kTile lines (rows of op(A), columns of op(B)) and kDepth of K. The odd width keeps
// threads that store neighbours along K on different banks.
template <typename Sum>
using Tile = Sum[kDepth][kTile + 1];

// Loads a tile; zeros stand for what lies outside of the matrix. Lines and K are counted from the
// tile's first, so `lines_left` and `k_left` say where the matrix ends.
template <typename Sum, typename Element>
__device__ __forceinline__ void load_tile(Tile<Sum>& tile, const Element* first, Index line_stride,
                                          Index k_stride, Index lines_left, Index k_left) {
  // Neighbouring threads take neighbours in memory.
  const bool along_k = k_stride == 1;
  const int thread = static_cast<int>(threadIdx.x);
  int line = along_k ? thread / kDepth : thread % kTile;
  int depth = along_k ? thread % kDepth : thread / kTile;
  const int line_step = along_k ? kThreads / kDepth : 0;
  const int depth_step = along_k ? 0 : kThreads / kTile;
  first += line * line_stride + depth * k_stride;
#pragma unroll
  for (int i = 0; i < kTile * kDepth / kThreads; ++i) {
    const bool inside = line < lines_left && depth < k_left;
    tile[depth][line] = inside ? static_cast<Sum>(to_double(*first)) : Sum(0);
    first += line_step * line_stride + depth_step * k_stride;
    line += line_step;
    depth += depth_step;
  }
}

// Computes one tile of sums = op(A) * op(B) and, if kMagnitudes, of magnitudes = |op(A)| * |op(B)|;
// both m x n without gaps. Tiles are numbered row by row.
template <typename Sum, bool kMagnitudes, typename Output>
__device__ __forceinline__ void multiply_tile(View<ELEMENT_A> a, View<ELEMENT_B> b, Index m,
                                              Index n, Index k, Index tile, Output* sums,
                                              float* magnitudes, Index sum_units) {
  __shared__ Tile<Sum> a_tile;
  __shared__ Tile<Sum> b_tile;
  const Index tiles_n = (n + kTile - 1) / kTile;
  const Index first_row = tile / tiles_n * kTile;
  const Index first_column = tile % tiles_n * kTile;
  const ELEMENT_A* const a_lines = a.data + first_row * a.row;
  const ELEMENT_B* const b_lines = b.data + first_column * b.column;
  const int y = static_cast<int>(threadIdx.x) / kSide;
  const int x = static_cast<int>(threadIdx.x) % kSide;

  Sum sum[kResults][kResults] = {};
  Sum magnitude[kResults][kResults] = {};
#pragma unroll 1
  for (Index first_k = 0; first_k < k; first_k += kDepth) {
    load_tile<Sum>(a_tile, a_lines + first_k * a.column, a.row, a.column, m - first_row,
                   k - first_k);
    load_tile<Sum>(b_tile, b_lines + first_k * b.row, b.column, b.row, n - first_column,
                   k - first_k);
    __syncthreads();
#pragma unroll 1
    for (int depth = 0; depth < kDepth; ++depth) {
      Sum left[kResults];
      Sum right[kResults];
#pragma unroll
      for (int i = 0; i < kResults; ++i) {
        left[i] = a_tile[depth][y + i * kSide];
        right[i] = b_tile[depth][x + i * kSide];
      }
#pragma unroll
      for (int i = 0; i < kResults; ++i) {
#pragma unroll
        for (int j = 0; j < kResults; ++j) {
          sum[i][j] = fma(left[i], right[j], sum[i][j]);
          if (kMagnitudes) magnitude[i][j] = fma(fabs(left[i]), fabs(right[j]), magnitude[i][j]);
        }
      }
    }
    __syncthreads();
  }
  const Sum of_result = sum_units == 0 ? 0 : 1;
  const Sum of_terms = sum_units == 0 ? 1 : static_cast<Sum>(sum_units) * kSumUnit;
#pragma unroll
  for (int i = 0; i < kResults; ++i) {
#pragma unroll
    for (int j = 0; j < kResults; ++j) {
      const Index row = first_row + y + i * kSide;
      const Index column = first_column + x + j * kSide;
      if (row >= m || column >= n) continue;
      from_double(static_cast<double>(sum[i][j]), sums[row * n + column]);
      if (kMagnitudes) {
        magnitudes[row * n + column] =
            static_cast<float>(fma(of_terms, magnitude[i][j], of_result * fabs(sum[i][j])));
      }
    }
  }
}

// The products of a batch. No gaps separate their matrices. Blocks take the tiles of all products
// in turn, in most launches one each.
template <typename Sum, bool kMagnitudes, typename Output>
__device__ __forceinline__ void multiply(View<ELEMENT_A> a, View<ELEMENT_B> b, Index m, Index n,
                                         Index k, Index batch, Output* sums, float* magnitudes,
                                         Index sum_units) {
  const Index tiles = ((m + kTile - 1) / kTile) * ((n + kTile - 1) / kTile);
#pragma unroll 1
  for (Index tile = blockIdx.x; tile < tiles * batch; tile += gridDim.x) {
    const Index product = tile / tiles;
    multiply_tile<Sum, kMagnitudes>(
        View<ELEMENT_A>{a.data + product * m * k, a.row, a.column},
        View<ELEMENT_B>{b.data + product * k * n, b.row, b.column}, m, n, k, tile % tiles,
        sums + product * m * n, kMagnitudes ? magnitudes + product * m * n : nullptr, sum_units);
  }
}

// FP32 holds the sums of small integers exactly.
extern "C" __global__ void __launch_bounds__(kThreads, 2)
    reference_integers(const ELEMENT_A* a, const ELEMENT_B* b, Index m, Index n, Index k,
                       Index a_row, Index a_column, Index b_row, Index b_column, Index batch,
                       Index sum_units, ELEMENT_C* values) {
  multiply<float, false>(View<ELEMENT_A>{a, a_row, a_column}, View<ELEMENT_B>{b, b_row, b_column},
                         m, n, k, batch, values, nullptr, sum_units);
}

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    reference_real(const ELEMENT_A* a, const ELEMENT_B* b, Index m, Index n, Index k, Index a_row,
                   Index a_column, Index b_row, Index b_column, Index batch, Index sum_units,
                   double* values, float* magnitudes) {
  multiply<double, true>(View<ELEMENT_A>{a, a_row, a_column}, View<ELEMENT_B>{b, b_row, b_column},
                         m, n, k, batch, values, magnitudes, sum_units);
}
