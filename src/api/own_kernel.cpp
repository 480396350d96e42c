#include "api/own_kernel.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/gemm_call.hpp"
#include "api/kernel_images.hpp"
#include "api/tuning.hpp"
#include "own_kernels/described_launch.hpp"
#include "select/lookup.hpp"

namespace autotune {
namespace {

using Kind = DescribedArgument::Kind;

KernelSizes sizes_of(const Problem& problem) {
  KernelSizes sizes;
  for (const auto& [name, value] : problem.sizes()) sizes[name] = value;
  return sizes;
}

// Returns whether an argument is the size of its name.
bool is_size(const DescribedArgument& argument) {
  return argument.kind == Kind::number && argument.value->source() == argument.name;
}

void check_count(const DescribedKernel& kernel, std::size_t count) {
  if (count == kernel.arguments.size()) return;
  throw UsageError(fmt::format("{} has {} arguments, but {} were given", kernel.key,
                               kernel.arguments.size(), count));
}

[[noreturn]] void refuse_argument(const DescribedKernel& kernel, const DescribedArgument& argument,
                                  const std::string& why) {
  throw UsageError(fmt::format("{}: argument {} {}", kernel.key, argument.name, why));
}

bool can_run(const KernelTemplate& kernel, const Configuration& configuration,
             const Problem& problem, const DeviceInfo& device) {
  return fits_device(kernel, configuration, device) && kernel.fits(configuration, problem) &&
         kernel.geometry(configuration, problem).on_device(device.sm_count).is_launchable();
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

void PlannedLaunch::run(Stream stream, const LaunchArgument* arguments, std::size_t count) const {
  check_not_forked(forks);
  const DescribedKernel& kernel = kernels.described();
  check_count(kernel, count);
  std::array<LaunchValues::Tensor, ArgumentLayout::kMost> tensors = {};
  std::array<double, ArgumentLayout::kMostScalars> scalars = {};
  std::array<std::size_t, 3> next = {};  // by kind
  for (std::size_t i = 0; i < count; ++i) {
    const DescribedArgument& described = kernel.arguments[i];
    const LaunchArgument& given = arguments[i];
    const std::size_t place = next[static_cast<std::size_t>(described.kind)]++;
    const bool is_address = given.kind() == LaunchArgument::Kind::address;
    if (is_address != (described.kind == Kind::buffer)) {
      refuse_argument(kernel, described,
                      is_address ? "is a number, not an address" : "is the address of a buffer");
    }
    switch (described.kind) {
      case Kind::buffer: {
        const std::int64_t bytes = size_bytes(described.type) * described.width;
        const std::uint64_t address = address_of(given.address());
        if (address == 0) refuse_argument(kernel, described, "is null");
        if (address % static_cast<std::uint64_t>(bytes) != 0) {
          refuse_argument(kernel, described, fmt::format("must be a multiple of {} bytes", bytes));
        }
        tensors[place].address = address;
        break;
      }
      case Kind::number:
        if (given.kind() != LaunchArgument::Kind::whole || given.whole() != numbers[place]) {
          refuse_argument(kernel, described,
                          fmt::format("must be {} for these sizes", numbers[place]));
        }
        break;
      case Kind::scalar:
        scalars[place] = given.real();
        break;
    }
  }
  loaded->run({.tensors = tensors, .sizes = numbers, .scalars = scalars}, stream);
}

OwnKernel::OwnKernel(std::shared_ptr<Core> core, OwnKernels kernels)
    : core_(std::move(core)), kernels_(std::move(kernels)), portfolios_(kernels_.kernels()) {
  if (core_->has_bundle()) {
    throw UsageError("this Library has a bundle, which holds no kernels of the application's own");
  }
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
  const auto make_plans_anew = [&] {
    const std::lock_guard lock(mutex_);
    plans_.clear();
    ++searches_;
  };
  TuneReport report;
  try {
    report = core_->tune_own(portfolios_, request, options);
  } catch (...) {
    make_plans_anew();  // what was measured counts
    throw;
  }
  make_plans_anew();
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

OwnKernel::Chosen OwnKernel::choose(const Problem& problem) const {
  const DeviceInfo& device = core_->backend().selector().device();
  const DeviceQuery query{.kernels = kernels_.kernels(),
                          .device_class = device.device_class(),
                          .label = {},
                          .environment = Environment{.driver = device.driver_text()},
                          .use_shipped = false,
                          .max_error = {}};
  std::optional<Match> match;
  const std::string unread = core_->results().read([&](const ResultReader& results) {
    match = find_best(&results, query, problem, /*exact_only=*/false, [&](const Winner& winner) {
      return can_run(kernel(), winner.configuration, problem, device);
    });
  });
  if (!unread.empty()) core_->log().warning("stored results are left out: {}", unread);
  if (!match) {
    return {{MatchKind::predicted, "nothing is stored: the file's default",
             kernel().default_configuration(problem), sizes_of(problem), std::nullopt},
            {}};
  }
  const Winner& winner = match->winner;
  return {{match->kind, match->explanation, winner.configuration, sizes_of(winner.problem),
           winner.median_us},
          winner.environment.nvrtc_build};
}

KernelConfiguration OwnKernel::query(const KernelSizes& sizes) const {
  return choose(problem_of(sizes)).choice;
}

KernelLauncher& OwnKernel::launcher() {
  const DeviceInfo& device = core_->backend().selector().device();
  const std::lock_guard lock(mutex_);
  if (!launcher_) {
    const int without_context = std::max(0, core_->options().device.number());
    launcher_ = device.is_cpu() ? make_cpu_launcher() : make_gpu_launcher(without_context);
  }
  return *launcher_;
}

std::shared_ptr<const PlannedLaunch> OwnKernel::plan(const KernelSizes& sizes,
                                                     std::optional<Stream> stream) {
  const Problem problem = problem_of(sizes);
  const LibraryOptions& options = core_->options();
  const auto is_measured = [](const Chosen& one) {
    return one.choice.match == MatchKind::exact || one.choice.match == MatchKind::exact_stale;
  };
  Chosen chosen = choose(problem);
  if (!is_measured(chosen) && options.miss == MissPolicy::tune) {
    TuningOptions search;
    search.budget_seconds = options.miss_budget_seconds;
    tune({sizes}, search);
    chosen = choose(problem);
  }
  const DeviceInfo& device = core_->backend().selector().device();
  if (!is_measured(chosen) && options.miss == MissPolicy::refuse) {
    throw NotTunedError(fmt::format("{} {} was not tuned for {}", kernel().name,
                                    kernel().operation->text(problem), device.label));
  }
  const Configuration& configuration = chosen.choice.configuration;
  core_->log().info("{} {} on {}: {}, {}: {}", kernel().name, kernel().operation->text(problem),
                    device.label, to_string(chosen.choice.match), to_string(configuration),
                    chosen.choice.explanation);
  if (!can_run(kernel(), configuration, problem, device)) {
    throw UsageError(fmt::format(
        "{} cannot run {} with its default configuration on {}: tune it, or give other defaults",
        kernel().name, kernel().operation->text(problem), device.label));
  }
  KernelImages images(device, core_->log(), core_->cubins(), options.miss);
  const auto image = [&] {
    return images.image(kernel(), configuration, code_traits(kernel(), problem),
                        chosen.compiler_build);
  };
  const LaunchDescription launch{
      kernel().name, kernel().geometry(configuration, problem).on_device(device.sm_count),
      kernel().signature(problem)};
  auto loaded = launcher().load(launch, image, stream);
  return not_destroyed_in_forks(new PlannedLaunch{.kernels = kernels_,
                                                  .choice = std::move(chosen.choice),
                                                  .numbers = numbers_of(described(), problem),
                                                  .loaded = std::move(loaded)});
}

KernelSizes OwnKernel::sizes_among(const LaunchArgument* arguments, std::size_t count) const {
  const DescribedKernel& kernel = described();
  check_count(kernel, count);
  KernelSizes sizes;
  for (const std::string& size : kernel.sizes) {
    const auto place = std::ranges::find_if(kernel.arguments, [&](const DescribedArgument& each) {
      return is_size(each) && each.name == size;
    });
    if (place == kernel.arguments.end()) {
      throw UsageError(
          fmt::format("{}: the size {} is no argument: launch a plan", kernel.key, size));
    }
    const LaunchArgument& given = arguments[place - kernel.arguments.begin()];
    if (given.kind() != LaunchArgument::Kind::whole) {
      refuse_argument(kernel, *place, "is a whole number");
    }
    sizes[size] = given.whole();
  }
  return sizes;
}

std::vector<ArgumentDescription> OwnKernel::arguments(const KernelSizes& sizes) const {
  std::vector<TensorDesc> tensors;
  if (!sizes.empty() || described().sizes.empty()) {
    tensors = tensors_of(described(), problem_of(sizes));
  }
  std::vector<ArgumentDescription> result;
  std::size_t buffers = 0;
  for (const DescribedArgument& each : described().arguments) {
    ArgumentDescription& made = result.emplace_back();
    made.name = each.name;
    made.is_size = is_size(each);
    if (each.kind == Kind::buffer) {
      made.type = each.type;
      if (!tensors.empty()) made.elements = tensors[buffers++].elements();
      made.is_written = each.role != TensorRole::input;
    } else {
      made.kind =
          each.kind == Kind::number ? LaunchArgument::Kind::whole : LaunchArgument::Kind::real;
    }
  }
  return result;
}

void OwnKernel::launch(const KernelSizes& sizes, Stream stream, const LaunchArgument* arguments,
                       std::size_t count) {
  const std::pair key(launcher().context(), sizes);
  std::shared_ptr<const PlannedLaunch> planned;
  std::uint64_t searches = 0;
  {
    const std::lock_guard lock(mutex_);
    searches = searches_;
    if (const auto known = plans_.find(key); known != plans_.end()) planned = known->second;
  }
  if (!planned) {
    planned = plan(sizes, stream);
    const std::lock_guard lock(mutex_);
    if (searches == searches_) plans_.emplace(key, planned);
  }
  planned->run(stream, arguments, count);
}

}  // namespace autotune
