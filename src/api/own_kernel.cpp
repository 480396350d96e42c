#include "api/own_kernel.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/tuning.hpp"

namespace autotune {
namespace {

constexpr std::size_t kMostPlans = 1024;  // that are kept for launches

// The searches for kernels of a name that have ended in this process, whichever Library made them:
// what they stored counts for every Kernel of that name. Never destroyed, as Libraries may outlive
// static objects.
std::atomic<std::uint64_t>& searches_of(const std::string& name) {
  static auto& mutex = *new std::mutex;
  static auto& counts = *new std::map<std::string, std::atomic<std::uint64_t>>;
  const std::lock_guard lock(mutex);
  return counts[name];
}

TuneRequest request_for(const std::vector<Problem>& problems, const TuningOptions& options) {
  if (problems.empty()) throw UsageError("tune() was given no sizes");
  if (options.max_error) {
    throw UsageError("max_error is for products: a kernel's tolerances stand in its file");
  }
  TuneRequest request = tune_request(options);
  for (const Problem& problem : problems) {
    if (std::ranges::find(request.problems, problem) == request.problems.end()) {
      request.problems.push_back(problem);
    }
  }
  request.command = "Kernel::tune";
  return request;
}

}  // namespace

OwnKernel::OwnKernel(std::shared_ptr<Core> core, OwnKernels kernels)
    : core_(std::move(core)),
      kernels_(std::move(kernels)),
      portfolios_(kernels_.kernels()),
      launcher_(core_->launcher()),
      ended_searches_(searches_of(kernel().name)),
      searches_(ended_searches_) {
  if (core_->bundle() != nullptr) bundled_.emplace(*core_->bundle(), kernel());
}

Problem OwnKernel::problem_of(const KernelSizes& sizes) const {
  std::vector<Problem::Size> named;
  for (const auto& [name, value] : sizes) named.push_back({name, value});
  return autotune::problem_of(*kernel().operation, named);
}

KernelTuningResult OwnKernel::tune(const std::vector<KernelSizes>& problems,
                                   const TuningOptions& options) {
  std::vector<Problem> asked;
  for (const KernelSizes& sizes : problems) asked.push_back(problem_of(sizes));
  const TuneRequest request = request_for(asked, options);
  static_cast<void>(core_->backend());  // a forked process is refused before it locks
  TuneReport report;
  try {
    report = core_->tune_own(portfolios_, request, options);
  } catch (...) {
    ++ended_searches_;  // what was measured counts
    throw;
  }
  ++ended_searches_;
  KernelTuningResult result{summary_of(report), {}};
  for (std::size_t i = 0; i < asked.size(); ++i) {
    TunedSizes tuned{.sizes = problems[i], .winner = {}, .problem_without_winner = {}};
    const Found found = found_for(report, asked[i]);
    if (const auto* winner = std::get_if<Winner>(&found)) {
      tuned.winner = {MatchKind::exact, how_it_won(*winner), winner->configuration, problems[i],
                      winner->median_us};
    } else {
      tuned.problem_without_winner = std::get<std::string>(found);
    }
    result.problems.push_back(std::move(tuned));
  }
  return result;
}

OwnChoice OwnKernel::choose(const Problem& problem) const {
  if (bundled_) return bundled_->choose(device(), problem);
  const DeviceQuery query{.kernels = kernels_.kernels(),
                          .device_class = device().device_class(),
                          .label = {},
                          .environment = Environment{.driver = device().driver_text()},
                          .use_shipped = false,
                          .max_error = {}};
  return stored_choice(kernel(), device(), query, problem, core_->results(), core_->log());
}

KernelConfiguration OwnKernel::query(const KernelSizes& sizes) const {
  return choose(problem_of(sizes)).choice;
}

OwnChoice OwnKernel::choose_for_call(const KernelSizes& sizes, const Problem& problem) {
  OwnChoice chosen = choose(problem);
  const LibraryOptions& options = core_->options();
  const std::string text = fmt::format("{} {}", kernel().name, kernel().operation->text(problem));
  if (!chosen.is_measured() && options.miss == MissPolicy::tune) {
    std::unique_lock lock(mutex_);
    drop_old_plans();
    auto known = without_winner_.find(sizes);
    if (known == without_winner_.end()) {
      lock.unlock();
      TuningOptions search;
      search.budget_seconds = options.miss_budget_seconds;
      const KernelTuningResult result = tune({sizes}, search);
      lock.lock();
      drop_old_plans();
      known = without_winner_.emplace(sizes, result.problems.front().problem_without_winner).first;
    }
    // A kernel whose every configuration is wrong is not run.
    if (!known->second.empty()) {
      throw NotTunedError(fmt::format("{} has no winner: {}", text, known->second));
    }
    chosen = choose(problem);
  }
  if (!chosen.is_measured() && options.miss == MissPolicy::refuse) {
    throw NotTunedError(fmt::format("{} was not tuned for {}", text, device().label));
  }
  core_->log().info("{} on {}: {}, {}: {}", text, device().label, to_string(chosen.choice.match),
                    to_string(chosen.choice.configuration), chosen.choice.explanation);
  if (!can_run(kernel(), chosen.choice.configuration, problem, device())) {
    throw UsageError(
        fmt::format("{} cannot run with its default configuration on {}: tune it, or give other "
                    "defaults",
                    text, device().label));
  }
  return chosen;
}

std::shared_ptr<const KernelCode> OwnKernel::code_of(const OwnChoice& chosen,
                                                     const Problem& problem) {
  const Configuration& configuration = chosen.choice.configuration;
  const KernelKey key{launcher_.context(), kernel().name, compiled_as(kernel(), configuration),
                      code_traits(kernel(), problem)};
  const KernelCode& code = code_->find_or_load(key, [&] {
    return launcher_.load(
        bundled_ ? bundled_->image(configuration, problem)
                 : images().image(kernel(), configuration, key.traits, chosen.compiler_build),
        kernel().name);
  });
  return {code_, &code};
}

KernelImages& OwnKernel::images() {
  const std::lock_guard lock(mutex_);
  auto& of_device = images_[device().device_class()];
  if (!of_device) {
    of_device = std::make_unique<KernelImages>(device(), core_->log(), core_->cubins(),
                                               core_->options().miss);
  }
  return *of_device;
}

std::shared_ptr<const PlannedLaunch> OwnKernel::plan(const KernelSizes& sizes) {
  const Problem problem = problem_of(sizes);
  OwnChoice chosen = choose_for_call(sizes, problem);
  const KernelSignature signature = kernel().signature(problem);
  const Configuration& configuration = chosen.choice.configuration;
  auto planned = not_destroyed_in_forks(new PlannedLaunch{
      .kernels = kernels_,
      .choice = chosen.choice,
      .numbers = kernel().operation->numbers(problem),
      .geometry = kernel().geometry(configuration, problem).on_device(device().sm_count),
      .layout = ArgumentLayout(signature),
      .code = code_of(chosen, problem)});
  planned->code->allow(planned->geometry);
  return planned;
}

void OwnKernel::drop_old_plans() {
  const std::uint64_t ended = ended_searches_;
  if (searches_ == ended) return;
  searches_ = ended;
  plans_.clear();
  without_winner_.clear();
}

void OwnKernel::launch(const KernelSizes& sizes, Stream stream, const LaunchArgument* arguments,
                       std::size_t count) {
  static_cast<void>(core_->backend());  // a forked process must not call the driver
  const PlanKey key(launcher_.context(), sizes);
  std::shared_ptr<const PlannedLaunch> planned;
  {
    const std::lock_guard lock(mutex_);
    drop_old_plans();
    if (const auto known = plans_.find(key); known != plans_.end()) planned = known->second;
  }
  if (!planned) {
    launcher_.check_not_captured(stream);
    std::uint64_t before = 0;
    do {  // a search, for this plan or in another thread, may end meanwhile
      before = ended_searches_;
      planned = plan(sizes);
    } while (ended_searches_ != before);
    const std::lock_guard lock(mutex_);
    drop_old_plans();
    if (plans_.size() >= kMostPlans) plans_.clear();
    if (searches_ == before) plans_.emplace(key, planned);
  }
  planned->run(stream, arguments, count);
}

}  // namespace autotune
