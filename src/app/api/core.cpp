#include "api/core.hpp"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "api/setup.hpp"
#include "cpu/device.hpp"
#include "gpu/gpu.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

void check_options(const LibraryOptions& options) {
  if (options.device.number() < Device::cpu().number()) {
    throw UsageError(fmt::format("device {}: it must be the number of a GPU, current() or cpu()",
                                 options.device.number()));
  }
  if (options.miss > MissPolicy::refuse) {
    throw UsageError(
        fmt::format("miss is {}: it must be from 0 to 2", static_cast<int>(options.miss)));
  }
  if (!(options.miss_budget_seconds > 0)) {
    throw UsageError(
        fmt::format("miss_budget_seconds is {}: it must be above 0", options.miss_budget_seconds));
  }
  if (!options.bundle.empty() && !options.database.empty()) {
    throw UsageError("bundle and database exclude each other");
  }
  if (!options.bundle.empty() && options.miss == MissPolicy::tune) {
    throw UsageError("with a bundle miss must be predict or refuse: nothing is tuned");
  }
  const std::string& program = options.worker_program;
  if (!program.empty() && ::access(program.c_str(), X_OK) != 0) {
    throw UsageError(fmt::format("worker_program is {}: it must be the program autotune", program));
  }
}

TuneRequest make_request(const std::vector<GemmProblem>& problems, const TuningOptions& options) {
  if (problems.empty()) throw UsageError("tune() was given no problem");
  if (options.budget_seconds && !(*options.budget_seconds > 0)) {
    throw UsageError(
        fmt::format("budget_seconds is {}: it must be above 0", *options.budget_seconds));
  }
  if (options.budget_trials && *options.budget_trials < 1) {
    throw UsageError(
        fmt::format("budget_trials is {}: it must be 1 at least", *options.budget_trials));
  }
  TuneRequest request;
  for (const GemmProblem& problem : problems) {
    check_tunable(problem);
    const Problem row_major = problem;
    if (std::find(request.problems.begin(), request.problems.end(), row_major) ==
        request.problems.end()) {
      request.problems.push_back(row_major);
    }
  }
  request.budget = {options.budget_seconds, options.budget_trials};
  request.strategy = options.strategy;
  request.seed = options.seed;
  request.fresh = options.fresh;
  request.command = "Library::tune";
  return request;
}

ProgressCallback progress_callback(const TuningOptions& options, std::stop_source& stop) {
  if (!options.progress) return {};
  return [&report = options.progress, &stop](const TuneProgress& progress) {
    TuningProgress mine{progress.done, progress.total, progress.elapsed_s, progress.remaining_s,
                        std::nullopt};
    if (!progress.best_us.empty()) mine.best_us = progress.best_us.front().second;
    if (!report(mine)) stop.request_stop();
  };
}

TunedProblem tuned_problem(const GemmProblem& asked, const TuneReport& report) {
  const Problem row_major = asked;
  const auto found =
      std::find_if(report.problems.begin(), report.problems.end(),
                   [&](const ProblemResult& result) { return result.problem == row_major; });
  TunedProblem tuned;
  tuned.problem = asked;
  if (found == report.problems.end() || !found->winner) {
    const bool too_large = found != report.problems.end() && !found->too_large.empty();
    tuned.problem_without_winner =
        too_large ? found->too_large : "no configuration gave a correct result";
    return tuned;
  }
  const Winner& winner = *found->winner;
  tuned.winner = {
      MatchKind::exact,     winner.confirmed ? "chosen in finals" : "the best of the search",
      winner.template_name, winner.configuration,
      asked.row_major(),    winner.median_us};
  return tuned;
}

TuningResult make_result(const std::vector<GemmProblem>& problems, const TuneReport& report) {
  TuningResult result;
  bool any = false;
  for (const GemmProblem& problem : problems) {
    result.problems.push_back(tuned_problem(problem, report));
    any = any || result.problems.back().winner;
  }
  for (const ProblemResult& problem : report.problems) {
    if (!any && !problem.too_large.empty()) throw EnvironmentError(problem.too_large);
  }
  result.measured = report.measured;
  result.known = report.known;
  for (const auto& [status, count] : report.statuses) result.statuses[to_string(status)] = count;
  result.complete = report.complete;
  result.storage_problem = report.storage_problem;
  return result;
}

}  // namespace

