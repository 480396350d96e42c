// One Library for several threads: on a GPU each with a stream of its own, else on the CPU device.
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

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

// Multiplies as one of the threads, each of which has a size of its own.
bool multiply(autotune::Library& library, bool gpu, int thread) {
  const autotune::GemmProblem problem{64 + 16 * thread, 96, 128};  // m, n, k
  float* const c = matrix(gpu, 64 * 1024, 0);
  autotune::GemmArguments product;
  product.a = {matrix(gpu, 64 * 1024, 2)};
  product.b = {matrix(gpu, 128 * 96, static_cast<float>(thread))};
  product.c = {c};
  // Without a GPU there is no stream, and the call returns with the result.
  if (gpu) product.stream = cudaStreamPerThread;
  int ready = 0;
  for (int call = 0; call < 10; ++call) {
    // The first call compiles and loads a kernel: an application could do other work meanwhile.
    const bool is_done = library.try_gemm(problem, product) == autotune::Outcome::done;
    if (!is_done) library.gemm(problem, product);
    ready += is_done ? 1 : 0;
  }
  if (gpu) check(cudaStreamSynchronize(cudaStreamPerThread));
  return ready == 9 && c[0] == 256.0F * static_cast<float>(thread);  // 128 * 2 * thread
}

}  // namespace

int main() try {
  const bool gpu = has_gpu();
  autotune::LibraryOptions options;
  options.device = gpu ? autotune::Device::gpu(0) : autotune::Device::cpu();
  autotune::Library library(options);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([&library, &right, gpu, thread] {
      try {
        right += multiply(library, gpu, thread) ? 1 : 0;
      } catch (const autotune::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d of 4 threads on %s\n", right.load(), library.device_name().c_str());
  return right == 4 ? 0 : 1;
} catch (const autotune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
