// What bench has compared, and how it is printed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/options/configuration_choice.hpp"
#include "cli/options/options.hpp"
#include "cli/output/table.hpp"
#include "core/trial.hpp"
#include "tuner/devices/comparison.hpp"

namespace autotune {

inline constexpr const char* kCublas = "cublas";

struct BenchOptions : Options {
  using Options::Options;

  std::string against;  // kCublas, TEMPLATE, or [TEMPLATE:]NAME=VALUE,...
  ConfigurationChoice against_choice{portfolios};
  std::string against_database;
  std::int64_t rounds = 15;
  std::optional<double> fail_below;  // a speed-up

  [[nodiscard]] bool against_cublas() const { return against == kCublas; }
};

// One of the two sides of a comparison, at one size.
struct Side {
  ChosenConfiguration chosen;  // without a template: cuBLAS
  int algorithm = 0;           // of cuBLAS
  Trial trial;                 // the verified first one, or the one that failed
  std::vector<double> samples_us;
};

struct SizeComparison {
  Problem problem;
  std::array<Side, 2> sides;  // the own one and the other
  bool is_stored = true;      // false: the other database has nothing for the problem
  std::optional<Comparison> comparison;
  std::optional<BaselineTime> baseline;  // the other one's time, where that is cuBLAS
  std::string baseline_problem;          // as BaselineRounds::problem() has it
};

[[nodiscard]] Table comparison_table(const std::vector<SizeComparison>& sizes,
                                     const BenchOptions& options);
[[nodiscard]] nlohmann::ordered_json comparison_entry(const KernelSet& kernels,
                                                      const SizeComparison& size);
// Says on standard error what could not be compared, what was not tuned, and what is too slow.
void print_bench_notes(const std::vector<SizeComparison>& sizes, const BenchOptions& options);
[[nodiscard]] int bench_exit_code(const std::vector<SizeComparison>& sizes,
                                  const BenchOptions& options);

}  // namespace autotune
