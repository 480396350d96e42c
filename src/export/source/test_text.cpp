// The values of text/test.cpp.in.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/source/facts.hpp"

namespace autotune {
namespace {

// Rows, through all matrices, and columns of the output whose results the program computes again:
// all, as far as that is a matter of seconds.
std::array<std::int64_t, 2> checked_results(const TensorDesc& output, double operations) {
  constexpr double kMostTerms = 1 << 28;
  const auto results = static_cast<double>(output.elements());
  const double most = std::max(1.0, kMostTerms / std::max(1.0, operations / 2 / results));
  const auto count = [](double wanted, std::int64_t there) {
    return std::clamp(static_cast<std::int64_t>(std::min(wanted, 1e9)), std::int64_t{1}, there);
  };
  const std::int64_t rows =
      count(std::max(std::sqrt(most), most / static_cast<double>(output.columns)),
            output.matrices * output.rows);
  return {rows, count(most / static_cast<double>(rows), output.columns)};
}

std::string size_constants(const SourceFacts& facts) {
  std::string text;
  for (const Problem::Size& size : facts.request.problem.sizes()) {
    text += fmt::format("constexpr int64_t {} = {};\n", size.name, size.value);
  }
  text.pop_back();
  return text;
}

std::string scalar_constants(const SourceFacts& facts) {
  constexpr std::array<double, ArgumentLayout::kMostScalars> kValues = {1.25, -0.75, 0.5,    1.5,
                                                                        2.5,  -1.5,  -0.125, 0.75};
  std::string text;
  for (std::size_t i = 0; i < facts.request.text.scalars.size(); ++i) {
    text += fmt::format("constexpr {} {} = {};\n", facts.scalar_type(i),
                        facts.request.text.scalars[i], kValues.at(i));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string local_tensors(const SourceFacts& facts) {
  std::string text;
  for (const TensorDesc& tensor : facts.tensors) {
    text += fmt::format(
        "  const {0}* const {1} = operands.{1}.host.data() + matrix * operands.{1}.stride;\n"
        "  const int64_t {2} = operands.{1}.ld;\n",
        cpp_name(tensor.type), tensor.name, row_stride_name(tensor));
  }
  text.pop_back();
  return text;
}

std::vector<std::string> call_arguments(const SourceFacts& facts) {
  std::vector<std::string> result;
  for (const TensorDesc& tensor : facts.tensors) {
    result.push_back(tensor.name + ".device");
    result.push_back(tensor.name + ".ld");
    if (facts.is_batch()) result.push_back(tensor.name + ".stride");
  }
  result.insert(result.end(), facts.request.text.scalars.begin(), facts.request.text.scalars.end());
  if (facts.is_batch()) result.push_back(facts.request.text.batch);
  result.insert(result.end(), {"workspace", "/*stream=*/nullptr"});
  return result;
}

}  // namespace

TextValues test_values(const SourceFacts& facts) {
  const Operation& operation = *facts.request.kernel->operation;
  const Problem& problem = facts.request.problem;
  const TensorDesc& output = facts.tensors.back();
  const double operations = operation.work(problem).operations;
  const auto [rows, columns] = checked_results(output, operations);
  std::vector<std::string> matrices;
  std::vector<std::string> made;
  for (const TensorDesc& tensor : facts.tensors) {
    matrices.push_back(fmt::format("  Matrices<{}> {};", cpp_name(tensor.type), tensor.name));
    made.push_back(fmt::format("{}({}, {}, {}, shift, /*seed=*/{})", tensor.name, tensor.matrices,
                               tensor.rows, tensor.columns, made.size() + 1));
  }
  constexpr std::size_t kCall = 8;
  return {{"NAME", facts.name},
          {"NVCC_TEST", nvcc_test_command(facts.request)},
          {"SIZE_CONSTANTS", size_constants(facts)},
          {"SCALAR_CONSTANTS", scalar_constants(facts)},
          {"CHECKED_ROWS", std::to_string(rows)},
          {"CHECKED_COLUMNS", std::to_string(columns)},
          {"MATRICES", fmt::format("{}", fmt::join(matrices, "\n"))},
          {"MATRICES_MADE", fmt::format("{}", fmt::join(made, ",\n        "))},
          {"CALL", wrapped(call_arguments(facts), kCall, kCall)},
          {"LOCALS", local_tensors(facts)},
          {"REFERENCE", facts.request.text.reference},
          {"OUTPUT", output.name},
          {"ERROR_BOUND", fmt::format("{:.4}", operation.error_bound(problem, InputData::uniform))},
          {"ROUNDOFF", fmt::format("{:.17g}", info(output.type).unit_roundoff)},
          {"OPERATIONS", operations > 0 ? fmt::format("{:.17g}", operations) : ""}};
}

}  // namespace autotune
