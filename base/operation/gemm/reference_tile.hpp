// The reference of matrix multiplication on the CPU.
#pragma once

#include <span>

#include "operation/operation.hpp"

namespace autotune {

// Operation::reference_tile of the operation gemm.
void gemm_reference_tile(const Problem& problem, std::span<const void* const> inputs,
                         const Rectangle& part, bool with_magnitudes, ReferenceTile& result);

}  // namespace autotune
