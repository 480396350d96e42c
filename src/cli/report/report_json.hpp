// A report as the JSON documents that its page shows.
#pragma once

#include <string>

#include "cli/report/report_data.hpp"

namespace autotune {

// The page's table has the fastest trials of each size, and as many of the others.
inline constexpr std::size_t kShownTrials = 2000;
// Of all sizes together, so that the page of a large database stays small.
inline constexpr std::size_t kAllShownTrials = 60'000;

// Both are texts that may stand within a <script> element: without '<', '>' and '&'.
// All but the table of trials.
[[nodiscard]] std::string report_json(const ReportData& report);
// The trials of the table: {"details": [...], "rows": [...]} with a list of rows for each size, in
// the order of the sizes. A row has the number of the trial, its space, status, median_us, detail
// and the values of its parameters.
[[nodiscard]] std::string report_rows_json(const ReportData& report);

}  // namespace autotune
