#include "cli/options/tuning_setup.hpp"

#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "cli/call_watch.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options/option_values.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cpu/device.hpp"
#include "db/default_paths.hpp"
#include "db/shipped_winners.hpp"
#include "gpu/gpu.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {

namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::set<std::string> known_labels(const KernelSet& kernels, const TuningDatabase* database,
                                   bool use_shipped) {
  std::set<std::string> labels;
  for (const Match& match :
       list_winners(database, {.kernels = kernels, .use_shipped = use_shipped})) {
    labels.insert(match.winner.device_label);
  }
  return labels;
}

// A label that is known, or the only known one that has the text in it; else the text. Throws
// UsageError for a part of several names.
std::string full_label(const KernelSet& kernels, const std::string& text,
                       const TuningDatabase* database, bool use_shipped) {
  const ResultFilter filter{.device_label = text};
  bool is_known = use_shipped && !shipped_winners(filter).empty();
  if (database != nullptr) {
    database->visit_problems(filter, [&](const Problem&) { is_known = true; });
  }
  if (is_known) return text;
  std::set<std::string> labels = known_labels(kernels, database, use_shipped);
  std::erase_if(labels, [&](const std::string& label) {
    return lower_case(label).find(lower_case(text)) == std::string::npos;
  });
  if (labels.size() > 1) {
    throw UsageError(fmt::format("--device: {} is part of {} names: {}: name one of them",
                                 in_quotes(text),
                                 labels.size() == 2 ? "two" : std::to_string(labels.size()),
                                 printable(fmt::format("{}", fmt::join(labels, ", ")))));
  }
  return labels.empty() ? text : *labels.begin();
}

// Says on standard error that the compiler is waited for, where it takes long to say which one it
// is. The call has a time limit.
class WatchedWorker : public Worker {
 public:
  explicit WatchedWorker(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}

  WorkerOutcome call(const WorkerRequest& request, CallLimit limit) override {
    std::optional<CallWatch> watch;
    if (std::holds_alternative<DescribeCompilerRequest>(request)) {
      watch.emplace(kCompiler, CallWatch::Patience{.before_end = std::nullopt});
    }
    return worker_->call(request, limit);
  }
  void interrupt() override { worker_->interrupt(); }

 private:
  std::unique_ptr<Worker> worker_;
};

}  // namespace

DeviceInfo device_for(const std::string& option) {
  try {
    DeviceChoice choice =
        watched(kDriver, [&] { return choose_device(option.empty() ? "auto" : option); });
    if (!choice.note.empty()) say(choice.note);
    return std::move(choice.device);
  } catch (const UsageError& error) {
    throw UsageError(std::string("--device: ") + error.what());
  }
}

std::vector<DeviceInfo> devices_for(const std::string& option) {
  if (option != "all") {
    try {
      return {device_for(option)};
    } catch (const UsageError&) {
      throw UsageError(
          fmt::format("--device: {} must be auto, cpu, the number of a GPU or all, e.g. --device 0",
                      in_quotes(option)));
    }
  }
  DriverReport driver = driver_report();
  if (!driver.usable) throw EnvironmentError("--device all: " + driver.problem);
  std::map<std::string, std::vector<std::string>> classes;
  for (const DeviceInfo& device : driver.devices) {
    classes[device.device_class()].push_back(short_name(device));
  }
  if (classes.size() == 1) return std::move(driver.devices);
  std::string which;
  for (const auto& [device_class, members] : classes) {
    which +=
        fmt::format("{}{}: {}", which.empty() ? "" : "; ", device_class, fmt::join(members, ", "));
  }
  throw EnvironmentError(
      fmt::format("--device all: a result holds for one kind of GPU, and this machine has {} "
                  "kinds: {}. Tune each with "
                  "--device NUMBER",
                  classes.size(), which));
}

DeviceQuery device_named(const Options& options, const TuningDatabase* database) {
  const std::string& name = options.device;
  const bool use_shipped = !options.no_shipped;
  if (name == "all") {
    throw UsageError(fmt::format("--device: all is for tune: name one device, e.g. --device 0 ({})",
                                 known_devices(options.kernels(), database, use_shipped)));
  }
  if (names_cpu_device(name)) {
    return {
        .kernels = options.kernels(), .label = cpu_device_info().label, .use_shipped = use_shipped};
  }
  if (name == "auto" || parse_whole_number(name) || name == "0") {
    const DeviceInfo device = device_for(name);
    return {.kernels = options.kernels(),
            .device_class = device.device_class(),
            .label = device.label,
            .environment = {},
            .use_shipped = use_shipped};
  }
  return {.kernels = options.kernels(),
          .label = name.empty() ? "" : full_label(options.kernels(), name, database, use_shipped),
          .use_shipped = use_shipped};
}

DeviceQuery device_query(const Options& options, const TuningDatabase* database) {
  Options asked = options;
  if (asked.device.empty()) asked.device = "auto";
  return device_named(asked, database);
}

std::string known_devices(const KernelSet& kernels, const TuningDatabase* database,
                          bool use_shipped) {
  const std::set<std::string> labels = known_labels(kernels, database, use_shipped);
  return labels.empty() ? "none" : printable(fmt::format("{}", fmt::join(labels, ", ")));
}

