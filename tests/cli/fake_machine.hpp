// The program on a driver that is scripted (tests/support/fake_cuda.cpp).
#pragma once

#include <csignal>
#include <cstdio>

#include <doctest/doctest.h>
#include <sys/prctl.h>

#include "db/tuning_database.hpp"
#include "gpu/gpu.hpp"
#include "tests/cli/program.hpp"

namespace autotune::test {

// False, with a note, on a machine that cannot compile kernels.
inline bool can_compile() {
  const bool usable = inspect_nvrtc().usable;
  if (!usable) std::printf("SKIPPED: no NVRTC\n");
  return usable;
}

// The program on the fake driver. Orphans of the program become children of this process, and are
// seen.
class FakeMachine {
 public:
  FakeMachine() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    program_.environment.back() = {"AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA};
  }
  ~FakeMachine() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  // Where its temporary files are.
  [[nodiscard]] const std::filesystem::path& folder() const { return program_.folder.path(); }

  ProgramResult run(const std::string& script, const std::vector<std::string>& arguments) const {
    Program program;
    program.environment = program_.environment;
    program.environment.emplace_back("FAKE_CUDA", script);
    return program(arguments);
  }

  // Tunes a small space, of which `trials` are tried, anew unless `more` is something else.
  ProgramResult tune(const std::string& script, const std::string& trials,
                     const std::vector<std::string>& more = {"--fresh"}) const {
    std::vector<std::string> arguments = {"--trials",
                                          trials,
                                          "--jobs",
                                          "1",
                                          "--template",
                                          "gemm_tiled",
                                          "--tile-width",
                                          "16",
                                          "--results-per-thread",
                                          "4",
                                          "--sizes",
                                          "64"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run(script, arguments);
    CAPTURE(script);
    CAPTURE(result.err);
    CHECK(result.exit_code != 1);
    CHECK(result.exit_code < 128);  // no signal ended it
    CHECK(has_no_children());
    CHECK(database_opens());
    return result;
  }

 private:
  static bool has_no_children() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0;
  }
  bool database_opens() const {
    return !std::filesystem::exists(program_.database) ||
           TuningDatabase::open_read_only(program_.database).has_value();
  }

  Program program_;
};

}  // namespace autotune::test
