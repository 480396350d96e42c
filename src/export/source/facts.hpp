// What the texts of a stand-alone source have in common.
#pragma once

#include <string>
#include <vector>

#include "export/source/source_export.hpp"
#include "export/source/text_template.hpp"

namespace autotune {

struct SourceFacts {
  explicit SourceFacts(const SourceRequest& request);

  const SourceRequest& request;
  std::string name;
  std::vector<TensorDesc> tensors;
  LaunchGeometry geometry;
  KernelSignature signature;
  // The kernel has a form for aligned tensors, and the problem's are so where nothing pads them.
  bool two_forms = false;
  int capability = 0;  // 90 for sm_90

  [[nodiscard]] bool is_batch() const { return !request.text.batch.empty(); }
  // The most products of a call; 1 unless it is a batch.
  [[nodiscard]] std::int64_t products() const { return tensors.back().matrices; }
  // The type of a scalar, by its number.
  [[nodiscard]] std::string scalar_type(std::size_t index) const;
  // Names of kernels: of the form for aligned tensors, the other or only one, the one before it.
  [[nodiscard]] std::string aligned_kernel() const { return name + "_aligned"; }
  [[nodiscard]] std::string other_kernel() const { return name + (two_forms ? "_any" : "_kernel"); }
  [[nodiscard]] std::string preparation_kernel() const { return name + "_prepare"; }
};

// "float", for tensors and scalars. Throws Error for a type that C++ lacks.
[[nodiscard]] std::string cpp_name(ElementType type);
// "lda" and "stride_a" for the tensor a.
[[nodiscard]] std::string row_stride_name(const TensorDesc& tensor);
[[nodiscard]] std::string matrix_stride_name(const TensorDesc& tensor);

// Items with ", " between them, in lines that end before column 100. The first line begins at
// `column`, others at `indent`.
[[nodiscard]] std::string wrapped(const std::vector<std::string>& items, std::size_t column,
                                  std::size_t indent);
// The lines with "// " in front.
[[nodiscard]] std::string as_comment(std::string_view lines);

// The values of the texts in text/.
[[nodiscard]] TextValues banner_values(const SourceFacts& facts);
[[nodiscard]] TextValues header_values(const SourceFacts& facts);
[[nodiscard]] TextValues launch_values(const SourceFacts& facts);
[[nodiscard]] TextValues kernel_values(const SourceFacts& facts);
[[nodiscard]] TextValues test_values(const SourceFacts& facts);

}  // namespace autotune
