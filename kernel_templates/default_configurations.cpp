#include "kernel_templates/default_configurations.hpp"

#include <algorithm>
#include <span>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "core/json.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_default_configurations();

DefaultConfigurations::DefaultConfigurations(std::string_view template_name,
                                             const std::vector<TuningParameter>& parameters) {
  std::string text;
  for (const EmbeddedFile& file : embedded_default_configurations()) {
    if (file.name == std::string(template_name) + ".jsonl") text = file.text;
  }
  std::istringstream stream(text);
  for (std::string row; std::getline(stream, row);) {
    const nlohmann::json json = nlohmann::json::parse(row);
    const auto values = json.at("configuration").get<Configuration>();
    Line line{.max_shorter_side = json.value("max_shorter_side", kNoLimit),
              .max_results = json.value("max_results", kNoLimit),
              .min_k = json.value("min_k", 0.0),
              .max_k = json.value("max_k", kNoLimit),
              .configuration = {}};
    for (const TuningParameter& parameter : parameters) {
      line.configuration.set(parameter.name, values.at(parameter.name));
    }
    lines_.push_back(std::move(line));
  }
}

const Configuration& DefaultConfigurations::at(const GemmProblem& problem) const {
  const auto m = static_cast<double>(problem.m);
  const auto n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  const auto line = std::find_if(lines_.begin(), lines_.end(), [&](const Line& one) {
    return std::min(m, n) <= one.max_shorter_side && m * n <= one.max_results && k >= one.min_k &&
           k <= one.max_k;
  });
  if (line == lines_.end()) throw Error("no default configuration for " + to_string(problem));
  return line->configuration;
}

}  // namespace autotune
