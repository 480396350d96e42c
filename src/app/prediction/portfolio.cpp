#include "prediction/portfolio.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <sstream>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "core/json.hpp"
#include "kernel_templates/kernel_registry.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_portfolios();

namespace {

using nlohmann::json;

Correction correction_of(const json& line, std::size_t centres) {
  Correction correction{.mean = line.at("mean").get<double>(),
                        .error = line.at("error").get<double>(),
                        .weights = line.value("weights", std::vector<double>(centres))};
  if (correction.weights.size() != centres) {
    throw Error("an entry of a portfolio does not have a weight for each centre");
  }
  return correction;
}

void add_entry(Portfolio& portfolio, const json& line) {
  const KernelTemplate* kernel = built_in_kernels().find(line.at("template").get<std::string>());
  if (kernel == nullptr || kernel->space_version != line.at("space_version").get<int>()) return;
  if (!line.contains("configuration")) {
    portfolio.templates.push_back({kernel, correction_of(line, portfolio.centres.size())});
    return;
  }
  portfolio.entries.push_back(
      {kernel,
       kernel->space.validated(Configuration::parse(line.at("configuration").get<std::string>())),
       correction_of(line, portfolio.centres.size())});
}

// The mean over the entries of one template, whose spread is part of its error.
Correction mean_correction(const std::vector<const Correction*>& all) {
  Correction result{.weights = std::vector<double>(all.front()->weights.size())};
  const auto count = static_cast<double>(all.size());
  for (const Correction* one : all) {
    result.mean += one->mean / count;
    for (std::size_t i = 0; i < result.weights.size(); ++i) {
      result.weights[i] += one->weights[i] / count;
    }
  }
  double squares = 0;
  for (const Correction* one : all) {
    const double off = one->mean - result.mean;
    squares += (off * off + one->error * one->error) / count;
  }
  result.error = std::sqrt(squares);
  return result;
}

void add_template_corrections(Portfolio& portfolio) {
  for (const KernelTemplate& kernel : built_in_kernels().templates()) {
    std::vector<const Correction*> all;
    for (const PortfolioEntry& entry : portfolio.entries) {
      if (entry.kernel == &kernel) all.push_back(&entry.correction);
    }
    if (!all.empty()) portfolio.templates.push_back({&kernel, mean_correction(all)});
  }
}

}  // namespace

Portfolio parse_portfolio(std::string_view text) {
  Portfolio portfolio;
  std::istringstream stream{std::string(text)};
  try {
    for (std::string row; std::getline(stream, row);) {
      const json line = json::parse(row);
      if (line.contains("device_class")) {
        portfolio.device_class = line.at("device_class").get<std::string>();
        portfolio.device_label = line.at("device_label").get<std::string>();
        portfolio.math = math_from_string(line.at("math").get<std::string>());
        portfolio.scales = line.at("scales").get<ShapeFeatures>();
      } else if (line.contains("centres")) {
        portfolio.centres = line.at("centres").get<std::vector<ShapeFeatures>>();
      } else {
        add_entry(portfolio, line);
      }
    }
  } catch (const json::exception& error) {
    throw Error(std::string("a portfolio does not parse: ") + error.what());
  }
  add_template_corrections(portfolio);
  return portfolio;
}

const std::vector<Portfolio>& shipped_portfolios() {
  static const auto& all = *[] {
    auto* const portfolios = new std::vector<Portfolio>;
    for (const EmbeddedFile& file : embedded_portfolios()) {
      portfolios->push_back(parse_portfolio(file.text));
    }
    return portfolios;
  }();
  return all;
}

}  // namespace autotune
