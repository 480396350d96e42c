// autotune sweep: parameters of one template crossed; by default the source documents' table of
// results per thread.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/candidate_runner.hpp"
#include "cli/command.hpp"
#include "cli/device_lock.hpp"
#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "cli/results_json.hpp"
#include "cli/size_list.hpp"
#include "cli/space_options.hpp"
#include "cli/table.hpp"
#include "cli/tuning_setup.hpp"

namespace autotune {
namespace {

struct SweepOptions {
  std::string sizes = "1024,1600,2048,3200";
  std::string device = "auto";
  std::string template_name;
  std::string tile_width = "16,32";
  std::string results_per_thread = "1,4,8,16";
  std::string init = "linear";
  std::string launches = "10";
  std::string unroll = "full";
  bool json = false;
  bool csv = false;
};

// A column of the table: a tile width and a number of results, and the configuration for them.
struct Column {
  std::int64_t tile_width = 0;
  std::int64_t results = 0;
  Configuration configuration;

  [[nodiscard]] std::string title() const { return fmt::format("R{} T{}", results, tile_width); }
};

// What the table does not name is the same in every column: the template's plainest values, which
// its space lists first.
std::vector<Column> make_columns(const SweepOptions& options, const KernelTemplate& kernel) {
  std::vector<Column> columns;
  const SpaceFilter filter = SpaceOptions{.templates = kernel.name,
                                          .tile_width = options.tile_width,
                                          .results_per_thread = options.results_per_thread,
                                          .unroll = options.unroll}
                                 .filter();
  for (const std::int64_t results : filter.results_per_thread) {
    for (const std::int64_t width : filter.tile_widths) {
      SpaceFilter one = filter;
      one.tile_widths = {width};
      one.results_per_thread = {results};
      one.result_shapes.clear();
      const std::optional<Configuration> best = plainest_configuration(kernel, one);
      if (!best) {
        throw UsageError(
            fmt::format("sweep: {} has no configuration with tile width {} and {} results a thread",
                        kernel.name, width, results));
      }
      columns.push_back({width, results, *best});
    }
  }
  return columns;
}

// GFLOP/s with the speed-up against one result of the same tile width, as the documents have it.
std::string cell(const std::vector<Column>& columns, const std::vector<Trial>& trials,
                 std::size_t index) {
  const Trial& trial = trials[index];
  if (!trial.ok()) return to_string(trial.status);
  const double rate = gflops(trial.problem, trial.measurement.median_us);
  const int digits = rate < 100 ? 2 : 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].results == 1 && columns[i].tile_width == columns[index].tile_width &&
        i != index && trials[i].ok()) {
      return fmt::format("{:.{}f} ({:.2f})", rate, digits,
                         trials[i].measurement.median_us / trial.measurement.median_us);
    }
  }
  return fmt::format("{:.{}f}", rate, digits);
}

int run_sweep(const SweepOptions& options) {
  const std::vector<GemmProblem> problems = parse_sizes(options.sizes);
  const KernelTemplate& kernel = single_template(options.template_name);
  const std::vector<Column> columns = make_columns(options, kernel);
  if (options.init != "linear" && options.init != "uniform") {
    throw UsageError(fmt::format("--init: '{}' is unknown: use linear or uniform", options.init));
  }
  MeasureOptions measure;
  measure.input = options.init == "linear" ? InputData::linear : InputData::uniform;
  measure.launches_per_sample = static_cast<int>(parse_integer(options.launches, "--launches"));

  const InterruptWatch interrupts;
  const DeviceInfo device = device_for(options.device);
  const auto lock = lock_device(device, interrupts.token());
  CubinStore cubins = open_cubin_store();
  CandidateRunner runner(make_setup({device}, 0), cubins);
  for (const Column& column : columns) {
    runner.prepare(kernel, column.configuration, problems.front());
  }

  std::vector<std::string> header = {"size"};
  for (const Column& column : columns) header.push_back(column.title());
  Table table(header);
  auto document = results_document("sweep", &device, device.label);
  std::vector<Trial> all;
  for (const GemmProblem& problem : problems) {
    std::vector<Trial> trials;
    for (const Column& column : columns) {
      if (interrupts.token().stop_requested()) return exit_code::kInterrupted;
      trials.push_back(runner.run(kernel, column.configuration, problem, measure));
      document["results"].push_back(result_entry(trials.back()));
    }
    std::vector<std::string> row = {to_string(problem)};
    for (std::size_t i = 0; i < columns.size(); ++i) row.push_back(cell(columns, trials, i));
    table.add(std::move(row));
    all.insert(all.end(), trials.begin(), trials.end());
  }
  document["measured"] = document["results"].size();
  if (options.json) {
    fmt::print("{}\n", document.dump(2));
  } else if (options.csv) {
    fmt::print("{}", table.csv());
  } else {
    fmt::print(
        "{}\n{}, GFLOP/s (speed-up against R1 with the same tile), {} data, mean of {} "
        "launches\n{}",
        describe(device), kernel.name, options.init, options.launches, table.text());
  }
  return exit_code_for(all);
}

}  // namespace

void add_sweep_command(CommandLine& line) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* command =
      line.app.add_subcommand("sweep", "Time a template's results per thread and tile widths");
  command->add_option("--sizes", options->sizes, "Sizes (default 1024,1600,2048,3200)");
  command->add_option("--device", options->device, "auto, host, or a GPU's number");
  command->add_option("--template", options->template_name, "The template (default: gemm_tiled)");
  command->add_option("--tile-width", options->tile_width, "Default 16,32");
  command->add_option("--results-per-thread", options->results_per_thread, "Default 1,4,8,16");
  command->add_option("--unroll", options->unroll, "Default full");
  command->add_option("--init", options->init, "linear (default) or uniform data");
  command->add_option("--launches", options->launches, "Timed as one interval (default 10)");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--csv", options->csv, "Print CSV");
  command->callback([&line, options] { line.action = [options] { return run_sweep(*options); }; });
}

}  // namespace autotune
