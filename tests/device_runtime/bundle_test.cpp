// A bundle that the program made for this GPU: right results without NVRTC, database and home.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "tests/api/temporary_storage.hpp"
#include "tests/device_runtime/device_numbers.hpp"
#include "tests/support/run_program.hpp"

namespace autotune::test {
namespace {

// Returns the bundle's path; empty where there is no GPU or no NVRTC to make it.
std::string exported(const TemporaryFolder& folder, const std::string& sizes) {
  int count = 0;
  const bool gpu = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();
  if (!gpu) {
    std::printf("SKIPPED: no GPU\n");
    return "";
  }
  const std::string path = folder.path() / "app.bundle";
  // Where the tests run on another machine, the program lies elsewhere.
  const char* const program = std::getenv("AUTOTUNE_PROGRAM");
  const ProgramResult result =
      run_program(program != nullptr ? program : AUTOTUNE_PROGRAM,
                  {"export", "--bundle", path, "--device", "0", "--sizes", sizes, "--no-portfolio"},
                  {{"XDG_CACHE_HOME", folder.path() / "cache"},
                   {"AUTOTUNE_DB", folder.path() / "autotune.db"}});
  if (result.exit_code == 3) {
    std::printf("SKIPPED: %s\n", result.err.c_str());
    return "";
  }
  REQUIRE_MESSAGE(result.exit_code == 0, result.err);
  std::printf("%s", result.out.c_str());
  return path;
}

// The largest error of a result in units of what FP32 allows.
double worst_error(const GemmProblem& problem, const std::vector<float>& a, std::int64_t lda,
                   const std::vector<float>& b, std::int64_t ldb, const std::vector<float>& c,
                   std::int64_t ldc) {
  const auto at = [](const std::vector<float>& x, std::int64_t i) {
    return static_cast<double>(x[static_cast<std::size_t>(i)]);
  };
  const bool a_as_is = problem.op_a == Transpose::none;
  const bool b_as_is = problem.op_b == Transpose::none;
  double worst = 0;
  for (std::int64_t row = 0; row < problem.m; ++row) {
    for (std::int64_t column = 0; column < problem.n; ++column) {
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t k = 0; k < problem.k; ++k) {
        const double product = at(a, a_as_is ? row * lda + k : k * lda + row) *
                               at(b, b_as_is ? k * ldb + column : column * ldb + k);
        sum += product;
        magnitude += std::abs(product);
      }
      const double bound = static_cast<double>(problem.k + 2) * 0x1p-24 * magnitude;
      worst = std::max(worst, std::abs(at(c, row * ldc + column) - sum) / bound);
    }
  }
  return worst;
}

void check_product(Library& library, const GemmProblem& problem, std::int64_t shift) {
  const std::int64_t lda = problem.lda() + shift;
  const std::int64_t ldb = problem.ldb() + shift;
  const std::int64_t ldc = problem.ldc() + shift;
  const Numbers a((problem.op_a == Transpose::none ? problem.m : problem.k) * lda, shift, 1);
  const Numbers b((problem.op_b == Transpose::none ? problem.k : problem.n) * ldb, shift, 2);
  const Numbers c(problem.m * ldc, shift, 3);
  const auto start = std::chrono::steady_clock::now();
  library.gemm(problem, 1, {a.begin, lda}, {b.begin, ldb}, 0, {c.begin, ldc});
  const std::chrono::duration<double, std::milli> first = std::chrono::steady_clock::now() - start;
  CHECK(worst_error(problem, a.host, lda, b.host, ldb, c.values(), ldc) <= 1);
  std::printf("%s, operands %s: the first call took %.2f ms\n", to_string(problem).c_str(),
              shift == 0 ? "packed" : "shifted", first.count());
}

bool nvrtc_is_loaded() {
  std::ostringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  return maps.str().find("libnvrtc") != std::string::npos;
}

TEST_SUITE("bundle on a GPU") {
  TEST_CASE("products in and near a bundle are right, and NVRTC is not loaded") {
    const TemporaryFolder folder;
    LibraryOptions options;
    options.bundle = exported(folder, "256x192x320,70x33x51,512");
    if (options.bundle.empty()) return;
    const bool was_loaded = nvrtc_is_loaded();  // by another test of this process
    const EnvironmentVariable no_nvrtc("AUTOTUNE_NVRTC", "/nonexistent/libnvrtc.so");
    const EnvironmentVariable no_database("AUTOTUNE_DB", "/dev/null/autotune.db");
    const EnvironmentVariable no_cache("XDG_CACHE_HOME", "/dev/null/cache");
    const EnvironmentVariable no_home("HOME", "/dev/null/home");
    Library library(options);
    for (GemmProblem problem : {GemmProblem{256, 192, 320}, GemmProblem{70, 33, 51},
                                GemmProblem{512, 512, 512}, GemmProblem{100, 90, 80}}) {
      for (const char* layout : {"NN", "NT", "TN", "TT"}) {
        set_layout(problem, layout);
        for (const std::int64_t shift : {0, 1}) check_product(library, problem, shift);
      }
    }
    const Numbers c(64 * 64, 0, 3);
    library.gemm({64, 64, 64}, 0, {}, {}, 0.5F, {c.begin});
    CHECK(c.values().front() == 0.5F * c.host.front());
    CHECK(nvrtc_is_loaded() == was_loaded);
  }
}

}  // namespace
}  // namespace autotune::test
