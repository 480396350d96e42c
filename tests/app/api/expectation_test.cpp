// The configurations that searches begin with, and how the searches are expected to converge.
#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "api/setup.hpp"
#include "prediction/portfolio.hpp"
#include "prediction/predictor.hpp"

namespace autotune::test {
namespace {

Expectation expected(const DeviceInfo& device, const GemmProblem& problem,
                     bool use_shipped = true) {
  return in_process_setup(device).expect(problem, use_shipped);
}

TEST_SUITE("expectations of searches") {
  TEST_CASE("a search begins with the predictions for its problem, the fastest first") {
    const DeviceInfo device =
        predicted_device(shipped_portfolios(Math::strict).front().device_class).info;
    const GemmProblem problem{.m = 1500, .n = 1200, .k = 800};
    const Expectation expectation = expected(device, problem);
    const std::vector<Prediction> predictions = predict(
        {.problem = problem, .aligned = true, .device = predicted_device(device), .known = {}},
        shipped_portfolios(Math::strict));
    REQUIRE(expectation.suggestions.size() == predictions.size());
    std::set<std::string> templates;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      CHECK(expectation.suggestions[i].kernel == predictions[i].kernel);
      CHECK(expectation.suggestions[i].configuration == predictions[i].configuration);
      templates.insert(predictions[i].kernel->name);
    }
    CHECK(templates.size() > 1);
    CHECK(expected(device, problem, /*use_shipped=*/false).suggestions.empty());
  }

  TEST_CASE("how near the best a search is, is known where its device is filled") {
    const DeviceInfo device =
        predicted_device(shipped_portfolios(Math::strict).front().device_class).info;
    const auto is_known = [&](const GemmProblem& problem, bool use_shipped = true) {
      return expected(device, problem, use_shipped).patience > 0;
    };
    CHECK(is_known({.m = 1024, .n = 1024, .k = 1024}));
    CHECK(is_known({.m = 128, .n = 128, .k = 64, .batch = 64}));
    CHECK_FALSE(is_known({.m = 128, .n = 128, .k = 64}));
    CHECK_FALSE(is_known({.m = 1024, .n = 1024, .k = 1024, .math = Math::emulated}));
    CHECK_FALSE(is_known({.m = 1024, .n = 1024, .k = 1024}, /*use_shipped=*/false));
    DeviceInfo unlike = device;
    unlike.compute_major = 7;
    unlike.compute_minor = 5;
    CHECK(expected(unlike, {.m = 4096, .n = 4096, .k = 4096}).patience == 0);
  }
}

}  // namespace
}  // namespace autotune::test
