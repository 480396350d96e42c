#include "own_kernels/completeness.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace autotune {
namespace {

[[noreturn]] void miss(const DescribedKernel& kernel, const std::string& what,
                       const std::string& example) {
  kernel.source->refuse(kernel.offset, fmt::format("{}: {} is missing, e.g. `#pragma kernel {}`",
                                                   kernel.name, what, example));
}

}  // namespace

void check_complete(const DescribedKernel& kernel) {
  if (!kernel.block[0]) miss(kernel, "the size of a block", "block_size(256)");
  if (!kernel.grid[0] && !kernel.extent[0]) {
    miss(kernel, "the size of the problem", "problem_size(n)");
  }
  for (const DescribedArgument& each : kernel.arguments) {
    if (each.kind == DescribedArgument::Kind::buffer && !each.elements) {
      miss(kernel, "the number of elements of " + each.name,
           fmt::format("buffers({}[n])", each.name));
    }
    if (each.kind == DescribedArgument::Kind::scalar && !each.value) {
      miss(kernel, "the value of " + each.name, fmt::format("scalar({} = 1.0)", each.name));
    }
  }
  const bool has_output = std::ranges::any_of(kernel.arguments, [](const auto& each) {
    return each.kind == DescribedArgument::Kind::buffer && is_written(each.role);
  });
  if (!has_output) {
    kernel.source->refuse(
        kernel.offset,
        fmt::format("{} has no output: at least one buffer must be written", kernel.name));
  }
}

}  // namespace autotune
