// What tune prints of a report.
#pragma once

#include "cli/table.hpp"
#include "tuner/tuner.hpp"

namespace autotune {

// The document of --json. `device`: what was tuned for.
void print_json(const TuneReport& report, const DeviceInfo& device);
[[nodiscard]] Table result_table(const TuneReport& report);
// What became of the search, in a few lines below the table.
void print_summary(const TuneReport& report, const TunerSetup& setup);
// What else the user should know, on standard error.
void print_notes(const TuneReport& report);

// `stored`: whether the results are in the database.
[[nodiscard]] int exit_code_for(const TuneReport& report, bool stored);

}  // namespace autotune
