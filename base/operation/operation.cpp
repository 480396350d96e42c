#include "operation/operation.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "autotune/error.hpp"

#include "core/embedded_file.hpp"
#include "core/posix/no_fork.hpp"
#include "operation/gemm/gemm.hpp"

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

OperationRegistry::OperationRegistry(std::vector<Operation> operations)
    : operations_(std::move(operations)) {}

const Operation& OperationRegistry::at(std::string_view name) const {
  const auto found = std::find_if(operations_.begin(), operations_.end(),
                                  [&](const Operation& one) { return one.name == name; });
  if (found == operations_.end()) throw Error("there is no operation '" + std::string(name) + "'");
  return *found;
}

const OperationRegistry& built_in_operations() {
  const NoFork until_made;
  // Never destroyed, like all statics here: an application may multiply in its last destructors.
  static const auto& registry = *new OperationRegistry({gemm_operation()});
  return registry;
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
