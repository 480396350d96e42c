// The code of a function for the host that a kernel of the same file has for its reference.
#pragma once

#include <string>
#include <vector>

#include "own_kernels/declaration.hpp"
#include "own_kernels/kernel_file.hpp"
#include "own_kernels/source_layout.hpp"

namespace autotune {

// The C symbol that calls the function with a kernel's arguments.
inline constexpr const char* kHostReference = "autotune_host_reference";

// The text of the file with what it includes, which `includes` puts in, without what is for the
// device alone, and a function kHostReference with the arguments of `kernel`, whose host reference
// it calls. Throws UsageError at the place of the reference's name for one that is not defined, and
// for a kernel with arguments that no function of the host takes.
[[nodiscard]] std::string host_code(const SourceText& source, std::vector<TextEdit> includes,
                                    const DescribedKernel& kernel,
                                    const KernelDeclaration& declaration);

}  // namespace autotune
