// Exported source, compiled by nvcc, gives the bits that gemm() gives: on a real GPU.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "api/device_choice.hpp"
#include "db/tuning_database.hpp"
#include "export/source/gemm_text.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "select/predictor.hpp"
#include "tests/api/temporary_storage.hpp"
#include "tests/device_runtime/device_numbers.hpp"
#include "tests/support/exported_problems.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/winner.hpp"

namespace autotune::test {
namespace {

using ExportedGemm = cudaError_t(const float*, std::int64_t, const float*, std::int64_t, float*,
                                 std::int64_t, float, float, void*, cudaStream_t);
using ExportedBatch = cudaError_t(const float*, std::int64_t, std::int64_t, const float*,
                                  std::int64_t, std::int64_t, float*, std::int64_t, std::int64_t,
                                  float, float, std::int64_t, void*, cudaStream_t);
using ExportedSize = cudaError_t(std::size_t*);

bool gpu_and_nvcc_are_here() {
  int count = 0;
  const bool gpu = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();
  const bool nvcc = run_program(AUTOTUNE_NVCC, {"--version"}, {}).exit_code == 0;
  if (!gpu || !nvcc) std::printf("SKIPPED: no %s\n", gpu ? "nvcc" : "GPU");
  return gpu && nvcc;
}

// The source of gemm()'s choice as a shared library.
std::string compiled(const Library& library, const GemmProblem& problem,
                     const TemporaryFolder& folder) {
  cudaDeviceProp properties{};
  succeeds(cudaGetDeviceProperties(&properties, 0));
  const BestConfiguration best = library.query(problem);
  const SourceRequest request{built_in_kernels().find(best.template_name),
                              best.configuration,
                              problem,
                              "sm_" + std::to_string(10 * properties.major + properties.minor),
                              best.explanation,
                              gemm_source_text(problem)};
  for (const SourceFile& file : stand_alone_source(request)) {
    std::ofstream(folder.path() / file.name) << file.text;
  }
  const std::string stem = folder.path() / source_name(problem);
  std::vector<std::string> arguments = nvcc_options(request);
  arguments.insert(arguments.end(),
                   {"-shared", "-Xcompiler=-fPIC", stem + ".cu", "-o", stem + ".so"});
  const ProgramResult nvcc = run_program(AUTOTUNE_NVCC, arguments, {});
  REQUIRE_MESSAGE(nvcc.exit_code == 0, nvcc.err);
  return stem + ".so";
}

// A source's functions, compiled and loaded, with memory for calls.
class Exported {
 public:
  // The source is that of the kernel which gemm() runs with.
  Exported(const Library& library, const GemmProblem& problem) : problem_(problem) {
    void* const loaded = dlopen(compiled(library, problem, folder_).c_str(), RTLD_NOW);
    REQUIRE_MESSAGE(loaded != nullptr, dlerror());
    const std::string name = source_name(problem);
    gemm_ = dlsym(loaded, name.c_str());
    auto* const size =
        reinterpret_cast<ExportedSize*>(dlsym(loaded, (name + "_workspace_bytes").c_str()));
    REQUIRE((gemm_ != nullptr && size != nullptr));
    std::size_t bytes = 0;
    succeeds(size(&bytes));
    workspace_.emplace(bytes + 1);
  }

  // `products`: of a batch.
  [[nodiscard]] cudaError_t run(float alpha, const Matrix& a, const Matrix& b, float beta,
                                const MutableMatrix& c, std::int64_t products) const {
    const auto* const at_a = static_cast<const float*>(a.data);
    const auto* const at_b = static_cast<const float*>(b.data);
    auto* const at_c = static_cast<float*>(c.data);
    if (problem_.batch == 1) {
      return reinterpret_cast<ExportedGemm*>(gemm_)(at_a, a.ld, at_b, b.ld, at_c, c.ld, alpha, beta,
                                                    workspace_->data, nullptr);
    }
    return reinterpret_cast<ExportedBatch*>(gemm_)(at_a, a.ld, a.stride, at_b, b.ld, b.stride, at_c,
                                                   c.ld, c.stride, alpha, beta, products,
                                                   workspace_->data, nullptr);
  }

