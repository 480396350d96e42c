// A report as a page of HTML that needs nothing else, and as a text in Markdown.
#pragma once

#include <string>

#include "cli/report/report_data.hpp"

namespace autotune {

[[nodiscard]] std::string report_html(const ReportData& report);
[[nodiscard]] std::string report_markdown(const ReportData& report);

}  // namespace autotune
