// What a measurement needs on the device besides the kernel that is measured: input data, a
// reference in FP64, and the comparison of a result with it. No candidate's code is used here.
//
// All kernels take one-dimensional grids of kThreads threads. Counts and indices are 64-bit. Every
// start of a measuring process compiles this file, so loops are unrolled only where it pays.

constexpr int kThreads = 256;

using Index = long long;

__device__ __forceinline__ Index first_index() {
  return static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ __forceinline__ Index all_threads() {
  return static_cast<Index>(gridDim.x) * kThreads;
}

// The output function of splitmix64: neighbouring inputs give unrelated outputs.
__device__ __forceinline__ unsigned long long mixed(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Element i of a random sequence depends on the seed and on i alone.
__device__ __forceinline__ unsigned long long random_bits(unsigned long long seed, Index i) {
  return mixed(mixed(seed) + 0x9e3779b97f4a7c15ull * (static_cast<unsigned long long>(i) + 1));
}

// Integers in [-2, 2].
extern "C" __global__ void fill_integers(float* out, Index count, unsigned long long seed) {
#pragma unroll 1
  for (Index i = first_index(); i < count; i += all_threads()) {
    out[i] = static_cast<float>(static_cast<int>((random_bits(seed, i) >> 32) % 5) - 2);
  }
}

// Uniform in (-1, 1): the odd multiples of 2^-23.
extern "C" __global__ void fill_uniform(float* out, Index count, unsigned long long seed) {
#pragma unroll 1
  for (Index i = first_index(); i < count; i += all_threads()) {
    const int odd = 2 * static_cast<int>(random_bits(seed, i) >> 41) + 1;
    out[i] = static_cast<float>(odd - (1 << 23)) * (1.0f / (1 << 23));
  }
}

// Evenly spaced, from `first` for element 0 on to `last` for element `count`, which is not there.
extern "C" __global__ void fill_linear(float* out, Index count, double first, double last) {
  const double step = (last - first) / static_cast<double>(count);
#pragma unroll 1
  for (Index i = first_index(); i < count; i += all_threads()) {
    out[i] = static_cast<float>(first + step * static_cast<double>(i));
  }
}

// A strided view of an operand: element (i, j) of op(X) is at data[i * row + j * column], and one
// of the strides is 1.
struct View {
  const float* data;
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
template <typename Sum>
__device__ __forceinline__ void load_tile(Tile<Sum>& tile, const float* first, Index line_stride,
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
    tile[depth][line] = inside ? static_cast<Sum>(*first) : Sum(0);
    first += line_step * line_stride + depth_step * k_stride;
    line += line_step;
    depth += depth_step;
  }
}

// sums = op(A) * op(B) and, if kMagnitudes, magnitudes = |op(A)| * |op(B)|; both m x n without
// gaps. One block for each tile of C, row after row of tiles.
template <typename Sum, bool kMagnitudes>
__device__ __forceinline__ void multiply(View a, View b, Index m, Index n, Index k, Sum* sums,
                                         float* magnitudes) {
  __shared__ Tile<Sum> a_tile;
  __shared__ Tile<Sum> b_tile;
  const Index tiles_n = (n + kTile - 1) / kTile;
  const Index first_row = blockIdx.x / tiles_n * kTile;
  const Index first_column = blockIdx.x % tiles_n * kTile;
  const float* const a_lines = a.data + first_row * a.row;
  const float* const b_lines = b.data + first_column * b.column;
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
#pragma unroll 2
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
#pragma unroll
  for (int i = 0; i < kResults; ++i) {
#pragma unroll
    for (int j = 0; j < kResults; ++j) {
      const Index row = first_row + y + i * kSide;
      const Index column = first_column + x + j * kSide;
      if (row >= m || column >= n) continue;
      sums[row * n + column] = sum[i][j];
      if (kMagnitudes) magnitudes[row * n + column] = static_cast<float>(magnitude[i][j]);
    }
  }
}

// Of small integers: FP32 holds their sums exactly.
extern "C" __global__ void __launch_bounds__(kThreads, 2)
    reference_integers(View a, View b, Index m, Index n, Index k, float* sums) {
  multiply<float, false>(a, b, m, n, k, sums, nullptr);
}

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    reference_real(View a, View b, Index m, Index n, Index k, double* sums, float* magnitudes) {
  multiply<double, true>(a, b, m, n, k, sums, magnitudes);
}

// What one block saw of a result; tuner/verification.hpp has the same struct.
struct Finding {
  double max_error_ratio;  // of the elements whose ratio is a finite number
  double error_squares;    // sums over these elements
  double reference_squares;
  Index wrong;        // elements, those that are no number among them
  Index first_wrong;  // the least index of them in C; above all indices when there are none
  Index outside;      // words around C that were written to
};

// The memory around C: `total` words of which C are those from `front` on, `count` of them. All
// words were `poison`, a NaN, before C was computed.
struct Area {
  const unsigned* words;
  Index front;
  Index count;
  Index total;
  unsigned poison;
};

__device__ __forceinline__ void merge(Finding& into, const Finding& other) {
  into.max_error_ratio = fmax(into.max_error_ratio, other.max_error_ratio);
  into.error_squares += other.error_squares;
  into.reference_squares += other.reference_squares;
  into.wrong += other.wrong;
  into.first_wrong = min(into.first_wrong, other.first_wrong);
  into.outside += other.outside;
}

__device__ __forceinline__ void count_wrong(Finding& finding, Index i) {
  ++finding.wrong;
  finding.first_wrong = min(finding.first_wrong, i);
}

// Gives every element of C to `look(finding, i, value)`; findings[block] gets what was found.
template <typename Look>
__device__ __forceinline__ void check(const Area& area, Finding* findings, const Look& look) {
  Finding own = {0, 0, 0, 0, 0x7fffffffffffffffll, 0};
#pragma unroll 1
  for (Index at = first_index(); at < area.total; at += all_threads()) {
    const Index i = at - area.front;
    if (i >= 0 && i < area.count) {
      look(own, i, __uint_as_float(area.words[at]));
    } else if (area.words[at] != area.poison) {
      ++own.outside;
    }
  }
  __shared__ Finding shared[kThreads];
  shared[threadIdx.x] = own;
#pragma unroll 1
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) merge(shared[threadIdx.x], shared[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) findings[blockIdx.x] = shared[0];
}

extern "C" __global__ void __launch_bounds__(kThreads)
    check_integers(Area area, const float* expected, Finding* findings) {
  check(area, findings, [=](Finding& finding, Index i, float value) {
    if (!(value == expected[i])) count_wrong(finding, i);
  });
}

// An element is wrong when |error| / (unit * magnitude) is above `bound`.
extern "C" __global__ void __launch_bounds__(kThreads)
    check_real(Area area, const double* expected, const float* magnitudes, double unit,
               double bound, Finding* findings) {
  check(area, findings, [=](Finding& finding, Index i, float value) {
    const double error = fabs(static_cast<double>(value) - expected[i]);
    const double scale = unit * static_cast<double>(magnitudes[i]);
    if (!(error <= bound * scale)) count_wrong(finding, i);  // also when it is no number
    const double ratio = error == 0 ? 0.0 : error / scale;
    if (!isfinite(ratio)) return;
    finding.max_error_ratio = fmax(finding.max_error_ratio, ratio);
    finding.error_squares += error * error;
    finding.reference_squares += expected[i] * expected[i];
  });
}
