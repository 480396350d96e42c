// Prints the report of a tuning run.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/output/table.hpp"
#include "tuner/run/tuner.hpp"

namespace autotune {

// The document of --json and --csv. `device` is the device that was tuned for.
[[nodiscard]] nlohmann::ordered_json tune_document(const TuneReport& report,
                                                   const DeviceInfo& device,
                                                   const KernelSet& kernels);
[[nodiscard]] Table result_table(const TuneReport& report, const KernelSet& kernels, bool wide);
// A few lines below the table: how the search went.
void print_summary(const TuneReport& report, const TuneRequest& request, const TunerSetup& setup);
// Notes and warnings, on standard error.
void print_notes(const TuneReport& report, const KernelSet& kernels);

// `stored` says whether the results are in the database.
[[nodiscard]] int exit_code_for(const TuneReport& report, bool stored);

}  // namespace autotune
