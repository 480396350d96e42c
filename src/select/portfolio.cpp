#include "select/portfolio.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "core/json.hpp"
#include "core/posix/no_fork.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_portfolios();

namespace {

using nlohmann::json;

constexpr double kLeafUnit = 1e-4;  // the leaves of a file are whole numbers of it

// Takes an array of numbers out of a line and returns them. Trees have 30,000 numbers, and a JSON
// parser would take most of a first call's time for them.
template <class Number>
std::vector<Number> take_numbers(std::string& line, const std::string& name) {
  const std::string key = "\"" + name + "\":[";
  const std::size_t begin = line.find(key);
  const std::size_t end = line.find(']', begin);
  if (begin == std::string::npos || end == std::string::npos) {
    throw Error("a portfolio has no " + name);
  }
  std::vector<Number> numbers;
  const char* at = line.data() + begin + key.size();
  while (at < line.data() + end) {
    const auto [behind, error] = std::from_chars(at, line.data() + end, numbers.emplace_back());
    const bool is_whole = error == std::errc() && (*behind == ',' || *behind == ']');
    if (!is_whole) throw Error("a portfolio has something else in the place of a number");
    at = behind + 1;
  }
  line.replace(begin, end + 1 - begin, "\"" + name + "\":0");
  return numbers;
}

const KernelTemplate* template_of(const KernelSet& kernels, const json& line) {
  const KernelTemplate* kernel = kernels.find(line.at("template").get<std::string>());
  const bool is_same =
      kernel != nullptr && kernel->space_version == line.at("space_version").get<int>();
  return is_same ? kernel : nullptr;
}

void read_trees(Portfolio& portfolio, std::string row) {
  const auto asked = take_numbers<std::uint16_t>(row, "asked");
  const auto thresholds = take_numbers<float>(row, "thresholds");
  std::vector<float> leaves;
  for (const int leaf : take_numbers<int>(row, "leaves")) {
    leaves.push_back(static_cast<float>(kLeafUnit * leaf));
  }
  const json line = json::parse(row);
  const auto names = line.at("features").get<std::vector<std::string>>();
  constexpr std::size_t kDepth = CorrectionTrees::kDepth;
  const std::size_t count = asked.size() / kDepth;
  const bool fits =
      line.at("depth").get<std::size_t>() == kDepth && asked.size() == count * kDepth &&
      thresholds.size() == asked.size() && leaves.size() == count * CorrectionTrees::kLeaves &&
      std::ranges::all_of(asked, [&](std::uint16_t feature) { return feature < names.size(); });
  if (!fits) throw Error("the trees of a portfolio are not whole");
  portfolio.trees =
      CorrectionTrees(line.at("bias").get<double>(), asked, thresholds, std::move(leaves));
  portfolio.features = CandidateFeatures(names, portfolio.kernels);
  portfolio.measured = line.at("measured").get<std::array<std::array<double, 2>, 3>>();
  for (const json& one : line.at("errors")) {
    if (const KernelTemplate* kernel = template_of(portfolio.kernels, one)) {
      portfolio.errors[kernel] = one.at("error").get<double>();
    }
  }
}

void read_line(Portfolio& portfolio, std::string row) {
  if (row.find("\"leaves\":") != std::string::npos) {
    read_trees(portfolio, std::move(row));
    return;
  }
  const json line = json::parse(row);
  if (line.contains("device_class")) {
    portfolio.device_class = line.at("device_class").get<std::string>();
    portfolio.device_label = line.at("device_label").get<std::string>();
    portfolio.math = math_from_string(line.at("math").get<std::string>());
    portfolio.types = types_from_string(line.value("type", to_string(GemmTypes())));
  } else if (const KernelTemplate* kernel = template_of(portfolio.kernels, line)) {
    const std::string text = line.at("configuration").get<std::string>();
    portfolio.entries.push_back({kernel, kernel->space.validated(Configuration::parse(text))});
  }
}

// Returns whether a portfolio is for a math, without reading all of it.
bool is_for(std::string_view text, Math math) {
  const json first = json::parse(text.substr(0, text.find('\n')));
  return math_from_string(first.at("math").get<std::string>()) == math;
}

}  // namespace

Portfolio parse_portfolio(std::string_view text, const KernelSet& kernels) {
  Portfolio portfolio{.kernels = kernels};
  std::istringstream stream{std::string(text)};
  try {
    for (std::string row; std::getline(stream, row);) read_line(portfolio, std::move(row));
  } catch (const json::exception& error) {
    throw Error(std::string("a portfolio does not parse: ") + error.what());
  }
  if (portfolio.trees.empty()) throw Error("a portfolio has no trees");
  return portfolio;
}

const std::vector<Portfolio>& ShippedPortfolios::of(Math math) const {
  const NoFork until_made;
  const std::lock_guard lock(mutex_);
  const auto known = parsed_.find(math);
  if (known != parsed_.end()) return known->second;
  std::vector<Portfolio> parsed;
  for (const EmbeddedFile& file : embedded_portfolios()) {
    if (is_for(file.text, math)) parsed.push_back(parse_portfolio(file.text, kernels_));
  }
  return parsed_.emplace(math, std::move(parsed)).first->second;
}

}  // namespace autotune
