#include "core/config_space.hpp"

#include <numeric>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

using autotune::ConfigSpace;
using autotune::Configuration;
using autotune::Constraint;
using autotune::Enumeration;
using autotune::TuningParameter;
using autotune::UsageError;

namespace {

ConfigSpace example() {
  return ConfigSpace(
      {{"A", "first", {1, 2, 3}}, {"B", "second", {10, 20}}},
      {{"odd_a", "A is odd", [](const Configuration& c) { return c.at("A") % 2 == 1; }},
       {"small_sum", "A + B is below 23",
        [](const Configuration& c) { return c.at("A") + c.at("B") < 23; }}});
}

// Parameters A, B, ... with the values 0 to `values` - 1.
std::vector<TuningParameter> letters(std::size_t count, std::size_t values) {
  std::vector<TuningParameter> parameters;
  for (std::size_t i = 0; i < count; ++i) {
    parameters.push_back({std::string(1, static_cast<char>('A' + i)), "", {}});
    parameters.back().values.resize(values);
    std::iota(parameters.back().values.begin(), parameters.back().values.end(), 0);
  }
  return parameters;
}

// The sum of some parameters, the second one twice and so on, must not be a multiple of `divisor`.
Constraint no_multiple(std::vector<std::string> names, std::int64_t divisor) {
  return {"no_multiple_of_" + std::to_string(divisor), "",
          [names, divisor](const Configuration& c) {
            std::int64_t sum = 0;
            std::int64_t weight = 1;
            for (const std::string& name : names) sum += weight++ * c.at(name);
            return sum % divisor != 0;
          },
          names};
}

}  // namespace

