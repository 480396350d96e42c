// Recordings that are small and would take all memory or all time, and values that are large.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "autotune/error.hpp"

#include "tests/support/run_program.hpp"
#include "tuner/replay/recorded_space.hpp"

namespace autotune {
namespace {

std::vector<RecordedSpace> spaces_in(const std::string& text) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "recorded.json";
  std::ofstream(path, std::ios::binary) << text;
  return read_recorded_spaces(path, built_in_kernels());
}

std::string refused_file(const std::string& path) {
  try {
    static_cast<void>(read_recorded_spaces(path, built_in_kernels()));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "read";
}

std::string refused(const std::string& text) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "recorded.json";
  std::ofstream(path, std::ios::binary) << text;
  return refused_file(path);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string zeros(int count) {
  std::string text = "[0";
  for (int i = 1; i < count; ++i) text += ",0";
  return text + "]";
}

// A list of `count` items, each made from its number.
std::string list(int count, const auto& item) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + item(i);
  return text;
}

// A cache of Kernel Tuner whose one parameter has these values.
std::vector<std::int64_t> values_of(const std::vector<std::string>& values) {
  std::string entries;
  for (const std::string& value : values) {
    entries += fmt::format(R"({}"k{}": {{"seed": {}, "time": 1}})", entries.empty() ? "" : ",",
                           entries.size(), value);
  }
  const auto spaces = spaces_in(R"({"tune_params_keys": ["seed"], "cache": {)" + entries + "}}");
  std::vector<std::int64_t> read;
  for (const Configuration& each : spaces.front().configurations) read.push_back(each.at("seed"));
  return read;
}

TEST_SUITE("bounds of recordings") {
  TEST_CASE("the values outside of the results, and those of one result, have a bound") {
    const std::string one = R"({"configuration": {"A": 1}, "times": {"runtimes": [1]},)"
                            R"( "invalidity": "correct"})";
    const std::string many = zeros(1'000'001);
    CHECK(has(refused(R"({"x": )" + many + R"(, "results": []})"),
              "has more than 1000000 values outside of its results"));
    CHECK(has(refused(R"({"results": [)" + many + "]}"),
              "has more than 1000000 values in one result"));
    CHECK(has(refused(R"({"cache": {"1": )" + many + "}}"), "values in one result"));
    // Of all results together there may be more.
    const std::string some = zeros(400'000);
    const std::string more = R"({"configuration": {"A": 2}, "times": {"runtimes": )" + some +
                             R"(}, "invalidity": "runtime"})";
    CHECK(spaces_in(R"({"x": )" + some + R"(, "results": [)" + one + "," + more + "," + more + "," +
                    more + "]}")
              .front()
              .correct == 1);
  }

  TEST_CASE("a text in quotes has a bound") {
    const std::string longest = R"({"x": ")" + std::string(17 << 20, 'a') + R"(", "results": []})";
    CHECK(has(refused(longest), "has a text of more than 16 MiB in quotes"));
    const std::string shorter = R"({"x": ")" + std::string(1 << 20, 'a') + R"(", "results": []})";
    CHECK_FALSE(has(refused(shorter), "16 MiB"));
  }

  TEST_CASE("the text of a plain file has a bound") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "large.json";
    std::ofstream(path) << "{";
    std::filesystem::resize_file(path, (std::uintmax_t{4} << 30) + 1);  // sparse
    CHECK(has(refused_file(path), "has more than 4 GiB of text"));
  }

  TEST_CASE("the time to read a result is linear in its parameters") {
    constexpr int kMany = 150'000;
    const auto began = std::chrono::steady_clock::now();
    const auto named = [](int i) { return fmt::format(R"("P{}":1)", i); };
    const std::string values = list(kMany, named);
    CHECK(spaces_in(R"({"results": [{"configuration": {)" + values +
                    R"(}, "times": {"runtimes": [1]}, "invalidity": "correct"}]})")
              .front()
              .correct == 1);
    const std::string keys = list(kMany, [](int i) { return fmt::format(R"("P{}")", i); });
    CHECK(spaces_in(R"({"tune_params_keys": [)" + keys + R"(], "cache": {"k": {"time": 1,)" +
                    values + "}}}")
              .front()
              .correct == 1);
    const std::string pairs =
        list(kMany, [](int i) { return fmt::format(R"({{"Name":"P{}","Value":1}})", i); });
    CHECK(spaces_in(R"({"Metadata": {"TimeUnit": "us"}, "Results": [{"Status": "Ok",)"
                    R"( "TotalDuration": 1, "Configuration": [)" +
                    pairs + "]}]}")
              .front()
              .correct == 1);
    const std::string measured =
        list(kMany, [](int i) { return fmt::format(R"({{"name":"M{}","value":1}})", i); });
    CHECK(spaces_in(R"({"results": [{"configuration": {"A": 1}, "times": {"runtimes": [1]},)"
                    R"( "invalidity": "correct", "objectives": [)" +
                    keys + R"(], "measurements": [)" + measured + "]}]}")
              .front()
              .correct == 1);
    // Each of these takes a minute where the time grows with the square.
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(60));
  }

  TEST_CASE("a parameter with many values is ranked in a time that is linear in them") {
    constexpr int kMany = 60'000;
    const auto began = std::chrono::steady_clock::now();
    const auto entry = [](int i) { return fmt::format(R"("{0}":{{"A":{0}.5,"time":1}})", i); };
    const auto spaces =
        spaces_in(R"({"tune_params_keys": ["A"], "cache": {)" + list(kMany, entry) + "}}");
    CHECK(spaces.front().configurations.back().at("A") == kMany - 1);
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
  }

  TEST_CASE("integers that have the same double stay apart") {
    using Values = std::vector<std::int64_t>;
    CHECK(values_of({"9007199254740992", "9007199254740991"}) ==
          Values{9007199254740992, 9007199254740991});
    for (const char* quote : {"", "\""}) {
      const auto quoted = [quote](const std::string& text) { return quote + text + quote; };
      CAPTURE(quote);
      CHECK(values_of({quoted("9007199254740993"), quoted("9007199254740992")}) == Values{1, 0});
      CHECK(values_of({quoted("-9223372036854775807"), quoted("-9223372036854775808")}) ==
            Values{1, 0});
      CHECK(values_of({quoted("18446744073709551615"), quoted("18446744073709551614")}) ==
            Values{1, 0});
      CHECK(values_of({quoted("18446744073709551617"), quoted("18446744073709551618"),
                       quoted("18446744073709551617")})
                .size() == 2);
    }
  }

  TEST_CASE("results without a value of the objective are told from failures") {
    const std::string lacks = "no configuration has a value of the objective energy";
    const auto cache = [](const std::string& entries) {
      return R"({"tune_params_keys": ["a"], "objective": "energy", "cache": {)" + entries + "}}";
    };
    CHECK(has(refused(cache(R"("1": {"a": 1, "time": 2.0}, "2": {"a": 2, "time": 1.0})")), lacks));
    CHECK(has(refused(cache(R"("1": {"a": 1, "time": 2.0, "__error__": "InvalidConfig"})")),
              "all configurations failed"));
    CHECK(spaces_in(cache(R"("1": {"a": 1, "time": 2.0}, "2": {"a": 2, "energy": 1.0})"))
              .front()
              .correct == 1);
    CHECK(has(refused(R"({"results": [{"configuration": {"A": 1}, "times": {}, "measurements": [],)"
                      R"( "invalidity": "correct", "objectives": ["energy"]}]})"),
              lacks));
  }
}

}  // namespace
}  // namespace autotune
