#include "core/kernel_signature.hpp"

#include <algorithm>

#include "autotune/error.hpp"

namespace autotune {

ArgumentLayout::ArgumentLayout(const KernelSignature& signature) {
  using Tensor = LaunchValues::Tensor;
  using Own = ArgumentPack::Own;
  if (signature.size() > kMost) throw Error("a kernel has more arguments than a launch can pass");
  for (const auto& [kind, index, type] : signature) {
    const auto place = [&](Base base, std::size_t offset) {
      places_[arguments_] = {base, static_cast<std::uint16_t>(offset)};
    };
    const auto needs = [index = index](std::size_t& count) {
      count = std::max<std::size_t>(count, index + 1);
    };
    switch (kind) {
      case ArgumentKind::tensor:
        needs(tensors_);
        place(Base::tensors, index * sizeof(Tensor) + offsetof(Tensor, address));
        break;
      case ArgumentKind::size:
        needs(sizes_);
        place(Base::sizes, index * sizeof(std::int64_t));
        break;
      case ArgumentKind::row_stride:
        needs(tensors_);
        place(Base::tensors, index * sizeof(Tensor) + offsetof(Tensor, row_stride));
        break;
      case ArgumentKind::matrix_stride:
        needs(tensors_);
        place(Base::tensors, index * sizeof(Tensor) + offsetof(Tensor, matrix_stride));
        break;
      case ArgumentKind::prepared:
        needs(tensors_);
        place(Base::tensors, index * sizeof(Tensor) + offsetof(Tensor, prepared));
        break;
      case ArgumentKind::prepares:
        place(Base::own, offsetof(Own, prepares));
        break;
      case ArgumentKind::scalar:
        needs(scalars_);
        if (type != ElementType::f32 && type != ElementType::f64) {
          throw Error("a kernel has a scalar of type " + to_string(type));
        }
        place(Base::own, offsetof(Own, scalars) + index * sizeof(Own::Scalar) +
                             (type == ElementType::f64 ? offsetof(Own::Scalar, f64)
                                                       : offsetof(Own::Scalar, f32)));
        break;
      case ArgumentKind::workspace:
        place(Base::own, offsetof(Own, workspace));
        break;
      case ArgumentKind::raster:
        place(Base::own, offsetof(Own, raster));
        break;
      case ArgumentKind::tensor_map:
        needs(tensors_);
        place(Base::none, 0);
        maps_.push_back({static_cast<std::uint8_t>(arguments_), index});
        break;
    }
    ++arguments_;
  }
  if (scalars_ > kMostScalars) throw Error("a kernel has more scalars than a launch can pass");
}

ArgumentPack::ArgumentPack(const ArgumentLayout& layout, const LaunchValues& values) {
  if (values.tensors.size() < layout.tensors_ || values.sizes.size() < layout.sizes_ ||
      values.scalars.size() < layout.scalars_) {
    throw Error("a kernel's signature names what its operation lacks");
  }
  own_.workspace = values.workspace;
  own_.raster = values.raster;
  own_.prepares = values.prepares;
  for (std::size_t i = 0; i < layout.scalars_; ++i) {
    own_.scalars[i] = {values.scalars[i], static_cast<float>(values.scalars[i])};
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
