// Which kernel is the answer, and that a weaker requirement is never answered by a slower one.
#include "select/choice.hpp"

#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "db/shipped_winners.hpp"
#include "operation/gemm/gemm.hpp"
#include "select/portfolio.hpp"
#include "tests/support/portfolios.hpp"

namespace autotune::test {
namespace {

// Kernels, results and portfolios that nobody gave would be looked up in nothing.
static_assert(!std::is_default_constructible_v<DeviceQuery>);
static_assert(!std::is_default_constructible_v<Portfolio>);

constexpr Math kMaths[] = {Math::strict, Math::emulated, Math::tf32};

std::set<std::string> shipped_device_classes() {
  std::set<std::string> result;
  for (const Winner* winner : shipped_winners({})) result.insert(winner->device_class);
  return result;
}

// Every shape and layout that winners ship for, whatever their math.
std::set<GemmProblem> shipped_shapes(const std::string& device_class) {
  std::set<GemmProblem> result;
  for (const Winner* winner : shipped_winners({.device_class = device_class})) {
    GemmProblem shape = gemm_problem(winner->problem);
    shape.math = Math::strict;
    result.insert(shape);
  }
  return result;
}

std::vector<Choice> choices_for(GemmProblem problem, Math math, const std::string& device_class) {
  problem.math = math;
  return choices({.problem = problem,
                  .device = {.kernels = built_in_kernels(),
                             .device_class = device_class,
                             .label = "",
                             .environment = {}},
                  .portfolios = built_in_portfolios(),
                  .limits = predicted_device(device_class),
                  .aligned = true});
}

// Checks the answers to one shape by all maths against each other, and returns how many of them
// were measured.
int check_maths(const GemmProblem& shape, const std::string& device_class) {
  int measured = 0;
  std::vector<Choice> stricter;
  for (const Math math : kMaths) {
    const std::vector<Choice> known = choices_for(shape, math, device_class);
    REQUIRE_FALSE(known.empty());
    const Choice& choice = known.front();
    CAPTURE(device_class);
    CAPTURE(to_string(shape));
    CAPTURE(to_string(math));
    CHECK(gemm_problem(choice.problem).math <= math);
    for (const Choice& other : stricter) {
      if (other.is_measured()) CHECK(choice.time_us() <= other.time_us());
      if (other.predicted() != nullptr && choice.predicted() != nullptr) {
        CHECK(cautious_us(*choice.predicted()) <= cautious_us(*other.predicted()));
      }
    }
    measured += choice.is_measured() ? 1 : 0;
    stricter.push_back(choice);
  }
  return measured;
}

TEST_SUITE("choices") {
  TEST_CASE("a weaker math never gets a slower known kernel: every shipped winner") {
    for (const std::string& device_class : shipped_device_classes()) {
      int measured = 0;
      for (const GemmProblem& shape : shipped_shapes(device_class)) {
        measured += check_maths(shape, device_class);
      }
      CHECK(measured > 0);
    }
  }

  TEST_CASE("a weaker math never gets a slower known kernel: predictions") {
    for (const std::string& device_class : shipped_device_classes()) {
      for (const std::int64_t m : {1, 5, 37, 700, 3001}) {
        for (const std::int64_t k : {3, 129, 2500, 50000}) {
          check_maths({.m = m, .n = 1100, .k = k}, device_class);
          check_maths({.m = m, .n = 9, .k = k, .op_b = Transpose::transposed}, device_class);
        }
      }
    }
  }

  TEST_CASE("a result of a stricter math is exact, and computed as it was measured") {
    const std::string device_class = built_in_portfolios().of(Math::strict).front().device_class;
    const GemmProblem row{.m = 1, .n = 4096, .k = 4096};
    const std::vector<Choice> strict = choices_for(row, Math::strict, device_class);
    const std::vector<Choice> emulated = choices_for(row, Math::emulated, device_class);
    REQUIRE(strict.front().is_measured());
    CHECK(emulated.front().match() == MatchKind::exact);
    CHECK(emulated.front().problem == Problem(row));
    CHECK(emulated.front().kernel == strict.front().kernel);
    CHECK(emulated.front().time_us() == strict.front().time_us());
  }

  TEST_CASE("what does not serve is left out, and the next best is the answer") {
    const std::string device_class = built_in_portfolios().of(Math::strict).front().device_class;
    ChoiceQuery query{.problem = GemmProblem{.m = 1024, .n = 1024, .k = 1024},
                      .device = {.kernels = built_in_kernels(),
                                 .device_class = device_class,
                                 .label = "",
                                 .environment = {}},
                      .portfolios = built_in_portfolios(),
                      .limits = predicted_device(device_class),
                      .aligned = true};
    const Choice best = choices(query).front();
    REQUIRE(best.is_measured());
    query.serves = [&](const KernelTemplate& kernel, const Configuration&, const Problem&) {
      return &kernel != best.kernel;
    };
    query.most = 1;
    const std::vector<Choice> others = choices(query);
    REQUIRE(others.size() == 1);
    CHECK(others.front().kernel != best.kernel);
    CHECK(others.front().predicted() != nullptr);

    query.only_measured = true;
    CHECK(choices(query).empty());
  }
}

}  // namespace
}  // namespace autotune::test