 private:
  GemmProblem problem_;
  TemporaryFolder folder_;
  void* gemm_ = nullptr;
  std::optional<DeviceMemory> workspace_;
};

// Where the operands of a product or a batch lie. `shift`: elements that they begin behind a
// multiple of 16 bytes, and that lie between rows and between matrices.
struct Padding {
  std::int64_t shift = 0;
  bool one_b = false;  // for all products
};

struct Operands {
  Operands(const GemmProblem& problem, const Padding& padding)
      : lda(problem.lda() + padding.shift),
        ldb(problem.ldb() + padding.shift),
        ldc(problem.ldc() + padding.shift),
        stride_a((problem.op_a == Transpose::none ? problem.m : problem.k) * lda + padding.shift),
        stride_b((problem.op_b == Transpose::none ? problem.k : problem.n) * ldb + padding.shift),
        stride_c(problem.m * ldc + padding.shift),
        a(problem.batch * stride_a, padding.shift, 1),
        b(problem.batch * stride_b, padding.shift, 2),
        c(problem.batch * stride_c, padding.shift, 3) {
    if (padding.one_b) stride_b = 0;
  }
  [[nodiscard]] Matrix in_a() const { return {a.begin, lda, stride_a}; }
  [[nodiscard]] Matrix in_b() const { return {b.begin, ldb, stride_b}; }
  [[nodiscard]] MutableMatrix in_c() const { return {c.begin, ldc, stride_c}; }

