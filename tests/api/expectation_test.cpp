// The configurations that searches begin with, and how the searches are expected to converge.
#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "api/setup.hpp"
#include "db/shipped_winners.hpp"
#include "select/portfolio.hpp"
#include "select/predictor.hpp"
#include "tests/support/portfolios.hpp"

namespace autotune::test {
namespace {

Expectation expected(const DeviceInfo& device, const GemmProblem& problem,
                     bool use_shipped = true) {
  return in_process_setup(built_in_portfolios(), device).expect(problem, use_shipped);
}

TEST_SUITE("expectations of searches") {
  TEST_CASE("a search begins with the predictions for its problem, the fastest first") {
    const DeviceInfo device =
        predicted_device(built_in_portfolios().of(Math::strict).front().device_class).info;
    const GemmProblem problem{.m = 1500, .n = 1200, .k = 800};
    const Expectation expectation = expected(device, problem);
    const std::vector<Prediction> predictions = predict(
        {.problem = problem, .aligned = true, .device = predicted_device(device), .known = {}},
        built_in_portfolios().of(Math::strict));
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

  TEST_CASE("with a shipped winner of the problem it begins with that, and its end is known") {
    const std::string device_class = built_in_portfolios().of(Math::strict).front().device_class;
    const DeviceInfo like = predicted_device(device_class).info;  // another model with as many SMs
    const GemmProblem problem{.m = 1024, .n = 1024, .k = 1024};
    const std::vector<const Winner*> winners =
        shipped_winners({.device_class = device_class, .problem = problem});
    REQUIRE(winners.size() == 1);
    const Expectation expectation = expected(like, problem);
    CHECK(expectation.patience > 0);
    const Suggestion& first = expectation.suggestions.front();
    CHECK(first.kernel->name == winners.front()->template_name);
    CHECK(first.configuration == first.kernel->space.validated(winners.front()->configuration));

    DeviceInfo unlike = like;
    unlike.sm_count = 10;
    CHECK(expected(unlike, problem).patience == 0);
    CHECK(expected(like, problem, /*use_shipped=*/false).patience == 0);
    CHECK(expected(like, {.m = 1025, .n = 1024, .k = 1024}).patience == 0);
    CHECK(expected(like, {.m = 1024, .n = 1024, .k = 1024, .math = Math::emulated}).patience == 0);
  }
}

}  // namespace
}  // namespace autotune::test
