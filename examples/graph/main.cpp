// A product that is captured into a CUDA graph, and launched with it.
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
  autotune::Library library;
  const autotune::GemmProblem problem{1024, 512, 256};  // m, n, k
  const float* const a = device_matrix(1024 * 256, 2);
  const float* const b = device_matrix(256 * 512, 3);
  float* const c = device_matrix(1024 * 512, 0);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  // A first call loads code, which a capture does not allow, so it is prepared for.
  library.prepare(problem, stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  library.gemm(problem, 1, {a}, {b}, 1, {c}, stream);  // C = A B + C
  check(cudaStreamEndCapture(stream, &graph));

  cudaGraphExec_t launches = nullptr;
  check(cudaGraphInstantiateWithFlags(&launches, graph, 0));
  for (int i = 0; i < 3; ++i) check(cudaGraphLaunch(launches, stream));
  float first = 0;
  check(cudaMemcpyAsync(&first, c, sizeof first, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));

  std::printf("%s on %s, three times in a graph: %g\n", to_string(problem).c_str(),
              library.device_name().c_str(), first);
  return first == 4608 ? 0 : 1;  // 3 * 256 * 2 * 3
} catch (const autotune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