TEST_SUITE("ConfigSpace") {
  TEST_CASE("enumeration keeps the order of parameters with the last changing fastest") {
    const Enumeration all = example().enumerate();
    std::string text;
    for (const Configuration& c : all.configurations) text += to_string(c) + " ";
    CHECK(text == "A=1,B=10 A=1,B=20 A=3,B=10 ");
  }

  TEST_CASE("a rejected configuration counts under the first constraint that it breaks") {
    const Constraint extra{"never_10", "B is not 10",
                           [](const Configuration& c) { return c.at("B") != 10; }};
    const Enumeration all = example().enumerate({extra});
    CHECK(all.raw_count == 6);
    REQUIRE(all.rejected.size() == 3);
    CHECK(all.rejected[0] == std::pair<std::string, std::size_t>("odd_a", 2));
    CHECK(all.rejected[1] == std::pair<std::string, std::size_t>("small_sum", 1));
    CHECK(all.rejected[2] == std::pair<std::string, std::size_t>("never_10", 2));
    CHECK(all.configurations.size() == 1);
  }

  TEST_CASE("the space owns the names of its configurations") {
    const ConfigSpace space = example();
    const Enumeration all = space.enumerate();
    REQUIRE(all.configurations.size() == 3);
    const std::string* const name = &all.configurations[0].entries().front().first;
    CHECK(&all.configurations[2].entries().front().first == name);
    CHECK(&space.enumerate().configurations[1].entries().front().first == name);
    CHECK(&space.validated(Configuration::parse("B=20,A=1")).entries().front().first == name);
  }

  TEST_CASE("configurations with the same values are told whatever their order") {
    const Configuration one({{"A", 1}, {"B", 20}});
    CHECK(autotune::same_values(one, Configuration({{"B", 20}, {"A", 1}})));
    CHECK_FALSE(autotune::same_values(one, Configuration({{"B", 10}, {"A", 1}})));
    CHECK_FALSE(autotune::same_values(one, Configuration({{"A", 1}, {"C", 20}})));
    CHECK_FALSE(autotune::same_values(one, Configuration({{"A", 1}, {"B", 20}, {"C", 3}})));
  }

  TEST_CASE("validated puts parameters into the order of the space") {
    CHECK(to_string(example().validated(Configuration::parse("B=20,A=1"))) == "A=1,B=20");
  }

  TEST_CASE("validated says what is wrong and what is allowed") {
    const auto refuse = [](const char* text, const char* part) {
      CHECK_THROWS_WITH_AS(static_cast<void>(example().validated(Configuration::parse(text))),
                           doctest::Contains(part), UsageError);
    };
    refuse("A=1", "lacks B: give one of 10, 20");
    refuse("A=4,B=10", "A=4 is not in the space: use one of 1, 2, 3");
    refuse("A=1,B=10,C=1", "unknown parameter C: use one of A, B");
    refuse("A=2,B=10", "constraint odd_a: A is odd");
  }

  TEST_CASE("a space without values or with a name twice is a fault") {
    CHECK_THROWS_AS(ConfigSpace({{"A", "", {}}}, {}), autotune::Error);
    CHECK_THROWS_AS(ConfigSpace({{"A", "", {1}}, {"A", "", {2}}}, {}), autotune::Error);
  }

  TEST_CASE("a space without parameters has one empty configuration") {
    const Enumeration all = ConfigSpace({}, {}).enumerate();
    REQUIRE(all.configurations.size() == 1);
    CHECK(all.configurations.front().empty());
  }

  TEST_CASE("a constraint that is asked once for the same values gives what it gives each time") {
    const std::vector<TuningParameter> parameters = letters(5, 6);
    const std::vector<Constraint> named = {no_multiple({"A", "C"}, 3), no_multiple({"E", "B"}, 4),
                                           no_multiple({"C"}, 5), no_multiple({"D", "A", "E"}, 2),
                                           no_multiple({"A", "B", "C", "D", "E"}, 7)};
    std::size_t asked = 0;
    std::vector<Constraint> counted = named;
    counted[1].holds = [&](const Configuration& c) {
      ++asked;
      return named[1].holds(c);
    };
    const Enumeration all = ConfigSpace(parameters, counted).enumerate();
    CHECK(asked > 0);
    CHECK(asked <= 36);

    std::vector<Configuration> expected;
    std::size_t rejected = 0;
    for (const Configuration& c : ConfigSpace(parameters, {}).enumerate().configurations) {
      bool holds = true;
      for (const Constraint& constraint : named) holds = holds && constraint.holds(c);
      if (holds) expected.push_back(c);
    }
    CHECK(expected.size() > 100);
    CHECK(all.configurations == expected);
    for (const auto& [name, count] : all.rejected) rejected += count;
    CHECK(rejected + expected.size() == all.raw_count);
  }

  TEST_CASE("a listing that becomes too long ends") {
    const ConfigSpace few(letters(3, 10), {no_multiple({"A"}, 2)});
    CHECK(few.enumerate({}, {.configurations = 500}).configurations.size() == 500);
    CHECK_THROWS_WITH_AS(static_cast<void>(few.enumerate({}, {.configurations = 499})),
                         "more than 499 of 1000 configurations are valid: leave values out, or add "
                         "constraints",
                         UsageError);

    const ConfigSpace slow(letters(4, 30), {no_multiple({"B"}, 2), no_multiple({"A", "D"}, 1)});
    CHECK_THROWS_WITH_AS(
        static_cast<void>(slow.enumerate({}, {.time = std::chrono::milliseconds(0)})),
        "the valid ones of 810000 configurations were not all found within 0 s: the constraint "
        "no_multiple_of_1 is applied too late, so put the parameters that it looks at first, or "
        "leave values out",
        UsageError);
    CHECK(slow.enumerate().configurations.empty());
  }

  TEST_CASE("a space with more combinations than 64 bits can count is refused") {
    CHECK(ConfigSpace(letters(6, 1000), {}).raw_count() == 1'000'000'000'000'000'000);
    const ConfigSpace space(letters(7, 1000), {});
    CHECK_THROWS_WITH_AS(static_cast<void>(space.raw_count()),
                         doctest::Contains("more than 2^64 combinations"), UsageError);
    CHECK_THROWS_AS(static_cast<void>(space.enumerate()), UsageError);
  }
}
