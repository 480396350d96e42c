// A plugin that links the static library.
#include "autotune/autotune.hpp"

namespace {

// Multiplies when it is destroyed, among the last things that a process or a plugin does.
struct Late {
  ~Late() {
    autotune::LibraryOptions options;
    options.device = autotune::Device::cpu();
    autotune::Library library(options);
    const float a[] = {2}, b[] = {3};
    float c[] = {0};
    library.gemm({1, 1, 1}, 1, {a}, {b}, 0, {c});
    if (result != nullptr) *result = c[0];
  }
  float* result = nullptr;
};
Late late;  // made before all statics of the library

}  // namespace

// Multiplies now, and once more into `at_exit` when the plugin is unloaded or the process ends.
extern "C" __attribute__((visibility("default"))) float multiply(float* at_exit) {
  late.result = at_exit;
  autotune::LibraryOptions options;
  options.device = autotune::Device::cpu();
  autotune::Library library(options);
  const float a[] = {5}, b[] = {7};
  float c[] = {0};
  library.gemm({1, 1, 1}, 1, {a}, {b}, 0, {c});
  return c[0];
}
