// Softmax of each row of a matrix: exp(x - max) / sum(exp(x - max)), with the greatest element and
// the sum of the row.
// The parameters choose the threads of a row (32: a warp a row, more: several warps), the rows of a
// block, the elements that one load moves, whether the maximum and the sum are found in one pass
// over the row or in two, how exp is computed, and how far the loops are unrolled.
// Tune it: autotune tune --kernel softmax.cu --size rows=4096,columns=4096

#ifndef THREADS
#define THREADS 128
#define ROWS 1
#define VECTOR 1
#define ONE_PASS 0
#define FAST_EXP 0
#define UNROLL 1
#endif

// The simple kernel: what the fast one is compared with.
#pragma kernel problem_size(rows) block_size(64)
#pragma kernel buffers(x[rows * columns], y[rows * columns])
__global__ void softmax_simple(const float* x, float* y, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * 64 + threadIdx.x);
  if (row >= rows) return;
  const float* const from = x + static_cast<long long>(row) * columns;
  float greatest = from[0];
  for (int i = 1; i < columns; ++i) greatest = fmaxf(greatest, from[i]);
  double sum = 0;
  for (int i = 0; i < columns; ++i) sum += expf(from[i] - greatest);
  float* const to = y + static_cast<long long>(row) * columns;
  for (int i = 0; i < columns; ++i) {
    to[i] = static_cast<float>(expf(from[i] - greatest) / sum);
  }
}

__device__ __forceinline__ float power(float x) {
#if FAST_EXP
  return __expf(x);
#else
  return expf(x);
#endif
}

// The greatest element that was seen, and the sum of exp(x - greatest).
struct Part {
  float greatest, sum;
};

__device__ __forceinline__ Part merged(Part a, Part b) {
  const float greatest = fmaxf(a.greatest, b.greatest);
  return {greatest, a.sum * power(a.greatest - greatest) + b.sum * power(b.greatest - greatest)};
}

// Merges the parts of the THREADS threads of a row; each of them gets the result.
__device__ __forceinline__ Part merged_in_row(Part part) {
#ifdef __CUDA_ARCH__
  constexpr int kLanes = THREADS < 32 ? THREADS : 32;
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    part = merged(part, {__shfl_xor_sync(0xffffffff, part.greatest, step),
                         __shfl_xor_sync(0xffffffff, part.sum, step)});
  }
#else
  constexpr int kLanes = 1;  // the CPU device has no shuffles
#endif
  constexpr int kParts = THREADS / kLanes;
  if (kParts == 1) return part;
  __shared__ Part parts[ROWS][kParts];
  Part* const own = parts[threadIdx.y];
  if (threadIdx.x % kLanes == 0) own[threadIdx.x / kLanes] = part;
  __syncthreads();
  Part result = own[0];
  for (int i = 1; i < kParts; ++i) result = merged(result, own[i]);
  __syncthreads();
  return result;
}

#pragma kernel tune(THREADS = 8, 16, 32, 64, 128, 256, 512, 1024) default(128)
#pragma kernel tune(ROWS = 1, 2, 4, 8, 16) tune(VECTOR = 1, 2, 4) tune(ONE_PASS = 0, 1)
#pragma kernel tune(FAST_EXP = 0, 1) tune(UNROLL = 1, 2, 4, 8)
#pragma kernel restriction(32 <= THREADS * ROWS <= 1024)
#pragma kernel block_size(THREADS, ROWS) grid_size(div_ceil(rows, ROWS))
#pragma kernel buffers(x[rows * columns], y[rows * columns]) data(x = normal(0, 3))
#pragma kernel reference(softmax_simple) tolerance(y = 0.000001, 0.0001)
#pragma kernel work(operations = 5.0 * rows * columns, bytes = 8.0 * rows * columns)
__global__ void __launch_bounds__(THREADS* ROWS)
    softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  struct alignas(4 * VECTOR) Vector {
    float at[VECTOR];
  };
  constexpr int kUnroll = UNROLL;
  constexpr float kLowest = -3.4e38f;
  const int row = static_cast<int>(blockIdx.x * ROWS + threadIdx.y);
  const int thread = static_cast<int>(threadIdx.x);
  const long long offset = static_cast<long long>(row < rows ? row : rows - 1) * columns;
  const float* const from = x + offset;
  // Rows whose begin is not aligned are read element by element.
  const int vectors = columns % VECTOR == 0 ? columns / VECTOR : 0;
  const Vector* const wide = reinterpret_cast<const Vector*>(from);

  // Calls a function for each vector of this thread, and for each element that is in none.
  const auto each = [&](auto of_vector, auto of_element) {
#pragma unroll kUnroll
    for (int i = thread; i < vectors; i += THREADS) of_vector(i);
    for (int i = vectors * VECTOR + thread; i < columns; i += THREADS) of_element(i);
  };

  Part part = {kLowest, 0};
#if ONE_PASS
  const auto add = [&](float value) {
    if (value > part.greatest) {
      part.sum *= power(part.greatest - value);
      part.greatest = value;
    }
    part.sum += power(value - part.greatest);
  };
  each(
      [&](int i) {
        const Vector values = wide[i];
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) add(values.at[e]);
      },
      [&](int i) { add(from[i]); });
  part = merged_in_row(part);
#else
  each(
      [&](int i) {
        const Vector values = wide[i];
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) part.greatest = fmaxf(part.greatest, values.at[e]);
      },
      [&](int i) { part.greatest = fmaxf(part.greatest, from[i]); });
  part.greatest = merged_in_row(part).greatest;
  each(
      [&](int i) {
        const Vector values = wide[i];
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) part.sum += power(values.at[e] - part.greatest);
      },
      [&](int i) { part.sum += power(from[i] - part.greatest); });
  part = merged_in_row(part);
#endif
  if (row >= rows) return;
  const float factor = 1 / part.sum;
  each(
      [&](int i) {
        Vector values = wide[i];
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) {
          values.at[e] = power(values.at[e] - part.greatest) * factor;
        }
        reinterpret_cast<Vector*>(y + offset)[i] = values;
      },
      [&](int i) { y[offset + i] = power(from[i] - part.greatest) * factor; });
}
