// Prints the report of a tuning run.
#pragma once

#include "cli/table.hpp"
#include "tuner/tuner.hpp"

namespace autotune {

// The document of --json. `device` is the device that was tuned for.
void print_json(const TuneReport& report, const DeviceInfo& device);
[[nodiscard]] Table result_table(const TuneReport& report);
// A few lines below the table: how the search went.
void print_summary(const TuneReport& report, const TunerSetup& setup);
// Notes and warnings, on standard error.
void print_notes(const TuneReport& report);

// `stored` says whether the results are in the database.
[[nodiscard]] int exit_code_for(const TuneReport& report, bool stored);

}  // namespace autotune
