// Measures what a warm call of the library costs the calling thread above the launches that it
// makes: CPU time a call of gemm() and of a plan, and of the same launches made directly. The
// direct launches are those that a captured call left in a CUDA graph. With --cold it times the
// first calls of a process instead; a second process finds their kernels compiled.
//
//   dispatch_overhead --sizes 64,256,512,1024
//   dispatch_overhead --cold --sizes 70,300,1000,2000
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "autotune/autotune.hpp"

namespace autotune {
namespace {

constexpr int kCallsOfSample = 200;  // fewer than the driver queues
constexpr int kSamples = 101;
constexpr std::size_t kPlaces = 4096;  // of A and C, so that a call meets operands of none before

void check(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

template <typename Function>
Function driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* const address = driver != nullptr ? dlsym(driver, name) : nullptr;
  if (address == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(address);
}

void check(CUresult code) {
  if (code != CUDA_SUCCESS) throw std::runtime_error("the driver reports " + std::to_string(code));
}

// The launches of a captured call. The graph owns their arguments.
class CapturedLaunches {
 public:
  CapturedLaunches(cudaStream_t stream, const std::function<void()>& call) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    call();
    check(cudaStreamEndCapture(stream, &graph_));
    std::size_t count = 0;
    check(cudaGraphGetNodes(graph_, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    check(cudaGraphGetNodes(graph_, nodes.data(), &count));
    for (const cudaGraphNode_t node : nodes) add(node, stream);
  }
  ~CapturedLaunches() { cudaGraphDestroy(graph_); }
  CapturedLaunches(const CapturedLaunches&) = delete;
  CapturedLaunches& operator=(const CapturedLaunches&) = delete;

  void launch() {
    for (Launch& launch : launches_) {
      launch.config.attrs = &launch.cluster;
      check(launch_(&launch.config, launch.kernel.func, launch.kernel.kernelParams,
                    launch.kernel.extra));
    }
  }
  [[nodiscard]] std::size_t count() const { return launches_.size(); }

 private:
  struct Launch {
    CUDA_KERNEL_NODE_PARAMS_v2 kernel = {};
    CUlaunchAttribute cluster = {};
    CUlaunchConfig config = {};
  };

  void add(cudaGraphNode_t node, cudaStream_t stream) {
    Launch launch;
    check(driver_function<CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*)>(
        "cuGraphKernelNodeGetParams_v2")(node, &launch.kernel));
    launch.cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    check(driver_function<CUresult (*)(CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue*)>(
        "cuGraphKernelNodeGetAttribute")(node, launch.cluster.id, &launch.cluster.value));
    const CUDA_KERNEL_NODE_PARAMS_v2& kernel = launch.kernel;
    launch.config = {kernel.gridDimX,
                     kernel.gridDimY,
                     kernel.gridDimZ,
                     kernel.blockDimX,
                     kernel.blockDimY,
                     kernel.blockDimZ,
                     kernel.sharedMemBytes,
                     stream,
                     nullptr,
                     launch.cluster.value.clusterDim.x > 0 ? 1U : 0U};
    launches_.push_back(launch);
  }

  using LaunchFunction = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);
  const LaunchFunction launch_ = driver_function<LaunchFunction>("cuLaunchKernelEx");
  cudaGraph_t graph_ = nullptr;
  std::vector<Launch> launches_;
};

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

// The ways to make one product, sampled in turn; gives the median CPU time of a call, in us.
std::vector<double> medians(cudaStream_t stream, const std::vector<std::function<void()>>& ways) {
  std::vector<std::vector<double>> samples(ways.size());
  for (int sample = 0; sample < kSamples; ++sample) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const double began = cpu_us();
      for (int call = 0; call < kCallsOfSample; ++call) ways[i]();
      samples[i].push_back((cpu_us() - began) / kCallsOfSample);
      check(cudaStreamSynchronize(stream));
    }
  }
  std::vector<double> result;
  for (std::vector<double>& times : samples) {
    std::nth_element(times.begin(), times.begin() + kSamples / 2, times.end());
    result.push_back(times[kSamples / 2]);
  }
  return result;
}

