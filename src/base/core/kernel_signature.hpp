// The arguments of a kernel as data, and the values that a launch passes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/element_type.hpp"

namespace autotune {

enum class ArgumentKind : std::uint8_t {
  tensor,      // its address
  size,        // of the problem, 64 bits
  row_stride,  // of a tensor, in elements, 64 bits
  scalar,      // of the operation (alpha, beta), in the argument's element type: f32 or f64
  workspace,   // the address of memory that blocks share (see LaunchGeometry)
  raster,      // of LaunchGeometry, 32 bits
  tensor_map,  // of a tensor, 128 bytes in constant memory
};

struct KernelArgument {
  ArgumentKind kind = ArgumentKind::tensor;
  std::uint8_t index = 0;               // which tensor, size or scalar, in the operation's order
  ElementType type = ElementType::f32;  // of a scalar

  bool operator==(const KernelArgument&) const = default;
};

// In the order of the kernel's parameters.
using KernelSignature = std::vector<KernelArgument>;

// The values that a launch passes. Spans are in the operation's order.
struct LaunchValues {
  struct Tensor {
    std::uint64_t address = 0;
    std::int64_t row_stride = 0;  // elements
  };
  std::span<const Tensor> tensors;
  std::span<const std::int64_t> sizes;
  std::span<const double> scalars;
  std::uint64_t workspace = 0;
  std::uint32_t raster = 1;
};

// The arguments of one launch in the order of the signature, without allocating.
class ArgumentPack {
 public:
  static constexpr std::size_t kMost = 24;

  // Throws Error for a signature of more arguments, or one that names an argument that `values`
  // lacks.
  ArgumentPack(const KernelSignature& signature, const LaunchValues& values);
  ArgumentPack(const ArgumentPack&) = delete;
  ArgumentPack& operator=(const ArgumentPack&) = delete;

  // A pointer to each argument. Those of tensor maps are null until set_pointer().
  [[nodiscard]] void** pointers() { return pointers_.data(); }
  void set_pointer(std::size_t argument, void* value) { pointers_[argument] = value; }
  // Of the arguments, the first that is a tensor map; kMost where none is.
  [[nodiscard]] std::size_t first_map() const { return first_map_; }

 private:
  std::array<std::uint64_t, kMost> slots_;
  std::array<void*, kMost> pointers_;
  std::size_t first_map_ = kMost;
};

}  // namespace autotune
