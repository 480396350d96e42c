// The template gemm_skinny16: the source of gemm_skinny for operands of 16 bits, with a space of its
// own.
#pragma once

#include <string_view>

#include "kernel_templates/kernel_template.hpp"

namespace autotune {

[[nodiscard]] KernelTemplate gemm_skinny16(std::string_view source);

}  // namespace autotune
