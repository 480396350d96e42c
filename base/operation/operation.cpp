#include "operation/operation.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_element_kernels();

bool Operation::has(const Problem& problem) const {
  if (problem.operation() != name) return false;
  try {
    return std::ranges::all_of(tensors(problem), [](const TensorDesc& tensor) {
      return std::min({tensor.rows, tensor.columns, tensor.matrices}) > 0;
    });
  } catch (const Error&) {
    return false;
  }
}

Problem problem_of(const Operation& operation, const std::vector<Problem::Size>& sizes) {
  const std::vector<std::string>& names = operation.named_sizes.value();
  for (const Problem::Size& size : sizes) {
    if (names.empty()) {
      throw UsageError(fmt::format("{} has no sizes: leave them out", operation.name));
    }
    if (std::ranges::find(names, size.name) == names.end()) {
      throw UsageError(fmt::format("{} has no size '{}': its sizes are {}", operation.name,
                                   size.name, fmt::join(names, ", ")));
    }
  }
  std::vector<Problem::Size> ordered;
  for (const std::string& name : names) {
    const auto is_named = [&](const Problem::Size& size) { return size.name == name; };
    const auto count = std::ranges::count_if(sizes, is_named);
    if (count != 1) {
      throw UsageError(fmt::format("{}'s size '{}' is {}: give each of {} once", operation.name,
                                   name, count == 0 ? "missing" : "given twice",
                                   fmt::join(names, ", ")));
    }
    ordered.push_back(*std::ranges::find_if(sizes, is_named));
    constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
    const std::int64_t value = ordered.back().value;
    if (value < 1 || value > kLargest) {
      throw UsageError(fmt::format("{}'s size '{}' is {}: it must be from 1 to {}", operation.name,
                                   name, value, kLargest));
    }
  }
  Problem problem(operation.name, std::move(ordered), {});
  if (operation.check) operation.check(problem);
  return problem;
}

double gflops(const Work& work, double time_us) {
  return work.operations / time_us * 1e-3;
}

std::string_view element_source() {
  return embedded_element_kernels().front().text;
}

std::vector<std::string> element_macros(std::span<const TensorDesc> tensors) {
  std::vector<std::string> macros;
  for (const TensorDesc& tensor : tensors) {
    std::string name = tensor.name;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    macros.push_back("ELEMENT_" + name + "=" + info(tensor.type).cuda_name);
  }
  return macros;
}

}  // namespace autotune
