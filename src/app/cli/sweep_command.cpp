// autotune sweep: times combinations of one template's parameters; by default those of the source
// documents' table of results per thread.

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "cli/candidate_runner.hpp"
#include "cli/command.hpp"
#include "cli/device_lock.hpp"
#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "cli/option_values.hpp"
#include "cli/options.hpp"
#include "cli/results_json.hpp"
#include "cli/space_options.hpp"
#include "cli/table.hpp"
#include "cli/tuning_setup.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

// A column of the table: a tile width, a number of results, and the configuration that has both.
struct Column {
  std::int64_t tile_width = 0;
  std::int64_t results = 0;
  Configuration configuration;

  [[nodiscard]] std::string title() const { return fmt::format("R{} T{}", results, tile_width); }
};

// The parameters that the table does not name have the template's plainest values in every column:
// those that its space lists first.
std::vector<Column> make_columns(const SpaceFilter& filter, const KernelTemplate& kernel) {
  if (!filter.result_shapes.empty()) {
    throw UsageError("--results-per-thread: sweep takes products alone, e.g. 1,4,8,16");
  }
  check_filter(filter, {&kernel});
  std::vector<Column> columns;
  for (const std::int64_t results : filter.results_per_thread) {
    for (const std::int64_t width : filter.tile_widths) {
      SpaceFilter one = filter;
      one.tile_widths = {width};
      one.results_per_thread = {results};
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
  const double rate = gflops(gemm_problem(trial.problem), trial.measurement.median_us);
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

int run_sweep(const Options& options) {
  const std::vector<GemmProblem> problems = options.problems();
  const KernelTemplate& kernel = template_or_default(options.one_template());
  const std::vector<Column> columns = make_columns(options.filter, kernel);
  MeasureOptions measure;
  measure.input = options.input == "linear" ? InputData::linear : InputData::uniform;
  measure.timing.launches_per_sample = static_cast<int>(options.launches);

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
        describe(device), kernel.name, options.input, options.launches, table.text());
  }
  return exit_code_for(all);
}

}  // namespace

void add_sweep_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "sweep", "Time a template's results per thread and tile widths", run_sweep);
  options.sizes = parse_sizes("1024,1600,2048,3200");
  options.filter = {.tile_widths = {16, 32},
                    .results_per_thread = {1, 4, 8, 16},
                    .unrolls = {SpaceFilter::kFullUnroll}};
  add_options(command, options,
              {{"--sizes", "Sizes (default 1024,1600,2048,3200)"},
               "--device",
               {"--template", "The template (default gemm_tiled)"},
               {"--tile-width", "Tile widths (default 16,32)"},
               {"--results-per-thread", "Results of one thread (default 1,4,8,16)"},
               {"--unroll", "Unroll factors of the inner loop (default full)"}});
  add_options(command, options, {"--init", "--launches", "--no-shipped", "--json", "--csv"});
}

}  // namespace autotune
