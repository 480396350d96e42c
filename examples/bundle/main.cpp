// Products with the kernels of a bundle: without a compiler, a database or a home directory.
//
//   autotune export --bundle app.bundle --device 0 --sizes 1024x512x256
//   embed_bundle app.bundle
#include <chrono>
#include <cstdio>
#include <vector>

#include <cuda_runtime_api.h>

#include "autotune/autotune.hpp"

namespace {

void check(cudaError_t code) {
  if (code != cudaSuccess) throw autotune::Error(cudaGetErrorString(code));
}

// A matrix on the device with one value everywhere.
float* device_matrix(std::size_t elements, float value) {
  const std::vector<float> host(elements, value);
  void* device = nullptr;
  check(cudaMalloc(&device, elements * sizeof(float)));
  check(cudaMemcpy(device, host.data(), elements * sizeof(float), cudaMemcpyHostToDevice));
  return static_cast<float*>(device);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw autotune::UsageError("usage: embed_bundle FILE");
  autotune::LibraryOptions options;
  options.bundle = argv[1];
  autotune::Library library(options);  // refuses the bundle of another device

  const autotune::GemmProblem problem{1024, 512, 256};  // m, n, k
  const float* const a = device_matrix(1024 * 256, 2);
  const float* const b = device_matrix(256 * 512, 3);
  float* const c = device_matrix(1024 * 512, 0);
  const auto start = std::chrono::steady_clock::now();
  const autotune::MatchKind match = library.gemm(problem, 1, {a}, {b}, 0, {c});
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  float first = 0;
  check(cudaMemcpy(&first, c, sizeof first, cudaMemcpyDeviceToHost));

  std::printf("%s on %s, %s: %g; the first call took %.2f ms\n", to_string(problem).c_str(),
              library.device_name().c_str(), to_string(match).c_str(), first, taken.count());
  return first == 1536 ? 0 : 1;  // 256 * 2 * 3
} catch (const autotune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