int nothing_matches(const KernelSet& kernels, const std::string& template_name,
                    const TuningDatabase& database) {
  const auto is_of_template = [&](const Winner& winner) {
    return winner.template_name == template_name;
  };
  const std::vector<Winner> winners = database.winners({});
  const bool is_known = template_name.empty() || kernels.find(template_name) != nullptr ||
                        !database.summaries({}, template_name).empty() ||
                        std::ranges::any_of(winners, is_of_template);
  if (!is_known) {
    throw UsageError(
        fmt::format("--template: no template {}: 'autotune db list' shows what there is",
                    in_quotes(template_name)));
  }
  const std::string devices = known_devices(kernels, &database, /*use_shipped=*/false);
  say(
      fmt::format("no stored trials match these options (devices with results: {}): "
                  "'autotune db list' shows what there is",
                  printable(devices)));
  return exit_code::kNothingStored;
}

std::string device_warning(const DeviceInfo& device) {
  if (device.mig) return "the GPU is a MIG slice: results hold only for slices of this shape";
  if (device.mps) return "the GPU is shared through MPS: times may include other programs'";
  if (device.kernel_timeout)
    return "the GPU drives a display: the driver ends kernels that run long";
  if (device.is_cpu()) return "";
  // A driver that hangs here is not waited for: the device may work all the same, and if it does
  // not, that is found when it is opened.
  constexpr std::chrono::milliseconds kPatience(2000);
  const auto load = answer_within(kPatience, [device] { return inspect_load(device); });
  if (!load) return "the driver does not say whether other programs use the GPU";
  return *load ? busy_warning(**load) : "";
}

std::string short_name(const DeviceInfo& device) {
  if (device.is_cpu()) return device.label;
  return fmt::format("GPU {} ({})", device.ordinal, device.label);
}

std::string describe(const DeviceInfo& device) {
  if (device.is_cpu()) {
    return fmt::format("{} ({} cores; its times say nothing about a GPU)", device.label,
                       device.sm_count);
  }
  return fmt::format("{} ({}, {} SMs, {:.1f} GiB, driver {})", device.label, device.architecture(),
                     device.sm_count, static_cast<double>(device.memory_bytes) * 0x1p-30,
                     device.driver_release.empty() ? "unknown" : device.driver_release);
}

void check_folder_exists(const std::string& option, const std::string& path) {
  if (!lacks_folder(path)) return;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const char* const separator = option.starts_with("--") ? " " : "=";
  throw UsageError(fmt::format(
      "{0}: the folder {1} does not exist: make it, or name another file, e.g. {0}{2}{3}", option,
      in_quotes(folder.string()), separator,
      in_quotes(std::filesystem::path(path).filename().string())));
}

void check_database_folder(const std::string& explicit_path) {
  if (!explicit_path.empty()) return check_folder_exists("--db", explicit_path);
  if (const auto path = database_of_environment()) check_folder_exists("AUTOTUNE_DB", *path);
}

OpenedDatabase open_database(const std::string& explicit_path, const DatabaseWait& wait) {
  check_database_folder(explicit_path);
  try {
    return open_results(database_place(explicit_path), wait);
  } catch (const StorageError& error) {
    throw UsageError(std::string("--db: ") + error.what());
  }
}

std::optional<TuningDatabase> open_database_read_only(const std::string& explicit_path) {
  if (explicit_path.empty()) {
    try {
      return TuningDatabase::open_default_read_only();
    } catch (const StorageError& error) {
      say(fmt::format("warning: {}; stored results are left out", error.what()));
      return std::nullopt;
    }
  }
  return named_database("--db", explicit_path);
}

TuningDatabase named_database(const std::string& option, const std::string& path) {
  try {
    std::optional<TuningDatabase> database = TuningDatabase::open_read_only(path);
    if (database) return *std::move(database);
  } catch (const StorageError& error) {
    throw UsageError(fmt::format("{}: {}", option, error.what()));
  }
  throw UsageError(fmt::format("{}: '{}' must be a database that exists", option, path));
}

bool database_exists(const std::string& explicit_path) {
  try {
    std::error_code ignored;
    return std::filesystem::exists(
        explicit_path.empty() ? default_database_path() : std::filesystem::path(explicit_path),
        ignored);
  } catch (const StorageError&) {
    return false;  // there is no place for one
  }
}

TuningDatabase existing_database(const std::string& explicit_path) {
  if (!explicit_path.empty()) return named_database("--db", explicit_path);
  std::optional<TuningDatabase> database = TuningDatabase::open_default_read_only();
  if (database) return *std::move(database);
  throw UsageError(fmt::format("there is no database at {} yet: tune something first",
                               default_database_path().string()));
}

TunerSetup make_setup(const ShippedPortfolios& portfolios, const std::vector<DeviceInfo>& devices,
                      int jobs) {
  TunerSetup setup = isolated_setup(portfolios, devices, own_program_path());
  setup.make_compile_worker = [make_worker = std::move(setup.make_compile_worker)] {
    return std::make_unique<WatchedWorker>(make_worker());
  };
  if (jobs > 0) setup.compile_jobs = jobs;
  return setup;
}

}  // namespace autotune
