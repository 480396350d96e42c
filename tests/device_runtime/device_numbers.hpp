// Random matrices on a GPU.
#pragma once

#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

namespace autotune::test {

// Says on standard output where there is none, for the list of skipped tests.
inline bool gpu_is_here() {
  int count = 0;
  const bool here = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();
  if (!here) std::printf("SKIPPED: no GPU\n");
  return here;
}

inline void succeeds(cudaError_t code) {
  REQUIRE_MESSAGE(code == cudaSuccess, cudaGetErrorString(code));
}

struct DeviceMemory {
  explicit DeviceMemory(std::size_t bytes) {
    succeeds(cudaMalloc(&data, bytes));
    succeeds(cudaMemset(data, 0, bytes));
  }
  ~DeviceMemory() { cudaFree(data); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* data = nullptr;
};

// Random numbers, `shift` elements behind a multiple of 16 bytes.
struct Numbers : DeviceMemory {
  Numbers(std::int64_t count, std::int64_t shift, unsigned seed)
      : DeviceMemory(static_cast<std::size_t>(count + shift) * sizeof(float)),
        host(static_cast<std::size_t>(count)),
        begin(static_cast<float*>(data) + shift) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (float& each : host) each = static_cast<float>(uniform(random));
    reset();
  }
  void reset() const {
    succeeds(cudaMemcpy(begin, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> result(host.size());
    succeeds(cudaMemcpy(result.data(), begin, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return result;
  }

  std::vector<float> host;
  float* begin;
};

// Whole numbers from -2 to 2: sums are exact in whatever order a kernel adds.
inline void make_whole(Numbers& numbers) {
  for (float& each : numbers.host) each = static_cast<float>(static_cast<int>(each * 2.99F));
  numbers.reset();
}

}  // namespace autotune::test
