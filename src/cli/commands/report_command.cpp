// autotune report: a database's trials as a page with plots and tables, or as a text in Markdown.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options/options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/output_file.hpp"
#include "cli/output/table.hpp"
#include "cli/report/report_page.hpp"

namespace autotune {
namespace {

struct ReportOptions : Options {
  std::string format = "html";
  std::string output;         // empty: standard output
  std::string template_name;  // empty: all
};

int run_report(const ReportOptions& options) {
  const TuningDatabase database = existing_database(options.database);
  const ReportData report = read_report(
      database, {.device_label = device_named(options, &database).label}, options.template_name);
  if (report.trials == 0) return nothing_matches(options.template_name, database);
  write_output(options.output,
               options.format == "html" ? report_html(report) : report_markdown(report),
               fmt::format("a report of {}", counted(report.trials, "trial")));
  return exit_code::kDone;
}

}  // namespace

void add_report_command(CommandLine& line) {
  auto [command, options] = add_command(
      line, "report", "Write what is stored as a page with plots and tables", run_report);
  add_choice_option(command, "--format", {"html", "md"},
                    "html (default): one file with plots; md: tables in Markdown", options.format);
  add_text_option(command, "--output", "FILE", "The file to write (default: standard output)",
                  [&report = options](const std::string& path) { report.output = path; });
  // The database may hold trials of templates that this program does not have.
  add_text_option(command, "--template", "NAME", "Only the trials of this template",
                  [&report = options](const std::string& name) { report.template_name = name; });
  add_options(command, options,
              {{"--device", "Only the trials of the device of this name (default: all)"}, "--db"});
  command.footer("autotune report --output report.html\nautotune report --format md --device H200");
}

}  // namespace autotune
