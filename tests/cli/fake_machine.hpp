// The program on the fake driver (tests/support/fake_cuda.cpp).
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "db/tuning_database.hpp"
#include "gpu/gpu.hpp"
#include "tests/cli/running_program.hpp"
#include "tests/support/fake_cuda.hpp"

namespace autotune::test {

// False, with a note, on a machine that cannot compile kernels.
inline bool can_compile() {
  const bool usable = inspect_nvrtc().usable;
  if (!usable) std::printf("SKIPPED: no NVRTC\n");
  return usable;
}

// The arguments of a search of a small space, of which `trials` are tried.
inline std::vector<std::string> small_search(const std::string& trials) {
  return {"--sizes",
          "64",
          "--trials",
          trials,
          "--jobs",
          "1",
          "--template",
          "gemm_tiled",
          "--tile-width",
          "16",
          "--results-per-thread",
          "4"};
}

// The program on the fake driver.
class FakeMachine {
 public:
  FakeMachine() { program_.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA}; }

  ProgramResult run(const std::string& script, const std::vector<std::string>& arguments) const {
    Program program;
    program.environment = program_.environment;
    program.environment.emplace_back("FAKE_CUDA", script);
    return program(arguments);
  }

  // The folder of its temporary files.
  [[nodiscard]] const std::filesystem::path& folder() const { return program_.folder.path(); }

  // Tunes a small space, of which `trials` are tried, anew unless `more` is something else.
  ProgramResult tune(const std::string& script, const std::string& trials,
                     const std::vector<std::string>& more = {"--fresh"}) const {
    std::vector<std::string> arguments = small_search(trials);
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run(script, arguments);
    CAPTURE(script);
    CAPTURE(result.err);
    CHECK(result.exit_code != 1);
    CHECK(result.exit_code < 128);  // no signal ended it
    CHECK(OrphanWatch::has_no_children());
    CHECK(database_opens());
    return result;
  }

  // The same, with the results of earlier runs.
  ProgramResult go_on(const std::string& script, const std::string& trials) const {
    return tune(script, trials, {});
  }

  [[nodiscard]] const std::string& database() const { return program_.database; }

 private:
  bool database_opens() const {
    return !std::filesystem::exists(program_.database) ||
           TuningDatabase::open_read_only(program_.database).has_value();
  }

  OrphanWatch orphans_;
  Program program_;
};

// One line that says what it was.
inline void check_line(const ProgramResult& result, const std::string& part) {
  CAPTURE(result.err);
  CHECK(result.err.rfind("autotune: ", 0) == 0);
  CHECK(lines(result.err) == 1);
  CHECK(has(result.err, part));
}

}  // namespace autotune::test
