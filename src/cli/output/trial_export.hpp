// Stored trials as documents of several formats.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {

// The first words of T4 results, JSON documents and CSV of this program.
inline constexpr std::string_view kExportBegins[] = {
    R"({"schema_version":"1.0.0","metadata":{"timeunit":"microseconds"},"results":[)"
    "\n{\"timestamp\":",
    R"({"schema":1,"command":"db export","trials":[)",
    "device,template,m,n,k,",
};

// T4 results, schema 1.0.0. A result also has keys of this program's own, which the schema allows:
// "problem", "template" and "device". Times are microseconds.
[[nodiscard]] std::string trials_as_t4(std::span<const StoredTrial> trials, bool with_samples);
// Everything that is stored about each trial.
[[nodiscard]] std::string trials_as_json(std::span<const StoredTrial> trials, bool with_samples);
// A line a trial, and a column for each parameter that any of them has. The rates are those of the
// operations that `kernels` have.
[[nodiscard]] std::string trials_as_csv(std::span<const StoredTrial> trials,
                                        const KernelSet& kernels);

}  // namespace autotune
