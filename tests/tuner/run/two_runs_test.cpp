// Runs that use one database at the same time: together they measure everything once.
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/hash.hpp"
#include "tests/support/run_program.hpp"
#include "tests/tuner/tune_fixture.hpp"
#include "tuner/run/shared_trials.hpp"

namespace autotune::test {
namespace {

// The fixture on a database in a file.
struct RunOnFile : TuneFixture {
  explicit RunOnFile(const std::filesystem::path& path) : file(TuningDatabase::open(path)) {
    setup.database = &file;
  }
  // Calls `last` when this many trials are done or known.
  TuneReport run_until(std::int64_t done, const std::function<void()>& last) {
    return tune(request, setup,
                [&](const TuneProgress& p) {
                  if (p.last != nullptr) seen.push_back(*p.last);
                  if (p.last != nullptr && static_cast<std::int64_t>(seen.size()) == done) last();
                },
                {});
  }
  TuningDatabase file;
};

// The scope of the fixture's trials.
TrialScope scope_of(const TuneFixture& f) {
  return {f.setup.device.device_class(),
          f.kernel.name,
          f.kernel.space_version,
          content_hash(f.kernel.source),
          {.driver = f.setup.device.driver_text(),
           .nvrtc_build = f.script->nvrtc_build,
           .tool_version = "",
           .measuring_protocol = kMeasuringProtocol}};
}

const Configuration kChosen({{"X", 5}, {"A", 1}});

// Another run on the same database.
struct OtherRun {
  explicit OtherRun(RunOnFile& run)
      : shared(run.file, {{&run.kernel, scope_of(run)}}, "another run"), key(key_of(run, kChosen)) {
    shared.open_claims();
  }
  [[nodiscard]] SharedTrials::Key key_of(const RunOnFile& run,
                                         const Configuration& configuration) const {
    return shared.key_of(run.kernel, kSmall, configuration);
  }
  SharedTrials shared;
  SharedTrials::Key key;  // of kChosen
};

// Calls a function once, when a database that was opened in the lifetime of this object is first
// asked what is complete, just before it answers.
class BeforeCompletionIsRead {
 public:
  explicit BeforeCompletionIsRead(std::function<void()> call) {
    pending() = std::move(call);
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(trace));
  }
  ~BeforeCompletionIsRead() {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(trace));
    pending() = nullptr;
  }
  BeforeCompletionIsRead(const BeforeCompletionIsRead&) = delete;
  BeforeCompletionIsRead& operator=(const BeforeCompletionIsRead&) = delete;
  [[nodiscard]] bool was_called() const { return !pending(); }

 private:
  static std::function<void()>& pending() {
    static std::function<void()> call;
    return call;
  }
  static int trace(sqlite3* database, char**, const void*) {
    const auto on_statement = [](unsigned, void*, void* statement, void*) {
      const std::string sql = sqlite3_sql(static_cast<sqlite3_stmt*>(statement));
      if (pending() && sql.find(" row_hash FROM completed") != std::string::npos) {
        std::exchange(pending(), nullptr)();
      }
      return 0;
    };
    return sqlite3_trace_v2(database, SQLITE_TRACE_STMT, on_statement, nullptr);
  }
};

