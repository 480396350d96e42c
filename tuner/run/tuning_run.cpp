#include "tuner/run/tuning_run.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"
#include "autotune/version.hpp"

#include "core/compile_target.hpp"
#include "db/shipped_winners.hpp"
#include "kernel_templates/prior.hpp"
#include "operation/memory_requirement.hpp"
#include "tuner/run/warm_start.hpp"

namespace autotune {
namespace {

// Without a budget, a space up to this many trials is searched to the end.
constexpr std::int64_t kExhaustiveTrials = 5000;
constexpr double kDefaultBudget_s = 30;
// The parts of a time budget after which the search ends, and finals do that had their first
// rounds.
constexpr double kSearchShare = 0.9;
constexpr double kFinalsShare = 0.98;
// Of a task that was complete in another environment, so many are timed again.
constexpr std::size_t kTimedAgain = 6;
// Between two looks at a kernel that is being compiled; compile timeouts end the wait.
constexpr std::chrono::milliseconds kPatience(200);

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string new_guid() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// What trials said for which the device had no memory; empty when any that was launched failed in
// another way.
std::string found_too_large(const std::vector<SearchTask*>& tasks) {
  std::string why;
  for (const SearchTask* task : tasks) {
    for (const auto& [index, trial] : task->trials()) {
      if (trial.status == TrialStatus::rejected_spills) continue;
      if (trial.status != TrialStatus::out_of_memory) return "";
      why = trial.detail;
    }
  }
  return why;
}

}  // namespace

TuningRun::TuningRun(const TuneRequest& request, TunerSetup& setup,
                     const ProgressCallback& progress, std::stop_token stop)
    : request_(request),
      setup_(setup),
      progress_(progress),
      stop_(std::move(stop)),
      start_(request.began.value_or(Clock::now())) {
  run_ = {new_guid(), setup.device.label, setup.device.uuid, request.command, utc_now()};
}

TuneReport TuningRun::execute() {
  make_tasks();
  learn_environment();
  plan();
  if (!open_.empty() || !stale_.empty()) {
    if (take_devices()) plan();  // of what others have measured meanwhile
  }
  const bool measuring = devices_ && !stop_.stop_requested() && !(open_.empty() && stale_.empty());
  SearchEnd end = SearchEnd::exhausted;
  if (measuring) {
    if (!stored_->rates()) measure_rates();
    for (SearchTask* task : stale_) {
      if (!stop_.stop_requested()) time_stored_finalists(*task);
    }
    devices_->drain_all();
    if (!open_.empty()) end = search();
  }
  settle(end);
  return finished_report(end);
}

void TuningRun::make_tasks() {
  for (SpaceSummary& summary : summarize_space(request_, setup_.device, *setup_.kernels)) {
    if (summary.enumeration.configurations.empty()) continue;
    spaces_.emplace_back(*summary.kernel, std::move(summary.enumeration.configurations));
  }
  std::vector<std::pair<Problem, const CandidateSpace*>> searches;
  std::string too_large;
  for (const Problem& problem : request_.problems) {
    for (const CandidateSpace& space : spaces_) {
      if (!computes(*space.kernel, problem)) continue;
      if (const std::string why = why_too_large(*space.kernel->operation, problem, setup_.device);
          !why.empty()) {
        too_large = why;
        continue;
      }
      searches.emplace_back(problem, &space);
      total_trials_ += static_cast<std::int64_t>(space.configurations.size());
    }
  }
  if (searches.empty() && !too_large.empty()) throw EnvironmentError(too_large);
  if (searches.empty()) {
    throw UsageError("no configuration is left to try: --dry-run shows what rejects them");
  }
  if (request_.budget.unlimited()) request_.budget.seconds = default_budget_s();
  if (request_.strategy.empty()) {
    request_.strategy = request_.budget.unlimited() && !request_.until ? "exhaustive" : "model";
  }
  std::vector<Winner> winners = setup_.database->winners({});
  if (request_.use_shipped_winners) {
    const std::vector<Winner>& shipped = shipped_winners();
    winners.insert(winners.end(), shipped.begin(), shipped.end());
  }
  for (const auto& [problem, space] : searches) {
    tasks_.emplace_back(
        problem, *space, request_.strategy, request_.seed,
        prior_for(*space->kernel, space->configurations, problem, setup_.device.device_class()),
        warm_starts(problem, setup_.device.device_class(), *space, winners));
  }
}

std::optional<double> TuningRun::default_budget_s() const {
  if (setup_.device.is_cpu() || total_trials_ > kExhaustiveTrials) return kDefaultBudget_s;
  return std::nullopt;
}

void TuningRun::learn_environment() {
  TrialRunner worker(setup_.make_compile_worker, setup_.compile_timeout);
  const DescribeCompilerReply compiler = worker.describe_compiler();
  Environment environment{.driver = setup_.device.driver_text(),
                          .nvrtc_build = compiler.build,
                          .tool_version = kVersion,
                          .measuring_protocol = kMeasuringProtocol};
  stored_.emplace(*setup_.database, setup_.device, std::move(environment), spaces_, run_.guid);
  completion_.emplace(*setup_.database, request_, setup_.device.device_class(),
                      stored_->environment());

  pool_ = std::make_unique<CompilePool>(setup_.make_compile_worker, setup_.compile_jobs,
                                        setup_.compile_timeout, [this] { wake_up_.raise(); });
  builder_ = std::make_unique<KernelBuilder>(*pool_, setup_.cubins, compiler.build,
                                             compile_target(setup_.device, compiler.architectures));
  writer_ = std::make_unique<TrialWriter>(*setup_.database, run_);
}

void TuningRun::plan() {
  open_.clear();
  stale_.clear();
  stored_->load_winners();
  if (!request_.fresh) stored_->load_trials(tasks_);
  for (SearchTask& task : tasks_) {
    if (!request_.fresh && completion_->holds(task)) continue;
    const bool retime = !request_.fresh && stored_->winner(task) &&
                        completion_->complete_in_another_environment(task);
    (retime ? stale_ : open_).push_back(&task);
  }
}

bool TuningRun::lacks_finals(const Problem& problem, SearchEnd end) const {
  bool is_open = false;
  bool has_winner = false;
  for (const SearchTask& task : tasks_) {
    if (task.problem() != problem) continue;
    is_open |= std::find(open_.begin(), open_.end(), &task) != open_.end();
    has_winner |= stored_->current_winner(task).has_value();
  }
  return is_open && (end != SearchEnd::good_enough || !has_winner);
}

bool TuningRun::take_devices() {
  claims_.emplace(setup_.database->path());
  const Clock::time_point began = Clock::now();
  devices_ = std::make_unique<DevicePool>(
      setup_.measuring, setup_.measure_timeout, wake_up_,
      [this](const DeviceUse& failed) { report_progress("search", nullptr, &failed); });
  const bool taken = devices_->wait_for_device(stop_);
  start_ += Clock::now() - began;  // waiting for others takes nothing from the budget
  return taken;
}

void TuningRun::measure_rates() {
  const auto reply = std::make_shared<CalibrateReply>();
  devices_->submit({{}, [reply](TrialRunner& runner) { *reply = runner.calibrate(); }, [] {}});
  devices_->drain_all();
  if (!reply->problem.empty()) return;
  storing([&] { stored_->put_rates({reply->fma_gflops, reply->copy_gbps}); });
}

void TuningRun::time_stored_finalists(SearchTask& task) {
  std::set<std::size_t> chosen;
  for (const Configuration& configuration : stored_->stale_finalists(task)) {
    if (stop_.stop_requested()) return;
    const std::optional<std::size_t> index = task.space().index_of(configuration);
    if (!index || task.trials().contains(*index) || !chosen.insert(*index).second) continue;
    const BuiltKernel& built = build(task.kernel(), configuration, task.problem());
    const auto trial = std::make_shared<std::optional<Trial>>();
    const auto run = [=, this, &task, &built](TrialRunner& runner) {
      trial->reset();
      if (stop_.stop_requested()) return;
      *trial = runner.run(task.kernel(), configuration, task.problem(), built, {});
    };
    const auto done = [=, this, &task] {
      if (!*trial) return;
      record(task, **trial);
      task.record(*index, std::move(**trial));
    };
    devices_->submit({task.problem(), run, done});
    if (chosen.size() == kTimedAgain) break;
  }
  report_.note = fmt::format(
      "results of another driver, NVRTC, template source or measuring protocol: the best stored "
      "trials of {} were timed again",
      task.kernel().operation->text(task.problem()));
}

SearchEnd TuningRun::search() {
  SearchLimits limits;
  if (request_.budget.seconds) {
    const std::chrono::duration<double> share(kSearchShare * *request_.budget.seconds);
    limits.deadline = start_ + std::chrono::duration_cast<Clock::duration>(share);
  }
  limits.trials = request_.budget.trials;
  limits.until = request_.until;
  for (const SearchTask& task : tasks_) limits.judged.push_back(&task);
  const std::size_t ahead =
      open_.size() *
      std::max(4 * static_cast<std::size_t>(setup_.compile_jobs), 2 * setup_.measuring.size());
  limits.lookahead = setup_.overlap ? ahead : 1;
  limits.stop = stop_;
  limits.patience = setup_.other_runs_timeout;

  const Clock::time_point began = Clock::now();
  const std::vector<DeviceUse> before = devices_->use();
  OtherRuns others(*claims_, *stored_, tasks_);
  Search search(open_, *builder_, *devices_, wake_up_, request_.fresh ? nullptr : &others,
                [this](const SearchTask& task, const Trial& trial) { record(task, trial); });
  const SearchEnd end = search.run(limits);
  report_.search_s = seconds_since(began);
  report_.compile_busy_s = pool_->busy_s();
  report_.devices = devices_->use();
  for (std::size_t i = 0; i < before.size(); ++i) report_.devices[i].busy_s -= before[i].busy_s;
  return end;
}

void TuningRun::settle(SearchEnd end) {
  std::vector<FinalRanking> contests;
  for (const Problem& problem : request_.problems) {
    FinalRanking& contest = contests.emplace_back();
    contest.result.problem = problem;
    for (SearchTask& task : tasks_) {
      if (task.problem() != problem) continue;
      contest.tasks.push_back(&task);
      contest.result.measured += task.measured();
      contest.result.known += task.known();
      contest.result.valid_configurations +=
          static_cast<std::int64_t>(task.space().configurations.size());
    }
  }
  start_finals(contests, end);
  const auto estimate_shares = [&] {
    for (FinalRanking& contest : contests) {
      // Takes too long for an answer that is known.
      if (contest.result.measured == 0 && !request_.until) continue;
      contest.result.reached_share = reached_share({contest.tasks.begin(), contest.tasks.end()});
      if (devices_) static_cast<void>(devices_->drain_one());  // a winner is stored at once
    }
  };
  // Meanwhile; kernels of the host device would be disturbed.
  if (!setup_.device.is_cpu()) estimate_shares();
  if (devices_) devices_->drain_all();
  if (setup_.device.is_cpu()) estimate_shares();
  for (FinalRanking& contest : contests) {
    ProblemResult& result = contest.result;
    if (!result.winner) {
      result.winner = stored_->known_best(contest.tasks, request_.fresh, stop_.stop_requested());
    }
    if (!result.winner) {
      const auto of_problem = std::find_if(
          spaces_.begin(), spaces_.end(),
          [&](const CandidateSpace& space) { return computes(*space.kernel, result.problem); });
      result.too_large =
          !contest.tasks.empty() ? found_too_large(contest.tasks)
          : of_problem == spaces_.end()
              ? ""
              : why_too_large(*of_problem->kernel->operation, result.problem, setup_.device);
    }
    report_.measured += result.measured;
    report_.known += result.known;
    report_.problems.push_back(std::move(result));
  }
}

void TuningRun::start_finals(std::vector<FinalRanking>& contests, SearchEnd end) {
  using Finalists = std::vector<Finalist>;
  std::vector<std::pair<FinalRanking*, std::shared_ptr<Finalists>>> open;
  for (FinalRanking& contest : contests) {
    const bool undecided = contest.result.measured > 0 || lacks_finals(contest.result.problem, end);
    if (!devices_ || !undecided || stop_.stop_requested()) continue;
    auto finalists = std::make_shared<Finalists>(choose_finalists(contest.tasks));
    if (!finalists->empty()) open.emplace_back(&contest, std::move(finalists));
  }
  // What each of so many gets of the time that is left.
  const auto part_s = [this](std::size_t of) -> std::optional<double> {
    if (!request_.budget.seconds) return std::nullopt;
    const double left_s = kFinalsShare * *request_.budget.seconds - seconds_since(start_);
    const double at_once = static_cast<double>(devices_->size()) / static_cast<double>(of);
    return std::max(0.0, left_s) * std::min(1.0, at_once);
  };
  const auto first_part_s = open.empty() ? std::nullopt : part_s(open.size());
  for (std::size_t begun = 0; begun < open.size(); ++begun) {
    FinalRanking* const contest = open[begun].first;
    const auto finalists = open[begun].second;
    const Problem problem = contest->result.problem;
    const std::size_t left = open.size() - begun;
    const std::size_t most = most_finalists(finalists->front().screened_us, first_part_s);
    // They are in the cubin store; in parallel where somebody has emptied it.
    for (std::size_t i = 0; i < std::min(finalists->size(), most); ++i) {
      const Finalist& finalist = (*finalists)[i];
      (void)builder_->request(*finalist.kernel, finalist.configuration, problem);
    }
    build_finalists(*finalists, most, [&](const Finalist& finalist) -> const BuiltKernel& {
      return build(*finalist.kernel, finalist.configuration, problem);
    });
    const auto finals = std::make_shared<FinalsResult>();
    const auto run = [=, this](TrialRunner& runner) {
      *finals = {};
      if (stop_.stop_requested()) return;
      std::optional<Clock::time_point> deadline;
      if (const auto seconds = part_s(left)) {
        deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(*seconds));
      }
      *finals = run_finals(problem, *finalists, request_.baseline, runner, deadline, stop_);
    };
    const auto done = [=, this] {
      contest->result.baseline_us = finals->baseline_us;
      if (finals->ranking) declare_winner(*contest, *finalists, *finals->ranking);
    };
    report_progress("finals", nullptr);
    devices_->submit({problem, run, done});
  }
}

