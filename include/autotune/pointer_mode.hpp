// Where a product's factors are.
#pragma once

#include <cstdint>

namespace autotune {

// The place of alpha and beta, as cuBLAS has it.
enum class PointerMode : std::uint8_t {
  host = 0,    // values in the arguments
  device = 1,  // addresses in the device's memory, read when the product runs
};

}  // namespace autotune
