// autotune report: a database's trials as a page with plots and tables, or as a text in Markdown.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options/options.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/output_files.hpp"
#include "cli/output/output_form.hpp"
#include "cli/output/table.hpp"
#include "cli/report/report_page.hpp"

namespace autotune {
namespace {

struct ReportOptions : Options {
  using Options::Options;

  std::string format;         // empty: as the output's name has it, else html
  std::string output;         // empty: standard output
  std::string template_name;  // empty: all
};

int run_report(const ReportOptions& options) {
  const OutputForm form = output_form(options.output, options.format, "html",
                                      {{".html", {"html"}}, {".htm", {"html"}}, {".md", {"md"}}});
  const OutputRule rule{.begins = {kReportPageBegin, kReportMarkdownBegin}};
  OutputFiles(rule).check(options.output);
  const TuningDatabase database = existing_database(options.database);
  const ReportData report =
      read_report(options.kernels(), database,
                  {.device_label = device_named(options, &database).label}, options.template_name);
  if (report.trials == 0)
    return nothing_matches(options.kernels(), options.template_name, database);
  write_output(rule, options.output,
               form.format == "html" ? report_html(report) : report_markdown(report),
               fmt::format("a report of {}", counted(report.trials, "trial")));
  return exit_code::kDone;
}

}  // namespace

void add_report_command(CommandLine& line) {
  auto [command, options] = add_command(
      line, "report", "Write what is stored as a page with plots and tables", run_report);
  add_choice_option(command, "--format", {"html", "md"},
                    "html: one file with plots; md: tables in Markdown (default: by the ending of "
                    "--output, else html)",
                    options.format);
  add_output_option(command, "--output", "FILE", "The file to write (default: -, standard output)",
                    /*to_standard_output=*/true, options.output);
  // The database may hold trials of templates that this program does not have.
  add_text_option(command, "--template", "NAME", "Only the trials of this template",
                  [&report = options](const std::string& name) { report.template_name = name; });
  add_options(command, options,
              {{"--device", "Only the trials of the device of this name (default: all)"},
               {"--kernel", "The trials of a kernel of your own: its .cu file, FILE or FILE:NAME"},
               "--include-folder",
               "--db"});
  command.footer(
      "autotune report --output report.html\nautotune report --device H200 --output report.md");
}

}  // namespace autotune
