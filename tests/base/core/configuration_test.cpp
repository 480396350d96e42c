#include "autotune/configuration.hpp"

#include <memory>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

using autotune::Configuration;
using autotune::UsageError;

TEST_SUITE("Configuration") {
  TEST_CASE("parse reads what to_string writes") {
    const std::string text = "TILE_WIDTH=16,RESULTS_M=4,OFFSET=-3";
    const Configuration configuration = Configuration::parse(text);
    CHECK(to_string(configuration) == text);
    CHECK(configuration.at("TILE_WIDTH") == 16);
    CHECK(configuration.at("OFFSET") == -3);
  }

  TEST_CASE("parse refuses malformed items") {
    for (const std::string text :
         {"", ",", "A", "A=", "=1", "A=1,", ",A=1", "A=1,,B=2", "A=x", "A=1x", "A= 1", "A=1 ",
          "A=+1", "A=1e3", "A=0x10", "A=1.5", "A=9223372036854775808", "A=1=2", "A=1;B=2"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(Configuration::parse(text), UsageError);
    }
  }

  TEST_CASE("parse quotes the item that is wrong") {
    CHECK_THROWS_WITH_AS(Configuration::parse("A=1,B=two"), doctest::Contains("'B=two'"),
                         UsageError);
    CHECK_THROWS_WITH_AS(Configuration::parse("A=1,A=2"), doctest::Contains("A twice"), UsageError);
  }

  TEST_CASE("set replaces a value in place or appends it") {
    Configuration configuration({{"A", 1}, {"B", 2}});
    configuration.set("A", 7);
    configuration.set("C", 3);
    CHECK(to_string(configuration) == "A=7,B=2,C=3");
  }

  TEST_CASE("at refuses a name that is not there") {
    const Configuration configuration({{"A", 1}});
    CHECK(configuration.contains("A"));
    CHECK_FALSE(configuration.contains("a"));
    CHECK_THROWS_AS(static_cast<void>(configuration.at("a")), UsageError);
  }

  TEST_CASE("each of many names is found, and nothing else") {
    std::vector<Configuration::Entry> entries;
    for (std::int64_t i = 0; i < 100; ++i) entries.emplace_back("P" + std::to_string(i), i);
    const Configuration configuration(entries);
    for (const auto& [name, value] : entries) CHECK(configuration.at(name) == value);
    CHECK_FALSE(configuration.contains("P100"));
    CHECK_FALSE(configuration.contains(""));
    CHECK_FALSE(Configuration().contains("P1"));
  }

  TEST_CASE("names without values are not found") {
    const auto names = std::make_shared<const Configuration::Names>(Configuration::Names{"A", "B"});
    Configuration configuration(names, {1});
    CHECK(configuration.contains("A"));
    CHECK_FALSE(configuration.contains("B"));
    configuration.set("C", 3);
    CHECK(to_string(configuration) == "A=1,C=3");
  }

  TEST_CASE("equality needs the same names and values and order") {
    const Configuration configuration({{"A", 1}, {"B", 2}});
    CHECK(configuration == Configuration({{"A", 1}, {"B", 2}}));
    CHECK(configuration != Configuration({{"B", 2}, {"A", 1}}));
    CHECK(configuration != Configuration({{"A", 1}, {"B", 3}}));
    CHECK(Configuration().empty());
  }

  TEST_CASE("order is that of the pairs of names and values, whoever owns the names") {
    const auto names = std::make_shared<const Configuration::Names>(Configuration::Names{"B", "A"});
    const std::vector<Configuration> rows = {
        Configuration(),
        Configuration({{"A", 9}}),
        Configuration({{"A", 9}, {"Z", 0}}),
        Configuration(names, {1}),
        Configuration(names, {1, 2}),
        Configuration(names, {1, 3}),
        Configuration({{"B", 1}, {"C", 0}}),
        Configuration(names, {2, -5}),
        Configuration({{"C", 0}}),
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < rows.size(); ++j) {
        CAPTURE(to_string(rows[i]));
        CAPTURE(to_string(rows[j]));
        CHECK((rows[i] < rows[j]) == (i < j));
        CHECK((rows[i] == rows[j]) == (i == j));
        // With names of its own each.
        const auto own = [](const Configuration& row) {
          return Configuration(
              std::vector<Configuration::Entry>(row.entries().begin(), row.entries().end()));
        };
        CHECK((own(rows[i]) < rows[j]) == (i < j));
      }
    }
  }

  TEST_CASE("a text from a file has at most 100 names") {
    const auto text_of = [](int count) {
      std::string text;
      for (int i = 0; i < count; ++i) {
        text += (i == 0 ? "A" : ",A") + std::to_string(i) + "=1";
      }
      return text;
    };
    CHECK(Configuration::parse(text_of(100)).entries().size() == 100);
    CHECK_THROWS_WITH_AS(Configuration::parse(text_of(101)),
                         "configuration has 101 parameters: at most 100 are allowed", UsageError);
    // Each name would be compared with all before it.
    CHECK_THROWS_AS(Configuration::parse(text_of(1'000'000)), UsageError);
    const std::vector<Configuration::Entry> many(101, {"A", 1});
    CHECK_THROWS_AS(Configuration{many}, UsageError);
  }

  TEST_CASE("a copy keeps its names and values when the other is set") {
    const Configuration configuration({{"A", 1}, {"B", 2}});
    Configuration other = configuration;
    other.set("C", 3);
    other.set("A", 7);
    CHECK(to_string(configuration) == "A=1,B=2");
    CHECK(to_string(other) == "A=7,B=2,C=3");
    CHECK(to_string(configuration.with({5, 6})) == "A=5,B=6");
  }
}
