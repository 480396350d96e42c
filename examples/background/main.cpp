// An application that multiplies from its first moment on, and gets a better kernel as soon as one
// is found: on a GPU by the CUDA runtime, else on the CPU device.
//
//   embed_background /usr/bin/autotune
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <new>
#include <string>
#include <thread>

#include <cuda_runtime_api.h>

#include "autotune/autotune.hpp"

namespace {

bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

void check(cudaError_t code) {
  if (code != cudaSuccess) throw autotune::Error(cudaGetErrorString(code));
}

// A matrix with one value everywhere, where the device and this program see it.
float* matrix(bool gpu, std::size_t elements, float value) {
  void* memory = nullptr;
  if (gpu) {
    check(cudaMallocManaged(&memory, elements * sizeof(float), cudaMemAttachGlobal));
  } else {
    memory = ::operator new(elements * sizeof(float));
  }
  auto* const values = static_cast<float*>(memory);
  for (std::size_t i = 0; i < elements; ++i) values[i] = value;
  return values;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed_background AUTOTUNE: the path of the program autotune\n");
    return 2;
  }
  const bool gpu = has_gpu();
  autotune::LibraryOptions options;
  options.device = gpu ? autotune::Device::gpu(0) : autotune::Device::cpu();
  options.miss = autotune::MissPolicy::background;
  options.worker_program = argv[1];  // its processes compile and time candidates
  options.miss_budget_seconds = 4;   // of the device's time, for each size
  options.background_share = 0.5;    // of each second of the device's time; the default is 0.05
  options.log = [](autotune::LogLevel, const std::string& line) { std::puts(line.c_str()); };
  autotune::Library library(options);

  const autotune::GemmProblem problem{96, 80, 64};  // m, n, k
  const float* const a = matrix(gpu, 96 * 64, 2);
  const float* const b = matrix(gpu, 64 * 80, 3);
  float* const c = matrix(gpu, 96 * 80, 0);

  // The first call is predicted. No call ever waits for the tuner, and from some call on they run
  // with the kernel that it has chosen.
  long calls = 0;
  autotune::MatchKind match{};
  do {
    match = library.gemm(problem, 1, {a}, {b}, 0, {c});
    if (gpu) check(cudaStreamSynchronize(nullptr));
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // all else that it does
    if (c[0] != 384) {                                          // 64 * 2 * 3
      std::fprintf(stderr, "wrong: %g\n", c[0]);
      return 1;
    }
  } while (match != autotune::MatchKind::exact && calls < 40000);
  if (match != autotune::MatchKind::exact) {
    std::fprintf(stderr, "nothing was tuned during %ld calls\n", calls);
    return 1;
  }
  std::printf("call %ld on %s was the first with a kernel tuned for its size\n", calls,
              library.device_name().c_str());
  return 0;
} catch (const autotune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
