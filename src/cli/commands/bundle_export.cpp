#include "cli/commands/bundle_export.hpp"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/bundle_plan.hpp"
#include "api/device_choice.hpp"
#include "api/kernel_selector.hpp"
#include "cli/call_watch.hpp"
#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "cli/kernel_options.hpp"
#include "cli/options/target.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/output_files.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "core/posix/host_resources.hpp"
#include "export/bundle/bundle_writer.hpp"

namespace autotune {
namespace {

// Sizes of which some are near to any that an application may have: square ones, and those with a
// short or a long side.
constexpr const char* kPortfolio =
    "32,128,512,2048,8192,128x128x16384,32x4096x4096,4096x32x4096,1x4096x4096,4096x1x4096";

// The device that a bundle is made for; it need not be here.
struct BundleDevice {
  DeviceInfo info;
  std::optional<DeviceQuery> results_of;  // none: its own
  BundleTarget target;
};

DeviceInfo absent(const std::string& architecture) {
  if (auto device = device_of_architecture(architecture)) return *std::move(device);
  throw unknown_architecture(architecture);
}

std::optional<BundleDevice> known_device(const Options& options, const TuningDatabase* database) {
  const std::vector<Match> known = list_winners(database, device_named(options, database));
  if (known.empty()) return std::nullopt;
  const Winner& winner = known.front().winner;
  const DeviceClass parsed = parse_device_class(winner.device_class);
  BundleDevice device{absent(parsed.architecture),
                      DeviceQuery{.kernels = options.kernels(),
                                  .device_class = winner.device_class,
                                  .label = winner.device_label,
                                  .environment = {},
                                  .use_shipped = !options.no_shipped},
                      {parsed.architecture, winner.device_label}};
  device.info.label = winner.device_label;
  device.info.sm_count = parsed.sm_count;
  return device;
}

// The device that --device or --arch names, else the GPU here. Returns nullopt where nothing is
// known of a name.
std::optional<BundleDevice> bundle_device(const Options& options, const TuningDatabase* database) {
  const std::string& name = options.device;
  if (!options.architecture.empty() && !name.empty()) {
    throw UsageError("--arch and --device exclude each other: a device has its architecture");
  }
  if (!options.architecture.empty()) {
    return BundleDevice{
        absent(options.architecture),
        DeviceQuery{.kernels = options.kernels(), .label = options.architecture, .environment = {}},
        {options.architecture, ""}};
  }
  const bool is_here =
      name.empty() || name == "auto" || name.find_first_not_of("0123456789") == std::string::npos;
  if (!is_here && !names_cpu_device(name)) return known_device(options, database);
  DeviceChoice here;
  try {
    here = watched(kDriver, [&] { return choose_device(name.empty() ? "auto" : name); });
  } catch (const UsageError& error) {
    throw UsageError(std::string("--device: ") + error.what());
  }
  if (here.device.is_cpu()) {
    throw UsageError(
        fmt::format("--device: a bundle is for a GPU: name one, e.g. --device \"NVIDIA H200\", or "
                    "--arch sm_90{}",
                    here.note.empty() ? "" : " (" + here.note + ")"));
  }
  return BundleDevice{here.device, std::nullopt, {here.device.architecture(), here.device.label}};
}

std::vector<Problem> in_all_layouts(const std::vector<Problem>& sizes, const Options& options) {
  std::vector<Problem> problems;
  for (const Problem& size : sizes) {
    for (const std::string_view layout : kLayouts) {
      problems.push_back(options.in_layout(size, layout));
    }
  }
  return problems;
}

BundlePlan gemm_plan(const Options& options, const BundleDevice& device,
                     const ResultSource& results, bool with_portfolio) {
  const Log silent({});
  const KernelSelector selector(device.info, {.portfolios = options.portfolios,
                                              .log = silent,
                                              .results = &results,
                                              .results_of = device.results_of,
                                              .use_shipped_winners = !options.no_shipped});
  std::vector<Problem> problems = in_all_layouts(options.sizes, options);
  if (with_portfolio) {
    const auto others = in_all_layouts(parse_sizes(kPortfolio), options);
    problems.insert(problems.end(), others.begin(), others.end());
  }
  return plan_bundle(selector, problems);
}

BundlePlan own_plan(const Options& options, const BundleDevice& device,
                    const ResultSource& results) {
  const DeviceQuery here{.kernels = options.kernels(),
                         .device_class = device.info.device_class(),
                         .label = {},
                         .environment = Environment{.driver = device.info.driver_text()},
                         .use_shipped = false,
                         .max_error = {}};
  return plan_own_bundle(options.kernels().templates().front(), device.info,
                         device.results_of.value_or(here), options.sizes, results, Log({}));
}

void check_options(const Options& options) {
  if (!options.templates.empty() || !options.configuration.empty()) {
    throw UsageError("--template, --config: leave them out, a bundle has the best known kernels");
  }
  if (options.layout) throw UsageError("--layout: leave it out, a bundle has all layouts");
}

void check_path(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored) || !path.has_filename()) {
    throw UsageError(fmt::format("--bundle: {} is a folder: name a file, e.g. {}", path.string(),
                                 (path / "app.bundle").string()));
  }
  check_folder_exists("--bundle", path.string());
}

