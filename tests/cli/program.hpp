// The program under test, with a database and a cache of its own and without a GPU.
#pragma once

#include <string_view>

#include "tests/support/run_program.hpp"

namespace autotune::test {

// The documented exit codes (docs/cli.md), in figures: a change of one breaks a script somewhere.
inline constexpr int kSuccess = 0;
inline constexpr int kUsage = 2;
inline constexpr int kEnvironment = 3;
inline constexpr int kNothingStored = 4;
inline constexpr int kNoneCorrect = 5;
inline constexpr int kNotStored = 6;
inline constexpr int kSlower = 7;
inline constexpr int kInterrupted = 130;

// 342 trials of an H200.
inline const std::string kRecording =
    AUTOTUNE_SOURCE_DIR "/tests/data/h200-64x64x65536.t4.json.zst";

struct Program {
  Program() { std::filesystem::create_directory(folder.path() / "data"); }

  TemporaryFolder folder;
  std::string database = folder.path() / "data" / "autotune.db";
  Environment environment = {{"AUTOTUNE_DB", database},
                             {"XDG_CACHE_HOME", folder.path() / "cache"},
                             {"TMPDIR", folder.path()},  // where locks of devices lie
                             {"AUTOTUNE_LIBCUDA", folder.path() / "no-driver"}};

  [[nodiscard]] ProgramResult operator()(const std::vector<std::string>& arguments) const {
    ProgramResult result = run_program(AUTOTUNE_PROGRAM, arguments, environment);
    // A slow machine adds this line, also more than once.
    constexpr std::string_view kSlow = "autotune: waiting for the compiler\n";
    for (std::size_t at = 0; (at = result.err.find(kSlow, at)) != std::string::npos;) {
      result.err.erase(at, kSlow.size());
    }
    return result;
  }
};

// A file of tests/golden.
inline std::string golden(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(AUTOTUNE_SOURCE_DIR "/tests/golden/" + name).rdbuf();
  return text.str();
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Arguments, with more behind them.
inline std::vector<std::string> with(std::vector<std::string> arguments,
                                     const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

inline std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace autotune::test
