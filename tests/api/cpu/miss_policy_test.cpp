// Products that were not tuned.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "tests/api/temporary_storage.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("products that are tuned when they are first called") {
  TEST_CASE("calls for others stay warm") {
    const TemporaryStorage storage;
    int choices = 0;
    Library library({.device = Device::cpu(),
                     .miss = MissPolicy::tune,
                     .miss_budget_seconds = 0.3,
                     .log = [&](LogLevel, const std::string& line) {
                       if (line.find(" on cpu: ") != std::string::npos) ++choices;
                     }});
    const auto multiply = [&](std::int64_t m) {
      const std::vector<float> a(8, 1);
      std::vector<float> c(8);
      library.gemm({.m = m, .n = 1, .k = 1}, 1, {a.data()}, {a.data()}, 0, {c.data()});
    };
    for (int i = 0; i < 2; ++i) {
      for (std::int64_t m = 1; m <= 3; ++m) multiply(m);
    }
    CHECK(choices == 3);
  }
}

}  // namespace
}  // namespace autotune::test
