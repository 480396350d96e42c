#include "operation/problem_data.hpp"

#include <algorithm>

#include "autotune/error.hpp"

namespace autotune {
namespace {

// Checks that there is something to expect of each output.
void check(const ProblemData& data, const std::string& operation) {
  const auto is_output = [](const TensorDesc& tensor) { return is_written(tensor.role); };
  if (std::ranges::none_of(data.tensors, is_output)) {
    throw Error("the operation " + operation + " has no output");
  }
  if (!data.contents.empty() && data.contents.size() != data.tensors.size()) {
    throw Error("the operation " + operation + " has contents of other tensors than its own");
  }
  if (!data.has_tolerances() || data.launched_reference) return;
  for (std::size_t i = 0; i < data.tensors.size(); ++i) {
    if (is_output(data.tensors[i]) &&
        (data.contents.empty() ||
         (data.contents[i].expected.empty() && data.contents[i].is_checked()))) {
      throw Error("the operation " + operation + " has no reference for its output " +
                  data.tensors[i].name);
    }
  }
}

}  // namespace

ProblemData problem_data(const Operation& operation, const Problem& problem, InputData input) {
  ProblemData data{.text = operation.text(problem),
                   .tensors = operation.tensors(problem),
                   .sizes = {},
                   .scalars = operation.scalars,
                   .work = operation.work(problem),
                   .error_bound = 1};
  if (operation.numbers) {
    data.sizes = operation.numbers(problem);
  } else {
    for (const Problem::Size& size : problem.sizes()) data.sizes.push_back(size.value);
  }
  if (operation.contents) data.contents = operation.contents(problem);
  if (operation.launched_reference) data.launched_reference = operation.launched_reference(problem);
  if (!operation.reference_source.empty()) {
    data.error_bound = operation.error_bound(problem, input);
    data.reference = {std::string(operation.reference_source), operation.reference_numbers(problem),
                      operation.reference_blocks(problem)};
  }
  check(data, operation.name);
  return data;
}

Tolerance ProblemData::tolerance(std::size_t tensor) const {
  const ElementType type = tensors[tensor].type;
  const bool has_own = !contents.empty() && contents[tensor].tolerance;
  return has_own && (!is_integer(type) || !contents[tensor].is_checked())
             ? *contents[tensor].tolerance
             : default_tolerance(type);
}

ReferenceCode reference_code(const ProblemData& data) {
  return {std::string(element_source()) + data.reference.source, element_macros(data.tensors)};
}

LaunchGeometry reference_geometry(const ProblemData::Reference& reference) {
  return {.grid = {reference.blocks, 1, 1}, .block = {kReferenceThreads, 1, 1}};
}

ReferenceArguments::ReferenceArguments(const ProblemData::Reference& reference,
                                       std::span<const std::uint64_t> inputs,
                                       std::span<const std::uint64_t> outputs)
    : words_(inputs.begin(), inputs.end()) {
  words_.insert(words_.end(), reference.numbers.begin(), reference.numbers.end());
  words_.insert(words_.end(), outputs.begin(), outputs.end());
  for (std::uint64_t& word : words_) pointers_.push_back(&word);
}

}  // namespace autotune
