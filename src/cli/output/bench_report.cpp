#include "cli/output/bench_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "baseline/cublas.hpp"
#include "cli/exit_codes.hpp"
#include "cli/output/problem_text.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/output/trial_report.hpp"
#include "core/statistics.hpp"

namespace autotune {
namespace {

// Names a side for people: "gemm_simt STAGES=2", "cuBLAS 13.1.0" or "cuBLAS 13.1.0, cublasLt
// candidate 3".
std::string name_of(const Side& side, const Problem& problem, bool wide) {
  if (side.chosen.kernel == nullptr) {
    const std::string name = "cuBLAS " + side.trial.detail;
    if (side.algorithm == 0) return name;
    if (side.algorithm == gpu::Cublas::kAutotune) return name + ", CUBLAS_GEMM_AUTOTUNE";
    return fmt::format("{}, cublasLt candidate {}", name, side.algorithm);
  }
  const std::string& name = side.chosen.kernel->name;
  return name + " " +
         configuration_text(side.chosen.kernel, side.chosen.configuration, problem, wide);
}

void add_times(nlohmann::ordered_json& entry, const Side& side) {
  const Interval interval = median_interval(side.samples_us);
  entry["median_us"] = side.trial.measurement.median_us;
  entry["low_us"] = interval.low;
  entry["high_us"] = interval.high;
}

// Returns whether the whole interval of a speed-up lies below the least that will do.
bool is_below(const SizeComparison& size, const BenchOptions& options) {
  return options.fail_below && size.comparison &&
         size.comparison->interval.high < *options.fail_below;
}

}  // namespace

Table comparison_table(const std::vector<SizeComparison>& sizes, const BenchOptions& options) {
  TimeColumn times;
  for (const SizeComparison& size : sizes) {
    for (const Side& side : size.sides) times.add(side.trial.measurement.median_us);
  }
  Table table({"size", times.title(), times.title("other"), "speed-up", "95 % interval", "verdict",
               "configuration", "other"});
  for (const SizeComparison& size : sizes) {
    if (!size.comparison) {
      table.add({size_text(options.kernels(), size.problem), "-", "-", "-", "-", "not compared"});
      continue;
    }
    const auto& [own, other] = size.sides;
    const auto& [speedup, interval, verdict] = *size.comparison;
    table.add(
        {size_text(options.kernels(), size.problem), times.text(own.trial.measurement.median_us),
         times.text(other.trial.measurement.median_us), fmt::format("{:.3f}", speedup),
         fmt::format("{:.3f} to {:.3f}", interval.low, interval.high), to_string(verdict),
         name_of(own, size.problem, options.wide), name_of(other, size.problem, options.wide)});
  }
  return table;
}

nlohmann::ordered_json comparison_entry(const KernelSet& kernels, const SizeComparison& size) {
  const auto& [own, other] = size.sides;
  if (!size.is_stored) return empty_entry(size.problem, "nothing_stored");
  if (!size.comparison)
    return own.trial.ok() ? result_entry(kernels, other.trial) : result_entry(kernels, own.trial);
  nlohmann::ordered_json entry = result_entry(kernels, own.trial);
  add_times(entry, own);
  entry["origin"] = own.chosen.origin;
  nlohmann::ordered_json& against = entry["against"];
  if (other.chosen.kernel == nullptr) {
    against = {
        {"library", kCublas}, {"version", other.trial.detail}, {"algorithm", other.algorithm}};
  } else {
    const nlohmann::ordered_json measured = result_entry(kernels, other.trial);
    against = {{"template", measured["template"]},
               {"configuration", measured["configuration"]},
               {"origin", other.chosen.origin}};
  }
  add_times(against, other);
  entry["speedup"] = size.comparison->speedup;
  entry["speedup_low"] = size.comparison->interval.low;
  entry["speedup_high"] = size.comparison->interval.high;
  entry["verdict"] = to_string(size.comparison->verdict);
  entry["rounds"] = own.samples_us.size();
  return entry;
}

void print_bench_notes(const std::vector<SizeComparison>& sizes, const BenchOptions& options) {
  for (const SizeComparison& size : sizes) {
    if (!size.is_stored) {
      say(fmt::format("--against-database: {} has nothing for {} on this device",
                      printable(options.against_database),
                      size_text(options.kernels(), size.problem)));
    } else if (!size.comparison) {
      const Trial& failed = size.sides[0].trial.ok() ? size.sides[1].trial : size.sides[0].trial;
      say(failure_text(options.kernels(), failed));
    }
    if (size.comparison && !size.baseline_problem.empty()) {
      say(fmt::format("{}: {}", size_text(options.kernels(), size.problem), size.baseline_problem));
    }
    for (const Side& side : size.sides) {
      if (!size.comparison || side.chosen.kernel == nullptr || side.chosen.is_exact) continue;
      const std::string& origin = side.chosen.origin;
      say(fmt::format("{}: {}: {}", size_text(options.kernels(), size.problem),
                      name_of(side, size.problem, options.wide),
                      origin == "default" ? "nothing is known of it: its default was timed"
                                          : "not tuned for this size: " + printable(origin)));
    }
  }
  for (const SizeComparison& size : sizes) {
    if (!is_below(size, options)) continue;
    say(fmt::format("{}: the speed-up of {:.3f} is below {} (--fail-below)",
                    size_text(options.kernels(), size.problem), size.comparison->speedup,
                    *options.fail_below));
  }
  if (sizes.size() < options.sizes.size()) {
    say(fmt::format("interrupted: {} of {} sizes were compared", sizes.size(),
                    options.sizes.size()));
  }
}

int bench_exit_code(const std::vector<SizeComparison>& sizes, const BenchOptions& options) {
  if (sizes.size() < options.sizes.size()) return exit_code::kInterrupted;
  for (const SizeComparison& size : sizes) {
    if (!size.is_stored) return exit_code::kNothingStored;
    if (size.comparison) continue;
    const bool is_own = !size.sides[0].trial.ok();
    if (!is_own && options.against_cublas()) return exit_code::kEnvironment;
    const Trial& failed = size.sides[is_own ? 0 : 1].trial;
    return failed.status == TrialStatus::out_of_memory ? exit_code::kEnvironment
                                                       : exit_code::kNoneCorrect;
  }
  const bool fails = std::ranges::any_of(
      sizes, [&](const SizeComparison& size) { return is_below(size, options); });
  return fails ? exit_code::kSlower : exit_code::kDone;
}

}  // namespace autotune
