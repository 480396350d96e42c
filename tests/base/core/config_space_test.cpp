#include "core/config_space.hpp"

#include <doctest/doctest.h>

#include "autotune/error.hpp"

using autotune::ConfigSpace;
using autotune::Configuration;
using autotune::Constraint;
using autotune::Enumeration;
using autotune::UsageError;

namespace {

ConfigSpace example() {
  return ConfigSpace(
      {{"A", "first", {1, 2, 3}}, {"B", "second", {10, 20}}},
      {{"odd_a", "A is odd", [](const Configuration& c) { return c.at("A") % 2 == 1; }},
       {"small_sum", "A + B is below 23",
        [](const Configuration& c) { return c.at("A") + c.at("B") < 23; }}});
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
}
