// A tuned matrix multiplication on a GPU, in a program that uses the CUDA runtime.
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

int main() try {
  check(cudaSetDevice(0));
  autotune::Library library;                            // works on the current GPU
  const autotune::GemmProblem problem{1024, 512, 256};  // m, n, k
  autotune::TuningOptions brief;
  brief.budget_seconds = 5;
  library.tune({problem}, brief);  // measures once: the results are kept on disk

  const float* a = device_matrix(1024 * 256, 2);
  const float* b = device_matrix(256 * 512, 3);
  float* c = device_matrix(1024 * 512, 0);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  const autotune::MatchKind match = library.gemm(problem, 1, {a}, {b}, 0, {c}, stream);
  float first = 0;
  check(cudaMemcpyAsync(&first, c, sizeof first, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));

  std::printf("%s on %s, %s: %g\n", to_string(problem).c_str(), library.device_name().c_str(),
              to_string(match).c_str(), first);
  return first == 1536 ? 0 : 1;  // 256 * 2 * 3
} catch (const autotune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