TEST_SUITE("two runs") {
  TEST_CASE("at the same time they measure everything once, and both have the best") {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder.path() / "results.db";
    RunOnFile first(path);
    RunOnFile second(path);
    for (RunOnFile* run : {&first, &second}) {
      run->request.problems = {kSmall, kLarge};
      run->script->measure = [&, answer = run->script->measure](const MeasureRequest& asked) {
        // Both are at work before either goes on.
        while (first.script->measures == 0 || second.script->measures == 0) {
          std::this_thread::yield();
        }
        return answer(asked);
      };
    }
    TuneReport reports[2];
    std::thread other([&] { reports[1] = second.run(); });
    reports[0] = first.run();
    other.join();
    CHECK(reports[0].measured + reports[1].measured == 2 * kValid);
    CHECK(first.file.stats().trials == 2 * kValid);
    for (const TuneReport& report : reports) {
      CHECK(report.measured > 0);
      CHECK(report.measured + report.known == 2 * kValid);
      REQUIRE(report.problems.size() == 2);
      CHECK(to_string(report.problems[0].winner->configuration) == "X=7,A=2");
      CHECK(to_string(report.problems[1].winner->configuration) == "X=3,A=4");
    }
    CHECK(first.run().measured == 0);
  }

  TEST_CASE("one that begins while the other ends has its results") {
    const TemporaryFolder folder;
    RunOnFile first(folder.path() / "results.db");
    const BeforeCompletionIsRead hook([&] { first.run(); });
    RunOnFile second(folder.path() / "results.db");
    const TuneReport report = second.run();
    CHECK(hook.was_called());
    CHECK(report.measured == 0);
    CHECK(report.problems.front().winner);
  }

  TEST_CASE("a trial that another run gives up is measured here, after all others") {
    const TemporaryFolder folder;
    RunOnFile f(folder.path() / "results.db");
    const OtherRun other(f);
    REQUIRE(other.shared.claim(other.key));
    const TuneReport report = f.run_until(kValid - 1, [&] { other.shared.release(other.key); });
    CHECK(report.measured == kValid);
    CHECK(f.seen.back().configuration == kChosen);
  }

  TEST_CASE("a trial that another run stores is waited for and not measured here") {
    const TemporaryFolder folder;
    RunOnFile f(folder.path() / "results.db");
    const OtherRun other(f);
    REQUIRE(other.shared.claim(other.key));
    const TuneReport report = f.run_until(kValid - 1, [&] {
      Trial trial{.problem = kSmall, .template_name = "fake", .configuration = kChosen};
      trial.measurement = measured(1).measurement;
      TuningDatabase::open(f.file.path())
          .add_trials(scope_of(f), {.guid = "another run"}, {&trial, 1});
      other.shared.release(other.key);
    });
    CHECK(report.measured == kValid - 1);
    CHECK(report.known == 1);
    CHECK(report.complete);
  }

  TEST_CASE("a trial that another run never makes is measured in the end") {
    const TemporaryFolder folder;
    RunOnFile f(folder.path() / "results.db");
    f.setup.other_runs_timeout = std::chrono::milliseconds(0);
    const OtherRun other(f);
    REQUIRE(other.shared.claim(other.key));
    CHECK(f.run().measured == kValid);
    CHECK(f.seen.back().configuration == kChosen);
  }

  TEST_CASE("a run that is stopped with its claims leaves others time for these trials") {
    const TemporaryFolder folder;
    RunOnFile f(folder.path() / "results.db");
    f.request.strategy = "random";  // which proposes quickly, with sanitizers as well
    f.request.budget.seconds = 8;
    const OtherRun other(f);
    REQUIRE(other.shared.claim(other.key));
    bool waited = false;
    const TuneReport report = tune(f.request, f.setup,
                                   [&](const TuneProgress& progress) {
                                     waited |=
                                         progress.phase == std::string("waiting for another run");
                                   },
                                   {});
    CHECK(report.measured == kValid);
    CHECK(waited);
  }

  TEST_CASE("claims are given up when a process or a search ends") {
    const TemporaryFolder folder;
    RunOnFile f(folder.path() / "results.db");
    const OtherRun other(f);
    const pid_t child = ::fork();
    if (child == 0) {
      const OtherRun own(f);
      CHECK(own.shared.claim(own.key));
      ::kill(::getpid(), SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    CHECK(other.shared.claim(other.key));
    other.shared.release(other.key);

    f.request.budget.trials = 3;
    f.run();
    for (std::int64_t x = 1; x <= 10; ++x) {
      const Configuration configuration({{"X", x}, {"A", 1}});
      CHECK(other.shared.claim(other.key_of(f, configuration)));
    }
  }

  TEST_CASE("a fresh run neither waits for others nor takes what they have") {
    const TemporaryFolder folder;
    RunOnFile f(folder.path() / "results.db");
    f.request.fresh = true;
    const OtherRun other(f);
    REQUIRE(other.shared.claim(other.key));
    CHECK(f.run().measured == kValid);
  }
}

}  // namespace
}  // namespace autotune::test
