// The arguments of a launch of a kernel of the application's own, checked as its description has
// them.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "api/gemm_call.hpp"
#include "api/own_kernel.hpp"

namespace autotune {
namespace {

using Kind = DescribedArgument::Kind;

[[noreturn]] void refuse(const DescribedKernel& kernel, const DescribedArgument& argument,
                         const std::string& why) {
  throw UsageError(fmt::format("{}: argument {} {}", kernel.key, argument.name, why));
}

void check_count(const DescribedKernel& kernel, std::size_t count) {
  if (count == kernel.arguments.size()) return;
  throw UsageError(fmt::format("{} has {} arguments, but {} were given", kernel.key,
                               kernel.arguments.size(), count));
}

// Returns whether an argument is the size of its name.
bool is_size(const DescribedArgument& argument) {
  return argument.kind == Kind::number && argument.value->source() == argument.name;
}

// The bytes that addresses of vectors are multiples of. CUDA gives vectors of three the alignment
// of their elements, and none more than 16.
std::uint64_t alignment_of(const DescribedArgument& buffer) {
  const std::int64_t width = buffer.width == 3 ? 1 : buffer.width;
  return static_cast<std::uint64_t>(std::min<std::int64_t>(size_bytes(buffer.type) * width, 16));
}

// Integers with a sign and without are not told apart.
bool is_pointer_to(ElementType given, ElementType wanted) {
  return given == wanted ||
         (is_integer(given) && is_integer(wanted) && size_bytes(given) == size_bytes(wanted));
}

std::uint64_t checked_address(const DescribedKernel& kernel, const DescribedArgument& buffer,
                              const LaunchArgument& given) {
  const std::uint64_t address = address_of(given.address());
  if (address == 0) refuse(kernel, buffer, "is null");
  if (address % alignment_of(buffer) != 0) {
    refuse(kernel, buffer, fmt::format("must be a multiple of {} bytes", alignment_of(buffer)));
  }
  if (given.type() && !is_pointer_to(*given.type(), buffer.type)) {
    refuse(kernel, buffer,
           fmt::format("points to {}: the kernel has {}", to_string(*given.type()),
                       to_string(buffer.type)));
  }
  if (given.is_const() && buffer.role != TensorRole::input) {
    refuse(kernel, buffer, "is written to, and points to constants");
  }
  return address;
}

}  // namespace

void PlannedLaunch::run(Stream stream, const LaunchArgument* arguments, std::size_t count) const {
  check_not_forked(forks);
  const DescribedKernel& kernel = kernels.described();
  check_count(kernel, count);
  std::array<LaunchValues::Tensor, ArgumentLayout::kMost> tensors = {};
  std::array<double, ArgumentLayout::kMostScalars> scalars = {};
  std::array<std::size_t, 3> next = {};  // by kind
  for (std::size_t i = 0; i < count; ++i) {
    const DescribedArgument& described = kernel.arguments[i];
    const LaunchArgument& given = arguments[i];
    const std::size_t place = next[static_cast<std::size_t>(described.kind)]++;
    const bool is_address = given.kind() == LaunchArgument::Kind::address;
    if (is_address != (described.kind == Kind::buffer)) {
      refuse(kernel, described,
             is_address ? "is a number, not an address" : "is the address of a buffer");
    }
    switch (described.kind) {
      case Kind::buffer:
        tensors[place].address = checked_address(kernel, described, given);
        break;
      case Kind::number:
        if (given.kind() != LaunchArgument::Kind::whole || given.whole() != numbers[place]) {
          refuse(kernel, described, fmt::format("must be {} for these sizes", numbers[place]));
        }
        break;
      case Kind::scalar:
        scalars[place] = given.real();
        break;
    }
  }
  ArgumentPack pack(layout, {.tensors = tensors, .sizes = numbers, .scalars = scalars});
  code->run(geometry, pack.pointers(), stream);
}

std::vector<ArgumentDescription> OwnKernel::arguments(const KernelSizes& sizes) const {
  std::vector<TensorDesc> tensors;
  if (!sizes.empty() || described().sizes.empty()) {
    tensors = kernel().operation->tensors(problem_of(sizes));
  }
  std::vector<ArgumentDescription> result;
  std::size_t buffers = 0;
  for (const DescribedArgument& each : described().arguments) {
    ArgumentDescription& made = result.emplace_back();
    made.name = each.name;
    made.is_size = is_size(each);
    if (each.kind == Kind::buffer) {
      made.type = each.type;
      if (!tensors.empty()) made.elements = tensors[buffers++].elements();
      made.is_written = each.role != TensorRole::input;
    } else {
      made.kind =
          each.kind == Kind::number ? LaunchArgument::Kind::whole : LaunchArgument::Kind::real;
    }
  }
  return result;
}

KernelSizes OwnKernel::sizes_among(const LaunchArgument* arguments, std::size_t count) const {
  const DescribedKernel& kernel = described();
  check_count(kernel, count);
  KernelSizes sizes;
  for (const std::string& size : kernel.sizes) {
    const auto place = std::ranges::find_if(kernel.arguments, [&](const DescribedArgument& each) {
      return is_size(each) && each.name == size;
    });
    if (place == kernel.arguments.end()) {
      throw UsageError(fmt::format("{}: the size {} is no argument: give the sizes by their names",
                                   kernel.key, size));
    }
    const LaunchArgument& given = arguments[place - kernel.arguments.begin()];
    if (given.kind() != LaunchArgument::Kind::whole) refuse(kernel, *place, "is a whole number");
    sizes[size] = given.whole();
  }
  return sizes;
}

}  // namespace autotune
