// A kernel of the application's own inside an application that uses the CUDA runtime: on a real GPU.
#include <vector>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "tests/api/temporary_storage.hpp"
#include "tests/device_runtime/device_numbers.hpp"

namespace autotune::test {
namespace {

constexpr int kElements = 100'003;

constexpr const char* kSaxpy = R"(
#pragma kernel tune(BLOCK = 64, 128, 256) tune(PER_THREAD = 1, 2, 4)
#pragma kernel set(TILE = BLOCK * PER_THREAD) problem_size(n) block_size(BLOCK) grid_divisor(TILE)
#pragma kernel buffers(x[n], y[n]) inout(y) data(y = uniform(-1, 1)) scalar(a = 2.0)
__global__ void saxpy(float a, const float* x, float* y, int n) {
  for (int i = 0; i < PER_THREAD; ++i) {
    const int place = (blockIdx.x * PER_THREAD + i) * BLOCK + threadIdx.x;
    if (place < n) y[place] += a * x[place];
  }
}
)";

struct Vectors {
  Vectors() {
    make_whole(x);
    make_whole(y);
  }
  // Returns whether y has grown by factor * x once the stream's work is done.
  [[nodiscard]] bool have_grown(float factor, cudaStream_t stream) const {
    succeeds(cudaStreamSynchronize(stream));
    const std::vector<float> values = y.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != y.host[i] + factor * x.host[i]) return false;
    }
    return true;
  }

  Numbers x{kElements, 0, 1};
  Numbers y{kElements, 0, 2};
};

Kernel saxpy_of(Library& library) {
  return library.kernel({.file = "own.cu", .name = {}, .text = kSaxpy});
}

TEST_SUITE("own kernels beside the CUDA runtime") {
  TEST_CASE("a kernel is tuned, and launched on the application's stream") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library({.device = Device::gpu(0)});
    Kernel saxpy = saxpy_of(library);
    const Vectors vectors;
    const DeviceStream stream;
    saxpy.launch(stream, 2.0F, vectors.x.begin, vectors.y.begin, kElements);
    CHECK(vectors.have_grown(2, stream));
    const KernelTuningResult result = saxpy.tune({{{"n", kElements}}});
    REQUIRE(result.problems.front().winner);
    CHECK(saxpy.plan({{"n", kElements}}).choice().match == MatchKind::exact);
    saxpy.launch(stream, 3.0F, vectors.x.begin, vectors.y.begin, kElements);
    CHECK(vectors.have_grown(5, stream));
  }

  TEST_CASE("a plan is captured into a graph, and a cold launch is refused there") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    Library library({.device = Device::gpu(0)});
    Kernel saxpy = saxpy_of(library);
    const Vectors vectors;
    const DeviceStream stream;
    succeeds(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK_THROWS_AS(saxpy.launch(stream, 2.0F, vectors.x.begin, vectors.y.begin, kElements),
                    UsageError);
    cudaGraph_t graph = nullptr;
    succeeds(cudaStreamEndCapture(stream, &graph));
    succeeds(cudaGraphDestroy(graph));

    const KernelPlan plan = saxpy.plan({{"n", kElements}});
    succeeds(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    plan(stream, 2.0F, vectors.x.begin, vectors.y.begin, kElements);
    succeeds(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t launched = nullptr;
    succeeds(cudaGraphInstantiate(&launched, graph, 0));
    succeeds(cudaGraphLaunch(launched, stream));
    succeeds(cudaGraphLaunch(launched, stream));
    CHECK(vectors.have_grown(4, stream));
    succeeds(cudaGraphExecDestroy(launched));
    succeeds(cudaGraphDestroy(graph));
  }

  TEST_CASE("a plan outlives its Library on the device too") {
    if (!gpu_is_here()) return;
    const TemporaryStorage storage;
    const Vectors vectors;
    const DeviceStream stream;
    KernelPlan plan;
    {
      Library library({.device = Device::gpu(0)});
      plan = saxpy_of(library).plan({{"n", kElements}});
    }
    plan(stream, 2.0F, vectors.x.begin, vectors.y.begin, kElements);
    CHECK(vectors.have_grown(2, stream));
  }
}

}  // namespace
}  // namespace autotune::test
