// The data of tensors and the checks of references that are the same on every device.
#pragma once

#include <cstdint>
#include <string>

#include "autotune/error.hpp"

#include "core/thread_pool.hpp"
#include "cpu/tensors.hpp"
#include "operation/problem_data.hpp"

namespace autotune {

// The seed of an input or inout; `number` is its place among them.
[[nodiscard]] std::uint64_t input_seed(const ProblemData& data, std::uint64_t seed,
                                       std::size_t number);
// The seed for the other one of two sets of data with the same contents.
[[nodiscard]] std::uint64_t second_seed(std::uint64_t seed);

// The elements of a tensor, from a file too. Throws EnvironmentError as read_elements does.
[[nodiscard]] ElementBuffer content_of(const TensorContent& content, const TensorDesc& tensor,
                                       std::uint64_t seed, ThreadPool& pool);

// A fault of a launched reference, as an error that blames no candidate.
[[nodiscard]] EnvironmentError reference_fault(const std::string& name, const std::string& what);
// Throws it if the reference has written to words outside of an output, or has left elements of it
// unwritten.
void check_reference(const std::string& name, const TensorDesc& output, std::int64_t outside,
                     std::int64_t unwritten, std::int64_t first_unwritten);

}  // namespace autotune
