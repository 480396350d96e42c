#include "tuner/replay/known_winners.hpp"

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/run_program.hpp"
#include "tuner/replay/replay.hpp"

namespace autotune {
namespace {

// A cache of Kernel Tuner with these members of the object "cache".
RecordedSpace space_of(const std::string& entries) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "recorded.json";
  std::ofstream(path, std::ios::binary)
      << R"({"tune_params_keys": ["A", "T"], "cache": {)" + entries + "}}";
  return read_recorded_spaces(path, built_in_kernels()).front();
}

std::string entry(const std::string& a, const std::string& text, int time) {
  return "\"" + a + "," + text + R"(": {"A": )" + a + R"(, "T": ")" + text + R"(", "time": )" +
         std::to_string(time) + "}";
}

TEST_SUITE("known winners") {
  TEST_CASE("a winner is found by what its values stand for, whatever their ranks are") {
    RecordedSpace space = space_of(entry("0.5", "x", 4) + "," + entry("1", "y", 3) + "," +
                                   entry("2", "z", 2) + "," + entry("2", "y", 1));
    const RecordedSpace other = space_of(entry("1", "y", 1) + "," + entry("2", "z", 9));
    const RecordedSpace third = space_of(entry("0.25", "z", 9) + "," + entry("0.5", "x", 1));
    begin_with_winners(space, {other, third, other});
    CHECK(space.known == std::vector<std::size_t>{1, 0});
  }

  TEST_CASE("copies, other templates, other parameters and what was not recorded say nothing") {
    RecordedSpace space = space_of(entry("1", "x", 4) + "," + entry("2", "x", 3));
    const RecordedSpace copy = space;
    const RecordedSpace elsewhere = space_of(entry("7", "x", 1));
    RecordedSpace of_template = space_of(entry("1", "x", 1));
    of_template.template_name = "gemm_simt";
    begin_with_winners(space, {copy, elsewhere, of_template});
    CHECK(space.known.empty());
  }

  TEST_CASE("each search tries them first, once each, with several in flight too") {
    RecordedSpace space = space_of(entry("1", "x", 4) + "," + entry("2", "x", 3) + "," +
                                   entry("3", "x", 2) + "," + entry("4", "x", 8));
    space.known = {3, 1};
    for (const std::size_t in_flight : {1, 4}) {
      CAPTURE(in_flight);
      const auto strategy = make_strategy("exhaustive", {.configurations = &space.configurations});
      std::vector<std::size_t> tried;
      static_cast<void>(
          replay_once(space, *strategy, {.in_flight = in_flight}, [&](std::size_t index, double) {
            tried.push_back(index);
            return true;
          }));
      CHECK(tried == std::vector<std::size_t>{3, 1, 0, 2});
    }
  }
}

}  // namespace
}  // namespace autotune
