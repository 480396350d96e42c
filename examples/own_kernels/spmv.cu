// Multiplies a sparse matrix by a vector: y = matrix * x. The matrix is stored as CSR: the entries
// of row r are those from starts[r] to starts[r + 1], each a value and the number of its column. The
// data that it is tuned with has the same number of entries in each row.
// The parameters choose the threads of a block, those that share a row, the rows that they compute
// one after the other, how far the loop over entries is unrolled, and whether x is read through the
// path for data that nobody writes.
// Tune it: autotune tune --kernel spmv.cu --size n=1048576,entries=16

#ifndef BLOCK
#define BLOCK 256
#define THREADS 1
#define ROWS 1
#define UNROLL 1
#define READ_ONLY 0
#endif

// The simple kernel: what the fast one is compared with.
#pragma kernel size(entries) problem_size(n) block_size(128)
#pragma kernel buffers(starts[n + 1], columns[n * entries], values[n * entries], x[n], y[n])
__global__ void spmv_simple(const int* starts, const int* columns, const float* values,
                            const float* x, float* y, int n) {
  const int row = static_cast<int>(blockIdx.x * 128 + threadIdx.x);
  if (row >= n) return;
  double sum = 0;
  for (int i = starts[row]; i < starts[row + 1]; ++i) {
    sum += static_cast<double>(values[i]) * x[columns[i]];
  }
  y[row] = static_cast<float>(sum);
}

__device__ __forceinline__ float element(const float* x, int column) {
#if READ_ONLY && defined(__CUDA_ARCH__)
  return __ldg(x + column);
#else
  return x[column];
#endif
}

// Adds the numbers of the THREADS threads of a row. The first of them gets the sum.
__device__ __forceinline__ float sum_of_row(float own) {
#ifdef __CUDA_ARCH__
#pragma unroll
  for (int step = THREADS / 2; step > 0; step /= 2) {
    own += __shfl_down_sync(0xffffffff, own, step, THREADS);
  }
#else  // the CPU device has no shuffles
  __shared__ float part[BLOCK];
  part[threadIdx.x] = own;
  __syncthreads();
  for (int i = 1; i < THREADS && threadIdx.x + i < BLOCK; ++i) own += part[threadIdx.x + i];
  __syncthreads();
#endif
  return own;
}

#pragma kernel size(entries)
#pragma kernel tune(BLOCK = 32, 64, 128, 256, 512, 1024) default(256)
#pragma kernel tune(THREADS = 1, 2, 4, 8, 16, 32) tune(ROWS = 1, 2, 4, 8)
#pragma kernel tune(UNROLL = 1, 2, 4, 8) tune(READ_ONLY = 0, 1)
#pragma kernel block_size(BLOCK) grid_size(div_ceil(n, BLOCK / THREADS * ROWS))
#pragma kernel buffers(starts[n + 1], columns[n * entries], values[n * entries], x[n], y[n])
#pragma kernel data(starts = linear(0, n * entries), columns = integers(0, n - 1))
#pragma kernel reference(spmv_simple)
#pragma kernel work(operations = 2.0 * n * entries, bytes = 8.0 * n * entries + 12.0 * n)
__global__ void __launch_bounds__(BLOCK)
    spmv(const int* __restrict__ starts, const int* __restrict__ columns,
         const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
         int n) {
  constexpr int kUnroll = UNROLL;
  constexpr int kRowsAtOnce = BLOCK / THREADS;
  const int lane = static_cast<int>(threadIdx.x) % THREADS;
  const long long first = static_cast<long long>(blockIdx.x) * kRowsAtOnce * ROWS +
                          static_cast<int>(threadIdx.x) / THREADS;
  for (int r = 0; r < ROWS; ++r) {
    const long long row = first + static_cast<long long>(r) * kRowsAtOnce;
    const int begin = row < n ? starts[row] : 0, end = row < n ? starts[row + 1] : 0;
    float sum = 0;
#pragma unroll kUnroll
    for (int i = begin + lane; i < end; i += THREADS) sum += values[i] * element(x, columns[i]);
    sum = sum_of_row(sum);
    if (row < n && lane == 0) y[row] = sum;
  }
}
