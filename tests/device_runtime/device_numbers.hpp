// Random matrices and streams on a GPU.
#pragma once

#include <bit>
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

// A stream that does not wait for the default one.
class DeviceStream {
 public:
  DeviceStream() { succeeds(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~DeviceStream() { cudaStreamDestroy(stream_); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// From -1 to 1, with all bits of the mantissa: sums of products depend on the order of adding.
inline std::vector<float> uniform_numbers(std::int64_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& each : numbers) each = static_cast<float>(uniform(random));
  return numbers;
}

// Tell 0 from -0, and are equal for a NaN and itself.
inline std::vector<std::uint32_t> bits_of(const std::vector<float>& numbers) {
  std::vector<std::uint32_t> bits;
  for (const float each : numbers) bits.push_back(std::bit_cast<std::uint32_t>(each));
  return bits;
}

// Random numbers, `shift` elements behind a multiple of 16 bytes.
struct Numbers : DeviceMemory {
  Numbers(std::int64_t count, std::int64_t shift, unsigned seed)
      : DeviceMemory(static_cast<std::size_t>(count + shift) * sizeof(float)),
        host(uniform_numbers(count, seed)),
        begin(static_cast<float*>(data) + shift) {
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
