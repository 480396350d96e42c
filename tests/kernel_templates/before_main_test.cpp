// An application may use a Library before main(), when no initialiser of this library has run.
// Templates are made once, and their content stays for the rest of the process.
#include <algorithm>
#include <cstddef>

#include <doctest/doctest.h>

#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

struct FirstUse {
  std::size_t templates = built_in_kernels().templates().size();
};
// Before all that has no priority.
[[gnu::init_priority(101)]] const FirstUse first_use;

TEST_SUITE("before main()") {
  TEST_CASE("templates have their sources, and parameters their names") {
    CHECK(first_use.templates == built_in_kernels().templates().size());
    REQUIRE(first_use.templates > 0);
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      CAPTURE(kernel.name);
      CHECK(kernel.source.find(kernel.name) != std::string_view::npos);
      for (const LaunchParameter& parameter : kernel.launch_parameters) {
        CHECK_FALSE(parameter.name.empty());
      }
      const auto& all = kernel.space.constraints();
      const auto warp_tile = std::find_if(all.begin(), all.end(), [](const Constraint& constraint) {
        return constraint.name == "warp_tile";
      });
      if (warp_tile != all.end()) CHECK_FALSE(warp_tile->parameters.empty());
    }
  }
}

}  // namespace
}  // namespace autotune
