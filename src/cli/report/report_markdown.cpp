#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "autotune/version.hpp"

#include "cli/output/table.hpp"
#include "cli/report/parameter_effects.hpp"
#include "cli/report/report_page.hpp"

namespace autotune {
namespace {

// Text from a database as a cell: nothing in it is markup, the address of a page or of a person. An
// escaped @ is one still to programs that look for names in the result, so a comment follows it.
std::string cell(const std::string& text) {
  const std::string shown = printable(text);
  std::string plain;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::string_view rest = std::string_view(shown).substr(i);
    const bool is_address = rest.starts_with("://") || (i >= 3 && shown.substr(i - 3, 4) == "www.");
    const bool is_markup =
        std::string_view("\\`*_[]<>&|#~$!").find(shown[i]) != std::string_view::npos;
    if (is_address || is_markup) plain += '\\';
    plain += shown[i];
    if (shown[i] == '@') plain += "<!-- -->";
  }
  return plain;
}

class MarkdownTable {
 public:
  MarkdownTable(const std::string& title, const std::vector<std::string>& header) {
    text_ = fmt::format("## {}\n\n", title);
    add(header);
    add(std::vector<std::string>(header.size(), "---"));
  }
  void add(const std::vector<std::string>& cells) {
    for (const std::string& each : cells) text_ += "| " + each + " ";
    text_ += "|\n";
  }
  [[nodiscard]] std::string text() const { return text_ + "\n"; }

 private:
  std::string text_;
};

std::string rates_text(const ReportData& report) {
  RateColumn rates;
  for (const ReportSize& size : report.sizes) {
    if (size.best) rates.add(gflops(size.work, size.best->median_us));
  }
  MarkdownTable table("Rates",
                      {"device", "size", rates.title(), "time us", "95 % interval us", "cuBLAS us",
                       "of cuBLAS", "limit", "trials", "correct", "template", "configuration"});
  for (const ReportSize& size : report.sizes) {
    const ReportDevice& device = report.devices[size.device];
    const auto& best = size.best;
    const bool compared = best && size.baseline;
    table.add({cell(device.label), cell(size.text),
               best ? rates.text(gflops(size.work, best->median_us)) : "-",
               best ? fmt::format("{:.2f}", best->median_us) : "-",
               best && best->confirmed
                   ? fmt::format("{:.2f} to {:.2f}", best->low_us, best->high_us)
                   : "unconfirmed",
               compared ? fmt::format("{:.2f}", size.baseline->median_us) : "-",
               compared ? fmt::format("{:.1f} %", 100 * size.baseline->speedup) : "-",
               device.rates ? rates.text(size.limit(*device.rates)) : "-",
               std::to_string(size.trials.size()), std::to_string(size.correct()),
               best ? cell(best->template_name) : "-", best ? cell(best->configuration) : "-"});
  }
  return table.text();
}

std::string parameters_text(const ReportData& report) {
  MarkdownTable table("Parameters", {"template", "parameter", "importance", "best value",
                                     "trials with it", "median with it"});
  for (const TemplateEffects& effects : parameter_effects(report)) {
    for (const ParameterEffect& parameter : effects.parameters) {
      const auto best = std::ranges::max_element(
          parameter.values,
          [](const ValueEffect& a, const ValueEffect& b) { return a.best < b.best; });
      if (best == parameter.values.end() || best->correct == 0) continue;
      table.add({cell(effects.template_name), cell(parameter.name),
                 fmt::format("{:.1f} %", 100 * parameter.importance), std::to_string(best->value),
                 std::to_string(best->trials), fmt::format("{:.1f} %", 100 * best->median)});
    }
  }
  return table.text();
}

std::string failures_text(const ReportData& report) {
  MarkdownTable table("Failures", {"reason", "template", "trials", "an example"});
  for (const FailureCount& failure : count_failures(report)) {
    table.add({cell(to_string(failure.status)), cell(failure.template_name),
               std::to_string(failure.count), cell(failure.example)});
  }
  return table.text();
}

std::string machine_text(const ReportData& report) {
  MarkdownTable table("Machine", {"device", "driver", "compiler", "measuring protocol",
                                  "multiply-add GFLOP/s", "copying GB/s"});
  for (const ReportDevice& device : report.devices) {
    const auto& rates = device.rates;
    table.add({cell(device.label), cell(device.environment.driver),
               cell(device.environment.nvrtc_build),
               std::to_string(device.environment.measuring_protocol),
               rates ? fmt::format("{:.1f}", rates->fma_gflops) : "-",
               rates ? fmt::format("{:.1f}", rates->copy_gbps) : "-"});
  }
  return table.text();
}

}  // namespace

std::string report_markdown(const ReportData& report) {
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return fmt::format("{}\n{} of {} in {}, by autotune {}.\n\n", kReportMarkdownBegin,
                     counted(report.trials, "trial"), counted(report.sizes.size(), "size"),
                     counted(report.runs.size(), "run"), kVersion) +
         rates_text(report) + parameters_text(report) + failures_text(report) +
         machine_text(report);
}

}  // namespace autotune
