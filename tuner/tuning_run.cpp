#include "tuner/tuning_run.hpp"

#include <algorithm>
#include <ctime>
#include <random>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "autotune/error.hpp"
#include "autotune/version.hpp"

#include "core/hash.hpp"
#include "db/shipped_winners.hpp"
#include "tuner/memory_need.hpp"
#include "tuner/starting_points.hpp"

namespace autotune {
namespace {

// Without a budget, a space up to this many trials is searched to the end.
constexpr std::int64_t kExhaustiveTrials = 5000;
constexpr double kDefaultBudget_s = 30;
// The part of a time budget that the search leaves for the finals.
constexpr double kFinalsShare = 0.1;
// Finalists: so many at most, and none further behind the best than this.
constexpr std::size_t kFinalists = 6;
constexpr double kFinalistMargin = 1.05;
// Between two looks at a kernel that is being compiled; compile timeouts end the wait.
constexpr std::chrono::milliseconds kPatience(200);

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::string new_guid() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// Correct trials that were sampled to the end, fastest first.
std::vector<const Trial*> ranked(const Lane& lane) {
  std::vector<const Trial*> trials;
  for (const auto& [index, trial] : lane.trials()) {
    if (trial.ok() && !trial.measurement.screened_out) trials.push_back(&trial);
  }
  std::sort(trials.begin(), trials.end(), [](const Trial* a, const Trial* b) {
    return a->measurement.median_us < b->measurement.median_us;
  });
  return trials;
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
    : request_(request), setup_(setup), progress_(progress), stop_(std::move(stop)) {
  run_ = {new_guid(), setup.device.label, setup.device.uuid, request.command, utc_now()};
}

TuneReport TuningRun::execute() {
  make_lanes();
  learn_environment();
  if (!request_.fresh) load_known_trials();

  Completion completion(*setup_.database, request_, setup_.device.silicon_class(), environment_);
  std::vector<Lane*> open;
  std::vector<Lane*> aged;
  for (Lane& lane : lanes_) {
    if (!request_.fresh && completion.holds(lane)) continue;
    const bool retime =
        !request_.fresh && stored_winner(lane) && completion.held_in_another_environment(lane);
    (retime ? aged : open).push_back(&lane);
  }
  load_rates(/*measure_missing=*/!open.empty() || !aged.empty());
  for (Lane* lane : aged) time_stored_finalists(*lane);
  const SearchEnd end = open.empty() ? SearchEnd::exhausted : search(open);

  for (const GemmProblem& problem : request_.problems) settle(problem);
  writer_->flush();
  report_.storage_problem = writer_->problem();
  report_.interrupted = stop_.stop_requested();
  report_.complete = !report_.interrupted;
  if (report_.complete && report_.storage_problem.empty()) {
    for (const Lane* lane : open) completion.store(*lane, end);
    for (const Lane* lane : aged) completion.store(*lane, SearchEnd::budget);
  }
  return finished_report();
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
    request_.strategy = request_.budget.unlimited() ? "exhaustive" : "local";
  }
  std::vector<Winner> winners = setup_.database->winners("", "");
  for (Winner& winner : shipped_winners("", "")) winners.push_back(std::move(winner));
  for (const auto& [problem, space] : searches) {
    lanes_.emplace_back(problem, *space, request_.strategy, request_.seed,
                        starting_points(problem, *space, winners));
  }
}

std::optional<double> TuningRun::default_budget_s() const {
  if (setup_.device.is_host() || total_trials_ > kExhaustiveTrials) return kDefaultBudget_s;
  return std::nullopt;
}

void TuningRun::learn_environment() {
  runner_ = std::make_unique<TrialRunner>(setup_.make_measure_worker, setup_.measure_timeout);
  const DescribeCompilerReply compiler = runner_->describe_compiler();
  environment_.driver = setup_.device.driver_text();
  environment_.nvrtc_build = compiler.build;
  environment_.tool_version = kVersion;
  environment_.measuring_protocol = kMeasuringProtocol;

  pool_ = std::make_unique<CompilePool>(setup_.make_compile_worker, setup_.compile_jobs,
                                        setup_.compile_timeout);
  builder_ = std::make_unique<KernelBuilder>(*pool_, setup_.cubins, compiler.build,
                                             compile_target(setup_.device, compiler.architectures));
  writer_ = std::make_unique<TrialWriter>(*setup_.database, run_);
  load_stored_winners();
}

void TuningRun::load_stored_winners() {
  for (Winner& winner : setup_.database->winners(setup_.device.silicon_class(), "")) {
    const auto space = std::find_if(spaces_.begin(), spaces_.end(), [&](const CandidateSpace& s) {
      return s.kernel->name == winner.template_name &&
             s.kernel->interface_number == winner.interface_number;
    });
    if (space == spaces_.end()) continue;
    try {
      // JSON keeps parameters in alphabetical order; here they are in the template's.
      winner.configuration = space->kernel->space.validated(winner.configuration);
      for (Configuration& tie : winner.ties) tie = space->kernel->space.validated(tie);
      stored_winners_.push_back(std::move(winner));
    } catch (const UsageError&) {
      continue;  // no configuration of this space: as if it were not there
    }
  }
}

void TuningRun::load_known_trials() {
  for (Lane& lane : lanes_) {
    for (Trial& trial : setup_.database->trials(scope_of(lane), lane.problem())) {
      lane.record_known(std::move(trial));
    }
  }
}

void TuningRun::load_rates(bool measure_missing) {
  const std::string silicon_class = setup_.device.silicon_class();
  report_.rates = setup_.database->rates(silicon_class, environment_);
  if (report_.rates || !measure_missing) return;
  const CalibrateReply reply = runner_->calibrate();
  if (!reply.problem.empty()) return;
  report_.rates = DeviceRates{reply.fma_gflops, reply.copy_gbps};
  storing([&] { setup_.database->put_rates(silicon_class, environment_, *report_.rates); });
}

void TuningRun::time_stored_finalists(Lane& lane) {
  const std::optional<Winner> stored = stored_winner(lane);
  std::vector<Configuration> finalists = {stored->configuration};
  finalists.insert(finalists.end(), stored->ties.begin(), stored->ties.end());
  TrialScope scope = scope_of(lane);
  scope.environment = stored->environment;
  scope.source_hash = stored->source_hash;
  std::vector<Trial> old_trials = setup_.database->trials(scope, lane.problem());
  std::erase_if(old_trials, [](const Trial& trial) { return !trial.ok(); });
  std::sort(old_trials.begin(), old_trials.end(), [](const Trial& a, const Trial& b) {
    return a.measurement.median_us < b.measurement.median_us;
  });
  for (const Trial& trial : old_trials) finalists.push_back(trial.configuration);

  std::int64_t timed = 0;
  for (const Configuration& configuration : finalists) {
    const std::optional<std::size_t> index = lane.space().index_of(configuration);
    if (!index || lane.trials().contains(*index)) continue;
    if (timed == static_cast<std::int64_t>(kFinalists) || stop_.stop_requested()) break;
    const BuiltKernel& built =
        wait_for(builder_->request(lane.kernel(), configuration, lane.problem()));
    Trial trial = runner_->run(lane.kernel(), configuration, lane.problem(), built, {});
    record(lane, trial);
    lane.record(*index, std::move(trial));
    ++timed;
  }
  report_.note = fmt::format(
      "results of another driver, NVRTC, template source or measuring protocol: the stored "
      "finalists of {} were timed again",
      to_string(lane.problem()));
}

SearchEnd TuningRun::search(const std::vector<Lane*>& lanes) {
  SearchLimits limits;
  if (request_.budget.seconds) {
    const std::chrono::duration<double> share(*request_.budget.seconds * (1 - kFinalsShare));
    limits.deadline = start_ + std::chrono::duration_cast<Clock::duration>(share);
  }
  limits.trials = request_.budget.trials;
  limits.lookahead = static_cast<std::size_t>(4 * setup_.compile_jobs) * lanes.size();
  limits.stop = stop_;

  const Clock::time_point began = Clock::now();
  const double busy_before = runner_->busy_s();
  Search search(lanes, *builder_, *runner_,
                [this](const Lane& lane, const Trial& trial) { record(lane, trial); });
  const SearchEnd end = search.run(limits);
  report_.search_s = seconds_since(began);
  report_.device_busy_s = runner_->busy_s() - busy_before;
  return end;
}

void TuningRun::settle(const GemmProblem& problem) {
  ProblemResult result{.problem = problem};
  const std::vector<Lane*> lanes = lanes_of(problem);
  for (const Lane* lane : lanes) {
    result.measured += lane->measured();
    result.known += lane->known();
    result.valid_configurations += static_cast<std::int64_t>(lane->space().configurations.size());
  }
  if (result.measured > 0 && !stop_.stop_requested()) result.winner = play_finals(result, lanes);
  if (!result.winner) result.winner = known_best(lanes);
  if (!result.winner) {
    result.too_large =
        lanes.empty() ? why_too_large(problem, setup_.device) : found_too_large(lanes);
  }
  report_.measured += result.measured;
  report_.known += result.known;
  report_.problems.push_back(std::move(result));
}

std::optional<Winner> TuningRun::play_finals(ProblemResult& result,
                                             const std::vector<Lane*>& lanes) {
  std::vector<Finalist> finalists;
  for (const Lane* lane : lanes) {
    for (const Trial* trial : ranked(*lane)) {
      finalists.push_back({&lane->kernel(), trial->configuration, 0, trial->measurement.median_us});
    }
  }
  if (finalists.empty()) return std::nullopt;
  std::sort(finalists.begin(), finalists.end(),
            [](const Finalist& a, const Finalist& b) { return a.screened_us < b.screened_us; });
  const double limit_us = kFinalistMargin * finalists.front().screened_us;
  std::erase_if(finalists, [&](const Finalist& f) { return f.screened_us > limit_us; });
  if (finalists.size() > kFinalists) finalists.resize(kFinalists);

  for (Finalist& finalist : finalists) {
    finalist.ticket = builder_->request(*finalist.kernel, finalist.configuration, result.problem);
    wait_for(finalist.ticket);
  }
  report_progress("finals", nullptr);
  const FinalsResult finals =
      run_finals(result.problem, finalists, request_.compare_cublas, *builder_, *runner_,
                 [this] { return stop_.stop_requested() || out_of_time(); });
  result.cublas_us = finals.cublas_us;
  if (!finals.verdict) return std::nullopt;

  const Finalist& first = finalists[finals.verdict->winner];
  Winner winner = winner_from(first.last, *first.kernel);
  winner.median_us = median(first.samples_us);
  winner.low_us = finals.verdict->interval.low;
  winner.high_us = finals.verdict->interval.high;
  winner.confirmed = true;
  for (const std::size_t tie : finals.verdict->ties) {
    if (finalists[tie].kernel == first.kernel) winner.ties.push_back(finalists[tie].configuration);
  }
  store(winner, lanes);
  return winner;
}

void TuningRun::store(const Winner& winner, const std::vector<Lane*>& lanes) {
  // A search of a part of the space must not displace a better winner from outside that part.
  for (const Lane* lane : lanes) {
    const std::optional<Winner> stored = stored_winner(*lane);
    if (stored && stored->template_name == winner.template_name &&
        stored->environment == environment_ && stored->source_hash == winner.source_hash &&
        !lane->space().index_of(stored->configuration) && stored->median_us < winner.median_us) {
      return;
    }
  }
  writer_->flush();
  storing([&] { setup_.database->put_winners({&winner, 1}); });
}

std::optional<Winner> TuningRun::known_best(const std::vector<Lane*>& lanes) const {
  std::optional<Winner> best;
  const auto consider = [&](Winner candidate) {
    if (!best || candidate.median_us < best->median_us) best = std::move(candidate);
  };
  for (const Lane* lane : lanes) {
    const std::optional<Winner> stored = stored_winner(*lane);
    if (!request_.fresh && stored && stored->environment == environment_ &&
        lane->space().index_of(stored->configuration)) {
      consider(*stored);
    } else if (const Trial* trial = lane->best()) {
      consider(winner_from(*trial, lane->kernel()));
    }
  }
  return best;
}

std::vector<Lane*> TuningRun::lanes_of(const GemmProblem& problem) {
  std::vector<Lane*> lanes;
  for (Lane& lane : lanes_) {
    if (lane.problem() == problem) lanes.push_back(&lane);
  }
  return lanes;
}

TrialScope TuningRun::scope_of(const Lane& lane) const {
  return {setup_.device.silicon_class(), lane.kernel().name, lane.kernel().interface_number,
          content_hash(lane.kernel().source), environment_};
}

std::optional<Winner> TuningRun::stored_winner(const Lane& lane) const {
  for (const Winner& winner : stored_winners_) {
    if (winner.problem == lane.problem() && winner.template_name == lane.kernel().name) {
      return winner;
    }
  }
  return std::nullopt;
}

Winner TuningRun::winner_from(const Trial& trial, const KernelTemplate& kernel) const {
  Winner winner;
  winner.silicon_class = setup_.device.silicon_class();
  winner.device_label = setup_.device.label;
  winner.problem = trial.problem;
  winner.template_name = kernel.name;
  winner.interface_number = kernel.interface_number;
  winner.source_hash = content_hash(kernel.source);
  winner.environment = environment_;
  winner.configuration = trial.configuration;
  winner.median_us = trial.measurement.median_us;
  winner.low_us = winner.high_us = winner.median_us;
  if (!trial.measurement.samples_us.empty()) {
    const Interval interval = median_interval(trial.measurement.samples_us);
    winner.low_us = interval.low;
    winner.high_us = interval.high;
  }
  winner.verification = trial.verification;
  winner.resources = trial.resources;
  winner.rates = report_.rates;
  winner.note = trial.detail;
  winner.measured_at = utc_now();
  return winner;
}

const BuiltKernel& TuningRun::wait_for(KernelBuilder::Ticket ticket) {
  while (builder_->find(ticket) == nullptr) builder_->collect(Clock::now() + kPatience);
  return *builder_->find(ticket);
}

void TuningRun::record(const Lane& lane, const Trial& trial) {
  ++report_.statuses[trial.status];
  writer_->add(scope_of(lane), trial);
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

void TuningRun::report_progress(const char* phase, const Trial* last) {
  if (!progress_) return;
  TuneProgress progress{.total = total_trials_, .last = last, .phase = phase};
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

bool TuningRun::out_of_time() const {
  return request_.budget.seconds && seconds_since(start_) > *request_.budget.seconds;
}

TuneReport TuningRun::finished_report() {
  report_.compiled = builder_->compiled();
  report_.cubins_reused = builder_->reused();
  report_.workers_replaced = runner_->failures() + pool_->failures();
  report_.compile_busy_s = pool_->busy_s();
  report_.wall_s = seconds_since(start_);
  return std::move(report_);
}

}  // namespace autotune
