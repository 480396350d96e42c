#include "operation/operation.hpp"

#include <algorithm>
#include <cctype>

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
