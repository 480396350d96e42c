#include "core/kernel_signature.hpp"

#include <algorithm>

#include "autotune/error.hpp"

namespace autotune {

ArgumentLayout::Place ArgumentLayout::place_of(const KernelArgument& argument) const {
  using Tensor = LaunchValues::Tensor;
  using Own = ArgumentPack::Own;
  const auto place = [&](Base base, std::size_t offset, std::size_t size = 0) {
    return Place{base, static_cast<std::uint16_t>(offset + argument.index * size)};
  };
  switch (argument.kind) {
    case ArgumentKind::tensor:
      return place(Base::tensors, offsetof(Tensor, address), sizeof(Tensor));
    case ArgumentKind::size:
      return place(Base::sizes, 0, sizeof(std::int64_t));
    case ArgumentKind::row_stride:
      return place(Base::tensors, offsetof(Tensor, row_stride), sizeof(Tensor));
    case ArgumentKind::matrix_stride:
      return place(Base::tensors, offsetof(Tensor, matrix_stride), sizeof(Tensor));
    case ArgumentKind::prepared:
      return place(Base::tensors, offsetof(Tensor, prepared), sizeof(Tensor));
    case ArgumentKind::prepares:
      return place(Base::own, offsetof(Own, prepares));
    case ArgumentKind::scalar:
      return place(Base::own,
                   offsetof(Own, scalars) +
                       (mode_ == PointerMode::device        ? offsetof(Own::Scalar, address)
                        : argument.type == ElementType::f64 ? offsetof(Own::Scalar, f64)
                                                            : offsetof(Own::Scalar, f32)),
                   sizeof(Own::Scalar));
    case ArgumentKind::workspace:
      return place(Base::own, offsetof(Own, workspace));
    case ArgumentKind::raster:
      return place(Base::own, offsetof(Own, raster));
    case ArgumentKind::tensor_map:
      break;
  }
  return {};
}

ArgumentLayout::ArgumentLayout(const KernelSignature& signature, PointerMode mode) : mode_(mode) {
  if (signature.size() > kMost) throw Error("a kernel has more arguments than a launch can pass");
  for (const KernelArgument& argument : signature) {
    const auto& [kind, index, type] = argument;
    const Place place = place_of(argument);
    if (kind == ArgumentKind::scalar) {
      scalars_ = std::max<std::size_t>(scalars_, index + 1);
      if (type != ElementType::f32 && type != ElementType::f64) {
        throw Error("a kernel has a scalar of type " + to_string(type));
      }
    } else if (kind == ArgumentKind::tensor_map) {
      maps_.push_back({static_cast<std::uint8_t>(arguments_), index});
    }
    if (place.base == Base::tensors || kind == ArgumentKind::tensor_map) {
      tensors_ = std::max<std::size_t>(tensors_, index + 1);
    } else if (place.base == Base::sizes) {
      sizes_ = std::max<std::size_t>(sizes_, index + 1);
    }
    places_[arguments_++] = place;
  }
  if (scalars_ > kMostScalars) throw Error("a kernel has more scalars than a launch can pass");
}

ArgumentPack::ArgumentPack(const ArgumentLayout& layout, const LaunchValues& values) {
  if (values.tensors.size() < layout.tensors_ || values.sizes.size() < layout.sizes_ ||
      (layout.mode_ == PointerMode::device ? values.scalar_addresses.size()
                                           : values.scalars.size()) < layout.scalars_) {
    throw Error("a kernel's signature names what its operation lacks");
  }
  own_.workspace = values.workspace;
  own_.raster = values.raster;
  own_.prepares = values.prepares;
  for (std::size_t i = 0; i < layout.scalars_; ++i) {
    own_.scalars[i] =
        layout.mode_ == PointerMode::device
            ? Own::Scalar{.address = values.scalar_addresses[i]}
            : Own::Scalar{values.scalars[i], static_cast<float>(values.scalars[i]), 0};
  }
  // The bases have the order of ArgumentLayout::Base.
  const std::array<std::uintptr_t, 4> bases = {
      reinterpret_cast<std::uintptr_t>(values.tensors.data()),
      reinterpret_cast<std::uintptr_t>(values.sizes.data()),
      reinterpret_cast<std::uintptr_t>(&own_), 0};
  for (std::size_t i = 0; i < layout.arguments_; ++i) {
    const auto [base, offset] = layout.places_[i];
    pointers_[i] = reinterpret_cast<void*>(bases[static_cast<std::size_t>(base)] + offset);
  }
}

}  // namespace autotune
