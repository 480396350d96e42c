// autotune analyze: computes the resources and memory accesses of a configuration, without a GPU.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/call_watch.hpp"
#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options/analyzed_device.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cli/options/options.hpp"
#include "cli/options/space_options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/access_figures.hpp"
#include "cli/output/analysis_report.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "core/error_text.hpp"
#include "gpu/nvrtc.hpp"

namespace autotune {
namespace {

struct AnalyzeOptions : Options {
  using Options::Options;

  std::vector<std::string> limits;
};

// By default the tile width is the template's, a thread has one result, and the loop is unrolled.
ChosenConfiguration configuration_by_parameters(const AnalyzeOptions& options,
                                                const Problem& problem) {
  if (!options.configuration.empty()) {
    throw UsageError("--config excludes --tile-width, --results-per-thread and --unroll");
  }
  const KernelTemplate& kernel = template_or_default(options.one_template(), options.kernels());
  SpaceFilter filter = options.filter;
  check_filter(filter, {&kernel});
  if (filter.tile_widths.size() > 1 || filter.unrolls.size() > 1 ||
      filter.results_per_thread.size() + filter.result_shapes.size() > 1) {
    throw UsageError(
        "analyze takes one configuration at a time, e.g. --tile-width 16 --results-per-thread 4");
  }
  if (filter.tile_widths.empty() && kernel.tile_shape) {
    filter.tile_widths = {kernel.tile_shape(kernel.default_configuration(problem)).tile_width};
  }
  if (filter.results_per_thread.empty() && filter.result_shapes.empty()) {
    filter.results_per_thread = {1};
  }
  if (filter.unrolls.empty()) filter.unrolls = {SpaceFilter::kFullUnroll};
  if (auto configuration = plainest_configuration(kernel, filter)) {
    return {&kernel, *std::move(configuration), problem, "given"};
  }
  throw UsageError(
      fmt::format("analyze: {} has no configuration with these parameters", kernel.name));
}

ChosenConfiguration configuration_for(const AnalyzeOptions& options, const Problem& problem,
                                      const AnalyzedDevice& device,
                                      const TuningDatabase* database) {
  if (options.filter.names_shapes()) return configuration_by_parameters(options, problem);
  if (options.configuration.empty() && device.label.empty()) {
    const KernelTemplate& kernel = template_or_default(options.one_template(), options.kernels());
    return {&kernel, kernel.default_configuration(problem), problem, "default"};
  }
  return choose_configuration(choice_of(options), problem, database,
                              device.query.value_or(DeviceQuery{options.kernels()}));
}

// The compiler's figures. Without them the fields are -1, and a note says why.
Resources compile(const ChosenConfiguration& chosen, const Problem& problem,
                  const AnalyzedDevice& device, std::vector<std::string>& notes) {
  if (device.architecture.empty()) return {};  // noted where the device was looked for
  const auto unknown = [&](const std::string& why) {
    notes.push_back("registers are unknown, and blocks per SM do not count them: " + why);
    return Resources{};
  };
  try {
    const auto nvrtc = watched(kCompiler, gpu::Nvrtc::open);
    const auto& known = nvrtc->architectures();
    if (std::ranges::find(known, device.architecture) == known.end()) {
      return unknown(
          fmt::format("NVRTC {} does not compile for {}", nvrtc->build(), device.architecture));
    }
    const gpu::CompileResult result =
        nvrtc->compile(chosen.kernel->name, std::string(chosen.kernel->source),
                       compile_options(*chosen.kernel, chosen.configuration,
                                       code_traits(*chosen.kernel, problem), device.architecture));
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
  } else if (report.device.rates && !report.roofline) {
    report.notes.push_back(
        fmt::format("the rate of the tensor cores of {} is not known: the roofline is unknown",
                    report.device.architecture));
  } else if (!report.device.label.empty() && !report.roofline) {
    report.notes.push_back(
        fmt::format("no rates of {} are stored: the roofline is unknown (tuning measures them)",
                    report.device.label));
  }
}

AnalysisReport make_report(const AnalyzeOptions& options) {
  constexpr const char* kUsualSize = "1024";
  AnalysisReport report;
  report.layout = options.layout.value_or("NN");
  if (!options.sizes.empty()) report.problem = options.one_problem();
  report.analyzed = report.problem.value_or(options.as_asked(parse_sizes(kUsualSize).front()));
  const Problem& problem = report.analyzed;
  const std::vector<std::string> adapted = adaptations(choice_of(options), {problem});
  if (options.filter.names_shapes()) {
    static_cast<void>(configuration_by_parameters(options, problem));
  }

  const std::optional<TuningDatabase> opened = open_database_read_only(options.database);
  const TuningDatabase* database = opened ? &*opened : nullptr;
  report.device = analyzed_device(options, options.limits, database);
  report.notes = report.device.notes;
  report.notes.insert(report.notes.end(), adapted.begin(), adapted.end());
  report.chosen = configuration_for(options, problem, report.device, database);
  check_architecture(*report.chosen.kernel, report.device.architecture);
  if (report.problem) check_problem(*report.chosen.kernel, problem);

  const Resources compiled = compile(report.chosen, problem, report.device, report.notes);
  report.spill_bytes = if_known(compiled.spill_bytes);
  report.analysis = analyze(*report.chosen.kernel, report.chosen.configuration, report.device.sm,
                            if_known(compiled.registers), report.problem ? &problem : nullptr,
                            report.device.sm_count);
  try {
    report.accesses = access_figures(*report.chosen.kernel, report.chosen.configuration, problem);
  } catch (const std::exception& error) {
    report.notes.push_back(fmt::format("the memory accesses are unknown: {}", error_text(error)));
  }
  if (report.problem && report.device.rates) {
    report.roofline =
        roofline(*report.chosen.kernel, problem, report.device.architecture, *report.device.rates);
  }
  note_what_is_missing(report);
  return report;
}

int run_analyze(const AnalyzeOptions& options) {
  const AnalysisReport report = make_report(options);
  if (options.json) {
    print_document(analysis_json(report));
    return exit_code::kDone;
  }
  fmt::print("{}", analysis_text(report, options.wide));
  for (const std::string& note : report.notes) {
    say(printable(note));
  }
  return exit_code::kDone;
}

}  // namespace

void add_analyze_command(CommandLine& line) {
  auto [command, options] = add_command(
      line, "analyze", "Print the resources of a configuration; needs no GPU", run_analyze);
  add_options(command, options,
              {"--template", "--config", "--arch", "--layout", "--type", "--out-type", "--math",
               "--db", "--no-shipped", "--wide", "--json"});
  add_options(command, options,
              {{"--tile-width", "The tile width, e.g. 16"},
               {"--results-per-thread", "Results of one thread, e.g. 4 or 2x2 (default 1)"},
               {"--unroll", "Unroll factor of the inner loop (default full)"},
               {"--device", "The name of a device that is known or here, or the number of a GPU"},
               {"--sizes", kOneSizeHelp}});
  command
      .add_option("--limit", options.limits,
                  "A limit of the SM, e.g. shared_per_sm=16384; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command.footer(
      "autotune analyze --tile-width 16 --results-per-thread 1 --arch sm_90\n"
      "autotune analyze --device \"NVIDIA H200\" --sizes 2048");
}

}  // namespace autotune
