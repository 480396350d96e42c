#include "operation/problem_data.hpp"

#include <algorithm>

#include "autotune/error.hpp"

namespace autotune {

ProblemData problem_data(const Operation& operation, const Problem& problem, InputData input) {
  ProblemData data{
      .text = operation.text(problem),
      .tensors = operation.tensors(problem),
      .sizes = {},
      .scalars = operation.scalars,
      .work = operation.work(problem),
      .error_bound = operation.error_bound(problem, input),
      .reference = {std::string(operation.reference_source), operation.reference_numbers(problem),
                    operation.reference_blocks(problem)}};
  for (const Problem::Size& size : problem.sizes()) data.sizes.push_back(size.value);
  const bool has_output =
      std::any_of(data.tensors.begin(), data.tensors.end(),
                  [](const TensorDesc& tensor) { return tensor.role == TensorRole::output; });
  if (!has_output) throw Error("the operation " + operation.name + " has no output");
  return data;
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