// Device memory of zeros: what the host spends does not depend on the data.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) {
    check(cudaMalloc(&data_, bytes));
    check(cudaMemset(data_, 0, bytes));
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  [[nodiscard]] float* data() const { return static_cast<float*>(data_); }

 private:
  void* data_ = nullptr;
};

void measure(Library& library, const GemmProblem& problem, cudaStream_t stream) {
  const auto elements = static_cast<std::size_t>(problem.m * problem.m);
  const DeviceMemory a((elements + 4 * kPlaces) * sizeof(float));
  const DeviceMemory b(elements * sizeof(float));
  const DeviceMemory c((elements + 4 * kPlaces) * sizeof(float));
  const Plan plan = library.plan(problem, Alignment::of_16_bytes);
  const DeviceMemory workspace(std::max(plan.workspace_bytes(), kWorkspaceZeroBytes));

  const auto call_plan = [&](std::size_t place) {
    plan(1, {a.data() + place}, {b.data()}, 0, {c.data() + place}, stream,
         {workspace.data(), plan.workspace_bytes()});
  };
  const auto call_gemm = [&](std::size_t place) {
    library.gemm(problem, 1, {a.data() + place}, {b.data()}, 0, {c.data() + place}, stream);
  };
  std::size_t turn = 0;
  const auto next_place = [&] { return 4 * (++turn % kPlaces); };
  call_gemm(0);
  CapturedLaunches captured(stream, [&] { call_plan(0); });
  const std::vector<double> us =
      medians(stream, {[&] { captured.launch(); }, [&] { call_plan(0); }, [&] { call_gemm(0); },
                       [&] { call_plan(next_place()); }, [&] { call_gemm(next_place()); },
                       [&] { captured.launch(); }});
  const double alone = std::min(us.front(), us.back());
  std::printf("%14s %-12s %8zu %8.2f %8.2f %8.2f %8.2f %8.2f\n", to_string(problem).c_str(),
              plan.kernel().c_str(), captured.count(), alone, us[1] - alone, us[2] - alone,
              us[3] - alone, us[4] - alone);
}

double wall_ms(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
      .count();
}

// The time from the first call of each product until it returns, with the launch in its stream.
void measure_first_calls(const std::vector<std::int64_t>& sizes, cudaStream_t stream) {
  std::unique_ptr<Library> library;
  const double made_ms = wall_ms([&] { library = std::make_unique<Library>(); });
  std::printf("%s: made in %.2f ms; first calls, in ms\n", library->device_name().c_str(), made_ms);
  for (const std::int64_t n : sizes) {
    const GemmProblem problem{n, n, n};
    const DeviceMemory memory(3 * static_cast<std::size_t>(n * n) * sizeof(float));
    float* const a = memory.data();
    const double first_ms =
        wall_ms([&] { library->gemm(problem, 1, {a}, {a + n * n}, 0, {a + 2 * n * n}, stream); });
    check(cudaStreamSynchronize(stream));
    const BestConfiguration best = library->query(problem);
    std::printf("%14s %-12s %8.2f\n", to_string(problem).c_str(), best.template_name.c_str(),
                first_ms);
  }
}

int run(int argc, char** argv) {
  CLI::App app("Measures the CPU time of a warm call above that of its own launches.");
  std::vector<std::int64_t> sizes = {64, 256, 512, 1024};
  app.add_option("--sizes", sizes, "square products")->delimiter(',');
  bool cold = false;
  app.add_flag("--cold", cold, "time the first calls of this process");
  CLI11_PARSE(app, argc, argv);
  check(cudaSetDevice(0));
  check(cudaFree(nullptr));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (cold) {
    measure_first_calls(sizes, stream);
    return 0;
  }
  Library library;
  std::printf(
      "%s: CPU time of the launches of a call, and what a call costs above it, in us\n"
      "%61s %17s\n%14s %-12s %8s %8s %8s %8s %8s %8s\n",
      library.device_name().c_str(), "operands as before", "moved operands", "size", "kernel",
      "launches", "us", "plan", "gemm()", "plan", "gemm()");
  for (const Math math : {Math::strict, Math::emulated}) {
    for (const std::int64_t n : sizes) {
      GemmProblem problem{n, n, n};
      problem.math = math;
      measure(library, problem, stream);
    }
  }
  return 0;
}

}  // namespace
}  // namespace autotune

int main(int argc, char** argv) {
  try {
    return autotune::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