void TuningRun::declare_winner(FinalRanking& contest, const std::vector<Finalist>& finalists,
                               const Ranking& ranking) {
  const Finalist& first = finalists[ranking.winner];
  Winner winner = stored_->winner_from(first.last, *first.kernel);
  winner.median_us = median(first.samples_us);
  winner.low_us = ranking.interval.low;
  winner.high_us = ranking.interval.high;
  winner.confirmed = true;
  for (const std::size_t tie : ranking.ties) {
    if (finalists[tie].kernel == first.kernel) winner.ties.push_back(finalists[tie].configuration);
  }
  if (stored_->may_store(winner, contest.tasks)) {
    writer_->flush();
    storing([&] { setup_.database->put_winners({&winner, 1}); });
  }
  contest.result.winner = std::move(winner);
}

const BuiltKernel& TuningRun::build(const KernelTemplate& kernel,
                                    const Configuration& configuration, const Problem& problem) {
  const KernelBuilder::Ticket ticket = builder_->request(kernel, configuration, problem);
  while (builder_->find(ticket) == nullptr) builder_->collect(Clock::now() + kPatience);
  return *builder_->find(ticket);
}

void TuningRun::record(const SearchTask& task, const Trial& trial) {
  ++report_.statuses[trial.status];
  const TrialScope scope = stored_->scope_of(task.kernel());
  const TrialClaims::Key key = TrialClaims::key_of(scope, trial.problem, trial.configuration);
  writer_->add(scope, trial, [this, key] { claims_->release(key); });
  report_progress("search", &trial);
}

