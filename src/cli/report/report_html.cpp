#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "autotune/error.hpp"

#include "cli/report/report_json.hpp"
#include "cli/report/report_page.hpp"
#include "core/compression.hpp"
#include "core/embedded_file.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_report_page();
std::string_view packed_plotting_library();

namespace {

// The text of a file of the page, the plotting library, or the report's own documents.
std::string part(std::string_view name, const ReportData& report) {
  constexpr std::uint64_t kMaxBytes = 16 << 20;
  if (name == "data") return report_json(report);
  if (name == "rows") return report_rows_json(report);
  if (name == "chart.min.js") return decompressed(packed_plotting_library(), kMaxBytes).value();
  const auto files = embedded_report_page();
  const auto file =
      std::ranges::find_if(files, [&](const EmbeddedFile& each) { return each.name == name; });
  if (file == files.end()) throw Error("the report's page has no part " + std::string(name));
  return std::string(file->text);
}

}  // namespace

// The frame names its parts in comments: <!--page.css-->.
std::string report_html(const ReportData& report) {
  constexpr std::string_view kBegin = "<!--";
  constexpr std::string_view kEnd = "-->";
  const std::string frame = part("page.html", report);
  std::string_view rest = frame;
  std::string page;
  while (true) {
    const std::size_t begin = rest.find(kBegin);
    page += rest.substr(0, begin);
    if (begin == std::string_view::npos) return page;
    rest.remove_prefix(begin + kBegin.size());
    const std::size_t end = rest.find(kEnd);
    page += part(rest.substr(0, end), report);
    rest.remove_prefix(end + kEnd.size());
  }
}

}  // namespace autotune
