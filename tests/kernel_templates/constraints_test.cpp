// An enumeration keeps what a constraint says of the values of the parameters that it names.
#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "kernel_templates/kernel_set.hpp"

namespace autotune::test {
namespace {

// A random value for each of some parameters, and nothing else.
Configuration some_values(const ConfigSpace& space, const std::vector<std::string>& names,
                          std::mt19937& random) {
  std::vector<Configuration::Entry> entries;
  for (const auto& [name, meaning, values, macro] : space.parameters()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    entries.emplace_back(name, values[random() % values.size()]);
  }
  return Configuration(entries);
}

TEST_SUITE("constraints") {
  TEST_CASE("they look at no other parameters than those that they name") {
    std::mt19937 random(1);
    std::size_t named = 0;
    for (const KernelTemplate& kernel : built_in_kernels().templates()) {
      CAPTURE(kernel.name);
      for (const Constraint& constraint : kernel.space.constraints()) {
        CAPTURE(constraint.name);
        if (constraint.parameters.empty()) continue;
        ++named;
        for (int i = 0; i < 1000; ++i) {
          const Configuration c = some_values(kernel.space, constraint.parameters, random);
          REQUIRE_NOTHROW(static_cast<void>(constraint.holds(c)));
        }
      }
    }
    CHECK(named > 10);
  }
}

}  // namespace
}  // namespace autotune::test
