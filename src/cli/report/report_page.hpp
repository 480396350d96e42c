// A report as a page of HTML that needs nothing else, and as a text in Markdown.
#pragma once

#include <string>
#include <string_view>

#include "cli/report/report_data.hpp"

namespace autotune {

// The first words of every page, and of every text.
inline constexpr std::string_view kReportPageBegin =
    "<!DOCTYPE html>\n<html lang=\"en\" id=\"autotune-report\">\n";
inline constexpr std::string_view kReportMarkdownBegin = "# autotune report\n";

[[nodiscard]] std::string report_html(const ReportData& report);
[[nodiscard]] std::string report_markdown(const ReportData& report);

}  // namespace autotune
