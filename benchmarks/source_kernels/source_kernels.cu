// The kernels of the courses that gemm_tiled grew from, as a plain build with nvcc has them: tiles
// in shared memory, 1, 4, 8 or 16 results a thread spaced TILE apart, boundary checks on every
// load. The figures that a tuned gemm_tiled is compared with.
//
//   source_kernels [--init random|linear] [--rounds N] [--json] [SIZE...]
//
// C = A * B, square, FP32, row-major. A time is the median over rounds of the mean of 10 launches
// between two events. Results are checked on a sample of elements. Exit code 1: a wrong result or
// a CUDA error; 2: wrong usage.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <cuda_runtime.h>

// Thread (tx, ty) computes rows ty + i * TILE and columns tx + j * TILE of its block's tile.
template <int TILE, int ROWS, int COLUMNS>
__global__ void tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float a_tile[TILE * ROWS][TILE];
  __shared__ float b_tile[TILE][TILE * COLUMNS];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * TILE * ROWS + ty;
  const int column = blockIdx.x * TILE * COLUMNS + tx;
  float sums[ROWS][COLUMNS] = {};

  for (int first = 0; first < n; first += TILE) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      const bool inside = row + i * TILE < n && first + tx < n;
      a_tile[ty + i * TILE][tx] = inside ? a[(row + i * TILE) * n + first + tx] : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      const bool inside = first + ty < n && column + j * TILE < n;
      b_tile[ty][tx + j * TILE] = inside ? b[(first + ty) * n + column + j * TILE] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; ++k) {
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
          sums[i][j] += a_tile[ty + i * TILE][k] * b_tile[k][tx + j * TILE];
        }
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      if (row + i * TILE < n && column + j * TILE < n) {
        c[(row + i * TILE) * n + column + j * TILE] = sums[i][j];
      }
    }
  }
}

namespace {

constexpr int kLaunches = 10;

struct Kernel {
  int results, tile, rows, columns;
  void (*entry)(const float*, const float*, float*, int);
};

template <int TILE, int ROWS, int COLUMNS>
Kernel kernel() {
  return {ROWS * COLUMNS, TILE, ROWS, COLUMNS, tiled<TILE, ROWS, COLUMNS>};
}

const std::vector<Kernel> kKernels = {kernel<16, 1, 1>(), kernel<32, 1, 1>(), kernel<16, 2, 2>(),
                                      kernel<32, 2, 2>(), kernel<16, 2, 4>(), kernel<32, 2, 4>(),
                                      kernel<16, 4, 4>(), kernel<32, 4, 4>()};

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "source_kernels: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

using DeviceMatrix = std::unique_ptr<float, cudaError_t (*)(void*)>;

DeviceMatrix upload(const std::vector<float>& host) {
  const std::size_t bytes = host.size() * sizeof(float);
  float* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "allocating a matrix");
  DeviceMatrix device(memory, cudaFree);
  check(cudaMemcpy(memory, host.data(), bytes, cudaMemcpyHostToDevice), "copying a matrix");
  return device;
}

struct Options {
  bool linear = false, json = false;
  int rounds = 7;
  std::vector<int> sizes;
};

// Uniformly random in (-1, 1), or rising from 0 to 1 (a falling matrix: from 1 to 0).
std::vector<float> data(int n, bool linear, bool falling) {
  std::mt19937 random(falling ? 2 : 1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(std::size_t(n) * n);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double rising = double(i) / double(values.size());
    values[i] = linear ? float(falling ? 1 - rising : rising) : uniform(random);
  }
  return values;
}

// One size's matrices on both sides.
struct Problem {
  int n;
  std::vector<float> a, b;
  DeviceMatrix device_a = upload(a), device_b = upload(b);
  DeviceMatrix device_c = upload(a);  // for its size

  void launch(const Kernel& k) const {
    const dim3 block(k.tile, k.tile);
    const auto blocks = [&](int results) { return unsigned((n - 1) / (k.tile * results) + 1); };
    k.entry<<<dim3(blocks(k.columns), blocks(k.rows)), block>>>(device_a.get(), device_b.get(),
                                                                device_c.get(), n);
  }
};

