// autotune templates: the kernel templates, their parameters with the values, and their rules.
#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/options/options.hpp"
#include "cli/output/results_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "core/hash.hpp"
#include "kernel_templates/kernel_set.hpp"

namespace autotune {
namespace {

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

// The compute capabilities that can run the template: "8.0 or newer", "9.0 to 11.x", "9.0".
std::string capabilities_of(const KernelTemplate& kernel) {
  constexpr int kNoEnd = 1000;
  const std::string least = capability_text(std::max(kernel.min_compute_capability, 50));
  if (kernel.end_compute_capability >= kNoEnd) return least + " or newer";
  return fmt::format("{} to {}.x", least, (kernel.end_compute_capability - 1) / 10);
}

void print_template(const KernelTemplate& kernel) {
  fmt::print("{}: {}, compute capability {}, {} of {} configurations are valid\n", kernel.name,
             kernel.operation->name, capabilities_of(kernel),
             kernel.space.enumerate().configurations.size(), kernel.space.raw_count());
  Table parameters({"parameter", "values", "meaning"});
  for (const TuningParameter& parameter : kernel.space.parameters()) {
    parameters.add(
        {parameter.name, fmt::format("{}", fmt::join(parameter.values, " ")), parameter.meaning});
  }
  Table rules({"rule", "meaning"});
  for (const Constraint& rule : kernel.space.constraints()) rules.add({rule.name, rule.meaning});
  fmt::print("\n{}", parameters.text(output_columns()));
  if (!kernel.space.constraints().empty()) fmt::print("\n{}", rules.text(output_columns()));
}

nlohmann::ordered_json template_json(const KernelTemplate& kernel) {
  nlohmann::ordered_json entry = {{"name", kernel.name},
                                  {"operation", kernel.operation->name},
                                  {"interface", kernel.space_version},
                                  {"source_hash", content_hash(kernel.source)},
                                  {"compute_capability", capabilities_of(kernel)},
                                  {"configurations", kernel.space.raw_count()},
                                  {"valid", kernel.space.enumerate().configurations.size()},
                                  {"parameters", nlohmann::ordered_json::array()},
                                  {"rules", nlohmann::ordered_json::array()}};
  for (const TuningParameter& parameter : kernel.space.parameters()) {
    entry["parameters"].push_back(
        {{"name", parameter.name}, {"values", parameter.values}, {"meaning", parameter.meaning}});
  }
  for (const Constraint& rule : kernel.space.constraints()) {
    entry["rules"].push_back({{"name", rule.name}, {"meaning", rule.meaning}});
  }
  return entry;
}

int run_templates(const Options& options) {
  const std::vector<const KernelTemplate*> chosen = options.chosen_templates();
  nlohmann::ordered_json document = {
      {"schema", 1}, {"command", "templates"}, {"templates", nlohmann::ordered_json::array()}};
  for (const KernelTemplate* kernel : chosen) {
    if (options.json) {
      document["templates"].push_back(template_json(*kernel));
      continue;
    }
    if (kernel != chosen.front()) fmt::print("\n");
    print_template(*kernel);
  }
  if (options.json) print_document(document);
  return exit_code::kDone;
}

}  // namespace

void add_templates_command(CommandLine& line) {
  auto [command, options] =
      add_command(line, "templates", "List the kernel templates with their parameters and rules",
                  run_templates);
  add_options(command, options,
              {{"--template", "Only these templates, separated by commas (default: all)"},
               {"--kernel", "The kernel of a .cu file of your own, FILE or FILE:NAME"},
               "--include-folder",
               "--json"});
  command.footer("autotune templates --template gemm_tiled\nautotune templates --kernel reduce.cu");
}

}  // namespace autotune
