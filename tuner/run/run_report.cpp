#include "tuner/run/run_report.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace autotune {

void RunReport::progress(const char* phase, const Trial* last, const DeviceUse* failed) {
  if (!callback_) return;
  const Budget& budget = plan_.request().budget;
  TuneProgress progress{
      .total = plan_.total_trials(), .last = last, .failed = failed, .phase = phase};
  progress.elapsed_s =
      std::chrono::duration<double>(SearchPlan::Clock::now() - plan_.start()).count();
  for (const SearchTask& task : plan_.tasks()) {
    progress.done += static_cast<std::int64_t>(task.trials().size());
    if (const Trial* best = task.best()) {
      const double us = best->measurement.median_us;
      progress.best.push_back(
          {task.asked(), us, gflops(task.kernel().operation->work(task.asked()), us)});
    }
  }
  for (const auto& [status, count] : report.statuses) {
    if (status != TrialStatus::ok) progress.failures += count;
  }
  if (budget.trials) progress.total = std::min(progress.total, *budget.trials);
  if (budget.seconds) {
    progress.remaining_s = std::max(0.0, *budget.seconds - progress.elapsed_s);
  } else if (progress.done > 0) {
    progress.remaining_s = progress.elapsed_s *
                           static_cast<double>(progress.total - progress.done) /
                           static_cast<double>(progress.done);
  }
  callback_(progress);
}

void RunReport::wait_for(TrialWriter& writer) {
  constexpr std::chrono::milliseconds kBetweenWords(500);
  const auto begin = SearchPlan::Clock::now();
  while (!writer.flush_for(kBetweenWords)) progress("waiting for the database");
  report.storing_s = std::chrono::duration<double>(SearchPlan::Clock::now() - begin).count();
  report.storage_problem = writer.problem();
}

void RunReport::add(ProblemResult result) {
  report.measured += result.measured;
  report.known += result.known;
  report.problems.push_back(std::move(result));
}

void RunReport::note_stale(const std::vector<SearchTask*>& tasks) {
  std::vector<std::string> problems;
  for (const SearchTask* task : tasks) {
    std::string problem = task->kernel().operation->text(task->asked());
    if (std::ranges::find(problems, problem) == problems.end()) {
      problems.push_back(std::move(problem));
    }
  }
  report.note = fmt::format(
      "results of another driver, NVRTC, template source or measuring protocol: the best stored "
      "trials of {} were timed again",
      fmt::join(problems, ", "));
}

}  // namespace autotune