  std::int64_t lda, ldb, ldc, stride_a, stride_b, stride_c;
  Numbers a, b, c;
};

void check_same_bits(Library& library, const Exported& exported, const GemmProblem& problem) {
  for (const Padding& padding : {Padding{0}, Padding{1}, Padding{0, true}}) {
    CAPTURE(padding.shift);
    CAPTURE(padding.one_b);
    const Operands at(problem, padding);
    library.gemm(problem, 1.25F, at.in_a(), at.in_b(), -0.75F, at.in_c());
    const std::vector<float> expected = at.c.values();
    CHECK(expected != at.c.host);
    for (int run = 0; run < 2; ++run) {  // the second finds the workspace as the first left it
      at.c.reset();
      succeeds(exported.run(1.25F, at.in_a(), at.in_b(), -0.75F, at.in_c(), problem.batch));
      CHECK(at.c.values() == expected);
    }
  }
}

// Whole numbers have the same sums in whatever order blocks add them.
void check_fewer_products(Library& library, const Exported& exported, const GemmProblem& problem) {
  Operands at(problem, Padding());
  for (Numbers* const each : {&at.a, &at.b, &at.c}) make_whole(*each);
  library.gemm(problem, 1, at.in_a(), at.in_b(), 1, at.in_c());
  std::vector<float> expected = at.c.values();
  const std::int64_t last = (problem.batch - 1) * at.stride_c;
  std::copy(at.c.host.begin() + last, at.c.host.end(), expected.begin() + last);
  at.c.reset();
  succeeds(exported.run(1, at.in_a(), at.in_b(), 1, at.in_c(), problem.batch - 1));
  CHECK(at.c.values() == expected);
  CHECK(exported.run(1, at.in_a(), at.in_b(), 1, at.in_c(), problem.batch + 1) ==
        cudaErrorInvalidValue);
  CHECK(exported.run(1, at.in_a(), at.in_b(), 1, {at.c.begin, at.ldc, at.stride_c - 1},
                     problem.batch) == cudaErrorInvalidValue);
  CHECK(at.c.values() == expected);
}

// Has gemm() run a configuration, as if it had won, and compares the source with it. Winners are
// not searched for: a search leaves trials of other templates, too. On a GPU that others use, one
// of them may look faster than the winner in its finals. gemm() then takes that trial or a
// prediction, and which of them it is may differ with the alignment of the operands.
void check_winner(const DeviceInfo& device, const KernelTemplate& kernel,
                  const GemmProblem& problem, const Configuration& configuration) {
  CAPTURE(kernel.name);
  CAPTURE(to_string(configuration));
  CAPTURE(to_string(problem));
  const TemporaryStorage storage;
  Winner winner = winner_of(kernel, problem, device);
  winner.configuration = configuration;
  TuningDatabase::open(storage.database()).put_winners({&winner, 1});
  LibraryOptions options;
  options.device = Device::gpu(0);
  options.use_shipped_winners = false;
  Library library(options);
  for (const Alignment alignment : {Alignment::any, Alignment::of_16_bytes}) {
    const Plan plan = library.plan(problem, alignment);
    REQUIRE(plan.kernel() == kernel.name);
    REQUIRE(plan.configuration() == configuration);
  }
  const Exported exported(library, problem);
  check_same_bits(library, exported, problem);
  if (problem.batch > 1) check_fewer_products(library, exported, problem);
}

struct Planted {
  const char* kernel;
  const char* configuration;
};

// Leaves out winners that the GPU cannot run.
void check_winners(const GemmProblem& problem, const std::vector<Planted>& winners) {
  if (!gpu_and_nvcc_are_here()) return;
  const DeviceInfo device = choose_device("0").device;
  for (const Planted& winner : winners) {
    const KernelTemplate& kernel = *built_in_kernels().find(winner.kernel);
    const Configuration configuration =
        kernel.space.validated(Configuration::parse(winner.configuration));
    if (!fits_device(kernel, configuration, device)) continue;
    check_winner(device, kernel, problem, configuration);
  }
}

constexpr Transpose kTransposed = Transpose::transposed;
// Blocks of a cluster, and clusters, share each tile.
constexpr Planted kClusters{
    "gemm_tma",
    "RESULTS_M=8,RESULTS_N=8,LANES_M=4,WARPS_M=1,WARPS_N=1,SLICE_K=4,BLOCK_K=32,UNROLL=8,STAGES=4,"
    "MIN_BLOCKS=2,SPLIT_K=32,CLUSTER=2,ORDER=0,REGISTER_LEVEL=5,RASTER=1"};
// The blocks that run at once share all tiles evenly.
constexpr Planted kEvenly{
    "gemm_simt",
    "RESULTS_M=4,RESULTS_N=4,LANES_M=4,WARPS_M=2,WARPS_N=4,SLICE_K=1,BLOCK_K=32,SHARED_K_MAJOR=1,"
    "UNROLL=8,STAGES=4,DOUBLE_BUFFER=1,MIN_BLOCKS=2,SPLIT_K=0,CLUSTER=1,ORDER=0,REGISTER_LEVEL=5,"
    "RASTER=8,STAGE_EPILOGUE=0"};

TEST_SUITE("exported source") {
  TEST_CASE("a large product has the bits of gemm()") {
    check_winners(
        {.m = 1024, .n = 1024, .k = 1024},
        {{"gemm_tma",
          "RESULTS_M=8,RESULTS_N=16,LANES_M=8,WARPS_M=1,WARPS_N=2,SLICE_K=4,BLOCK_K=64,UNROLL=8,"
          "STAGES=3,MIN_BLOCKS=1,SPLIT_K=1,CLUSTER=1,ORDER=0,REGISTER_LEVEL=8,RASTER=8"},
         kEvenly});
  }
  TEST_CASE("a product of few tiles has the bits of gemm()") {
    check_winners({.m = 128, .n = 128, .k = 8192, .op_a = kTransposed}, {kClusters, kEvenly});
  }
  TEST_CASE("a product of few rows has the bits of gemm()") {
    check_winners({.m = 2, .n = 3000, .k = 4000, .op_b = kTransposed},
                  {{"gemm_skinny",
                    "FEW_SIDE=0,FEW=2,LINES=1,LANES_K=4,WARPS=1,SLICE_K=8,UNROLL=8,SPLIT_K=4,"
                    "L2_PERSIST=20"},
                   kClusters,
                   kEvenly});
  }
  TEST_CASE("an emulated product has the bits of gemm()") {
    check_winners(
        {.m = 1024, .n = 1024, .k = 1024, .math = Math::emulated},
        {{"gemm_fp16x3",
          "BLOCK_N=128,WARPGROUPS=1,MIN_BLOCKS=1,CLUSTER=1,CLUSTER_K=1,SPLIT_K=1,RASTER=4,"
          "PREPARE_THREADS=256"}});
  }
  TEST_CASE("a tuned batch has the bits of gemm()") {
    check_winners({.m = 96, .n = 160, .k = 512, .op_b = kTransposed, .batch = 24}, {kEvenly});
  }

  TEST_CASE("products and batches of every template have the bits of gemm()") {
    if (!gpu_and_nvcc_are_here()) return;
    const DeviceInfo device = choose_device("0").device;
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      if (!runs_on(kernel, device.compute_major * 10 + device.compute_minor)) continue;
      for (const std::int64_t batch : {1, 5}) {
        for (const GemmProblem& problem : exported_problems(kernel, batch)) {
          check_winner(device, kernel, problem, kernel.default_configuration(problem));
        }
      }
    }
  }
}

}  // namespace
}  // namespace autotune::test
