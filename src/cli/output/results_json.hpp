// The one schema of results, as JSON and CSV, for tune, query, run and sweep (docs/cli.md).
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/device_info.hpp"
#include "core/trial.hpp"
#include "core/winner.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {

// {"schema": 1, "command": ..., "device": ..., "results": [], "measured": 0, "known": 0}. The
// device may be null: then the label alone is known.
[[nodiscard]] nlohmann::ordered_json results_document(const std::string& command,
                                                      const DeviceInfo* device,
                                                      const std::string& device_label);
// One entry of "results". `status` is "ok" or a trial's, `match` as to_string(MatchKind) or
// "measured".
[[nodiscard]] nlohmann::ordered_json result_entry(const KernelSet& kernels, const Winner& winner,
                                                  const std::string& match);
[[nodiscard]] nlohmann::ordered_json result_entry(const KernelSet& kernels, const Trial& trial);
// "cublas_us" and "cublas" of an entry.
void add_baseline(nlohmann::ordered_json& entry, const BaselineTime& baseline);
// An entry for a problem without a correct configuration.
[[nodiscard]] nlohmann::ordered_json empty_entry(const Problem& problem, const std::string& status);

// An entry for a problem with a configuration that was not measured for it: it has no figures.
[[nodiscard]] nlohmann::ordered_json borrowed_entry(const Problem& problem,
                                                    const std::string& template_name,
                                                    const Configuration& configuration,
                                                    const std::string& match);

// The results of a document as CSV: a row each, with the same columns for all commands, in
// microseconds and GFLOP/s. What a result does not have is left empty.
[[nodiscard]] std::string results_csv(const nlohmann::ordered_json& document);
// Prints a document. Bytes that are not UTF-8 become U+FFFD.
void print_document(const nlohmann::ordered_json& document);

}  // namespace autotune