template <typename Write>
void TuningRun::storing(Write write) {
  try {
    write();
  } catch (const StorageError& error) {
    report_.storage_problem = error.what();
  }
}

void TuningRun::report_progress(const char* phase, const Trial* last, const DeviceUse* failed) {
  if (!progress_) return;
  TuneProgress progress{.total = total_trials_, .last = last, .failed = failed, .phase = phase};
  progress.elapsed_s = seconds_since(start_);
  for (const SearchTask& task : tasks_) {
    progress.done += static_cast<std::int64_t>(task.trials().size());
    if (const Trial* best = task.best()) {
      progress.best_us.emplace_back(task.problem(), best->measurement.median_us);
    }
  }
  if (request_.budget.trials) progress.total = std::min(total_trials_, *request_.budget.trials);
  if (request_.budget.seconds) {
    progress.remaining_s = std::max(0.0, *request_.budget.seconds - progress.elapsed_s);
  } else if (progress.done > 0) {
    progress.remaining_s = progress.elapsed_s *
                           static_cast<double>(progress.total - progress.done) /
                           static_cast<double>(progress.done);
  }
  progress_(progress);
}

TuneReport TuningRun::finished_report(SearchEnd end) {
  writer_->flush();
  if (std::string why = writer_->problem(); !why.empty()) report_.storage_problem = std::move(why);
  report_.rates = stored_->rates();
  report_.interrupted = stop_.stop_requested();
  report_.complete = !report_.interrupted;
  if (report_.complete && report_.storage_problem.empty()) {
    std::vector<CompletedRequest> completed;
    const auto was_tried = [this](const Problem& problem) {
      return std::any_of(tasks_.begin(), tasks_.end(), [&](const SearchTask& task) {
        return task.problem() == problem && !task.trials().empty();
      });
    };
    const auto add = [&](const std::vector<SearchTask*>& tasks, SearchEnd how) {
      for (const SearchTask* task : tasks) {
        if (!was_tried(task->problem())) continue;  // the budget did not last for a single trial
        const SearchEnd own = task->exhausted() ? SearchEnd::exhausted : how;
        for (CompletedRequest& row : completion_->rows(*task, own)) {
          completed.push_back(std::move(row));
        }
      }
    };
    if (end != SearchEnd::good_enough) add(open_, end);
    add(stale_, SearchEnd::budget);
    if (!completed.empty()) storing([&] { setup_.database->put_completed(completed); });
  }
  if (report_.devices.empty() && devices_) report_.devices = devices_->use();
  report_.compiled = builder_->compiled();
  report_.cubins_reused = builder_->reused();
  report_.workers_replaced = pool_->failures();
  if (devices_) {
    devices_->close();
    for (const DeviceUse& use : devices_->use()) {
      report_.workers_replaced += use.workers_replaced;
      report_.duplicate_kernels += use.duplicate_kernels;
    }
  }
  report_.wall_s = seconds_since(start_);
  return std::move(report_);
}

}  // namespace autotune
