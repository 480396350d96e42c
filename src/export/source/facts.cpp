#include "export/source/facts.hpp"

#include <algorithm>

#include "autotune/error.hpp"

namespace autotune {

SourceFacts::SourceFacts(const SourceRequest& asked)
    : request(asked),
      name(source_name(asked.problem)),
      tensors(asked.kernel->operation->tensors(asked.problem)),
      geometry(asked.kernel->geometry(asked.configuration, asked.problem)),
      signature(asked.kernel->signature(asked.problem)),
      two_forms(code_traits(*asked.kernel, asked.problem).aligned),
      capability(std::stoi(asked.architecture.substr(3))) {}

std::string SourceFacts::scalar_type(std::size_t index) const {
  for (const KernelArgument& argument : signature) {
    if (argument.kind == ArgumentKind::scalar && argument.index == index) {
      return cpp_name(argument.type);
    }
  }
  throw Error(request.kernel->name + " does not take all scalars of its operation");
}

std::string cpp_name(ElementType type) {
  if (type == ElementType::f32 || type == ElementType::f64) return info(type).cuda_name;
  throw UsageError("kernels for elements of type " + to_string(type) +
                   " are not written as source");
}

std::string row_stride_name(const TensorDesc& tensor) {
  return "ld" + tensor.name;
}

std::string matrix_stride_name(const TensorDesc& tensor) {
  return "stride_" + tensor.name;
}

std::string wrapped(const std::vector<std::string>& items, std::size_t column, std::size_t indent) {
  constexpr std::size_t kWidth = 100;
  std::string result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool is_last = i + 1 == items.size();
    const std::string item = items[i] + (is_last ? "" : ",");
    // Behind the last item come a bracket and a semicolon or brace.
    if (i > 0 && column + 1 + item.size() + (is_last ? 3 : 0) > kWidth) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (i > 0) {
      result += ' ';
      ++column;
    }
    result += item;
    column += item.size();
  }
  return result;
}

std::string as_comment(std::string_view lines) {
  std::string result;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (!result.empty()) result += '\n';
    result += line.empty() ? "//" : "// " + std::string(line);
  }
  return result;
}

}  // namespace autotune
