// Makes a description of the pragmas before one kernel and of its declaration.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "own_kernels/declaration.hpp"
#include "own_kernels/kernel_file.hpp"
#include "own_kernels/source_layout.hpp"

namespace autotune {

// All but `code`. Throws UsageError that begins with FILE:LINE:COLUMN.
[[nodiscard]] DescribedKernel read_kernel(const std::shared_ptr<const SourceText>& source,
                                          const PragmaBlock& block,
                                          const KernelDeclaration& declaration,
                                          const std::vector<std::string>& template_arguments);

// A text as an identifier of C: other characters are underscores.
[[nodiscard]] std::string identifier_of(std::string text);

}  // namespace autotune
