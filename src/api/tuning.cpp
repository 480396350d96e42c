#include "api/tuning.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/gemm_call.hpp"
#include "api/setup.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

ProgressCallback progress_callback(const TuningOptions& options, std::stop_source& stop) {
  if (!options.progress) return {};
  return [&report = options.progress, &stop](const TuneProgress& progress) {
    TuningProgress mine{progress.done, progress.total, progress.elapsed_s, progress.remaining_s,
                        std::nullopt};
    if (!progress.best.empty()) mine.best_us = progress.best.front().us;
    if (!report(mine)) stop.request_stop();
  };
}

}  // namespace

TuneRequest tune_request(const TuningOptions& options) {
  if (options.budget_seconds && !(*options.budget_seconds > 0)) {
    throw UsageError(
        fmt::format("budget_seconds is {}: it must be above 0", *options.budget_seconds));
  }
  if (options.budget_trials && *options.budget_trials < 1) {
    throw UsageError(
        fmt::format("budget_trials is {}: it must be 1 at least", *options.budget_trials));
  }
  TuneRequest request;
  request.budget = {options.budget_seconds, options.budget_trials};
  request.strategy = options.strategy;
  request.seed = options.seed;
  request.fresh = options.fresh;
  return request;
}

TuneRequest gemm_request(const std::vector<GemmProblem>& problems, const TuningOptions& options,
                         bool use_shipped_winners) {
  if (problems.empty()) throw UsageError("tune() was given no problem");
  TuneRequest request = tune_request(options);
  check_max_error(options.max_error);
  for (const GemmProblem& problem : problems) {
    check_tunable(problem);
    const Problem row_major = problem;
    if (std::find(request.problems.begin(), request.problems.end(), row_major) ==
        request.problems.end()) {
      request.problems.push_back(row_major);
    }
    if (options.max_error && problem.math != Math::strict) {
      const std::vector<GemmProblem> maths = with_stricter_maths(problem);
      request.alternatives[row_major].assign(maths.rbegin(), maths.rend());  // the strictest first
    }
  }
  request.max_error = options.max_error;
  request.use_shipped_winners = use_shipped_winners;
  request.command = "Library::tune";
  return request;
}

SearchSummary summary_of(const TuneReport& report) {
  SearchSummary summary;
  summary.measured = report.measured;
  summary.known = report.known;
  for (const auto& [status, count] : report.statuses) summary.statuses[to_string(status)] = count;
  summary.complete = report.complete;
  summary.storage_problem = report.storage_problem;
  return summary;
}

Found found_for(const TuneReport& report, const Problem& problem) {
  const auto found =
      std::find_if(report.problems.begin(), report.problems.end(),
                   [&](const ProblemResult& result) { return result.problem == problem; });
  if (found == report.problems.end()) return "was not tuned";
  if (!found->winner) return why_no_winner(*found);
  return *found->winner;
}

std::string how_it_won(const Winner& winner) {
  return winner.confirmed ? "chosen in finals" : "the best of the search";
}

TuningResult tuning_result(const std::vector<GemmProblem>& problems, const TuneReport& report) {
  TuningResult result{summary_of(report), {}};
  for (const GemmProblem& problem : problems) {
    TunedProblem tuned;
    tuned.problem = problem;
    const Found found = found_for(report, problem);
    if (const auto* winner = std::get_if<Winner>(&found)) {
      tuned.winner = {MatchKind::exact,      how_it_won(*winner),           winner->template_name,
                      winner->configuration, gemm_problem(winner->problem), winner->median_us};
    } else {
      tuned.problem_without_winner = std::get<std::string>(found);
    }
    result.problems.push_back(std::move(tuned));
  }
  return result;
}

TuneReport Tuning::tune(const ShippedPortfolios& portfolios, const DeviceInfo& device,
                        const TuneRequest& request, const TuningOptions& options) {
  if (tuner_ == std::this_thread::get_id()) {
    throw UsageError("tune() was called by the progress function of tune()");
  }
  std::stop_source stop;
  TunerSetup setup = options_.worker_program.empty()
                         ? in_process_setup(portfolios, device)
                         : isolated_setup(portfolios, {device}, options_.worker_program);
  TuneReport report =
      run(request, std::move(setup), progress_callback(options, stop), stop.get_token());
  if (!report.failure.empty()) throw EnvironmentError(report.failure);
  const auto& problems = report.problems;
  const auto has_winner = [](const ProblemResult& each) { return each.winner.has_value(); };
  const auto too_large =
      std::ranges::find_if(problems, [](const auto& each) { return !each.too_large.empty(); });
  if (too_large != problems.end() && std::ranges::none_of(problems, has_winner)) {
    throw EnvironmentError(too_large->too_large);
  }
  return report;
}

TuneReport Tuning::tune_beside(const ShippedPortfolios& portfolios, const DeviceInfo& device,
                               const TuneRequest& request, const std::stop_token& stop) {
  TunerSetup setup = isolated_setup(portfolios, {device}, options_.worker_program);
  setup.compile_jobs = 1;
  setup.measuring.front().share = options_.background_share;
  return run(request, std::move(setup), {}, stop);
}

TuneReport Tuning::run(const TuneRequest& request, TunerSetup setup,
                       const ProgressCallback& progress, const std::stop_token& stop) {
  const std::lock_guard lock(running_);
  struct Tuner {
    std::atomic<std::thread::id>& id;
    explicit Tuner(std::atomic<std::thread::id>& which) : id(which) {
      id = std::this_thread::get_id();
    }
    ~Tuner() { id = std::thread::id(); }
  } const tuner(tuner_);
  OpenedDatabase opened = open_results(results_.place());
  CubinStore cubins = open_cubin_store();
  setup.database = &opened.database;
  setup.cubins = &cubins;
  const auto use_results = [&] {
    results_.look_again(/*from_file=*/opened.problem.empty());
    if (opened.problem.empty()) return;
    log_.warning("results are kept in memory only: {}", opened.problem);
    results_.keep_in_memory(std::move(opened.database));
  };
  TuneReport report;
  try {
    report = autotune::tune(request, setup, progress, stop);
  } catch (...) {
    use_results();  // what was measured counts
    throw;
  }
  use_results();
  if (!opened.problem.empty()) report.storage_problem = opened.problem;
  return report;
}

}  // namespace autotune
