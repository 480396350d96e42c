#include "tuner/run/tuning_run.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/compile_target.hpp"
#include "core/error_text.hpp"
#include "kernel_templates/possible_time.hpp"

namespace autotune {
namespace {

// The finals get this share of the time budget, or more where there are many problems: this time
// for each, which is what four finalists take on a GPU.
constexpr double kLeastForFinals = 0.1;
constexpr double kMostForFinals = 0.5;
constexpr double kFinalsOfProblem_s = 0.15;
// The number of stored trials that are timed again for a stale task.
constexpr std::size_t kTimedAgain = 6;
// The kernels to be compiled for each compile worker, so that none waits while the next one is
// chosen.
constexpr std::size_t kAheadOfWorker = 3;
// The time after which the search checks its limits when nothing else happens.
constexpr std::chrono::milliseconds kBetweenChecks(100);

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string new_guid() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

TuningRun::TuningRun(const TuneRequest& request, TunerSetup& setup,
                     const ProgressCallback& progress, std::stop_token stop)
    : setup_(setup),
      caller_(std::move(stop), RequestStop{ending_}),
      run_{new_guid(), setup.device.label, setup.device.uuid, request.command, utc_now()},
      plan_(request, setup, run_.guid),
      report_(plan_, progress),
      pool_(setup.make_compile_worker, setup.compile_jobs, setup.compile_timeout,
            [this](KernelBuilt built) { mailbox_.post(std::move(built)); }),
      builder_(pool_, setup.cubins, plan_.compiler().build,
               compile_target(setup.device, plan_.compiler().architectures)),
      writer_(*setup.database, run_) {}

TuneReport TuningRun::execute() {
  plan_.update();
  if (plan_.has_work() && take_devices()) plan_.update();  // others may have measured meanwhile
  SearchEnd end = SearchEnd::exhausted;
  if (devices_ && !stop_.stop_requested() && plan_.has_work()) {
    if (!plan_.stored().rates() && plan_.device_share() == 1) measure_rates();
    if (!plan_.stale().empty()) retime_stale();
    if (!plan_.open().empty()) end = search();
    finish_jobs();
  }
  decide(end);
  TuneReport report = finish(end);
  if (!failure_ || report.interrupted) return report;
  const bool has_results = std::ranges::any_of(
      report.problems, [](const ProblemResult& result) { return result.winner.has_value(); });
  try {
    std::rethrow_exception(failure_);
  } catch (const std::exception& error) {
    if (!has_results) throw;
    report.failure = error_text(error);
  }
  return report;
}

bool TuningRun::take_devices() {
  plan_.shared().open_claims();
  devices_ =
      std::make_unique<DevicePool>(setup_.measuring, setup_.measure_timeout, mailbox_, stop_);
  const std::optional<Clock::duration> waited = devices_->wait_for_device();
  plan_.postpone(waited.value_or(Clock::duration::zero()));
  // The budget may be over, so that the search would end before it took the failure of a device.
  while (auto event = mailbox_.wait_until({})) handle(std::move(*event));
  return waited.has_value() && !failure_;
}

void TuningRun::measure_rates() {
  devices_->submit(CalibrateJob{});
  if (setup_.device.is_cpu() || !setup_.overlap) finish_jobs();
}

void TuningRun::retime_stale() {
  std::vector<std::tuple<SearchTask*, std::size_t, KernelBuilder::Ticket>> again;
  for (SearchTask* task : plan_.stale()) {
    std::set<std::size_t> chosen;
    for (const Configuration& configuration : plan_.stored().stale_finalists(*task)) {
      if (chosen.size() == kTimedAgain) break;
      const std::optional<std::size_t> index = task->space().index_of(configuration);
      if (!index || task->trials().contains(*index) || !chosen.insert(*index).second) continue;
      again.emplace_back(task, *index,
                         builder_.request(task->kernel(), configuration, task->problem()));
    }
  }
  const double share = search_share();
  const auto is_over = [&] { return stop_.stop_requested() || plan_.is_over(share); };
  for (const auto& [task, index, ticket] : again) {
    while (builder_.find(ticket) == nullptr && !is_over()) handle_one();
    if (is_over()) break;
    devices_->submit(MeasureJob{.id = {task->id(), index},
                                .problem = task->problem(),
                                .kernel = &task->kernel(),
                                .configuration = task->space().configurations[index],
                                .built = builder_.find(ticket),
                                .deadline = plan_.deadline(share),
                                .end = plan_.deadline(last_trial_share())});
  }
  finish_jobs();
  builder_.drop_queued();
  retimed_ = !is_over();
  if (retimed_) report_.note_stale(plan_.stale());
}

double TuningRun::search_share() const {
  const std::optional<double> seconds = plan_.request().budget.seconds;
  if (!seconds) return 1;
  const double rounds = std::ceil(static_cast<double>(plan_.request().problems.size()) /
                                  static_cast<double>(setup_.measuring.size()));
  return 1 - std::clamp(kFinalsOfProblem_s * rounds / *seconds, kLeastForFinals, kMostForFinals);
}

SearchEnd TuningRun::search() {
  std::optional<std::size_t> compiled_ahead;
  if (setup_.overlap) {
    compiled_ahead = kAheadOfWorker * static_cast<std::size_t>(setup_.compile_jobs);
  }
  const Clock::time_point began = Clock::now();
  const std::vector<DeviceUse> before = devices_->use();
  const auto deadline = plan_.deadline(search_share());
  search_.emplace(plan_, builder_, *devices_,
                  SearchLimits{.deadline = deadline,
                               .end = plan_.deadline(last_trial_share()),
                               .trials = plan_.request().budget.trials,
                               .compiled_ahead = compiled_ahead,
                               .stop = stop_,
                               .patience = setup_.other_runs_timeout});
  if (setup_.overlap) request_known_best(plan_, builder_);
  std::optional<SearchEnd> end;
  while (!(end = search_->advance())) {
    if (search_->waits_for_others()) report_.progress("waiting for another run");
    handle_one();
  }
  // The finals may need kernels too, and would wait for these.
  builder_.drop_queued();
  devices_->drop_queued();
  finish_jobs();
  search_->release_claims();
  search_.reset();

  TuneReport& report = report_.report;
  report.search_s = seconds_since(began);
  report.compile_busy_s = pool_.busy_s();
  report.compile_workers = pool_.workers();
  report.devices = devices_->use();
  for (std::size_t i = 0; i < before.size(); ++i) report.devices[i].busy_s -= before[i].busy_s;
  return *end;
}

void TuningRun::decide(SearchEnd end) {
  decision_.emplace(plan_, builder_, devices_.get(), writer_, report_, end, stop_);
  decision_->submit_finals();
  while (decision_->has_open_finals() && !failure_) {
    handle_one();
    decision_->submit_finals();
  }
  decision_->report_results();
}

TuneReport TuningRun::finish(SearchEnd end) {
  TuneReport& report = report_.report;
  report.rates = plan_.stored().rates();
  report.interrupted = stop_.stop_requested() && (!failure_ || was_interrupted_);
  report.complete = !stop_.stop_requested();
  if (report.complete) {
    for (CompletedRequest& completed : plan_.completed(end, retimed_, decision_->missed_finals())) {
      writer_.add(std::move(completed));
    }
  }
  report_.wait_for(writer_);
  report.compiled = builder_.compiled();
  report.cubins_reused = builder_.reused();
  report.workers_replaced = pool_.failures();
  if (devices_) {
    devices_->close();
    while (auto event = mailbox_.wait_until({})) {
      const auto* failed = std::get_if<DeviceFailed>(&*event);
      if (failed != nullptr && !failed->error) report_.progress("search", nullptr, &failed->device);
    }
    const std::vector<DeviceUse> uses = devices_->use();
    if (report.devices.empty()) report.devices = uses;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      report.devices[i].failure = uses[i].failure;
      report.workers_replaced += uses[i].workers_replaced;
      report.duplicate_kernels += uses[i].duplicate_kernels;
    }
  }
  report.wall_s = seconds_since(plan_.start());
  return std::move(report);
}

void TuningRun::handle(Event event) {
  const bool is_outcome =
      !std::holds_alternative<KernelBuilt>(event) && !std::holds_alternative<DeviceFailed>(event);
  if (is_outcome) devices_->outcome_taken();
  std::visit(
      Overloaded{
          [this](KernelBuilt& built) {
            try {
              builder_.take(std::move(built));
            } catch (const EnvironmentError&) {
              give_up(std::current_exception());
            }
          },
          [this](TrialDone& done) { record(std::move(done)); },
          [this](FinalsDone& done) { decision_->record(std::move(done)); },
          [this](RatesDone& done) {
            if (!done.rates.problem.empty()) return;
            writer_.add(plan_.stored().set_rates({done.rates.fma_gflops, done.rates.copy_gbps}));
          },
          [this](DeviceFailed& failed) {
            if (failed.error) return give_up(failed.error);
            report_.progress("search", nullptr, &failed.device);
          }},
      event);
}

void TuningRun::give_up(std::exception_ptr error) {
  if (!failure_) {
    was_interrupted_ = stop_.stop_requested();
    failure_ = std::move(error);
  }
  ending_.request_stop();
  if (devices_) devices_->drop_queued();  // jobs that no device would do
}

void TuningRun::record(TrialDone done) {
  if (!done.trial) return;
  SearchTask& task = plan_.tasks()[done.id.task];
  Trial& trial = *done.trial;
  const double us = trial.measurement.median_us;
  if (trial.ok() && !is_possible_us(task.kernel(), trial.problem, us, plan_.stored().rates())) {
    trial.status = TrialStatus::run_crashed;
    trial.detail = fmt::format("the worker gave a time that is not possible: {:g} us", us);
  }
  ++report_.report.statuses[trial.status];
  if (!trial.ok()) {
    report_.report.first_faults.try_emplace(trial.status,
                                            FirstFault{trial.configuration, trial.detail});
  }
  SharedTrials& shared = plan_.shared();
  const auto key = shared.key_of(task.kernel(), trial.problem, trial.configuration);
  writer_.add(shared.scope_of(task.kernel()), trial, [&shared, key] { shared.release(key); });
  report_.progress("search", &trial);
  task.record(done.id.configuration, std::move(*done.trial));
  if (search_) search_->record(done.id);
}

void TuningRun::handle_one() {
  if (auto event = mailbox_.wait_until(Clock::now() + kBetweenChecks)) handle(std::move(*event));
}

void TuningRun::finish_jobs() {
  while (devices_->open_jobs() > 0) handle(mailbox_.wait());
}

}  // namespace autotune
