// The values of text/banner.in and text/header.h.in.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/version.hpp"

#include "core/embedded_file.hpp"
#include "export/source/facts.hpp"

namespace autotune {

std::span<const EmbeddedFile> embedded_licence();

namespace {

// A line of the description of a parameter; long texts go on below.
std::string parameter_line(const std::string& names, const std::string& text) {
  return fmt::format("//   {:<13} {}\n", names, text);
}

std::string tensor_line(const TensorDesc& tensor) {
  const std::string stride = row_stride_name(tensor);
  return parameter_line(fmt::format("{}, {}", tensor.name, stride),
                        fmt::format("{}: {} rows of {} {}; {} elements from one row to the next",
                                    tensor.role == TensorRole::input ? "in" : "out", tensor.rows,
                                    tensor.columns, cpp_name(tensor.type), stride));
}

std::string matrix_stride_line(const TensorDesc& tensor) {
  return parameter_line(
      matrix_stride_name(tensor),
      fmt::format("elements from one product's {} to the next{}", tensor.name,
                  tensor.role == TensorRole::input ? "; 0: all have the same" : ""));
}

std::string workspace_lines(const SourceFacts& facts) {
  if (facts.geometry.workspace_bytes() == 0) {
    return parameter_line("workspace", "not used by this kernel: may be null");
  }
  return parameter_line("workspace", "memory of the device, of the size below, that begins at a") +
         parameter_line("", "multiple of 256 bytes, as cudaMalloc() gives it. Its first") +
         parameter_line("", fmt::format("{} bytes must be zero before the first call, and are",
                                        4 * kWorkspaceCounters)) +
         parameter_line("", "so after each. Calls that may run at the same time need one each");
}

std::string parameter_texts(const SourceFacts& facts) {
  std::string result;
  for (const TensorDesc& tensor : facts.tensors) {
    result += tensor_line(tensor);
    if (facts.is_batch()) result += matrix_stride_line(tensor);
  }
  const std::vector<std::string>& scalars = facts.request.text.scalars;
  if (!scalars.empty()) {
    result += parameter_line(fmt::format("{}", fmt::join(scalars, ", ")), facts.scalar_type(0));
  }
  if (facts.is_batch()) {
    result += parameter_line(facts.request.text.batch,
                             fmt::format("products, from 1 to {}", facts.products()));
  }
  result += workspace_lines(facts);
  result += parameter_line("stream", "of the current device");
  if (!facts.request.text.note.empty()) result += "//\n// " + facts.request.text.note + "\n";
  result.pop_back();
  return result;
}

std::string device_text(const SourceFacts& facts) {
  return fmt::format("a GPU of compute capability {}.{}{}", facts.capability / 10,
                     facts.capability % 10,
                     facts.request.kernel->architecture_specific ? "" : " or later");
}

// Of a block, for either launch.
std::int64_t shared_bytes(const SourceFacts& facts) {
  const SourceRequest& request = facts.request;
  return request.kernel->shared_bytes(request.configuration) +
         std::max(facts.geometry.dynamic_shared_bytes,
                  facts.geometry.preparation.dynamic_shared_bytes);
}

std::vector<std::string> declared_parameters(const SourceFacts& facts) {
  std::vector<std::string> result;
  for (const TensorDesc& tensor : facts.tensors) {
    const std::string type = cpp_name(tensor.type);
    result.push_back(fmt::format("{}{}* {}", tensor.role == TensorRole::input ? "const " : "", type,
                                 tensor.name));
    result.push_back("int64_t " + row_stride_name(tensor));
    if (facts.is_batch()) result.push_back("int64_t " + matrix_stride_name(tensor));
  }
  for (std::size_t i = 0; i < facts.request.text.scalars.size(); ++i) {
    result.push_back(facts.scalar_type(i) + " " + facts.request.text.scalars[i]);
  }
  if (facts.is_batch()) result.push_back("int64_t " + facts.request.text.batch);
  result.emplace_back("void* workspace");
  result.emplace_back("cudaStream_t stream");
  return result;
}

}  // namespace

TextValues banner_values(const SourceFacts& facts) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : facts.request.configuration.entries()) {
    entries.push_back(fmt::format("{}={}", name, value));
  }
  constexpr std::size_t kColumn = 20;
  std::string lines = wrapped(entries, kColumn, kColumn);
  for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; ++at) {
    lines.replace(at + 1, 2, "//");
  }
  return {{"VERSION", kVersion},
          {"FORMULA", facts.request.text.formula},
          {"PROBLEM", facts.request.problem.key()},
          {"TEMPLATE", facts.request.kernel->name},
          {"CONFIGURATION", lines},
          {"ORIGIN", facts.request.origin},
          {"OPTIONS", fmt::format("{}", fmt::join(nvcc_options(facts.request), " "))},
          {"LICENCE", as_comment(embedded_licence().front().text)}};
}

TextValues header_values(const SourceFacts& facts) {
  const std::string function = "cudaError_t " + facts.name + "(";
  constexpr std::size_t kIndent = 4;
  return {{"NAME", facts.name},
          {"FORMULA", facts.request.text.formula},
          {"PARAMETER_TEXTS", parameter_texts(facts)},
          {"FORMS", facts.two_forms ? "2" : ""},
          {"BATCH", facts.is_batch() ? std::to_string(facts.products()) : ""},
          {"STEPS", facts.is_batch() ? "rows and matrices" : "rows"},
          {"DEVICE", device_text(facts)},
          {"SHARED_BYTES", std::to_string(shared_bytes(facts))},
          {"PARAMETERS", wrapped(declared_parameters(facts), function.size(), kIndent)}};
}

}  // namespace autotune
