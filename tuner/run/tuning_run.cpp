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
// Of a lane that was complete in another environment, so many are timed again.
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
std::string found_too_large(const std::vector<Lane*>& lanes) {
  std::string why;
  for (const Lane* lane : lanes) {
    for (const auto& [index, trial] : lane->trials()) {
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
  make_lanes();
  learn_environment();
  plan();
  if (!open_.empty() || !aged_.empty()) {
    if (take_devices()) plan();  // of what others have measured meanwhile
  }
  const bool measuring = benches_ && !stop_.stop_requested() && !(open_.empty() && aged_.empty());
  SearchEnd end = SearchEnd::exhausted;
  if (measuring) {
    if (!stored_->rates()) measure_rates();
    for (Lane* lane : aged_) {
      if (!stop_.stop_requested()) time_stored_finalists(*lane);
    }
    benches_->settle_all();
    if (!open_.empty()) end = search();
  }
  settle(end);
  return finished_report(end);
}

void TuningRun::make_lanes() {
  for (SpaceSummary& summary : summarize_space(request_, setup_.device)) {
    if (summary.enumeration.configurations.empty()) continue;
    spaces_.emplace_back(*summary.kernel, std::move(summary.enumeration.configurations));
  }
  std::vector<std::pair<GemmProblem, const CandidateSpace*>> searches;
  std::string too_large;
  for (const GemmProblem& problem : request_.problems) {
    for (const CandidateSpace& space : spaces_) {
      if (!space.kernel->supports(problem)) continue;
      if (const std::string why = why_too_large(problem, setup_.device); !why.empty()) {
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
  std::vector<Winner> winners = setup_.database->winners("", "");
  for (Winner& winner : shipped_winners("", "")) winners.push_back(std::move(winner));
  for (const auto& [problem, space] : searches) {
    lanes_.emplace_back(
        problem, *space, request_.strategy, request_.seed,
        prior_for(*space->kernel, space->configurations, problem, setup_.device.silicon_class()),
        starting_points(problem, setup_.device.silicon_class(), *space, winners));
  }
}

std::optional<double> TuningRun::default_budget_s() const {
  if (setup_.device.is_host() || total_trials_ > kExhaustiveTrials) return kDefaultBudget_s;
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
  completion_.emplace(*setup_.database, request_, setup_.device.silicon_class(),
                      stored_->environment());

  pool_ = std::make_unique<CompilePool>(setup_.make_compile_worker, setup_.compile_jobs,
                                        setup_.compile_timeout, [this] { news_.raise(); });
  builder_ = std::make_unique<KernelBuilder>(*pool_, setup_.cubins, compiler.build,
                                             compile_target(setup_.device, compiler.architectures));
  writer_ = std::make_unique<TrialWriter>(*setup_.database, run_);
}

void TuningRun::plan() {
  open_.clear();
  aged_.clear();
  stored_->load_winners();
  if (!request_.fresh) stored_->load_trials(lanes_);
  for (Lane& lane : lanes_) {
    if (!request_.fresh && completion_->holds(lane)) continue;
    const bool retime =
        !request_.fresh && stored_->winner(lane) && completion_->held_in_another_environment(lane);
    (retime ? aged_ : open_).push_back(&lane);
  }
}

bool TuningRun::lacks_finals(const GemmProblem& problem, SearchEnd end) const {
  bool is_open = false;
  bool has_winner = false;
  for (const Lane& lane : lanes_) {
    if (lane.problem() != problem) continue;
    is_open |= std::find(open_.begin(), open_.end(), &lane) != open_.end();
    has_winner |= stored_->winner_of_today(lane).has_value();
  }
  return is_open && (end != SearchEnd::good_enough || !has_winner);
}

bool TuningRun::take_devices() {
  claims_.emplace(setup_.database->path());
  const Clock::time_point began = Clock::now();
  benches_ = std::make_unique<Benches>(
      setup_.measuring, setup_.measure_timeout, news_,
      [this](const DeviceUse& failed) { report_progress("search", nullptr, &failed); });
  const bool taken = benches_->wait_for_device(stop_);
  start_ += Clock::now() - began;  // waiting for others takes nothing from the budget
  return taken;
}

void TuningRun::measure_rates() {
  const auto reply = std::make_shared<CalibrateReply>();
  benches_->submit({{}, [reply](TrialRunner& runner) { *reply = runner.calibrate(); }, [] {}});
  benches_->settle_all();
  if (!reply->problem.empty()) return;
  storing([&] { stored_->put_rates({reply->fma_gflops, reply->copy_gbps}); });
}

void TuningRun::time_stored_finalists(Lane& lane) {
  std::set<std::size_t> chosen;
  for (const Configuration& configuration : stored_->aged_finalists(lane)) {
    if (stop_.stop_requested()) return;
    const std::optional<std::size_t> index = lane.space().index_of(configuration);
    if (!index || lane.trials().contains(*index) || !chosen.insert(*index).second) continue;
    const BuiltKernel& built = build(lane.kernel(), configuration, lane.problem());
    const auto trial = std::make_shared<std::optional<Trial>>();
    const auto run = [=, this, &lane, &built](TrialRunner& runner) {
      trial->reset();
      if (stop_.stop_requested()) return;
      *trial = runner.run(lane.kernel(), configuration, lane.problem(), built, {});
    };
    const auto done = [=, this, &lane] {
      if (!*trial) return;
      record(lane, **trial);
      lane.record(*index, std::move(**trial));
    };
    benches_->submit({lane.problem(), run, done});
    if (chosen.size() == kTimedAgain) break;
  }
  report_.note = fmt::format(
      "results of another driver, NVRTC, template source or measuring protocol: the best stored "
      "trials of {} were timed again",
      to_string(lane.problem()));
}

SearchEnd TuningRun::search() {
  SearchLimits limits;
  if (request_.budget.seconds) {
    const std::chrono::duration<double> share(kSearchShare * *request_.budget.seconds);
    limits.deadline = start_ + std::chrono::duration_cast<Clock::duration>(share);
  }
  limits.trials = request_.budget.trials;
  limits.until = request_.until;
  for (const Lane& lane : lanes_) limits.judged.push_back(&lane);
  const std::size_t ahead =
      open_.size() *
      std::max(4 * static_cast<std::size_t>(setup_.compile_jobs), 2 * setup_.measuring.size());
  limits.lookahead = setup_.overlap ? ahead : 1;
  limits.stop = stop_;
  limits.patience = setup_.other_runs_timeout;

  const Clock::time_point began = Clock::now();
  const std::vector<DeviceUse> before = benches_->use();
  OtherRuns others(*claims_, *stored_, lanes_);
  Search search(open_, *builder_, *benches_, news_, request_.fresh ? nullptr : &others,
                [this](const Lane& lane, const Trial& trial) { record(lane, trial); });
  const SearchEnd end = search.run(limits);
  report_.search_s = seconds_since(began);
  report_.compile_busy_s = pool_->busy_s();
  report_.devices = benches_->use();
  for (std::size_t i = 0; i < before.size(); ++i) report_.devices[i].busy_s -= before[i].busy_s;
  return end;
}

void TuningRun::settle(SearchEnd end) {
  std::vector<Contest> contests;
  for (const GemmProblem& problem : request_.problems) {
    Contest& contest = contests.emplace_back();
    contest.result.problem = problem;
    for (Lane& lane : lanes_) {
      if (lane.problem() != problem) continue;
      contest.lanes.push_back(&lane);
      contest.result.measured += lane.measured();
      contest.result.known += lane.known();
      contest.result.valid_configurations +=
          static_cast<std::int64_t>(lane.space().configurations.size());
    }
  }
  start_finals(contests, end);
  const auto estimate_shares = [&] {
    for (Contest& contest : contests) {
      // Takes too long for an answer that is known.
      if (contest.result.measured == 0 && !request_.until) continue;
      contest.result.reached_share = reached_share({contest.lanes.begin(), contest.lanes.end()});
      if (benches_) static_cast<void>(benches_->settle_one());  // a winner is stored at once
    }
  };
  // Meanwhile; kernels of the host device would be disturbed.
  if (!setup_.device.is_host()) estimate_shares();
  if (benches_) benches_->settle_all();
  if (setup_.device.is_host()) estimate_shares();
  for (Contest& contest : contests) {
    ProblemResult& result = contest.result;
    if (!result.winner) {
      result.winner = stored_->known_best(contest.lanes, request_.fresh, stop_.stop_requested());
    }
    if (!result.winner) {
      result.too_large = contest.lanes.empty() ? why_too_large(result.problem, setup_.device)
                                               : found_too_large(contest.lanes);
    }
    report_.measured += result.measured;
    report_.known += result.known;
    report_.problems.push_back(std::move(result));
  }
}

void TuningRun::start_finals(std::vector<Contest>& contests, SearchEnd end) {
  using Finalists = std::vector<Finalist>;
  std::vector<std::pair<Contest*, std::shared_ptr<Finalists>>> open;
  for (Contest& contest : contests) {
    const bool undecided = contest.result.measured > 0 || lacks_finals(contest.result.problem, end);
    if (!benches_ || !undecided || stop_.stop_requested()) continue;
    auto finalists = std::make_shared<Finalists>(choose_finalists(contest.lanes));
    if (!finalists->empty()) open.emplace_back(&contest, std::move(finalists));
  }
  // What each of so many gets of the time that is left.
  const auto part_s = [this](std::size_t of) -> std::optional<double> {
    if (!request_.budget.seconds) return std::nullopt;
    const double left_s = kFinalsShare * *request_.budget.seconds - seconds_since(start_);
    const double at_once = static_cast<double>(benches_->size()) / static_cast<double>(of);
    return std::max(0.0, left_s) * std::min(1.0, at_once);
  };
  const auto first_part_s = open.empty() ? std::nullopt : part_s(open.size());
  for (std::size_t begun = 0; begun < open.size(); ++begun) {
    Contest* const contest = open[begun].first;
    const auto finalists = open[begun].second;
    const GemmProblem problem = contest->result.problem;
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
      *finals = run_finals(problem, *finalists, request_.compare_cublas, runner, deadline, stop_);
    };
    const auto done = [=, this] {
      contest->result.cublas_us = finals->cublas_us;
      if (finals->verdict) declare_winner(*contest, *finalists, *finals->verdict);
    };
    report_progress("finals", nullptr);
    benches_->submit({problem, run, done});
  }
}

void TuningRun::declare_winner(Contest& contest, const std::vector<Finalist>& finalists,
                               const Verdict& verdict) {
  const Finalist& first = finalists[verdict.winner];
  Winner winner = stored_->winner_from(first.last, *first.kernel);
  winner.median_us = median(first.samples_us);
  winner.low_us = verdict.interval.low;
  winner.high_us = verdict.interval.high;
  winner.confirmed = true;
  for (const std::size_t tie : verdict.ties) {
    if (finalists[tie].kernel == first.kernel) winner.ties.push_back(finalists[tie].configuration);
  }
  if (stored_->may_store(winner, contest.lanes)) {
    writer_->flush();
    storing([&] { setup_.database->put_winners({&winner, 1}); });
  }
  contest.result.winner = std::move(winner);
}

const BuiltKernel& TuningRun::build(const KernelTemplate& kernel,
                                    const Configuration& configuration,
                                    const GemmProblem& problem) {
  const KernelBuilder::Ticket ticket = builder_->request(kernel, configuration, problem);
  while (builder_->find(ticket) == nullptr) builder_->collect(Clock::now() + kPatience);
  return *builder_->find(ticket);
}

void TuningRun::record(const Lane& lane, const Trial& trial) {
  ++report_.statuses[trial.status];
  const TrialScope scope = stored_->scope_of(lane.kernel());
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
  for (const Lane& lane : lanes_) {
    progress.done += static_cast<std::int64_t>(lane.trials().size());
    if (const Trial* best = lane.best()) {
      progress.best_us.emplace_back(lane.problem(), best->measurement.median_us);
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
    const auto was_tried = [this](const GemmProblem& problem) {
      return std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
        return lane.problem() == problem && !lane.trials().empty();
      });
    };
    const auto add = [&](const std::vector<Lane*>& lanes, SearchEnd how) {
      for (const Lane* lane : lanes) {
        if (!was_tried(lane->problem())) continue;  // the budget did not last for a single trial
        const SearchEnd own = lane->exhausted() ? SearchEnd::exhausted : how;
        for (CompletedRequest& row : completion_->rows(*lane, own)) {
          completed.push_back(std::move(row));
        }
      }
    };
    if (end != SearchEnd::good_enough) add(open_, end);
    add(aged_, SearchEnd::budget);
    if (!completed.empty()) storing([&] { setup_.database->put_completed(completed); });
  }
  if (report_.devices.empty() && benches_) report_.devices = benches_->use();
  report_.compiled = builder_->compiled();
  report_.cubins_reused = builder_->reused();
  report_.workers_replaced = pool_->failures();
  if (benches_) {
    benches_->close();
    for (const DeviceUse& use : benches_->use()) {
      report_.workers_replaced += use.workers_replaced;
      report_.equal_kernels += use.equal_kernels;
    }
  }
  report_.wall_s = seconds_since(start_);
  return std::move(report_);
}

}  // namespace autotune
