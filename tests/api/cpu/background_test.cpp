// MissPolicy::background end to end on the CPU device: worker processes, real kernels.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/autotune.hpp"

#include "api/gemm_backend.hpp"
#include "core/hash.hpp"
#include "cpu/device.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/api/temporary_storage.hpp"
#include "tests/support/portfolios.hpp"
#include "tests/support/winner.hpp"

namespace autotune::test {
namespace {

// Lets a test wait for lines of a Library's log.
class Lines {
 public:
  [[nodiscard]] std::function<void(LogLevel, const std::string&)> log() {
    return [this](LogLevel, const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
      changed_.notify_all();
    };
  }
  // Returns once a line has both parts. Fails once a line says that they will not come.
  void wait_for(const std::string& one, const std::string& other) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return has_line(one, other) || has_line(one, "has no winner") ||
             has_line(one, "is not tuned");
    });
    REQUIRE(has_line(one, other));
  }

 private:
  [[nodiscard]] bool has_line(const std::string& one, const std::string& other) const {
    return std::any_of(lines_.begin(), lines_.end(), [&](const std::string& line) {
      return line.find(one) != std::string::npos && line.find(other) != std::string::npos;
    });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

LibraryOptions in_background(Lines& lines, double seconds) {
  return {.device = Device::cpu(),
          .miss = MissPolicy::background,
          .miss_budget_seconds = seconds,
          .background_share = 0.9,
          .worker_program = AUTOTUNE_PROGRAM,
          .log = lines.log()};
}

// A product of small integers, so that every kernel gives the same bits.
struct Numbers {
  GemmProblem problem;
  std::vector<float> a, b, c;

  explicit Numbers(const GemmProblem& of) : problem(of) {
    for (std::int64_t i = 0; i < of.m * of.k; ++i) a.push_back(static_cast<float>(i % 5 - 2));
    for (std::int64_t i = 0; i < of.k * of.n; ++i) b.push_back(static_cast<float>(i % 7 - 3));
    c.resize(static_cast<std::size_t>(of.m * of.n));
  }
  MatchKind multiply(Library& library) {
    return library.gemm(problem, 1, {a.data()}, {b.data()}, 0, {c.data()});
  }
  [[nodiscard]] bool is_right() const {
    for (std::int64_t i = 0; i < problem.m; ++i) {
      for (std::int64_t j = 0; j < problem.n; ++j) {
        float sum = 0;
        for (std::int64_t l = 0; l < problem.k; ++l) {
          sum += a[static_cast<std::size_t>(i * problem.k + l)] *
                 b[static_cast<std::size_t>(l * problem.n + j)];
        }
        if (c[static_cast<std::size_t>(i * problem.n + j)] != sum) return false;
      }
    }
    return true;
  }
};

// gemm_tiled as the winner, with so many results per thread along M.
Winner tiled_winner(const DeviceInfo& device, const GemmProblem& problem, std::int64_t results_m) {
  Winner winner = winner_of(*built_in_kernels().find("gemm_tiled"), problem, device);
  winner.environment.nvrtc_build = "";
  winner.configuration.set("RESULTS_M", results_m);
  return winner;
}

const GemmProblem kOne{.m = 33, .n = 20, .k = 17};
const GemmProblem kOther{.m = 9, .n = 40, .k = 12};

TEST_SUITE("tuning in the background on the CPU device") {
  TEST_CASE("what is called is tuned, and later calls run with the winner") {
    const TemporaryStorage storage;
    Lines lines;
    {
      Library library(in_background(lines, 6));
      Numbers one(kOne);
      Numbers other(kOther);
      CHECK(one.multiply(library) == MatchKind::predicted);
      CHECK(other.multiply(library) == MatchKind::predicted);
      const Plan before = library.plan(kOne);
      lines.wait_for(to_string(kOne), "was tuned in the background by ");
      lines.wait_for(to_string(kOther), "was tuned in the background by ");
      CHECK(one.multiply(library) == MatchKind::exact);
      CHECK(one.is_right());
      CHECK(other.multiply(library) == MatchKind::exact);
      CHECK(other.is_right());
      CHECK(before.match() == MatchKind::predicted);
      const Plan after = library.plan(kOne);
      CHECK(after.match() == MatchKind::exact);
      CHECK(after.configuration() == library.query(kOne).configuration);
    }
    // Another process knows it.
    Library later({.device = Device::cpu()});
    CHECK(Numbers(kOne).multiply(later) == MatchKind::exact);
  }

  TEST_CASE("it ends with the object, whose plans live on") {
    const TemporaryStorage storage;
    Lines lines;
    Numbers one(kOne);
    Plan plan;
    {
      Library library(in_background(lines, 1e6));
      one.multiply(library);
      plan = library.plan(kOne, Alignment::any);
      lines.wait_for(to_string(kOne), "is tuned in the background");
    }
    plan(1, {one.a.data()}, {one.b.data()}, 0, {one.c.data()});
    CHECK(one.is_right());

    Library library(in_background(lines, 1e6));
    Library moved(std::move(library));
    one.multiply(moved);
    moved.stop_background();
    moved = Library({.device = Device::cpu()});
    one.multiply(moved);
    CHECK(one.is_right());
  }

  TEST_CASE("tune() does not wait for it") {
    const TemporaryStorage storage;
    Lines lines;
    Library library(in_background(lines, 1e6));
    Numbers one(kOne);
    one.multiply(library);
    lines.wait_for(to_string(kOne), "is tuned in the background");
    CHECK(library.tune({kOther}, {.budget_trials = 2}).complete);
    CHECK(Numbers(kOther).multiply(library) == MatchKind::exact);
  }

  TEST_CASE("a winner of an older text is timed once, and tuned again only if it is slower") {
    for (const double stored_us : {1e9, 1e-3}) {
      CAPTURE(stored_us);
      const bool holds = stored_us == 1e9;
      const TemporaryStorage storage;
      Winner stale = tiled_winner(cpu_device_info(), kOne, 1);
      stale.source_hash = content_hash("an older text of gemm_tiled");
      stale.median_us = stale.low_us = stale.high_us = stored_us;
      TuningDatabase::open(storage.database()).put_winners({&stale, 1});
      Lines lines;
      Library library(in_background(lines, 4));
      Numbers one(kOne);
      CHECK(one.multiply(library) == MatchKind::exact_stale);
      Numbers(kOther).multiply(library);  // whose turn comes when the first one is done with
      lines.wait_for(to_string(kOther), "is tuned in the background");
      library.stop_background();
      CHECK(one.multiply(library) == MatchKind::exact);
      CHECK(one.is_right());
      const BestConfiguration now = library.query(kOne);
      CHECK(now.match == MatchKind::exact);
      CHECK(now.median_us != stored_us);
      const auto trials = TuningDatabase::open(storage.database()).all_trials({.problem = kOne});
      if (holds) {
        REQUIRE(trials.size() == 1);
        CHECK(trials.front().trial.configuration == stale.configuration);
        CHECK(now.configuration == stale.configuration);
      } else {
        CHECK(trials.size() > 1);
      }
    }
  }

  TEST_CASE("worker processes have a low priority") {
    const TemporaryStorage storage;
    const std::filesystem::path program = storage.folder() / "program";
    const std::filesystem::path priorities = storage.folder() / "priorities";
    std::ofstream(program) << "#!/bin/sh\nnice >> " << priorities << "\nexec " << AUTOTUNE_PROGRAM
                           << " \"$@\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    Lines lines;
    LibraryOptions options = in_background(lines, 3);
    options.worker_program = program;
    const int own = ::getpriority(PRIO_PROCESS, 0);
    Library library(options);
    Numbers(kOne).multiply(library);
    lines.wait_for(to_string(kOne), "was tuned in the background by ");
    CHECK(::getpriority(PRIO_PROCESS, 0) == own);
    int workers = 0;
    std::ifstream file(priorities);
    for (int priority = 0; file >> priority; ++workers) CHECK(priority == std::max(own, 10));
    CHECK(workers >= 2);  // one compiles, one measures
  }

  TEST_CASE("a process that the application forks is refused, and ends without harm to it") {
    const TemporaryStorage storage;
    Lines lines;
    auto library = std::make_unique<Library>(in_background(lines, 6));
    Numbers one(kOne);
    one.multiply(*library);
    lines.wait_for(to_string(kOne), "is tuned in the background");
    int gate[2];
    REQUIRE(::pipe(gate) == 0);
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);  // ends it, should it wait for a thread that it does not have
      ::close(gate[1]);
      bool is_refused = false;
      try {
        one.multiply(*library);
      } catch (const UsageError& error) {
        is_refused = std::string(error.what()).find("forked") != std::string::npos;
      }
      library->stop_background();
      library.reset();
      char none = 0;
      const bool is_last = ::read(gate[0], &none, 1) == 0;  // the parent's Library has ended
      std::exit(is_refused && is_last ? 0 : 1);
    }
    ::close(gate[0]);
    lines.wait_for(to_string(kOne), "was tuned in the background by ");
    CHECK(one.multiply(*library) == MatchKind::exact);
    CHECK(one.is_right());
    Numbers(kOther).multiply(*library);
    lines.wait_for(to_string(kOther), "is tuned in the background");
    library.reset();
    ::close(gate[1]);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }

  TEST_CASE("sixteen threads multiply while products are tuned") {
    const TemporaryStorage storage;
    Lines lines;
    Library library(in_background(lines, 1e6));
    Numbers(kOne).multiply(library);
    lines.wait_for(to_string(kOne), "is tuned in the background");
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 16; ++thread) {
      threads.emplace_back([&, thread] {
        Numbers mine({.m = 8 + thread % 3, .n = 11, .k = 6 + thread % 2});
        for (int call = 0; call < 20; ++call) {
          mine.multiply(library);
          wrong += mine.is_right() ? 0 : 1;
        }
      });
    }
    threads.clear();
    CHECK(wrong == 0);
  }

  TEST_CASE("sixteen threads multiply while kernels take the places of others") {
    const TemporaryStorage storage;
    const Log log({});
    const ResultSource results(storage.database());
    CubinStore cubins = cubin_store_for_calls();
    const DeviceInfo device = cpu_device_info();
    const auto backend = make_cpu_gemm(
        device,
        {.portfolios = built_in_portfolios(), .log = log, .results = &results, .cubins = &cubins});
    std::atomic<int> wrong = 0;
    const auto multiply = [&](Numbers& mine) {
      backend->gemm(checked_call(
          mine.problem, {1, {mine.a.data()}, {mine.b.data()}, 0, {mine.c.data()}, nullptr}));
      wrong += mine.is_right() ? 0 : 1;
    };
    // A product whose first call meets the lock of a writer keeps what was known before.
    for (const std::int64_t m : {8, 9}) {
      Numbers first({.m = m, .n = 11, .k = 6});
      multiply(first);
    }
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 16; ++thread) {
      threads.emplace_back([&, thread] {
        Numbers mine({.m = 8 + thread % 2, .n = 11, .k = 6});
        for (int call = 0; call < 20; ++call) multiply(mine);
      });
    }
    for (int round = 0; round < 10; ++round) {
      for (const std::int64_t m : {8, 9}) {
        const Winner winner = tiled_winner(device, {m, 11, 6}, round % 2 == 0 ? 1 : 2);
        TuningDatabase::open(storage.database()).put_winners({&winner, 1});
        backend->choose_again(device, {m, 11, 6});
      }
    }
    threads.clear();
    CHECK(wrong == 0);
    Numbers last({8, 11, 6});
    CHECK(backend->gemm(checked_call(
              last.problem, {1, {last.a.data()}, {last.b.data()}, 0, {last.c.data()}, nullptr})) ==
          MatchKind::exact);
    CHECK(last.is_right());
  }
}

}  // namespace
}  // namespace autotune::test
