// Tensors in files: those of NumPy's format .npy, and bare elements.
#pragma once

#include <string>

#include "core/tensor.hpp"
#include "cpu/tensors.hpp"

namespace autotune {

// Returns the elements of a tensor from a file that has as many, of its type, in the order of the
// tensor. bf16 is stored as elements of two bytes without a type ("V2"), as ml_dtypes has it. Throws
// EnvironmentError, which names the file, for one that cannot be read or holds something else.
[[nodiscard]] ElementBuffer read_npy(const std::string& path, const TensorDesc& tensor);

// Writes the elements as a file of one dimension. Throws EnvironmentError, which names the file.
void write_npy(const std::string& path, const ElementBuffer& elements);

// The same for a file with any name: one whose name does not end in .npy has the bytes of the
// elements and nothing else, as numpy.tofile() writes them.
[[nodiscard]] ElementBuffer read_elements(const std::string& path, const TensorDesc& tensor);

}  // namespace autotune
