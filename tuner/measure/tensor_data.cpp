#include "tuner/measure/tensor_data.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cpu/npy_file.hpp"
#include "tuner/measure/verification.hpp"

namespace autotune {

std::uint64_t input_seed(const ProblemData& data, std::uint64_t seed, std::size_t number) {
  const auto inputs = std::ranges::count_if(
      data.tensors, [](const TensorDesc& tensor) { return is_read(tensor.role); });
  return static_cast<std::uint64_t>(inputs) * seed + number;
}

std::uint64_t second_seed(std::uint64_t seed) {
  return ~seed;
}

ElementBuffer content_of(const TensorContent& content, const TensorDesc& tensor, std::uint64_t seed,
                         ThreadPool& pool) {
  if (content.kind == TensorContent::Kind::file) return read_elements(content.file, tensor);
  return filled(content, tensor.type, tensor.elements(), seed, pool);
}

EnvironmentError reference_fault(const std::string& name, const std::string& what) {
  return EnvironmentError(fmt::format("the reference {} cannot judge kernels: {}", name, what));
}

void check_reference(const std::string& name, const TensorDesc& output, std::int64_t outside,
                     std::int64_t unwritten, std::int64_t first_unwritten) {
  if (outside > 0) throw reference_fault(name, "it writes outside of the output " + output.name);
  if (unwritten > 0) {
    throw reference_fault(
        name, fmt::format(
                  "it leaves {} of {} elements of the output {} unwritten, the first is {}: where "
                  "a kernel reads {} too, or keeps some of its elements, it is an inout",
                  unwritten, output.elements(), output.name, place_text(output, first_unwritten),
                  output.name));
  }
}

}  // namespace autotune
