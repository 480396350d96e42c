// The arguments of a kernel as data, and the values that a launch passes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "autotune/pointer_mode.hpp"

#include "core/element_type.hpp"

namespace autotune {

enum class ArgumentKind : std::uint8_t {
  tensor,         // the address of a tensor
  size,           // a size of the problem, or another of its numbers (Operation::numbers), 64 bits
  row_stride,     // the row stride of a tensor in elements, 64 bits
  scalar,         // a scalar of the operation (alpha, beta), in the element type `type`: f32 or f64
  workspace,      // the address of memory that blocks share (see LaunchGeometry)
  raster,         // LaunchGeometry::raster, 32 bits
  tensor_map,     // the tensor map of a tensor, 128 bytes in constant memory
  matrix_stride,  // elements from one matrix of a tensor to the next, 64 bits
  prepared,       // the address of a tensor's prepared form, or 0 (see LaunchGeometry::Preparation)
  prepares,       // which tensors the preparation prepares: a bit for each, 32 bits
};
inline constexpr auto kLastArgumentKind = ArgumentKind::prepares;

struct KernelArgument {
  ArgumentKind kind = ArgumentKind::tensor;
  std::uint8_t index = 0;               // which tensor, size or scalar, in the operation's order
  ElementType type = ElementType::f32;  // of a scalar

  bool operator==(const KernelArgument&) const = default;
};

// The arguments of a kernel in the order of its parameters.
using KernelSignature = std::vector<KernelArgument>;

// The values that a launch passes. Spans are in the operation's order.
struct LaunchValues {
  struct Tensor {
    std::uint64_t address = 0;
    std::int64_t row_stride = 0;     // elements
    std::int64_t matrix_stride = 0;  // elements; 0: all matrices of a batch are the same one
    std::uint64_t prepared = 0;      // address of its prepared form; 0: it was not prepared before
  };
  std::span<const Tensor> tensors;
  std::span<const std::int64_t> sizes;
  std::span<const double> scalars;
  std::span<const std::uint64_t> scalar_addresses = {};  // for PointerMode::device
  std::uint64_t workspace = 0;
  std::uint32_t raster = 1;
  std::uint32_t prepares = ~0U;
};

// The place of each argument of a kernel among the values of a launch. It is made once for a
// kernel, so that a launch needs only one addition for each argument.
class ArgumentLayout {
 public:
  static constexpr std::size_t kMost = 32;        // arguments
  static constexpr std::size_t kMostScalars = 8;  // of an operation

  struct TensorMap {
    std::uint8_t argument = 0;  // its place in the signature
    std::uint8_t tensor = 0;
  };

  // `mode`: PointerMode::device for code that was compiled with SCALARS_IN_MEMORY. Throws Error for
  // a signature of more arguments, or one with scalars of other types or numbers
  // than a launch passes.
  explicit ArgumentLayout(const KernelSignature& signature = {},
                          PointerMode mode = PointerMode::host);

  [[nodiscard]] std::span<const TensorMap> maps() const { return maps_; }

 private:
  friend class ArgumentPack;

  enum class Base : std::uint8_t { tensors, sizes, own, none };
  struct Place {
    Base base = Base::none;
    std::uint16_t offset = 0;  // bytes
  };
  // None for a tensor map.
  [[nodiscard]] Place place_of(const KernelArgument& argument) const;

  PointerMode mode_;
  std::size_t arguments_ = 0;
  std::array<Place, kMost> places_;
  // The values that a launch must have.
  std::size_t tensors_ = 0;
  std::size_t sizes_ = 0;
  std::size_t scalars_ = 0;
  std::vector<TensorMap> maps_;
};

// The arguments of one launch in the order of the signature, without allocating. They point into
// `values.tensors` and `values.sizes`, which must outlive the launch.
class ArgumentPack {
 public:
  // Throws Error when the signature names an argument that `values` lacks.
  ArgumentPack(const ArgumentLayout& layout, const LaunchValues& values);
  ArgumentPack(const ArgumentPack&) = delete;
  ArgumentPack& operator=(const ArgumentPack&) = delete;

  // A pointer to each argument. Those of tensor maps are null until set_pointer().
  [[nodiscard]] void** pointers() { return pointers_.data(); }
  void set_pointer(std::size_t argument, void* value) { pointers_[argument] = value; }

 private:
  friend class ArgumentLayout;

  struct Own {
    struct Scalar {
      double f64;
      float f32;
      std::uint64_t address;
    };
    std::uint64_t workspace;
    std::uint32_t raster;
    std::uint32_t prepares;
    std::array<Scalar, ArgumentLayout::kMostScalars> scalars;
  };

  Own own_;
  std::array<void*, ArgumentLayout::kMost> pointers_;
};

}  // namespace autotune
