// The errors of results against the exact product.
#pragma once

#include <nlohmann/json.hpp>

#include "autotune/autotune.hpp"

#include "gpu/stream.hpp"
#include "operation/gemm/baseline/cublas.hpp"

namespace autotune {

// Relative Frobenius errors of gemm(), of cuBLAS and of a sequential chain of FP32 multiply-adds,
// all on the same data, for K from 1 to 16384 and two distributions. Prints a table, gives the
// same as a document. An FP64 product on the CPU is taken for exact.
[[nodiscard]] nlohmann::ordered_json compare_accuracy(Library& library, const gpu::Driver& driver,
                                                      const gpu::Stream& stream,
                                                      const gpu::Cublas& cublas);

}  // namespace autotune
