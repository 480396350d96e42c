// Exported source, compiled by nvcc, gives the bits that gemm() gives: on a real GPU.
#include <cstdio>
#include <vector>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "kernel_templates/kernel_registry.hpp"
#include "source_export/gemm_text.hpp"
#include "tests/app/api/temporary_storage.hpp"
#include "tests/device_runtime/device_numbers.hpp"
#include "tests/support/run_program.hpp"

namespace autotune::test {
namespace {

using ExportedGemm = cudaError_t(const float*, std::int64_t, const float*, std::int64_t, float*,
                                 std::int64_t, float, float, void*, cudaStream_t);
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

void check_same_bits(GemmProblem problem) {
  if (!gpu_and_nvcc_are_here()) return;
  const TemporaryStorage storage;
  LibraryOptions options;
  options.device = Device::gpu(0);
  Library library(options);
  // A winner is taken wherever operands lie; predictions differ with their alignment.
  if (library.query(problem).match != MatchKind::exact) {
    REQUIRE(library.tune({problem}, {.budget_trials = 10}).problems.front().winner);
  }
  const TemporaryFolder folder;
  void* const exported = dlopen(compiled(library, problem, folder).c_str(), RTLD_NOW);
  REQUIRE_MESSAGE(exported != nullptr, dlerror());
  const std::string name = source_name(problem);
  auto* const gemm = reinterpret_cast<ExportedGemm*>(dlsym(exported, name.c_str()));
  auto* const size =
      reinterpret_cast<ExportedSize*>(dlsym(exported, (name + "_workspace_bytes").c_str()));
  REQUIRE((gemm != nullptr && size != nullptr));
  std::size_t bytes = 0;
  succeeds(size(&bytes));
  const DeviceMemory workspace(bytes + 1);
  for (const std::int64_t shift : {0, 1}) {
    CAPTURE(shift);
    const std::int64_t lda = problem.lda() + shift;
    const std::int64_t ldb = problem.ldb() + shift;
    const std::int64_t ldc = problem.ldc() + shift;
    const bool a_as_is = problem.op_a == Transpose::none;
    const bool b_as_is = problem.op_b == Transpose::none;
    const Numbers a((a_as_is ? problem.m : problem.k) * lda, shift, 1);
    const Numbers b((b_as_is ? problem.k : problem.n) * ldb, shift, 2);
    const Numbers c(problem.m * ldc, shift, 3);
    library.gemm(problem, 1.25F, {a.begin, lda}, {b.begin, ldb}, -0.75F, {c.begin, ldc});
    const std::vector<float> expected = c.values();
    CHECK(expected != c.host);
    for (int run = 0; run < 2; ++run) {  // the second finds the workspace as the first left it
      c.reset();
      succeeds(
          gemm(a.begin, lda, b.begin, ldb, c.begin, ldc, 1.25F, -0.75F, workspace.data, nullptr));
      CHECK(c.values() == expected);
    }
  }
}

constexpr Transpose kTransposed = Transpose::transposed;

TEST_SUITE("exported source") {
  TEST_CASE("a large product has the bits of gemm()") {
    check_same_bits({.m = 1024, .n = 1024, .k = 1024});
  }
  TEST_CASE("a product of few tiles has the bits of gemm()") {
    check_same_bits({.m = 128, .n = 128, .k = 8192, .op_a = kTransposed});
  }
  TEST_CASE("a product of few rows has the bits of gemm()") {
    check_same_bits({.m = 2, .n = 3000, .k = 4000, .op_b = kTransposed});
  }
  TEST_CASE("an emulated product has the bits of gemm()") {
    check_same_bits({.m = 1024, .n = 1024, .k = 1024, .math = Math::emulated});
  }
}

}  // namespace
}  // namespace autotune::test