// Returns whether a sample of elements is as near to the exact product as FP32 sums can be held to.
bool correct(const Problem& problem, const Kernel& kernel) {
  const std::size_t n = problem.n;
  check(cudaMemset(problem.device_c.get(), 0xff, n * n * sizeof(float)), "poisoning C");
  problem.launch(kernel);
  std::vector<float> c(n * n);
  check(cudaMemcpy(c.data(), problem.device_c.get(), c.size() * sizeof(float),
                   cudaMemcpyDeviceToHost),
        "running a kernel");
  std::mt19937 random(2);
  for (int sample = 0; sample < 1000; ++sample) {
    const std::size_t row = sample == 0 ? n - 1 : random() % n;
    const std::size_t column = sample == 0 ? n - 1 : random() % n;
    double sum = 0, magnitude = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double product = double(problem.a[row * n + k]) * problem.b[k * n + column];
      sum += product;
      magnitude += std::fabs(product);
    }
    const double bound = (double(n) + 1) * std::ldexp(1.0, -24) * magnitude;
    if (!(std::fabs(c[row * n + column] - sum) <= bound)) return false;
  }
  return true;
}

double median_us(const Problem& problem, const Kernel& kernel, int rounds) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "creating an event");
  check(cudaEventCreate(&end), "creating an event");
  std::vector<float> times;
  for (int round = -1; round < rounds; ++round) {  // the first is the warm-up
    cudaEventRecord(begin);
    for (int i = 0; i < kLaunches; ++i) problem.launch(kernel);
    cudaEventRecord(end);
    check(cudaEventSynchronize(end), "timing a kernel");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "reading a time");
    if (round >= 0) times.push_back(ms * 1000 / kLaunches);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

[[noreturn]] void usage(const char* wrong) {
  std::fprintf(stderr,
               "source_kernels: '%s' is wrong: expected [--init random|linear] [--rounds N] "
               "[--json] [SIZE...], with 1 <= SIZE <= 32768\n",
               wrong);
  std::exit(2);
}

int positive(const char* text, int most) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 1 || value > most) usage(text);
  return int(value);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--rounds" && i + 1 < argc) {
      options.rounds = positive(argv[++i], 1000);
    } else if (argument == "--init" && i + 1 < argc) {
      const std::string data = argv[++i];
      if (data != "random" && data != "linear") usage(argv[i]);
      options.linear = data == "linear";
    } else {
      options.sizes.push_back(positive(argv[i], 32768));
    }
  }
  if (options.sizes.empty()) options.sizes = {1024, 1600, 2048, 3200};
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0), "asking for the GPU");
  if (options.json) {
    std::printf("{\"device\":\"%s\",\"results\":[", device.name);
  } else {
    std::printf("%s\n%6s %8s %5s %12s %10s %9s\n", device.name, "n", "results", "tile", "median us",
                "GFLOP/s", "speed-up");
  }
  const char* separator = "";
  for (const int n : options.sizes) {
    const Problem problem{n, data(n, options.linear, false), data(n, options.linear, true)};
    double single_us[2] = {};  // with one result, tiles 16 and 32
    for (const Kernel& k : kKernels) {
      if (!correct(problem, k)) {
        std::fprintf(stderr, "source_kernels: wrong result: n %d, %d results, tile %d\n", n,
                     k.results, k.tile);
        return 1;
      }
      const double us = median_us(problem, k, options.rounds);
      double& single = single_us[k.tile / 32];
      if (k.results == 1) single = us;
      const double gflops = 2.0 * n * n * n / us * 1e-3;
      std::printf(options.json ? "%s\n{\"n\":%d,\"results\":%d,\"tile\":%d,\"median_us\":%.3f,"
                                 "\"gflops\":%.1f,\"speedup\":%.3f}"
                               : "%s%6d %8d %5d %12.2f %10.1f %9.2f\n",
                  separator, n, k.results, k.tile, us, gflops, single / us);
      if (options.json) separator = ",";
    }
  }
  if (options.json) std::printf("\n]}\n");
  return 0;
}
