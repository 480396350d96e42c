// Memory that an application gives to products, on a real GPU.
#include <atomic>
#include <vector>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "tests/api/temporary_storage.hpp"
#include "tests/device_runtime/device_numbers.hpp"

namespace autotune::test {
namespace {

// Kernels that need a workspace: blocks share tiles, or planes are prepared.
const GemmProblem kProblemsWithMemory[] = {
    {.m = 64, .n = 64, .k = 65536}, {.m = 2048, .n = 2048, .k = 2048, .math = Math::emulated}};

struct DeepProduct {
  explicit DeepProduct(const GemmProblem& of) : problem(of) {}

  [[nodiscard]] GemmArguments call(cudaStream_t stream) const {
    return {.a = {a.begin}, .b = {b.begin}, .c = {c.begin}, .stream = stream};
  }

  GemmProblem problem;
  Numbers a{problem.m * problem.k, 0, 1};
  Numbers b{problem.k * problem.n, 0, 2};
  Numbers c{problem.m * problem.n, 0, 3};
};

struct GivenStream {
  GivenStream() { succeeds(cudaStreamCreate(&stream)); }
  ~GivenStream() { cudaStreamDestroy(stream); }
  GivenStream(const GivenStream&) = delete;
  GivenStream& operator=(const GivenStream&) = delete;

  cudaStream_t stream = nullptr;
};

TEST_SUITE("memory of an application") {
  TEST_CASE("a workspace that others write to in between gives the same bits, in a graph too") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    const GivenStream own;
    Library library;
    for (const GemmProblem& problem : kProblemsWithMemory) {
      CAPTURE(to_string(problem));
      const DeepProduct product(problem);
      GemmArguments call = product.call(own.stream);
      library.gemm(problem, call);
      succeeds(cudaStreamSynchronize(own.stream));
      const auto expected = bits_of(product.c.values());
      const std::size_t bytes = library.plan(problem, Alignment::of_16_bytes).workspace_bytes();
      REQUIRE(bytes > 0);
      const DeviceMemory memory(bytes);
      call.workspace = {memory.data, bytes, /*zeroed=*/false};
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t executable = nullptr;
      succeeds(cudaStreamBeginCapture(own.stream, cudaStreamCaptureModeGlobal));
      CHECK(library.try_gemm(problem, call) == Outcome::done);
      succeeds(cudaStreamEndCapture(own.stream, &graph));
      succeeds(cudaGraphInstantiate(&executable, graph, 0));
      for (const bool in_graph : {false, true, false, true}) {
        CAPTURE(in_graph);
        succeeds(cudaMemsetAsync(memory.data, 0x5a, bytes, own.stream));
        succeeds(
            cudaMemsetAsync(product.c.begin, 0, sizeof(float) * product.c.host.size(), own.stream));
        if (in_graph) succeeds(cudaGraphLaunch(executable, own.stream));
        if (!in_graph) library.gemm(problem, call);
        succeeds(cudaStreamSynchronize(own.stream));
        CHECK(bits_of(product.c.values()) == expected);
      }
      succeeds(cudaGraphExecDestroy(executable));
      succeeds(cudaGraphDestroy(graph));
    }
  }

  TEST_CASE("its pool gives products on streams their memory") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    std::atomic<int> in_use = 0;
    LibraryOptions options;
    options.allocator.allocate = [&](std::size_t bytes, Stream stream) {
      void* memory = nullptr;
      if (cudaMallocAsync(&memory, bytes, stream) == cudaSuccess) ++in_use;
      return memory;
    };
    options.allocator.release = [&](void* memory, Stream stream) {
      if (cudaFreeAsync(memory, stream) == cudaSuccess) --in_use;
    };
    const GivenStream own;
    Library library(options);
    Library other;
    for (const GemmProblem& problem : kProblemsWithMemory) {
      CAPTURE(to_string(problem));
      const DeepProduct product(problem);
      other.gemm(problem, product.call(own.stream));
      succeeds(cudaStreamSynchronize(own.stream));
      const auto expected = bits_of(product.c.values());
      for (int times = 0; times < 2; ++times) {
        product.c.reset();
        library.gemm(problem, product.call(own.stream));
        succeeds(cudaStreamSynchronize(own.stream));
        CHECK(bits_of(product.c.values()) == expected);
        CHECK(in_use > 0);
        library.trim();
        CHECK(in_use == 0);
      }
    }
  }
}

}  // namespace
}  // namespace autotune::test
