#include "api/core.hpp"

#include <algorithm>
#include <stop_token>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "api/setup.hpp"
#include "core/posix/no_fork.hpp"
#include "core/posix/whole_path.hpp"
#include "cpu/device.hpp"
#include "gpu/gpu.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

// Parsed once for all libraries of a process, since a parse takes thousands of allocations. Never
// destroyed: an application may multiply in its last destructors.
const ShippedPortfolios& built_in_portfolios() {
  const NoFork until_made;
  static const auto& portfolios = *new ShippedPortfolios(built_in_kernels());
  return portfolios;
}

// What is done for products that were not tuned.
void check_miss(const LibraryOptions& options) {
  if (options.miss > MissPolicy::background) {
    throw UsageError(
        fmt::format("miss is {}: it must be from 0 to 3", static_cast<int>(options.miss)));
  }
  if (!(options.miss_budget_seconds > 0)) {
    throw UsageError(
        fmt::format("miss_budget_seconds is {}: it must be above 0", options.miss_budget_seconds));
  }
  const bool tunes = options.miss == MissPolicy::tune || options.miss == MissPolicy::background;
  if (!options.bundle.empty() && tunes) {
    throw UsageError("with a bundle miss must be predict or refuse: nothing is tuned");
  }
  if (!(options.background_share > 0 && options.background_share <= 1)) {
    throw UsageError(
        fmt::format("background_share is {}: it must be above 0 and at most 1, e.g. 0.05",
                    options.background_share));
  }
  if (options.worker_program.empty() && options.miss == MissPolicy::background) {
    throw UsageError(
        "with MissPolicy::background worker_program must name the program autotune, e.g. "
        "/usr/bin/autotune: candidates run in processes of their own");
  }
}

void check_options(const LibraryOptions& options) {
  if (options.device.number() < Device::cpu().number()) {
    throw UsageError("device: the number of a GPU must be 0 or more, e.g. Device::gpu(0)");
  }
  if (!options.bundle.empty() && !options.database.empty()) {
    throw UsageError("bundle and database exclude each other");
  }
  check_miss(options);
  if (static_cast<bool>(options.allocator.allocate) !=
      static_cast<bool>(options.allocator.release)) {
    throw UsageError("allocator: allocate and release must be given both, or neither");
  }
  const std::string& program = options.worker_program;
  if (!program.empty() && ::access(program.c_str(), X_OK) != 0) {
    throw UsageError(fmt::format("worker_program is {}: it must be the program autotune", program));
  }
}

}  // namespace

std::shared_ptr<Core> Core::make(const LibraryOptions& options) {
  check_options(options);
  return not_destroyed_in_forks(new Core(options));
}

Core::Core(const LibraryOptions& options)
    : options_(options), log_(options.log), portfolios_(built_in_portfolios()) {
  std::string& program = options_.worker_program;
  if (!program.empty()) program = whole_path(program).string();
  if (options.bundle.empty()) {
    results_.emplace(options.database);
    const std::string problem = results_->read([](const ResultReader&) {});
    if (!problem.empty()) log_.warning("stored results are left out: {}", problem);
    cubins_.emplace(cubin_store_for_calls());
    tuning_.emplace(options_, *results_, log_);
  } else {
    bundle_.emplace(options.bundle, portfolios_.kernels());
  }
  backend_ = make_backend();
  if (options.miss == MissPolicy::background) background_ = make_background_tuner();
}

void Core::check_bundle(const std::vector<DeviceInfo>& devices) const {
  const auto is_right = [&](const DeviceInfo& device) { return bundle_->is_for(device); };
  if (!bundle_ || std::any_of(devices.begin(), devices.end(), is_right)) return;
  bundle_->check_device(devices.front());
}

SelectorSetup Core::selector_setup() {
  SelectorSetup setup{.portfolios = portfolios_,
                      .log = log_,
                      .results = results_ ? &*results_ : nullptr,
                      .cubins = cubins_ ? &*cubins_ : nullptr,
                      .bundle = bundle_ ? &*bundle_ : nullptr,
                      .use_shipped_winners = options_.use_shipped_winners,
                      .miss = options_.miss};
  setup.tune = [this](const DeviceInfo& device, const GemmProblem& problem) {
    TuningOptions options;
    options.budget_seconds = options_.miss_budget_seconds;
    tune_on(device, {problem}, options);
    backend_->choose_again(device, problem);  // calls for others stay warm
  };
  setup.in_background = [this](Untuned product) { background_->add(std::move(product)); };
  return setup;
}

std::unique_ptr<GemmBackend> Core::make_backend() {
  const SelectorSetup setup = selector_setup();
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
  const Allocator* const allocator = options_.allocator.allocate ? &options_.allocator : nullptr;
  const auto on_gpus = [&](std::optional<int> only) {
    return make_gpu_gemm(driver.devices, only, setup, options_.max_workspace_bytes, allocator);
  };
  if (any && driver.usable) {
    check_bundle(driver.devices);
    return on_gpus(std::nullopt);
  }
  check_bundle({choose_device(std::to_string(any ? 0 : number)).device});  // says what is wrong
  return on_gpus(number);
}

std::unique_ptr<BackgroundTuner> Core::make_background_tuner() {
  BackgroundWork work{.kernels = portfolios_.kernels(),
                      .budget_s = options_.miss_budget_seconds,
                      .use_shipped_winners = options_.use_shipped_winners};
  work.tune = [this](const DeviceInfo& device, const TuneRequest& request,
                     const std::stop_token& stop) {
    return tuning_->tune_beside(portfolios_, device, request, stop);
  };
  work.use = [this](const DeviceInfo& device, const Problem& problem) {
    backend_->choose_again(device, gemm_problem(problem));
  };
  return std::make_unique<BackgroundTuner>(std::move(work), log_);
}

TuningResult Core::tune(const std::vector<GemmProblem>& problems, const TuningOptions& options) {
  const DeviceInfo& device = backend().selector().device();
  TuningResult result;
  try {
    result = tune_on(device, problems, options);
  } catch (...) {
    backend_->forget_choices();  // what was measured counts
    throw;
  }
  backend_->forget_choices();  // once the cubins of the search are in their store
  return result;
}

TuningResult Core::tune_on(const DeviceInfo& device, const std::vector<GemmProblem>& problems,
                           const TuningOptions& options) {
  if (!tuning_) throw UsageError("this Library has a bundle: one without tunes");
  const TuneRequest request = gemm_request(problems, options, options_.use_shipped_winners);
  const BackgroundTuner::Pause pause(background_.get());
  return tuning_result(problems, tuning_->tune(portfolios_, device, request, options));
}

const KernelLauncher& Core::launcher() {
  std::call_once(launcher_made_, [this] {
    const int without_context = std::max(0, options_.device.number());
    launcher_ = backend().selector().device().is_cpu() ? make_cpu_launcher()
                                                       : make_gpu_launcher(without_context);
  });
  return *launcher_;
}

TuneReport Core::tune_own(const ShippedPortfolios& kernels, const TuneRequest& request,
                          const TuningOptions& options) {
  const DeviceInfo& device = backend().selector().device();
  if (!tuning_) throw UsageError("this Library has a bundle: one without tunes");
  const BackgroundTuner::Pause pause(background_.get());
  return tuning_->tune(kernels, device, request, options);
}

void Core::end_background() {
  if (background_ && forks_ == fork_count()) background_->stop();
}

}  // namespace autotune
