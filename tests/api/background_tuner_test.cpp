// What is tuned in the background, when, and how it ends; the searches are the test's own.
#include "api/background_tuner.hpp"

#include <atomic>
#include <condition_variable>
#include <latch>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"
#include "autotune/problem.hpp"

#include "kernel_templates/kernel_set.hpp"

namespace autotune::test {
namespace {

Untuned product(std::int64_t m, bool is_stale = false) {
  const GemmProblem problem{m, 48, 32};
  const KernelTemplate& kernel = *built_in_kernels().find("gemm_simt");
  Untuned untuned{.device = {}, .problem = problem, .in_use = {}, .is_stale = is_stale};
  untuned.in_use.problem = problem;
  untuned.in_use.template_name = kernel.name;
  untuned.in_use.space_version = kernel.space_version;
  untuned.in_use.configuration = kernel.default_configuration(problem);
  untuned.in_use.median_us = 10;
  return untuned;
}

// Answers searches, and lets the test wait for what happens.
class Searches {
 public:
  // The time that each search finds, in turn; the last one for all that follow.
  std::vector<double> times_us = {8};
  std::string problem;         // thrown by the next search
  std::string failure;         // ends searches, which have a winner all the same
  bool until_stopped = false;  // searches go on until they are stopped

  BackgroundWork work() {
    return {.kernels = built_in_kernels(),
            .tune = [this](const DeviceInfo&, const TuneRequest& request,
                           const std::stop_token& stop) { return tune(request, stop); },
            .use = [this](const DeviceInfo&, const Problem& used) { add(used_, used); }};
  }
  // The requests and the problems that were put to use, as soon as there are as many.
  std::vector<TuneRequest> asked(std::size_t count) { return wait_for(asked_, count); }
  std::vector<Problem> used(std::size_t count) { return wait_for(used_, count); }

 private:
  TuneReport tune(const TuneRequest& request, const std::stop_token& stop) {
    add(asked_, request);
    std::unique_lock lock(mutex_);
    if (!problem.empty()) throw EnvironmentError(std::exchange(problem, ""));
    if (until_stopped) changed_.wait(lock, stop, [] { return false; });
    TuneReport report;
    report.interrupted = stop.stop_requested();
    report.failure = failure;
    report.problems.push_back({.problem = request.problems.front()});
    if (report.interrupted) return report;
    Winner& winner = report.problems.front().winner.emplace(request.begin_with.front());
    winner.median_us = times_us.front();
    if (times_us.size() > 1) times_us.erase(times_us.begin());
    return report;
  }

  template <typename Item>
  void add(std::vector<Item>& items, const Item& item) {
    const std::lock_guard lock(mutex_);
    items.push_back(item);
    changed_.notify_all();
  }
  template <typename Item>
  std::vector<Item> wait_for(std::vector<Item>& items, std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, std::stop_token(), [&] { return items.size() >= count; });
    return items;
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<TuneRequest> asked_;
  std::vector<Problem> used_;
};

const Log kSilent({});

// Calls to a log function that throws, from a thread that nobody would catch them in.
TEST_SUITE("a log function that throws") {
  TEST_CASE("it ends neither a call nor the thread in the background") {
    std::atomic<int> lines = 0;
    const Log log([&](LogLevel, const std::string&) {
      ++lines;
      throw 1;
    });
    CHECK_NOTHROW(log.warning("a line"));
    Searches searches;
    searches.problem = "no device";
    BackgroundTuner tuner(searches.work(), log);
    tuner.add(product(64));
    tuner.add(product(65));
    CHECK(searches.used(1).front() == product(65).problem);
    CHECK(lines >= 3);
  }
}

TEST_SUITE("BackgroundTuner") {
  TEST_CASE("products are tuned in the order of their first calls, each once, and put to use") {
    Searches searches;
    BackgroundTuner tuner(searches.work(), kSilent);
    for (const std::int64_t m : {1, 2, 1, 3, 2}) tuner.add(product(m));
    const std::vector<Problem> used = searches.used(3);
    tuner.stop();
    CHECK(used == std::vector<Problem>{product(1).problem, product(2).problem, product(3).problem});
    const std::vector<TuneRequest> asked = searches.asked(3);
    REQUIRE(asked.size() == 3);
    CHECK(asked.front().begin_with.front().configuration == product(1).in_use.configuration);
    CHECK(asked.front().budget.seconds == 10);
  }

  TEST_CASE("what a search found before it failed is put to use") {
    Searches searches;
    searches.failure = "nothing can be compiled";
    BackgroundTuner tuner(searches.work(), kSilent);
    tuner.add(product(1));
    CHECK(searches.used(1) == std::vector<Problem>{product(1).problem});
    tuner.stop();
  }

  TEST_CASE("its end stops the search under way, and nothing follows") {
    Searches searches;
    searches.until_stopped = true;
    {
      BackgroundTuner tuner(searches.work(), kSilent);
      tuner.add(product(1));
      tuner.add(product(2));
      static_cast<void>(searches.asked(1));
      tuner.stop();
      tuner.add(product(3));
    }
    CHECK(searches.asked(0).size() == 1);
    CHECK(searches.used(0).empty());
  }

  TEST_CASE("a pause stops the search under way, which is made again after it") {
    Searches searches;
    searches.until_stopped = true;
    BackgroundTuner tuner(searches.work(), kSilent);
    tuner.add(product(1));
    static_cast<void>(searches.asked(1));
    {
      const BackgroundTuner::Pause pause(&tuner);
      const BackgroundTuner::Pause another(&tuner);
    }
    const std::vector<TuneRequest> asked = searches.asked(2);
    CHECK(asked[1].problems == asked[0].problems);
    CHECK(searches.used(0).empty());
  }

  TEST_CASE("a stale winner is timed once, and tuned only if it is worse") {
    for (const double now_us : {10.4, 10.6}) {
      CAPTURE(now_us);
      Searches searches;
      searches.times_us = {now_us, 8};
      BackgroundTuner tuner(searches.work(), kSilent);
      tuner.add(product(1, /*is_stale=*/true));
      tuner.add(product(2));
      static_cast<void>(searches.used(2));
      tuner.stop();
      const std::vector<TuneRequest> asked = searches.asked(0);
      REQUIRE(asked.size() == (now_us < 10.5 ? 2 : 3));
      const TuneRequest& again = asked.front();
      CHECK(again.budget.trials == 1);
      REQUIRE(again.templates.size() == 1);
      CHECK(again.templates.front()->name == "gemm_simt");
      const Configuration configuration = product(1).in_use.configuration;
      CHECK(again.filter.only.size() == configuration.entries().size());
      CHECK(again.filter.only.at("RESULTS_M") ==
            std::vector<std::int64_t>{configuration.at("RESULTS_M")});
      CHECK(asked[1].problems.front() == product(now_us < 10.5 ? 2 : 1).problem);
    }
  }

  TEST_CASE("a search that fails is said to have failed, and the next product is tuned") {
    Searches searches;
    searches.problem = "there is no NVRTC";
    std::string warning;
    std::latch warned(1);
    const Log log([&](LogLevel level, const std::string& line) {
      if (level != LogLevel::warning) return;
      warning = line;
      warned.count_down();
    });
    BackgroundTuner tuner(searches.work(), log);
    tuner.add(product(1));
    tuner.add(product(2));
    CHECK(searches.used(1).front() == product(2).problem);
    warned.wait();
    CHECK(warning == "1x48x32 is not tuned in the background: there is no NVRTC");
  }
}

}  // namespace
}  // namespace autotune::test
