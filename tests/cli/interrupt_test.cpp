// Signals that end the program: its results are kept and printed, and nothing is left behind.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "tests/cli/running_program.hpp"

namespace autotune::test {
namespace {

const std::vector<std::string> kSearch = {
    "--sizes", "40,41,42", "--device", "cpu",    "--tile-width",   "8",      "--results-per-thread",
    "2",       "--unroll", "full",     "--only", "VECTOR_WIDTH=1", "--jobs", "1",
    "--json"};

constexpr std::int64_t kTrials = 12;  // of that search

TEST_SUITE("signals") {
  TEST_CASE("an interrupt prints and keeps the best so far, and the next run goes on") {
    const OrphanWatch orphans;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      CAPTURE(signal);
      const Program program;
      RunningProgram interrupted(program, kSearch);
      interrupted.wait_for_trials(2);
      const ProgramResult result = interrupted.finish_with(signal);
      CAPTURE(result.err);
      CHECK(result.exit_code == kInterrupted);
      CHECK(OrphanWatch::has_no_children());
      const auto document = nlohmann::json::parse(result.out);
      const std::int64_t stored = trials_in(program.database);
      CHECK(document["measured"] == stored);
      CHECK(document["interrupted"] == true);
      CHECK(has(result.err, "autotune: finishing what is in flight: a second Ctrl-C ends "));
      CHECK(has(result.err, "autotune: interrupted: these are the results so far\n"));
      CHECK(stored >= 2);
      REQUIRE(document["results"].size() == 3);
      CHECK(document["results"][0]["status"] == "ok");

      const auto next = nlohmann::json::parse(program(kSearch).out);
      CHECK(next["known"] == stored);
      CHECK(next["measured"] == kTrials - stored);
    }
  }

  TEST_CASE("a signal that is ignored at the start stays ignored") {
    for (const auto& [signal, name] :
         {std::pair(SIGINT, "INT"), std::pair(SIGTERM, "TERM"), std::pair(SIGHUP, "HUP")}) {
      CAPTURE(name);
      const Program program;
      std::vector<std::string> arguments = {
          "-c", std::string("trap '' ") + name + "; exec \"$0\" \"$@\"", AUTOTUNE_PROGRAM};
      RunningProgram running(program, with(arguments, with(kSearch, {"--trials", "6"})), "/bin/sh");
      running.wait_for_trials(1);
      const ProgramResult result = running.finish_with(signal);
      CAPTURE(result.err);
      CHECK(result.exit_code == kSuccess);
      CHECK(nlohmann::json::parse(result.out)["measured"] == 6);
    }
  }

  TEST_CASE("a sweep that is interrupted names the size that it finishes") {
    const Program program;
    RunningProgram running(
        program, {"sweep", "--sizes", "256", "--device", "cpu", "--tile-width", "16",
                  "--results-per-thread", "1", "--launches", "100", "--progress", "plain"});
    running.wait_for_words("sweep [");
    const ProgramResult result = running.finish_with(SIGINT);
    CAPTURE(result.err);
    CHECK(result.exit_code != 1);
    CHECK(
        has(result.err, "autotune: finishing 256x256x256: a second Ctrl-C ends the program now\n"));
  }

  TEST_CASE("a signal before the first trial leaves no process and no half-made file") {
    const OrphanWatch orphans;
    const Program program;
    RunningProgram interrupted(program, kSearch);
    while (interrupted.is_running() && !std::filesystem::exists(program.database)) {
    }
    const ProgramResult result = interrupted.finish_with(SIGTERM);
    CAPTURE(result.err);
    CHECK(result.exit_code == kInterrupted);
    CHECK(OrphanWatch::has_no_children());
    CHECK(program({"db", "stats"}).exit_code == kSuccess);
    for (const auto& entry : nlohmann::json::parse(result.out)["results"]) {
      if (entry["tried"] == 0) CHECK(entry["status"] == "not_tried");
    }
  }

  TEST_CASE("run, bench, sweep and replay print what they have, and say that it is not all") {
    const OrphanWatch orphans;
    std::string sizes = "33";
    for (int size = 34; size < 500; ++size) sizes += "," + std::to_string(size);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"run", "--sizes", sizes, "--device", "cpu", "--json"},
          {"bench", "--sizes", sizes, "--device", "cpu", "--against", "gemm_simt", "--json"},
          {"sweep", "--sizes", sizes, "--device", "cpu", "--json"},
          {"replay", kRecording, "--repeats", "10000", "--json"}}) {
      CAPTURE(command.front());
      const Program program;
      RunningProgram running(program, command);
      running.wait_until_it_watches();
      const ProgramResult result = running.finish_with(SIGINT);
      CAPTURE(result.err);
      CHECK(result.exit_code == kInterrupted);
      CHECK(has(result.err, "autotune: interrupted: "));
      CHECK(nlohmann::json::parse(result.out)["interrupted"] == true);
      CHECK(OrphanWatch::has_no_children());
    }
  }

  TEST_CASE("a replay that is interrupted before its first result prints nothing") {
    const Program program;
    RunningProgram running(program, {"replay", kRecording, "--repeats", "10000"});
    running.wait_until_it_watches();
    const ProgramResult result = running.finish_with(SIGINT);
    CHECK(result.exit_code == kInterrupted);
    CHECK(has(result.err, "autotune: interrupted: 0 of "));
    CHECK(result.out == "");
  }

  TEST_CASE("a reader that goes away costs the output and nothing that was stored") {
    const OrphanWatch orphans;
    const Program program;
    const std::string pipe = program.folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const pid_t child = start_program(AUTOTUNE_PROGRAM, kSearch, program.environment, pipe);
    ::close(::open(pipe.c_str(), O_RDONLY));
    const int code = finished_program(child, "", "").exit_code;
    CHECK((code == 1000 + SIGPIPE || code == 1));  // 1: whoever started the tests ignores SIGPIPE
    CHECK(OrphanWatch::has_no_children());

    const auto next = nlohmann::json::parse(program(kSearch).out);
    CHECK(next["measured"] == 0);
    CHECK(next["known"] == trials_in(program.database));
    CHECK(next["results"][0]["confirmed"] == true);
  }
}

}  // namespace
}  // namespace autotune::test
