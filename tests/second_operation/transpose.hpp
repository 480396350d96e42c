// An operation besides matrix multiplication, and a kernel template that computes it: a transposed
// copy of an FP64 matrix. Two tensors, two sizes, no scalars, no tile shape. The tests take it
// through all that the tuner does, so whatever in the tuner assumed a GEMM would fail here.
#pragma once

#include <string>

#include "kernel_templates/kernel_set.hpp"
#include "operation/operation.hpp"

namespace autotune::test {

// out = in transposed; `in` has these rows and columns.
[[nodiscard]] Problem transpose_problem(std::int64_t rows, std::int64_t columns);

[[nodiscard]] const Operation& transpose_operation();
// With the template transpose_tiled; `fault` is put into the kernel's text in place of the word
// FAULT, which stands before its stores.
[[nodiscard]] KernelSet transpose_kernels(const std::string& fault = "");

}  // namespace autotune::test
