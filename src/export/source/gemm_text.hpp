// What stand-alone source says of a matrix multiplication.
#pragma once

#include "export/source/source_export.hpp"

namespace autotune {

[[nodiscard]] OperationText gemm_source_text(const Problem& problem);

}  // namespace autotune
