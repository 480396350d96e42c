// autotune sweep: times combinations of one template's parameters; by default those of the source
// documents' table of results per thread.
#include <algorithm>
#include <set>
#include <span>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "cli/commands/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/kernel_options.hpp"
#include "cli/locked_device.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cli/options/options.hpp"
#include "cli/options/space_options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/trial_report.hpp"
#include "tuner/run/candidate_runner.hpp"

namespace autotune {
namespace {

// A column of the table: a tile width, a number of results, and the configuration that has both.
struct Column {
  std::int64_t tile_width = 0;  // 0: the template has none
  std::int64_t results = 0;
  Configuration configuration;
  std::string values = {};  // of parameters, of a kernel without a tile shape

  [[nodiscard]] std::string title() const {
    if (!values.empty()) return values;
    return fmt::format("R{}", results) + (tile_width > 0 ? fmt::format(" T{}", tile_width) : "");
  }
};

// Those of the documents' values that the template has; all that it has where it lacks one.
std::vector<std::int64_t> usual_values(const std::set<std::int64_t>& known,
                                       const std::set<std::int64_t>& usual) {
  const bool has_all = std::includes(known.begin(), known.end(), usual.begin(), usual.end());
  const std::set<std::int64_t>& values = has_all ? usual : known;
  return {values.begin(), values.end()};
}

// The values that the table is made of: those that were given, else the usual ones.
SpaceFilter swept_values(SpaceFilter filter, const KernelTemplate& kernel) {
  if (!filter.result_shapes.empty()) {
    throw UsageError(
        "--results-per-thread: sweep takes numbers of results, not shapes, e.g. 1,4,8,16");
  }
  check_filter(filter, {&kernel});
  if (!kernel.tile_shape) return filter;
  const ShapeValues known = shape_values({&kernel});
  if (filter.tile_widths.empty()) filter.tile_widths = usual_values(known.tile_widths, {16, 32});
  if (filter.tile_widths.empty()) filter.tile_widths = {0};
  if (filter.results_per_thread.empty()) {
    filter.results_per_thread = usual_values(known.results_per_thread, {1, 4, 8, 16});
  }
  if (filter.unrolls.size() > 1) {
    throw UsageError("--unroll: sweep takes one factor, e.g. --unroll full");
  }
  if (filter.unrolls.empty()) filter.unrolls = {SpaceFilter::kFullUnroll};
  return filter;
}

// The parameters that the table does not name have the template's plainest values in every column:
// those that its space lists first. Throws UsageError where the device can run none with values
// that were given.
std::vector<Column> make_columns(const SpaceFilter& filter, const SpaceFilter& given,
                                 const KernelTemplate& kernel, const DeviceInfo& device) {
  std::vector<Column> columns;
  for (const std::int64_t results : filter.results_per_thread) {
    for (const std::int64_t width : filter.tile_widths) {
      SpaceFilter one = filter;
      one.tile_widths.clear();
      if (width > 0) one.tile_widths = {width};
      one.results_per_thread = {results};
      const auto best = plainest_configuration(kernel, one, device_constraints(kernel, device));
      if (best) columns.push_back({width, results, *best});
      if (best || given.results_per_thread.empty()) continue;
      throw UsageError(fmt::format(
          "sweep: {} has no configuration with {} results a thread{} that runs on {}", kernel.name,
          results, width > 0 ? fmt::format(", tile width {}", width) : "", device.label));
    }
  }
  if (!columns.empty()) return columns;
  check_device(kernel, kernel.default_configuration(kernel.limiting_problems.front()), device);
  throw UsageError(fmt::format("sweep: {} has no such configuration that runs on {}", kernel.name,
                               device.label));
}

// Of a kernel without a tile shape: each combination of the values that --only names.
std::vector<Column> make_value_columns(const SpaceFilter& filter, const KernelTemplate& kernel,
                                       const DeviceInfo& device) {
  if (filter.only.empty()) {
    const TuningParameter& first = kernel.space.parameters().front();
    throw UsageError(fmt::format(
        "sweep: --only must name the values of {}'s parameters to time, "
        "e.g. --only {}={}",
        kernel.name, first.name, fmt::join(first.values, fmt::format(",{}=", first.name))));
  }
  std::vector<SpaceFilter> combinations(1);
  for (const auto& [name, values] : filter.only) {
    std::vector<SpaceFilter> longer;
    for (const SpaceFilter& one : combinations) {
      for (const std::int64_t value : values) {
        longer.push_back(one);
        longer.back().only[name] = {value};
      }
    }
    combinations = std::move(longer);
  }
  std::vector<Column> columns;
  for (const SpaceFilter& one : combinations) {
    const auto best = plainest_configuration(kernel, one, device_constraints(kernel, device));
    if (!best) continue;
    // A value that all columns have is not in their titles.
    std::vector<std::string> values;
    for (const auto& [name, value] : one.only) {
      const bool is_only = std::ranges::all_of(
          combinations, [&](const SpaceFilter& other) { return other.only.at(name) == value; });
      if (!is_only || combinations.size() == 1) {
        values.push_back(fmt::format("{}={}", name, value.front()));
      }
    }
    columns.push_back(
        {.configuration = *best, .values = fmt::format("{}", fmt::join(values, " "))});
  }
  if (!columns.empty()) return columns;
  throw UsageError(
      fmt::format("sweep: no valid configuration of {} has these values", kernel.name));
}

// Returns the column with one result of the same tile width, against which the speed-up counts;
// nullptr where there is none.
const Column* base_of(const Column& column, const std::vector<Column>& columns) {
  if (!column.values.empty()) return &column == &columns.front() ? nullptr : &columns.front();
  const auto base = std::ranges::find_if(columns, [&](const Column& other) {
    return other.results == 1 && other.tile_width == column.tile_width;
  });
  return base == columns.end() || &*base == &column ? nullptr : &*base;
}

bool has_speedups(const std::vector<Column>& columns) {
  return std::ranges::any_of(
      columns, [&](const Column& column) { return base_of(column, columns) != nullptr; });
}

// GFLOP/s with the speed-up against one result of the same tile width, as the documents have it.
std::string cell(const KernelSet& kernels, const std::vector<Column>& columns,
                 std::span<const Trial> trials, std::size_t index) {
  const Trial& trial = trials[index];
  if (!trial.ok()) return to_string(trial.status);
  const double rate = rate_of(kernels, trial.problem, trial.measurement.median_us);
  const int digits = rate < 100 ? 2 : 0;
  const Column* const base = base_of(columns[index], columns);
  const auto base_index = static_cast<std::size_t>(base == nullptr ? 0 : base - columns.data());
  if (base == nullptr || base_index >= trials.size() || !trials[base_index].ok()) {
    return fmt::format("{:.{}f}", rate, digits);
  }
  return fmt::format("{:.{}f} ({:.2f})", rate, digits,
                     trials[base_index].measurement.median_us / trial.measurement.median_us);
}

// A row for each size; "-" stands for what was not measured.
Table sweep_table(const KernelSet& kernels, const std::vector<Column>& columns,
                  const std::vector<Trial>& trials) {
  std::vector<std::string> header = {"size"};
  for (const Column& column : columns) header.push_back(column.title());
  Table table(header);
  for (std::size_t first = 0; first < trials.size(); first += columns.size()) {
    const auto of_size =
        std::span(trials).subspan(first, std::min(columns.size(), trials.size() - first));
    std::vector<std::string> row = {size_text(kernels, of_size.front().problem)};
    for (std::size_t i = 0; i < of_size.size(); ++i)
      row.push_back(cell(kernels, columns, of_size, i));
    row.resize(header.size(), "-");
    table.add(std::move(row));
  }
  return table;
}

// A single launch comes first: the time limit of the real measurement follows it, as many launches
// may take long.
Trial measured_with_foresight(CandidateRunner& runner, const KernelTemplate& kernel,
                              const Configuration& configuration, const Problem& problem,
                              MeasureOptions options) {
  const MeasureOptions single = {
      .verify = false, .timing = {.samples = 1, .launches_per_sample = 1}, .input = options.input};
  Trial trial = runner.run(kernel, configuration, problem, single);
  if (!trial.ok()) return trial;
  options.expected_launch_us = trial.measurement.median_us;
  return runner.run(kernel, configuration, problem, options);
}

int run_sweep(const Options& options) {
  const std::vector<Problem> problems = options.problems();
  const KernelTemplate& kernel = template_or_default(options.one_template(), options.kernels());
  const SpaceFilter filter = swept_values(options.filter, kernel);
  for (const Problem& problem : problems) check_problem(kernel, problem);
  MeasureOptions measure;
  measure.input = options.input == "linear" ? InputData::linear : InputData::uniform;
  measure.timing.launches_per_sample = static_cast<int>(options.launches);

  InterruptWatch interrupts;
  const DeviceInfo device = device_for(options.device);
  check_architecture(kernel, device.architecture());
  const std::vector<Column> columns = kernel.tile_shape
                                          ? make_columns(filter, options.filter, kernel, device)
                                          : make_value_columns(filter, kernel, device);
  check_memory(options.kernels(), problems, device);
  const auto lock = lock_device(device, interrupts.token());
  CubinStore cubins = open_cubin_store();
  const TunerSetup setup = make_setup(options.portfolios, {device}, 0);
  CandidateRunner runner(setup, cubins);
  for (const Column& column : columns) {
    runner.prepare(kernel, column.configuration, problems.front());
  }
  const std::size_t wanted = problems.size() * columns.size();
  ProgressLine progress(options.progress);
  std::vector<Trial> trials;
  while (trials.size() < wanted && !interrupts.token().stop_requested()) {
    const Column& column = columns[trials.size() % columns.size()];
    const Problem& problem = problems[trials.size() / columns.size()];
    interrupts.begin_step(size_text(options.kernels(), problem));
    progress.show({.done = static_cast<std::int64_t>(trials.size()),
                   .total = static_cast<std::int64_t>(wanted),
                   .phase = "sweep"});
    trials.push_back(
        measured_with_foresight(runner, kernel, column.configuration, problem, measure));
  }
  progress.hide();
  print_trial_notes(options.kernels(), trials, wanted);
  if (options.json || options.csv) {
    print_trials("sweep", device, trials, wanted, options);
  } else {
    fmt::print("{}\n{}, GFLOP/s{}, {} data, mean of {} launches\n{}", describe(device), kernel.name,
               !has_speedups(columns) ? ""
               : kernel.tile_shape    ? " (speed-up against R1 with the same tile)"
                                      : " (speed-up against the first column)",
               options.input, options.launches,
               sweep_table(options.kernels(), columns, trials).text(output_columns()));
  }
  return exit_code_for(trials, wanted);
}

}  // namespace

void add_sweep_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "sweep", "Time a template's results per thread and tile widths", run_sweep);
  if (!have_named_sizes(options.kernels())) options.sizes = parse_sizes("1024,1600,2048,3200");
  add_options(command, options,
              {{"--sizes", "Sizes (default 1024,1600,2048,3200)"},
               "--device",
               {"--template", "The template (default gemm_tiled)"},
               {"--tile-width", "Tile widths (default 16,32, where the template has them)"},
               {"--results-per-thread",
                "Results of one thread (default 1,4,8,16, or all that the template has)"},
               {"--unroll", "Unroll factors of the inner loop (default full)"},
               {"--only", "With --kernel: the values to time, e.g. TILE=16,TILE=32"}});
  add_options(command, options,
              {"--layout", "--type", "--out-type", "--batch", "--math", "--init", "--launches",
               "--no-shipped", "--progress", "--json", "--csv"});
  if (options.sizes.empty()) require_sizes(command, options);
  command.footer("autotune sweep\nautotune sweep --sizes 1024 --template gemm_simt");
}

}  // namespace autotune
