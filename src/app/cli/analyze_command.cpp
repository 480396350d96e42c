// autotune analyze: what a configuration takes of an SM and how it uses memory, by arithmetic.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/analysis_report.hpp"
#include "cli/analyzed_device.hpp"
#include "cli/command.hpp"
#include "cli/configuration_choice.hpp"
#include "cli/exit_codes.hpp"
#include "cli/size_list.hpp"
#include "cli/space_options.hpp"
#include "cli/tuning_setup.hpp"
#include "gpu/nvrtc.hpp"

namespace autotune {
namespace {

struct AnalyzeOptions {
  SpaceOptions space;
  std::string configuration;
  std::string architecture;
  std::string device;
  std::string sizes;
  std::string layout = "NN";
  std::vector<std::string> limits;
  std::string database;
  bool json = false;

  [[nodiscard]] bool names_parameters() const {
    return !space.tile_width.empty() || !space.results_per_thread.empty() || !space.unroll.empty();
  }
};

// Stands for all sizes that are aligned and larger than a tile.
constexpr GemmProblem kUsualProblem{.m = 1024, .n = 1024, .k = 1024};

std::optional<GemmProblem> parse_problem(const AnalyzeOptions& options) {
  if (options.sizes.empty()) return std::nullopt;
  std::vector<GemmProblem> problems = parse_sizes(options.sizes);
  if (problems.size() != 1) throw UsageError("analyze: give one size, for example --sizes 2048");
  set_layout(problems.front(), options.layout);
  return problems.front();
}

// What --tile-width and the like leave out: one result, the default's tile width, no branch in the
// inner loop.
ChosenConfiguration configuration_by_parameters(const AnalyzeOptions& options,
                                                const GemmProblem& problem) {
  if (!options.configuration.empty()) {
    throw UsageError("--config excludes --tile-width, --results-per-thread and --unroll");
  }
  const KernelTemplate& kernel = single_template(options.space.templates);
  SpaceFilter filter = options.space.filter();
  if (filter.tile_widths.size() > 1 || filter.unrolls.size() > 1 ||
      filter.results_per_thread.size() + filter.result_shapes.size() > 1) {
    throw UsageError(
        "analyze: one configuration at a time, for example --tile-width 16 "
        "--results-per-thread 4");
  }
  if (filter.tile_widths.empty()) {
    filter.tile_widths = {kernel.tile_shape(kernel.default_configuration(problem)).tile_width};
  }
  if (filter.results_per_thread.empty() && filter.result_shapes.empty()) {
    filter.results_per_thread = {1};
  }
  if (filter.unrolls.empty()) filter.unrolls = {SpaceFilter::kFullUnroll};
  if (auto configuration = plainest_configuration(kernel, filter)) {
    return {&kernel, *std::move(configuration), "given"};
  }
  throw UsageError(
      fmt::format("analyze: {} has no configuration with these parameters", kernel.name));
}

ChosenConfiguration configuration_for(const AnalyzeOptions& options, const GemmProblem& problem,
                                      const AnalyzedDevice& device,
                                      const TuningDatabase* database) {
  if (options.names_parameters()) return configuration_by_parameters(options, problem);
  const ConfigurationChoice choice{options.space.templates, options.configuration};
  if (options.configuration.empty() && device.label.empty()) {
    const KernelTemplate& kernel = single_template(options.space.templates);
    return {&kernel, kernel.default_configuration(problem), "default"};
  }
  return choose_configuration(choice, problem, database, device.query);
}

// The compiler's figures; `resources` stay -1, and a note says why, where there are none.
Resources compile(const ChosenConfiguration& chosen, const GemmProblem& problem,
                  const AnalyzedDevice& device, std::vector<std::string>& notes) {
  if (device.architecture.empty()) return {};  // noted where the device was looked for
  const auto unknown = [&](const std::string& why) {
    notes.push_back("registers are unknown, and blocks per SM do not count them: " + why);
    return Resources{};
  };
  try {
    const auto nvrtc = gpu::Nvrtc::open();
    const auto& known = nvrtc->architectures();
    if (std::find(known.begin(), known.end(), device.architecture) == known.end()) {
      return unknown(
          fmt::format("NVRTC {} does not compile for {}", nvrtc->build(), device.architecture));
    }
    const gpu::CompileResult result =
        nvrtc->compile(chosen.kernel->name, std::string(chosen.kernel->source),
                       compile_options(*chosen.kernel, chosen.configuration,
                                       unpadded_traits(problem), device.architecture));
    return result.ok ? result.resources : unknown("the compiler refuses this configuration");
  } catch (const EnvironmentError& error) {
    return unknown(error.what());
  }
}

template <typename Integer>
std::optional<std::int64_t> if_known(Integer value) {
  return value >= 0 ? std::optional<std::int64_t>(value) : std::nullopt;
}

void note_what_is_missing(AnalysisReport& report) {
  if (!report.problem) {
    report.notes.emplace_back(
        "no size is given (--sizes): blocks, waves and roofline are unknown, and the accesses are "
        "those of aligned matrices larger than a tile");
  } else if (report.device.label.empty() && !report.device.architecture.empty()) {
    report.notes.emplace_back(
        "an architecture alone has no number of SMs and no rates: waves and roofline are unknown "
        "(--device NAME)");
  } else if (!report.device.label.empty() && !report.roofline) {
    report.notes.push_back(
        fmt::format("no rates of {} are stored: the roofline is unknown (tuning measures them)",
                    report.device.label));
  }
  if (report.accesses.empty()) {
    report.notes.push_back(
        fmt::format("{} does not say how its warps use memory", report.chosen.kernel->name));
  }
}

void check_template(const KernelTemplate& kernel, const std::string& architecture) {
  if (architecture.empty()) return;
  const int capability = std::stoi(architecture.substr(3));
  if (runs_on(kernel, capability)) return;
  const std::string needed = capability < kernel.min_compute_capability
                                 ? fmt::format("sm_{} or newer", kernel.min_compute_capability)
                                 : fmt::format("one before sm_{}", kernel.end_compute_capability);
  throw UsageError(
      fmt::format("--template: {} needs {}, not {}", kernel.name, needed, architecture));
}

AnalysisReport make_report(const AnalyzeOptions& options) {
  GemmProblem usual = kUsualProblem;
  set_layout(usual, options.layout);
  AnalysisReport report;
  report.layout = layout_text(usual);
  report.problem = parse_problem(options);
  const GemmProblem problem = report.problem.value_or(usual);
  check_choice({options.space.templates, options.configuration});
  if (options.names_parameters()) {
    static_cast<void>(configuration_by_parameters(options, problem));
  }

  const std::optional<TuningDatabase> opened = open_database_read_only(options.database);
  const TuningDatabase* database = opened ? &*opened : nullptr;
  report.device = analyzed_device(options.architecture, options.device, options.limits, database);
  report.notes = report.device.notes;
  report.chosen = configuration_for(options, problem, report.device, database);
  check_template(*report.chosen.kernel, report.device.architecture);

  const Resources compiled = compile(report.chosen, problem, report.device, report.notes);
  report.spill_bytes = if_known(compiled.spill_bytes);
  report.analysis = analyze(*report.chosen.kernel, report.chosen.configuration, report.device.sm,
                            if_known(compiled.registers), report.problem ? &problem : nullptr,
                            report.device.sm_count);
  report.accesses = summarize_accesses(*report.chosen.kernel, report.chosen.configuration, problem);
  if (report.problem && report.device.rates) {
    report.roofline =
        roofline(problem, report.device.rates->fma_gflops, report.device.rates->copy_gbps);
  }
  note_what_is_missing(report);
  return report;
}

int run_analyze(const AnalyzeOptions& options) {
  const AnalysisReport report = make_report(options);
  if (options.json) {
    fmt::print("{}\n", analysis_json(report).dump(2));
    return exit_code::kDone;
  }
  fmt::print("{}", analysis_text(report));
  for (const std::string& note : report.notes) fmt::print(stderr, "autotune: {}\n", note);
  return exit_code::kDone;
}

}  // namespace

void add_analyze_command(CommandLine& line) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* command =
      line.app.add_subcommand("analyze", "Print what a configuration takes; needs no GPU");
  command->add_option("--template", options->space.templates,
                      "The template (default: the one of --config, else gemm_tiled)");
  command->add_option("--tile-width", options->space.tile_width, "One tile width");
  command->add_option("--results-per-thread", options->space.results_per_thread,
                      "Results of one thread, 4 or 2x2 (default 1)");
  command->add_option("--unroll", options->space.unroll, "Of the inner loop (default full)");
  command->add_option("--config", options->configuration,
                      "NAME=VALUE,...; what is left out is as by default");
  command->add_option("--arch", options->architecture, "An architecture, e.g. sm_90");
  command->add_option("--device", options->device, "A device's name, or auto, or a GPU's number");
  command->add_option("--sizes", options->sizes, "One size: N or MxNxK");
  command->add_option("--layout", options->layout, "NN, NT, TN or TT: op(A), op(B)");
  command->add_option("--limit", options->limits, "NAME=VALUE of the SM, e.g. shared_per_sm=16384")
      ->allow_extra_args(false);
  command->add_option("--db", options->database, "The tuning database");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [&line, options] { line.action = [options] { return run_analyze(*options); }; });
}

}  // namespace autotune
