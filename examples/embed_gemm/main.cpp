// A tuned matrix multiplication in host memory, on a machine with or without a GPU.
#include <cstdio>
#include <vector>

#include "autotune/autotuner.hpp"

int main() try {
  autotune::Autotuner tuner({.device = "cpu"});
  const autotune::GemmProblem problem{.m = 70, .n = 33, .k = 51};
  tuner.tune(problem, {.budget_trials = 10});  // measures once: the results are kept on disk

  const std::vector<float> a(70 * 51, 2), b(51 * 33, 3);
  std::vector<float> c(70 * 33);
  const autotune::MatchKind match =
      tuner.gemm(problem, 1, a.data(), problem.lda(), b.data(), problem.ldb(),  //
                 0, c.data(), problem.ldc());

  std::printf("%s on %s, %s: %g\n", to_string(problem).c_str(), tuner.device_name().c_str(),
              to_string(match).c_str(), c[0]);
  return c.front() == 306 && c.back() == 306 ? 0 : 1;  // 51 * 2 * 3
} catch (const autotune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