std::shared_ptr<Core> Core::make(const LibraryOptions& options) {
  check_options(options);
  // In a child its threads do not exist, and the driver must not be called.
  return std::shared_ptr<Core>(new Core(options), [](Core* core) {
    if (core->forks_ == fork_count()) delete core;
  });
}

Core::Core(const LibraryOptions& options) : options_(options), log_(options.log) {
  if (options.bundle.empty()) {
    results_.emplace(options.database);
  } else {
    bundle_.emplace(options.bundle);
  }
  backend_ = make_backend();
}

void Core::check_bundle(const std::vector<DeviceInfo>& devices) const {
  const auto is_right = [&](const DeviceInfo& device) { return bundle_->is_for(device); };
  if (!bundle_ || std::any_of(devices.begin(), devices.end(), is_right)) return;
  bundle_->check_device(devices.front());
}

std::unique_ptr<GemmBackend> Core::make_backend() {
  const SelectorSetup setup{.results = results_ ? &*results_ : nullptr,
                            .bundle = bundle_ ? &*bundle_ : nullptr,
                            .log = &log_,
                            .use_shipped_winners = options_.use_shipped_winners,
                            .miss = options_.miss,
                            .tune = [this](const DeviceInfo& device, const GemmProblem& problem) {
                              TuningOptions options;
                              options.budget_seconds = options_.miss_budget_seconds;
                              tune_on(device, {problem}, options);
                            }};
  const int number = options_.device.number();
  if (number == Device::cpu().number()) {
    check_bundle({cpu_device_info()});
    return make_cpu_gemm(cpu_device_info(), setup);
  }
  const bool any = number == Device::current().number();
  const DriverReport driver = inspect_driver();
  if (any && driver.no_gpu) {
    check_bundle({cpu_device_info()});
    log_.warning("{}: using the CPU device, whose times say nothing about a GPU", driver.problem);
    return make_cpu_gemm(cpu_device_info(), setup);
  }
  if (any && driver.usable) {
    check_bundle(driver.devices);
    return make_gpu_gemm(driver.devices, std::nullopt, setup);
  }
  check_bundle({choose_device(std::to_string(any ? 0 : number)).device});  // says what is wrong
  return make_gpu_gemm(driver.devices, number, setup);
}

TuningResult Core::tune(const std::vector<GemmProblem>& problems, const TuningOptions& options) {
  return tune_on(backend().selector().device(), problems, options);
}

TuningResult Core::tune_on(const DeviceInfo& device, const std::vector<GemmProblem>& problems,
                           const TuningOptions& options) {
  if (bundle_) throw UsageError("this Library has a bundle: one without tunes");
  TuneRequest request = make_request(problems, options);
  request.use_shipped_winners = options_.use_shipped_winners;
  if (tuner_ == std::this_thread::get_id()) {
    throw UsageError("tune() was called by the progress function of tune()");
  }
  const std::lock_guard lock(tuning_);
  struct Tuner {
    std::atomic<std::thread::id>& id;
    explicit Tuner(std::atomic<std::thread::id>& which) : id(which) {
      id = std::this_thread::get_id();
    }
    ~Tuner() { id = std::thread::id(); }
  } const tuner(tuner_);
  OpenedDatabase opened = open_results(options_.database);
  CubinStore cubins = open_cubin_store();
  TunerSetup setup = options_.worker_program.empty()
                         ? in_process_setup(device)
                         : isolated_setup({device}, options_.worker_program);
  setup.database = &opened.database;
  setup.cubins = &cubins;
  std::stop_source stop;
  TuningResult result = make_result(
      problems, autotune::tune(request, setup, progress_callback(options, stop), stop.get_token()));
  if (!opened.problem.empty()) {
    log_.warning("results are kept in memory only: {}", opened.problem);
    result.storage_problem = opened.problem;
    results_->keep_in_memory(std::move(opened.database));
  }
  backend_->forget_choices();  // once the cubins of the search are in their store
  return result;
}

}  // namespace autotune
