// A kernel of the application's own, tuned and launched in host memory, on a machine with or without
// a GPU. usage: embed_kernel FILE, such as examples/own_kernels/vector_add.cu
#include <cstdio>
#include <vector>

#include "autotune/autotune.hpp"

int main(int count, char** arguments) try {
  if (count != 2) {
    std::fprintf(stderr, "usage: embed_kernel vector_add.cu\n");
    return 2;
  }
  autotune::LibraryOptions options;
  options.device = autotune::Device::cpu();
  autotune::Library library(options);
  autotune::KernelSource source;
  source.file = arguments[1];
  autotune::Kernel add = library.kernel(source);

  const std::int64_t n = 10000;
  autotune::TuningOptions few;
  few.budget_trials = 10;
  add.tune({{{"n", n}}}, few);  // measures once: the results are kept on disk

  const std::vector<float> a(n, 2), b(n, 3);
  std::vector<float> sum(n);
  add.launch(nullptr, a.data(), b.data(), sum.data(), n);  // nullptr: the CPU device has no stream

  const autotune::KernelConfiguration choice = add.query({{"n", n}});
  std::printf("%s on %s, %s, %s: %g\n", add.name().c_str(), library.device_name().c_str(),
              to_string(choice.match).c_str(), to_string(choice.configuration).c_str(), sum[0]);
  return sum.front() == 5 && sum.back() == 5 ? 0 : 1;
} catch (const autotune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
