#include "prediction/portfolio.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "core/json.hpp"
#include "kernel_templates/kernel_registry.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_portfolios();

namespace {

using nlohmann::json;

constexpr std::size_t kMaths = 2;

// Takes the last member of a line, which is an array of numbers, maybe of arrays, and returns its
// numbers; nullopt where the member has another name. A portfolio has 20,000 numbers, and a JSON
// parser would take most of a first call's time for them.
std::optional<std::vector<double>> take_numbers(std::string& line, const std::string& name) {
  const std::size_t begin = line.find("\"" + name + "\":[");
  if (begin == std::string::npos) return std::nullopt;
  std::vector<double> numbers;
  const char* at = line.data() + begin + name.size() + 3;
  for (const char* const end = line.data() + line.size(); at != end;) {
    if (*at == '[' || *at == ']' || *at == ',' || *at == '}' || *at == ' ') {
      ++at;
      continue;
    }
    const auto [behind, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc())
      throw Error("a portfolio has something else in the place of a number");
    at = behind;
  }
  line.replace(begin, std::string::npos, "\"" + name + "\":0}");
  return numbers;
}

std::vector<ShapeFeatures> centres_of(const std::vector<double>& numbers) {
  constexpr std::size_t kEach = std::tuple_size_v<ShapeFeatures>;
  if (numbers.size() % kEach != 0) throw Error("a centre of a portfolio lacks a feature");
  std::vector<ShapeFeatures> centres(numbers.size() / kEach);
  for (std::size_t i = 0; i < numbers.size(); ++i) centres[i / kEach][i % kEach] = numbers[i];
  return centres;
}

Correction correction_of(const json& line, std::vector<double> weights, std::size_t centres) {
  if (weights.size() != centres) {
    throw Error("an entry of a portfolio does not have a weight for each centre");
  }
  return {line.at("mean").get<double>(), line.at("error").get<double>(), std::move(weights)};
}

void add_entry(Portfolio& portfolio, const json& line, std::vector<double> weights) {
  const KernelTemplate* kernel = built_in_kernels().find(line.at("template").get<std::string>());
  if (kernel == nullptr || kernel->space_version != line.at("space_version").get<int>()) return;
  Correction correction = correction_of(line, std::move(weights), portfolio.centres.size());
  if (!line.contains("configuration")) {
    portfolio.templates.push_back({kernel, std::move(correction)});
    return;
  }
  portfolio.entries.push_back(
      {kernel,
       kernel->space.validated(Configuration::parse(line.at("configuration").get<std::string>())),
       std::move(correction)});
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

// Returns whether a portfolio is for a math, without reading all of it.
bool is_for(std::string_view text, Math math) {
  const json first = json::parse(text.substr(0, text.find('\n')));
  return math_from_string(first.at("math").get<std::string>()) == math;
}

}  // namespace

Portfolio parse_portfolio(std::string_view text) {
  Portfolio portfolio;
  std::istringstream stream{std::string(text)};
  try {
    for (std::string row; std::getline(stream, row);) {
      if (const auto numbers = take_numbers(row, "centres")) {
        portfolio.centres = centres_of(*numbers);
        continue;
      }
      std::vector<double> weights =
          take_numbers(row, "weights").value_or(std::vector<double>(portfolio.centres.size()));
      const json line = json::parse(row);
      if (line.contains("device_class")) {
        portfolio.device_class = line.at("device_class").get<std::string>();
        portfolio.device_label = line.at("device_label").get<std::string>();
        portfolio.math = math_from_string(line.at("math").get<std::string>());
        portfolio.scales = line.at("scales").get<ShapeFeatures>();
      } else {
        add_entry(portfolio, line, std::move(weights));
      }
    }
  } catch (const json::exception& error) {
    throw Error(std::string("a portfolio does not parse: ") + error.what());
  }
  add_template_corrections(portfolio);
  return portfolio;
}

const std::vector<Portfolio>& shipped_portfolios(Math math) {
  static std::array<std::once_flag, kMaths> parsed;
  static auto& all = *new std::array<std::vector<Portfolio>, kMaths>;
  const auto index = static_cast<std::size_t>(math);
  std::call_once(parsed.at(index), [&] {
    for (const EmbeddedFile& file : embedded_portfolios()) {
      if (is_for(file.text, math)) all.at(index).push_back(parse_portfolio(file.text));
    }
  });
  return all.at(index);
}

}  // namespace autotune
