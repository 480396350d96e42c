// A configuration in a file of recorded results, and the readers of these files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/trial.hpp"
#include "tuner/replay/recorded_json.hpp"

namespace autotune {

struct RecordedResult {
  std::optional<Problem> problem;  // in recordings of this program
  std::string template_name;       // empty in recordings of other programs
  std::string device;              // empty in recordings of other programs
  OrderedJson configuration;       // an object of any scalars
  // A result that is ok and has no cost is a failure all the same.
  TrialStatus status = TrialStatus::ok;
  std::optional<double> cost;  // microseconds, where the objective is a time (objective.hpp)
};

struct RecordedFile {
  std::vector<RecordedResult> results;
  bool is_whole = true;  // false while a search still writes it, and where that was ended
};

// Reads a file of any format, plain or compressed. Throws UsageError that names it.
[[nodiscard]] RecordedFile read_recorded_file(const std::string& path);

// Each reader throws UsageError, or an exception of the JSON library, for a file of another format.
// T4 results: schema 1.0.0, and as Kernel Tuner and KTT write them.
[[nodiscard]] std::vector<RecordedResult> read_t4(const OrderedJson& document);
[[nodiscard]] std::vector<RecordedResult> read_kernel_tuner_cache(const OrderedJson& document);
[[nodiscard]] std::vector<RecordedResult> read_ktt_results(const OrderedJson& document);
// The output of `autotune db export --format json`.
[[nodiscard]] std::vector<RecordedResult> read_exported_trials(const OrderedJson& document);

}  // namespace autotune