// Compiles a plan, and shows how far it is. Returns nullopt, and says so, where it is interrupted.
std::optional<BundleContent> compile_shown(const BundlePlan& plan, const BundleTarget& target,
                                           const Options& options,
                                           const InterruptWatch& interrupts) {
  say(fmt::format("compiling {} for {}", counted(plan.code.size(), "kernel"),
                  printable(target.text())));
  const int jobs = options.jobs > 0 ? static_cast<int>(options.jobs)
                                    : compile_jobs_for(usable_cores(), available_memory_bytes());
  const auto nvrtc = compiler_for(target.architecture);
  ProgressLine line(options.progress);
  TuneProgress progress{.total = static_cast<std::int64_t>(plan.code.size()), .phase = "compile"};
  auto content = compile_bundle(*nvrtc, plan, target, jobs, interrupts.token(), [&] {
    ++progress.done;
    line.show(progress);
  });
  line.hide();
  if (!content) {
    say(
        fmt::format("interrupted: {} of {} kernels were compiled, which are kept for the next "
                    "time; no file was written",
                    progress.done, progress.total));
  }
  return content;
}

// What the products of one problem run with; a second choice, without a workspace, is left out.
void print_choices(const KernelSet& kernels, const BundlePlan& plan, std::size_t problems) {
  const Problem* last = nullptr;
  std::size_t printed = 0;
  for (const BundledChoice& choice : plan.choices) {
    if (last != nullptr && *last == choice.problem) continue;
    if (printed == problems) return;
    last = &choice.problem;
    ++printed;
    fmt::print("{}: {}, {}\n", size_text(kernels, choice.problem), choice.template_name,
               printable(choice.explanation));
  }
}

}  // namespace

int run_bundle_export(const Options& options, const BundleOptions& bundle) {
  check_options(options);
  const InterruptWatch interrupts;
  const std::optional<TuningDatabase> opened = open_database_read_only(options.database);
  const auto device = bundle_device(options, opened ? &*opened : nullptr);
  if (!device) {
    say(fmt::format(
        "nothing is known of {}: name a device (known: {}) or an architecture, "
        "e.g. --arch sm_90",
        printable(options.device),
        known_devices(options.kernels(), opened ? &*opened : nullptr, !options.no_shipped)));
    return exit_code::kNothingStored;
  }
  check_path(bundle.path);
  OutputFiles files({.option = "--bundle",
                     .begins = {kBundleMark},
                     .read = options.sizes_file,
                     .force = bundle.force,
                     .streams = false});
  files.check(bundle.path);  // before the work, which takes minutes

  const ResultSource results(options.database, TuningDatabase::kBusyTimeout);
  const bool is_own = have_named_sizes(options.kernels());
  const BundlePlan plan = is_own ? own_plan(options, *device, results)
                                 : gemm_plan(options, *device, results, bundle.portfolio);
  const auto content = compile_shown(plan, device->target, options, interrupts);
  if (!content) return exit_code::kInterrupted;
  const std::string bytes = bundle_bytes(*content);
  files.add(bundle.path, bytes);
  files.commit();
  print_choices(options.kernels(), plan, options.sizes.size() * (is_own ? 1 : kLayouts.size()));
  fmt::print("{}: {} kernels for {}, {} bytes\n", printable(bundle.path), plan.code.size(),
             printable(device->target.text()), bytes.size());
  return exit_code::kDone;
}

}  // namespace autotune
