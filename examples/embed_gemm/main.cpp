// A tuned matrix multiplication in host memory, on a machine with or without a GPU.
#include <cstdio>
#include <vector>

#include "autotune/autotune.hpp"

int main() try {
  autotune::LibraryOptions options;
  options.device = autotune::Device::cpu();
  autotune::Library library(options);
  const autotune::GemmProblem problem{70, 33, 51};  // m, n, k
  autotune::TuningOptions few;
  few.budget_trials = 10;
  library.tune({problem}, few);  // measures once: the results are kept on disk

  const std::vector<float> a(70 * 51, 2), b(51 * 33, 3);
  std::vector<float> c(70 * 33);
  const autotune::MatchKind match = library.gemm(problem, 1, {a.data()}, {b.data()}, 0, {c.data()});

  std::printf("%s on %s, %s: %g\n", to_string(problem).c_str(), library.device_name().c_str(),
              to_string(match).c_str(), c[0]);
  return c.front() == 306 && c.back() == 306 ? 0 : 1;  // 51 * 2 * 3
} catch (const autotune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
